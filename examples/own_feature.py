"""Make a feature from a plain Python function, train with it, and load the model again.

python examples/own_feature.py
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import feature_extractors as fx
from feature_extractors.checks import check_feature
from sensors_sim.same_source import SameSource
from streamfs import Procedure, StreamSet, evaluate, train


def median_gap(values: np.ndarray, _times: np.ndarray) -> float:
    """Return the median distance of two columns; `values` has shape (n_samples, 2), oldest sample first."""
    return float(np.median(np.abs(values[:, 0] - values[:, 1])))


def main() -> None:
    """Train on simulated pairs with the feature, save the model, load and evaluate it."""
    features = [
        fx.python_feature(median_gap, (f"a.{quantity}", f"b.{quantity}"), window=30)
        for quantity in ("temperature", "humidity", "light")
    ]
    check_feature(features[0])
    procedure = train(StreamSet(*SameSource().sample(n_pairs=120, n_ticks=20)), features=features)
    with TemporaryDirectory() as folder:
        procedure.save(Path(folder) / "own.streamfs")
        loaded = Procedure.load(Path(folder) / "own.streamfs", kinds=[feature.kind for feature in features])
    print(loaded.text())
    print(evaluate(loaded, StreamSet(*SameSource().sample(n_pairs=60, n_ticks=20, seed=1))).summary())


if __name__ == "__main__":
    main()
