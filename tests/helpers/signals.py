"""Named signals of two columns on which a law is tried, and arbitrary ones."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from feature_extractors.arrays import Array

N_TICKS = 40


def columns(a: npt.ArrayLike, b: npt.ArrayLike) -> Array:
    return np.column_stack([a, b]).astype(np.float64)


def replaced(values: Array, tick: int, column: int, value: float) -> Array:
    values = values.copy()
    values[tick, column] = value
    return values


def named_signals() -> dict[str, Array]:
    rng = np.random.default_rng(7)
    ticks = np.arange(float(N_TICKS))
    noise = rng.normal(size=(N_TICKS, 2))
    spike = replaced(replaced(noise, 5, 0, 1e12), 12, 1, -1e12)
    sparse = np.where(rng.random(noise.shape) < 0.2, math.nan, noise)
    infinite = replaced(replaced(replaced(noise, 3, 0, math.inf), 9, 1, -math.inf), 12, 0, 2e100)
    return {
        "constant": np.full((N_TICKS, 2), 0.1),
        "one constant column": columns(noise[:, 0], np.full(N_TICKS, -3.7)),
        "ramp": columns(0.3 * ticks, 5.0 - 0.7 * ticks),
        "noise": noise,
        "random walk": noise.cumsum(axis=0),
        "sine": columns(np.sin(0.5 * ticks), np.cos(0.5 * ticks)),
        "step": columns(np.where(ticks < 17, 1.0, 20.1), np.where(ticks < 23, -1.1, 4.0)),
        "spikes": spike,
        "pulse": columns(np.where(ticks == 5, 1e12, 0.1), np.where(ticks == 9, -1e12, -3.7)),
        "spike at first": replaced(noise, 0, 0, 1e12),
        "sparse NaN": sparse,
        "leading NaN": np.concatenate([np.full((7, 2), math.nan), noise]),
        "all NaN": np.full((N_TICKS, 2), math.nan),
        "one column missing": columns(noise[:, 0], np.full(N_TICKS, math.nan)),
        "infinity": infinite,
        "single sample": noise[:1],
        "two equal samples": np.full((2, 2), 21.3),
        "alternating": columns((-1.0) ** ticks, 0.1 + (-1.0) ** (ticks // 2)),
        "tiny": 1e-140 * noise,
        "huge": 1e100 * noise / np.abs(noise).max(),
        "denormal": 5e-324 * rng.integers(-9, 10, size=(N_TICKS, 2)),
        "large offset": 1e9 + noise,
        "opposite offsets": noise + np.array([1e9, -1e9]),
        "integers": rng.integers(-5, 6, size=(N_TICKS, 2)).astype(np.float64),
        "plateaus": rng.integers(0, 3, size=(N_TICKS // 2, 2)).repeat(2, axis=0).astype(np.float64),
    }


SIGNALS = named_signals()


@contextmanager
def named(what: object) -> Iterator[None]:
    """Name what was tried if it fails."""
    try:
        yield
    except Exception as error:
        error.add_note(str(what))
        raise


def on_every_signal(law: Callable[[Array], None]) -> None:
    """Try a law on each of `SIGNALS`; a failure names its signal."""
    for name, signal in SIGNALS.items():
        with named(f"signal: {name}"):
            law(signal)


READINGS = st.one_of(
    st.floats(-1e6, 1e6).map(lambda x: round(x, 3)),
    st.integers(-3, 3).map(float),
    st.sampled_from([math.nan, math.inf, -math.inf]),
)
"""What a sensor with three decimals may say, often the same again, or nothing."""

ARBITRARY_SIGNALS = st.integers(1, 30).flatmap(lambda n: arrays(np.float64, (n, 2), elements=READINGS))
