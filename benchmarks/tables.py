"""Compare a table of features for training with naive numpy and tsfresh, and print JSON lines and a table.

python benchmarks/tables.py [PART ...]

The ten features of the engine's benchmark at 200 prefixes of 100 streams of two columns: the time of `tabulate` for a
prefix, all ten features, as CPU time of one thread. The peers compute each prefix from scratch, as they must without running
features. They process some of the streams, and alternate with ours.

- ``numpy``: the expression that one would write for each feature, such as ``a.var(ddof=1)``; all values are compared
  before anything is timed, and must agree to 1e-9
- ``tsfresh``: ``extract_features``, without worker processes, of a frame that holds the prefixes already; making that
  frame is not counted. Its nearest calculators: length, mean, variance, minimum, maximum, linear_trend's slope;
  mean_abs_change for the mean absolute difference, autocorrelation for correlation, count_above for the agreement of
  flags. It has no exponentially weighted mean, and computes nine
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version

import numpy as np
from figures import Figure, Parts, described, load_peer, main, processor, versus

import feature_extractors as fx
from feature_extractors.arrays import Array
from streamfs import StreamSet, tabulate

N_STREAMS, N_TICKS = 100, 200
N_FOR_TSFRESH = 2  # streams
N_FOR_NUMPY = 10
ALPHA, THRESHOLD = 0.1, 20.0


def slope(x: Array) -> float:
    """Of the least-squares line; a tick is a second."""
    t = np.arange(len(x)) - (len(x) - 1) / 2
    return float(t @ x / (t @ t))


def exponential_mean(x: Array) -> float:
    weights = ALPHA * (1 - ALPHA) ** np.arange(len(x) - 1, -1, -1)
    weights[0] /= ALPHA
    return float(weights @ x)


NAIVE: dict[str, Callable[[Array, Array], float]] = {
    "count()": lambda a, _: len(a),
    "mean(a)": lambda a, _: a.mean(),
    "variance(a)": lambda a, _: a.var(ddof=1),
    "min(a)": lambda a, _: a.min(),
    "max(a)": lambda a, _: a.max(),
    "slope(a)": lambda a, _: slope(a),
    f"exponential_mean(a; alpha={ALPHA})": lambda a, _: exponential_mean(a),
    "correlation(a, b)": lambda a, b: np.corrcoef(a, b)[0, 1],
    "mean_absolute_difference(a, b)": lambda a, b: np.abs(a - b).mean(),
    f"flag_agreement(a, b; threshold={THRESHOLD})": lambda a, b: ((a > THRESHOLD) == (b > THRESHOLD)).mean(),
}
"""What each feature is, said of a prefix of at least two ticks."""

CALCULATORS = {
    "length": None,
    "mean": None,
    "variance": None,
    "minimum": None,
    "maximum": None,
    "linear_trend": [{"attr": "slope"}],
    "mean_abs_change": None,
    "autocorrelation": [{"lag": 1}],
    "count_above": [{"t": THRESHOLD}],
}


def recorded() -> StreamSet:
    """Random walks of two temperatures."""
    steps = np.random.default_rng(0).normal(size=(N_STREAMS, N_TICKS, 2))
    return StreamSet(THRESHOLD + 0.1 * steps.cumsum(axis=1), ["same", "different"] * (N_STREAMS // 2), ["a", "b"])


def features() -> list[fx.Feature]:
    return [fx.get(name) for name in NAIVE]


def naive(values: Array) -> Array:
    """The features of each prefix of each stream, from the second tick on."""
    return np.array(
        [
            [[of(a[: i + 1], b[: i + 1]) for of in NAIVE.values()] for i in range(1, N_TICKS)]
            for a, b in values.transpose(0, 2, 1)
        ]
    )


def compared(what: str, work: Callable[[], object], n_streams: int, at_least: float) -> Figure:
    """Return the ratio of a peer's time for a prefix to ours; the peer processes some of the streams."""
    streams, ten = recorded(), features()
    took = versus(lambda: tabulate(streams, ten), work)
    ours = 1e6 * took.ours / (N_STREAMS * N_TICKS)
    peer = 1e6 * took.peer / (n_streams * N_TICKS)
    return Figure(
        f"{what} : streamfs, CPU a prefix, ten features",
        took.ratio * N_STREAMS / n_streams,
        at_least=at_least,
        detail=f"{peer:.4g} : {ours:.3g} µs; {n_streams} streams : {N_STREAMS}, of {N_TICKS} ticks",
    )


def by_numpy() -> list[Figure]:
    streams = recorded()
    values = tabulate(streams, features()).values
    np.testing.assert_allclose(values[:, 1:], naive(streams.values), rtol=1e-9, atol=1e-9)
    some = np.ascontiguousarray(streams.values[:N_FOR_NUMPY])
    return [compared("naive numpy", lambda: naive(some), N_FOR_NUMPY, at_least=600)]


def by_tsfresh() -> list[Figure]:
    pd = load_peer("pandas")
    extract_features = load_peer("tsfresh").extract_features

    prefixes = [x[: i + 1] for x in recorded().column("a")[:N_FOR_TSFRESH] for i in range(N_TICKS)]
    frame = pd.DataFrame(
        {
            "prefix": np.repeat(np.arange(len(prefixes)), [len(x) for x in prefixes]),
            "time": np.concatenate([np.arange(len(x)) for x in prefixes]),
            "a": np.concatenate(prefixes),
        }
    )

    def extract() -> pd.DataFrame:
        return extract_features(
            frame,
            column_id="prefix",
            column_sort="time",
            default_fc_parameters=CALCULATORS,
            n_jobs=0,
            disable_progressbar=True,
        )

    return [compared("tsfresh", extract, N_FOR_TSFRESH, at_least=7500)]


PARTS: Parts = {"numpy": by_numpy, "tsfresh": by_tsfresh}


def about() -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "tsfresh"))
    return f"{processor()}; {packages}"


section = partial(
    described, "A table of features compared with naive numpy and tsfresh", __file__, __doc__, PARTS, about=about
)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
