"""Tables of feature values that have no names."""

import numpy as np

from streamfs import FeatureTable
from streamfs.data.ends import ends_of


def plain_table(values, labels):
    """Values of shape (n_streams, n_ticks, n_features); a stream ends at its last tick that is not all NaN."""
    values = np.asarray(values, dtype=np.float64)
    return FeatureTable(values, np.asarray(labels).astype(np.str_), (), ends_of(values))
