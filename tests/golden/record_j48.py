"""Record what Weka's J48 makes of the held-out halves in `j48.json`.

In an environment of its own, with a Java runtime, `pip install numpy python-weka-wrapper3`; then, in `tests`,

    STREAMFS_DATA=... python -m golden.record_j48

J48 is told of the nominal values that its half has, as one that learns from the rows alone knows no others.
"""

import json
import logging
from pathlib import Path

import numpy as np
from weka.classifiers import Classifier
from weka.core import jvm
from weka.core.dataset import Attribute, Instance, Instances
from weka.core.version import weka_version

from golden.halves import SEEDS, Case, Outcome, read

SETS = ("iris", "glass", "sonar", "diabetes", "vehicle", "bupa", "labor", "breast-cancer", "credit-a", "hepatitis")
SETS += ("colic", "autos", "mushroom")
CASES = (
    *(Case(name) for name in SETS),
    Case("glass", scale=2.0**20),  # J48 takes values within 1e-5 to be one; so close are refractive indices
    Case("iris", laplace=False),
    Case("hepatitis", laplace=False),
)


def instances(X, y, words):
    """Return rows as Weka's; `words` are the values of each nominal feature, any other being missing."""
    attributes = [
        Attribute.create_nominal(f"x{f}", [f"{word:g}" for word in words[f]])
        if f in words
        else Attribute.create_numeric(f"x{f}")
        for f in range(X.shape[1])
    ]
    classes = Attribute.create_nominal("class", [str(label) for label in range(y.max() + 1)])
    result = Instances.create_instances("half", [*attributes, classes], len(X))
    result.class_is_last()
    places = X.copy()
    for f, known in words.items():
        places[:, f] = [known.index(value) if value in known else np.nan for value in X[:, f]]
    for row, label in zip(places.tolist(), y.tolist(), strict=True):
        result.add_instance(Instance.create_instance([*row, label]))
    return result


def outcome(data, seed, options):
    """Return what J48 makes of a held-out half."""
    training, held_out = data.halves(seed)
    seen = {f: np.unique(data.X[training, f]) for f in data.nominal}
    words = {f: values[~np.isnan(values)].tolist() for f, values in seen.items()}
    tree = Classifier("weka.classifiers.trees.J48", options=options)
    tree.build_classifier(instances(data.X[training], data.y[training], words))
    y = data.y[held_out]
    probabilities = np.asarray(tree.distributions_for_instances(instances(data.X[held_out], y, words)))
    return Outcome.of(probabilities, int(tree.jobject.measureNumLeaves()), y)


def record(case):
    """Return what is to be known of a case, as JSON."""
    data = read(case)
    options = ["-S", *(["-A"] if case.laplace else []), "-C", "0.25", "-M", "2"]
    outcomes = [outcome(data, seed, options) for seed in SEEDS]
    return {
        "case": vars(case),
        "options": " ".join(options),
        "checksum": data.checksum(),
        "predictions": ["".join(map(str, half.predictions)) for half in outcomes],
        "n_leaves": [half.n_leaves for half in outcomes],
        "probability": [half.probability for half in outcomes],
    }


def main():
    """Write `j48.json`."""
    jvm.start(packages=False, logging_level=logging.WARNING)
    recorded = {"weka": weka_version(), "cases": [record(case) for case in CASES]}
    Path(__file__).with_name("j48.json").write_text(json.dumps(recorded, indent=1) + "\n")
    jvm.stop()


if __name__ == "__main__":
    main()
