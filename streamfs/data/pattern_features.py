"""Pattern features for recorded streams: kernels, dilations and biases to try."""

from collections.abc import Sequence

import numpy as np

import feature_extractors as fx
from feature_extractors import pattern
from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature
from feature_extractors.catalogue import canonical
from feature_extractors.report import Policy, channel_name
from streamfs.data.streams import StreamSet, require_streams

REACH = pattern.N_TAPS - 1
"""Dilations from the oldest tap to the newest."""


def pattern_features(
    streams: StreamSet,
    channels: Sequence[str] | None = None,
    *,
    n_kernels: int = 80,
    normalised: bool = False,
    shares: bool = True,
    seed: int = 0,
) -> tuple[Feature, ...]:
    """Propose patterns: features that see the shape of a signal, for streams like these.

    Parameters
    ----------
    streams : StreamSet
        Recorded streams, from which dilations and biases are drawn.
    channels : sequence of str, optional
        Columns, each optionally with a report policy; by default all columns at every tick.
    n_kernels : int
        Number of kernels of each channel. Each gives its greatest response so far, and the share of its responses
        above a bias.
    normalised : bool
        Whether responses are divided by the standard deviation of the values so far, for columns whose scale means
        nothing. Their level never matters.
    shares : bool
        Whether shares are proposed, too. A series that starts with noise changes them, but not what is greatest.
    seed : int
        The same seed and streams give the same features.

    Returns
    -------
    tuple of Feature
        Up to ``2 * n_kernels`` of each channel, or ``n_kernels`` without shares, fewer if some coincide. A channel
        has none if no stream has nine readings of it that are not all equal.

    Raises
    ------
    DataError
        If the streams have no column of a channel.
    TypeError
        If `streams` is not a `StreamSet`, or `channels` is a string.
    ValueError
        If `n_kernels` is not a whole number of at least 1.

    Notes
    -----
    After Dempster, Schmidt and Webb (MiniRocket, KDD 2021, arXiv 2012.08791), with kernels that end at the newest
    reading. Each of the 84 kernels is taken equally often, up to one. Dilations are ``2**u``, rounded down, with u
    uniform from 0 to where the taps span half the median number of readings of a stream. A bias is a quantile
    between 0.1 and 0.9, drawn uniformly, of the kernel's responses on a stream drawn at random, to three figures.

    Examples
    --------
    >>> import numpy as np
    >>> walks = np.random.default_rng(0).normal(size=(20, 60, 1)).cumsum(axis=1)
    >>> streams = StreamSet(walks, ["walk"] * 20, ["x"])
    >>> for feature in pattern_features(streams, n_kernels=2):
    ...     print(feature)
    pattern_max(x; kernel=20, dilation=1)
    pattern_share(x; kernel=20, dilation=1, bias=0.0753)
    pattern_max(x; kernel=13, dilation=1)
    pattern_share(x; kernel=13, dilation=1, bias=-4.53)
    """
    require_streams(streams)
    if isinstance(channels, str):
        raise TypeError(f"channels is {channels!r}, expected a sequence of channels: [{channels!r}]")
    if n_kernels < 1 or n_kernels != int(n_kernels):
        raise ValueError(f"n_kernels is {n_kernels}, expected a whole number, at least 1")
    if channels is None:
        channels = [channel_name(column, Policy()) for column in streams.columns]
    rng = np.random.default_rng(seed)
    found: list[Feature] = []
    for channel in map(canonical, channels):
        values = streams.seen_through([channel]).values[:, :, 0]
        found += _patterns(channel, [row[np.isfinite(row)] for row in values], int(n_kernels), normalised, rng)
    if not shares:
        found = [feature for feature in found if "bias" not in feature.params]
    return tuple(dict.fromkeys(found))


def _patterns(
    channel: str, readings: list[Array], n_kernels: int, normalised: bool, rng: np.random.Generator
) -> list[Feature]:
    """Return the patterns of a channel, given the readings of each stream, of any number."""
    sizes = np.array([len(each) for each in readings])
    if not any(len(each) > REACH and np.ptp(each) > 0 for each in readings):
        return []
    greatest, share = (
        (pattern.NORMALISED_MAX, pattern.NORMALISED_SHARE) if normalised else (pattern.MAX, pattern.SHARE)
    )
    longest = np.clip((np.median(sizes[sizes > 0]) - 1) / REACH / 2, 1, pattern.DILATION.high)
    found = []
    for number in _kernels(n_kernels, rng):
        dilation = int(2 ** rng.uniform(0, np.log2(longest)))
        drawn = readings[rng.choice(np.flatnonzero(sizes > REACH * dilation))]
        quantile = np.quantile(_responses(drawn, number, dilation, normalised), rng.uniform(0.1, 0.9))
        bias = _rounded(float(quantile), 1.0 if normalised else float(np.ptp(drawn)))
        params = {"kernel": number, "dilation": dilation}
        found += [Feature(greatest, (channel,), params), Feature(share, (channel,), params | {"bias": bias})]
    return found


def _kernels(n_kernels: int, rng: np.random.Generator) -> Integers:
    """Return numbers of kernels in random order, each equally often, up to one."""
    n_all = len(pattern.HEAVY_TAPS)
    rounds = [rng.permutation(n_all) for _ in range(-(-n_kernels // n_all))]
    return np.concatenate(rounds)[:n_kernels]


def _responses(readings: Array, number: int, dilation: int, normalised: bool) -> Array:
    """Return the responses of a kernel to a stream: the response to nine taps is the greatest to them alone."""
    newest = np.arange(REACH * dilation, len(readings))
    taps = readings[newest[:, np.newaxis] - dilation * np.arange(REACH, -1, -1)]
    alone = Feature(pattern.MAX, ("x",), {"kernel": number, "dilation": 1})
    responses = fx.scan([alone], taps[:, :, np.newaxis])[:, -1, 0]
    if normalised:
        deviations = np.sqrt(fx.scan([fx.get("variance(x)")], readings[np.newaxis, :, np.newaxis])[0, newest, 0])
        responses = np.divide(responses, deviations, out=np.zeros_like(responses), where=deviations > 0)
    return responses


def _rounded(bias: float, unit: float) -> float:
    """Round a bias to three figures, or to 0 if it is but the rounding of sums of about a unit."""
    return float(f"{bias:.3g}") if abs(bias) > pattern.NEAR * unit else 0.0
