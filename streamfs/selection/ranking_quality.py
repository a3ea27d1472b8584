"""Measures of estimated error rates: rank correlation and mean square error."""

import numpy as np

from feature_extractors.arrays import Array


def spearman(scores: Array, truth: Array) -> Array:
    """Return Spearman's rank correlation with the true scores, 1 - 6 sum d^2 / (M (M^2 - 1)).

    Scores, (..., M), equal to 12 decimals are tied and have the mean rank; at least two candidates are needed.

    Notes
    -----
    With ties this is not Pearson's correlation of the ranks, but it is defined if all scores are equal, as before
    any value is extracted: one half, if no true scores are tied.

    Examples
    --------
    >>> import numpy as np
    >>> spearman(np.array([[0.1, 0.2, 0.4], [0.3, 0.3, 0.3]]), np.array([0.0, 0.3, 0.2]))
    array([0.5, 0.5])
    """
    from scipy.stats import rankdata  # noqa: PLC0415 - takes a second, and only experiments need it

    n_candidates = len(truth)
    if n_candidates < 2:
        raise ValueError(f"there are {n_candidates} scores, expected at least 2")
    gaps = rankdata(np.round(scores, 12), axis=-1) - rankdata(np.round(truth, 12))
    correlations: Array = 1.0 - 6.0 * (gaps**2).sum(axis=-1) / (n_candidates * (n_candidates**2 - 1))
    return correlations


def mean_square_error(errors: Array, truth: Array) -> Array:
    """Return the mean square difference between estimated, (n_runs, ..., M, n_sizes), and true error rates, (M,).

    Examples
    --------
    >>> import numpy as np
    >>> mean_square_error(np.array([[[0.5, 0.3]], [[0.1, 0.3]]]), np.array([0.2])).round(3)
    array([[0.05, 0.01]])
    """
    squares: Array = ((errors - truth[:, np.newaxis]) ** 2).mean(axis=0)
    return squares
