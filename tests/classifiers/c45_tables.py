"""Random tables, on which class and features have something to do with each other."""

import numpy as np
from hypothesis import strategies as st


def make_table(seed, n, n_classes, kinds, missing, coarse):
    rng = np.random.default_rng(seed)
    y = rng.integers(n_classes, size=n)
    X = np.empty((n, len(kinds)))
    for f, kind in enumerate(kinds):
        seen = rng.permutation(n_classes)[y]  # the classes in an order of the feature's own, some joined
        signal = np.minimum(seen, rng.integers(1, 4)) * rng.choice([0.5, 1.0, 2.0]) + rng.normal(scale=0.5, size=n)
        X[:, f] = np.round(signal * 2) if coarse or kind == "nominal" else signal
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


tables = st.builds(
    make_table,
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 70),
    n_classes=st.integers(1, 4),
    kinds=st.lists(st.sampled_from(["numeric", "nominal"]), min_size=1, max_size=5),
    missing=st.sampled_from([0.0, 0.0, 0.1, 0.4]),
    coarse=st.booleans(),
)


parameters = st.fixed_dictionaries(
    {
        "min_leaf": st.sampled_from([1, 2, 5]),
        "confidence_factor": st.sampled_from([0.05, 0.25, 0.5]),
        "laplace": st.booleans(),
    }
)


def nominal_of(X):
    """Every second feature that holds whole numbers is nominal."""
    known = [column[~np.isnan(column)] for column in X.T]
    return [f for f, values in enumerate(known) if f % 2 == 0 and (values == np.round(values)).all()]
