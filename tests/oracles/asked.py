"""The test by labels that are asked for, from all decisions anew, in lists."""

from math import sqrt

import numpy as np
from oracles.betting import wealth
from scipy.optimize import minimize
from scipy.special import expit, log_expit, logit

STAKES = (0.2, 0.4, 0.8)


def row(confidence):
    return np.array([1.0, logit(np.clip(1 - confidence, 1e-4, 1 - 1e-4))])


def wrong_expected(confidence, labels):
    """The probability of a wrong label at a confidence: each label moves the likeliest coefficients."""
    mean, precision = np.array([0.0, 1.0]), np.diag([1.0, 4.0])
    for other, is_right in labels:
        x, sign, before, known = row(other), 1.0 if is_right else -1.0, mean, precision

        def loss(c, x=x, sign=sign, before=before, known=known):
            return (c - before) @ known @ (c - before) / 2 - log_expit(-sign * c @ x)

        def slope(c, x=x, sign=sign, before=before, known=known):
            return known @ (c - before) + sign * expit(sign * c @ x) * x

        def curve(c, x=x, known=known):
            return known + expit(c @ x) * expit(-c @ x) * np.outer(x, x)

        mean = minimize(loss, before, jac=slope, hess=curve, method="trust-exact", options={"gtol": 1e-11}).x
        precision = curve(mean)
    return float(expit(mean @ row(confidence)))


def asked_wealth(decisions, share, rate):
    """The wealth after decisions whose labels came at once: confidence, chance, whether it was right."""
    below = 1 / rate - 1
    labels, spreads, counted, wanted = [], [0.3] * 10, [], []
    for confidence, chance, is_right in decisions:
        wrong = wrong_expected(confidence, labels)
        spread = sqrt(wrong * (1 - wrong))
        mean = sum(spreads) / len(spreads)
        probability = min(1, max(rate / 10, wrong / (wrong + below), rate * spread / mean))
        spreads.append(spread)
        wanted.append(chance < probability)
        if wanted[-1]:
            labels.append((confidence, is_right))
        counted.append(wrong + wanted[-1] * ((not is_right) - wrong) / probability)
    factors = [[1 + stake / (1 - share + below) * (each - (1 - share)) for stake in STAKES] for each in counted]
    return wealth(factors), wanted
