"""The kernel between the joiner and the engine: entries in, the samples of one model's streams out."""

import numpy as np

from streamfs.base._compiled import kernel
from streamfs.gateway.core._grid import AWAKE


@kernel
def choose(places, entries, shown, sources, streams, cells, row_of, columns, max_ages, rows, samples):
    """Write rows and samples of the entries whose streams follow a model and are awake; return how many.

    `places` are those of the entries to look at, and of the chosen ones afterwards. A value is shown while it is
    not older than its column's age, nor outdated.
    """
    n_chosen = 0
    n_columns = shown.shape[1]
    for i in places:
        number = entries[i].stream
        row = row_of[number]
        if row < 0 or streams[number].rest != AWAKE:
            continue
        for at in range(len(columns)):
            column = columns[at]
            source = sources[i, column]
            is_shown = (
                entries[i].tick - source <= max_ages[at] and source >= cells[number * n_columns + column].since
            )
            samples[n_chosen, at] = shown[i, column] if is_shown else np.nan
        rows[n_chosen] = row
        places[n_chosen] = i
        n_chosen += 1
    return n_chosen
