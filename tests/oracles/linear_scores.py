"""Linear scores of a row from their definition, and the probabilities that they give."""

import math

import numpy as np


def probabilities(linear, row):
    """The shares of the exponentials of a row's scores."""
    segment = 0
    for k, start in enumerate(linear.starts):
        if linear.clock >= 0 and row[linear.clock] >= start:
            segment = k
    scores = np.array(linear.offsets[segment], dtype=float)
    for k, feature in enumerate(linear.features):
        if not math.isnan(row[feature]):
            inside = np.clip(row[feature], linear.lowest[k], linear.highest[k])
            scores += (inside - linear.centres[segment, k]) * linear.factors[segment, k]
    powers = np.exp(scores - scores.max())
    return powers / powers.sum()
