"""Random samples, and what an engine holds of them."""

import numpy as np

NAN = float("nan")


def random_samples(rng, n_rows, n_samples):
    """Rows in any order, with repetitions; times with repeats, gaps and steps back; values with gaps."""
    rows = rng.integers(n_rows, size=n_samples)
    times = np.sort(rng.integers(0, 30, n_samples)) * 0.5 - rng.choice([0.0, 0.2, 1.0], n_samples)
    samples = np.round(rng.normal(1, 1.5, (n_samples, 2)))
    samples[rng.random(samples.shape) < 0.2] = rng.choice([NAN, np.inf, -1e200])
    return rows, times, samples


def content(engine):
    """Return what an engine holds, which two equal ones share."""
    return (
        engine._table.state.tobytes(),
        engine._table.streams.tobytes(),
        engine._table.status.tobytes(),
        engine.counters,
    )
