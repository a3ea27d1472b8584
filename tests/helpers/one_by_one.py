"""An engine takes samples one by one or together."""

import numpy as np

from streamfs import Engine


def check_one_by_one(procedure, rng, n_columns, scale, size, n_samples=40):
    """The same samples are decided the same one by one, and in batches of a size through snapshots."""
    names = rng.choice(["a", "b", "c"], n_samples).tolist()
    times = np.sort(rng.integers(0, 20, n_samples)) * 0.5 - rng.choice([0.0, 0.2, 1.0], n_samples)
    samples = np.round(rng.normal(0, scale, (n_samples, n_columns)), 1)
    samples[rng.random(samples.shape) < 0.2] = np.nan
    singles, batches = Engine(procedure), Engine(procedure)
    one_by_one, together = [], []
    for name, time, sample in zip(names, times, samples, strict=True):
        decision = singles.push(name, time, sample)
        one_by_one += [] if decision is None else [decision]
    for i in range(0, n_samples, size):
        together += batches.push_batch(names[i : i + size], times[i : i + size], samples[i : i + size])
        batches = Engine.restore(procedure, batches.snapshot())
    assert repr(together) == repr(one_by_one)
    assert batches.snapshot() == singles.snapshot()
