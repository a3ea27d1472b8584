"""The kernel between the joiner and the engine: entries in, the samples of one model's streams out."""

import numpy as np

from streamfs.base._compiled import kernel
from streamfs.gateway.core._grid import AWAKE


@kernel
def choose(
    asked, period, entries, shown, sources, streams, cells, row_of, columns, max_ages, places, rows, times, samples
):
    """Write places, rows, times and samples of those entries whose streams follow a model and are awake.

    Return how many. `asked` are the places of the entries to look at. A value is shown while it is not older than
    its column's age, nor outdated.
    """
    n_chosen = 0
    n_columns = shown.shape[1]
    for i in asked:
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
        places[n_chosen] = i
        rows[n_chosen] = row
        times[n_chosen] = entries[i].tick * period
        n_chosen += 1
    return n_chosen
