"""What luck with few streams explains, and is not believed."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.training.held_out import Followed

_DRAWS = 400

LUCK = 4.0
"""Squared standard errors by which a share of right answers may be off: several choices were compared."""

SURELY = 2.0
"""Standard errors by which more streams must be right in one way than in another."""

NOTABLE = 0.05
"""The share of streams by which more must be right."""


def chance_of(followed: Followed) -> float:
    """Return the share of the commonest class, which is right by chance, luck apart.

    Of classes that are about equally common, one is the commonest of few streams by luck: what its share exceeds
    that of its class by, in draws from the streams (B. Efron, 1983), is taken off.
    """
    counts = followed.counts
    shares = np.bincount(followed.truth[: followed.n_streams] + 1, counts) / counts.sum()
    return _chance(tuple(shares.tolist()), max(round(effective_number(counts)), 1))


@lru_cache(maxsize=64)
def _chance(of_classes: tuple[float, ...], n_streams: int) -> float:
    """Return the same of the shares of all classes; many rules are compared on the same streams."""
    shares = np.array(of_classes)
    best, drawn = shares.argmax(), np.random.default_rng(0).multinomial(n_streams, shares, _DRAWS) / n_streams
    optimism = drawn.max(axis=1) - drawn[:, best] + shares[best] - shares[drawn.argmax(axis=1)]
    return max(float(shares[best] - optimism.mean()), 1.0 / np.count_nonzero(shares))


def believed_share(
    right: npt.NDArray[np.bool_] | Array,
    chance: float,
    n_streams: float,
    luck: float = LUCK,
    weights: Array | None = None,
    n_repetitions: int = 1,
) -> float:
    """Return the share of right answers for streams, free of luck, and neither 0 nor 1; they count by weights.

    Answers of several repetitions are worth those of one.

    The share is drawn towards that of always saying the commonest class, as James and Stein (1961) do with a
    mean: the more, the nearer that lies in standard errors, of which luck explains the square root of `luck`.
    Channels and thresholds were chosen on the same streams, and where nothing tells the classes apart, the
    luckiest choice was taken.
    """
    weighed = np.ones(len(right)) if weights is None else weights
    n = effective_number(weighed) / n_repetitions
    share = float(np.average(right, weights=weighed))
    return float(believed_shares(share, chance, n, n_streams, luck))


def believed_shares(shares: npt.ArrayLike, chance: float, n: float, n_streams: float, luck: float = LUCK) -> Array:
    """Return the same of shares of right answers, each of `n` answers, in the same shape."""
    found = np.asarray(shares)
    smooth = (found * n + 0.5) / (n + 1)
    distance = (found - chance) ** 2
    error = luck * smooth * (1.0 - smooth) / n_streams
    kept = 1.0 - error / np.maximum(distance, error)
    return np.asarray(np.clip(chance + kept * (found - chance), 1.0 / (n + 2), (n + 1.0) / (n + 2)))


def is_notable(gains: Array) -> npt.NDArray[np.bool_]:
    """Return whether streams gain surely and notably, on average over the first axis, shape (n_streams, ...)."""
    means, n = gains.mean(axis=0), len(gains)
    errors = np.sqrt((gains.var(axis=0) + 2.0 / n) / n)  # as if one stream more had differed either way
    return np.asarray((means > SURELY * errors) & (means >= NOTABLE))


def cautious_mean(costs: Array, counts: Array | None = None) -> float:
    """Return the mean cost plus its standard error: what luck with few streams promises is not believed."""
    return float(cautious_means(costs, np.ones(len(costs)) if counts is None else counts))


def cautious_means(costs: Array, counts: Array) -> Array:
    """Return the same over the last axis, of which each place counts as `counts` say."""
    means = np.average(costs, axis=-1, weights=counts)
    squares = np.average((costs - means[..., np.newaxis]) ** 2, axis=-1, weights=counts)
    found: Array = means + np.sqrt(squares) / np.sqrt(effective_number(counts))
    return found


def effective_number(weights: Array) -> float:
    """Return how many streams of equal weight are as much a matter of luck (L. Kish, Survey Sampling, 1965)."""
    largest = float(weights.max())
    shares = weights / largest
    return float(shares.sum() ** 2 / (shares**2).sum())
