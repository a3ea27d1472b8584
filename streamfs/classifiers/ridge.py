"""Ridge regressions of classes, whose scores are turned into probabilities."""

from typing import NamedTuple

import numpy as np

from streamfs.classifiers._evaluate import Array, Indices

PENALTIES = 10.0 ** np.arange(-2, 4)
"""Penalties that are compared, of coefficients of standardised features."""

SHARPNESSES = 2.0 ** np.arange(-2.0, 5.5, 0.5)
"""Factors of scores that are compared."""

CONSTANT = 1e-9
"""Share of a feature's mean up to which its deviation is none; and of the greatest squared singular value."""


class Ridge(NamedTuple):
    """Scores of classes, whose exponentials are in proportion to probabilities.

    `offsets` (n_classes,) are those of features that have their `means` (n_features,); `factors` has shape
    (n_features, n_classes).
    """

    means: Array
    offsets: Array
    factors: Array


def fit_ridge(X: Array, labels: Indices, weights: Array, n_classes: int) -> Ridge:
    """Fit a regression of each class's indicator, on standardised features; the penalty is the same for all.

    Parameters
    ----------
    X : ndarray of shape (n_streams, n_ticks, n_features)
        Rows of streams; NaN is missing, and counts as the mean.
    labels : ndarray of int of shape (n_streams,)
        The class of each stream.
    weights : ndarray of shape (n_streams, n_ticks)
        Weights of the rows, 0 for one that is not there; some row of each stream has one.
    n_classes : int
        Number of classes.

    Returns
    -------
    Ridge
        With factors of 0 for features that are constant, or have no value.

    Notes
    -----
    The penalty is that of the least squared error of streams that are left out one by one, with all their rows,
    which one decomposition gives for all penalties. By what is said of streams that are left out, the sharpness is
    chosen, too: the factor of the scores with the greatest likelihood, of targets that are drawn towards equal
    shares as if each class had one stream more, so that it is finite where all are right.

    References
    ----------
    R. Rifkin and R. Lippert, Notes on regularized least squares, MIT-CSAIL-TR-2007-025; blocks of rows: S. An,
    W. Liu and S. Venkatesh, Fast cross-validation algorithms for least squares support vector machine and kernel
    ridge regression, Pattern Recognition 40, 2007.

    Examples
    --------
    >>> X = np.array([0.0, 1.0, 2.0, 7.0, 8.0, 9.0]).reshape(6, 1, 1)
    >>> found = fit_ridge(X, np.array([0, 0, 0, 1, 1, 1]), np.ones((6, 1)), n_classes=2)
    >>> (found.factors.round(2).tolist(), found.offsets.round(2).tolist())
    ([[-0.27, 0.27]], [1.0, 1.0])
    """
    n_streams, n_ticks, n_features = X.shape
    rows, means, inverse = _standardised(X.reshape(-1, n_features), weights.ravel())
    roots = np.sqrt(weights.ravel())[:, np.newaxis]
    targets = np.repeat(np.eye(n_classes)[labels], n_ticks, axis=0)
    total = float(weights.sum())
    shares = (weights.ravel() / total) @ targets
    scaled, wanted = roots * rows, roots * (targets - shares)
    squares, axes = _axes(scaled)
    projected, blocks = axes.T @ wanted, axes.reshape(n_streams, n_ticks, -1)
    of_mean = roots.reshape(n_streams, n_ticks, 1) * roots.reshape(n_streams, 1, n_ticks) / total
    others = np.eye(n_ticks) - of_mean
    best = np.inf
    for penalty in PENALTIES:
        kept = squares / (squares + penalty)
        residuals = wanted - axes @ (kept[:, np.newaxis] * projected)
        influence = others - (blocks * kept) @ blocks.transpose(0, 2, 1)
        left_out = np.linalg.solve(influence, residuals.reshape(n_streams, n_ticks, n_classes))
        error = float((left_out**2).sum())
        if error < best:
            best, chosen, missed = error, penalty, left_out.reshape(-1, n_classes)
    coefficients = scaled.T @ (axes @ (projected / (squares + chosen)[:, np.newaxis]))
    there = roots[:, 0] > 0.0
    scores = targets[there] - missed[there] / roots[there]
    sharpness = _sharpness(scores, targets[there], weights.ravel()[there])
    return Ridge(means, sharpness * shares, sharpness * coefficients * inverse[:, np.newaxis])


def _standardised(X: Array, weights: Array) -> tuple[Array, Array, Array]:
    """Return rows of mean 0 and deviation 1, the means, and one over the deviations; constant features are 0."""
    known = ~np.isnan(X)
    total = weights @ known
    means = np.divide(weights @ np.where(known, X, 0.0), total, out=np.zeros(X.shape[1]), where=total > 0.0)
    centred = np.where(known, X - means, 0.0)
    deviations = np.sqrt(weights @ centred**2 / weights.sum())
    varies = deviations > CONSTANT * np.maximum(1.0, np.abs(means))
    inverse = np.divide(1.0, deviations, out=np.zeros(X.shape[1]), where=varies)
    return centred * inverse, means, inverse


def _axes(rows: Array) -> tuple[Array, Array]:
    """Return the squared singular values of a matrix, and its left singular vectors, those of 0 left out."""
    if len(rows) <= rows.shape[1]:
        squares, axes = np.linalg.eigh(rows @ rows.T)
    else:
        squares, across = np.linalg.eigh(rows.T @ rows)
        axes = rows @ across / np.sqrt(np.maximum(squares, np.finfo(float).tiny))
    kept = squares > CONSTANT * squares[-1]
    return squares[kept], axes[:, kept]


def _sharpness(scores: Array, targets: Array, weights: Array) -> float:
    """Return the factor of the scores of streams that were left out, of which the likeliest probabilities come."""
    total, n_classes = weights.sum(), targets.shape[1]
    smooth = (total * targets + 1.0) / (total + n_classes)
    losses = []
    for factor in SHARPNESSES:
        said = factor * (scores - scores.max(axis=1, keepdims=True))
        logs = said - np.log(np.exp(said).sum(axis=1, keepdims=True))
        losses.append(-float(weights @ (smooth * logs).sum(axis=1)))
    return float(SHARPNESSES[np.argmin(losses)])
