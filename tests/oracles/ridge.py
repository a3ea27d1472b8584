"""Ridge regression of indicators of classes from its definition: fitted anew without each stream."""

import numpy as np

PENALTIES = [0.01, 0.1, 1.0, 10.0, 100.0, 1000.0]
SHARPNESSES = [2.0**k for k in np.arange(-2.0, 5.5, 0.5)]


def standardised(X, weights):
    """Rows of mean 0 and deviation 1, those of constant columns and missing values 0; means and deviations."""
    means, deviations = np.zeros(X.shape[1]), np.ones(X.shape[1])
    rows = np.zeros(X.shape)
    for f, column in enumerate(X.T):
        known = ~np.isnan(column)
        if weights[known].sum() > 0:
            means[f] = np.average(column[known], weights=weights[known])
        moved = np.where(known, column - means[f], 0.0)
        deviation = np.sqrt(np.average(moved**2, weights=weights))
        if deviation > 1e-9 * max(1.0, abs(means[f])):
            rows[:, f], deviations[f] = moved / deviation, deviation
    return rows, means, deviations


def solved(rows, targets, weights, penalty):
    """Coefficients, the last the intercept, which is not drawn towards 0."""
    terms = np.column_stack([rows, np.ones(len(rows))])
    penalties = np.diag([*[penalty] * rows.shape[1], 0.0])
    return np.linalg.solve((terms.T * weights) @ terms + penalties, (terms.T * weights) @ targets)


def said(rows, coefficients):
    return np.column_stack([rows, np.ones(len(rows))]) @ coefficients


def shares(scores):
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def fit(X, labels, weights, n_classes):
    """Means, offsets and factors, of streams of shape (n_streams, n_ticks, n_features)."""
    n_streams, n_ticks, _ = X.shape
    there = weights.ravel() > 0
    stream = np.repeat(np.arange(n_streams), n_ticks)[there]
    X, weights = X.reshape(n_streams * n_ticks, -1)[there], weights.ravel()[there]
    targets = np.eye(n_classes)[labels][stream]
    rows, means, deviations = standardised(X, weights)
    errors, left_out = [], []
    for penalty in PENALTIES:
        scores = np.zeros(targets.shape)
        for each in range(n_streams):
            others, own = stream != each, stream == each
            scores[own] = said(rows[own], solved(rows[others], targets[others], weights[others], penalty))
        errors.append((weights[:, np.newaxis] * (targets - scores) ** 2).sum())
        left_out.append(scores)
    best = int(np.argmin(errors))
    total = weights.sum()
    smooth = (total * targets + 1) / (total + n_classes)
    losses = [-(weights @ (smooth * np.log(shares(k * left_out[best])))).sum() for k in SHARPNESSES]
    found = SHARPNESSES[int(np.argmin(losses))] * solved(rows, targets, weights, PENALTIES[best])
    return means, found[-1], found[:-1] / deviations[:, np.newaxis]
