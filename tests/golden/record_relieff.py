"""Record what Weka's ReliefFAttributeEval makes of public and of generated data sets in `relieff.json`.

In an environment of its own, with a Java runtime, `pip install numpy python-weka-wrapper3`; then, in `tests`,

    STREAMFS_DATA=... python -m golden.record_relieff

Weka does not say which of equally near instances it takes, so that a set is refused where that matters: where, for
any instance and class, the last neighbour taken and the first one left out are less than 1e-9 apart.
"""

import json
import logging
from pathlib import Path

import numpy as np

from golden.halves import Case, DataSet, numbers, read

ALL_ROWS = "-1"
CLOSE = 1e-9
PUBLIC = {"sonar": (1, 10), "diabetes": (10,), "vehicle": (1, 10), "glass": (5,), "hepatitis": (1, 10)}
PUBLIC |= {"credit-a": (10,), "autos": (1, 10)}  # one class of autos has three rows
GENERATED = {
    "binary": ((0, 0, 0, 0), (0.5, 0.5), 0.0),
    "classes": ((0, 0, 0, 0), (0.5, 0.3, 0.15, 0.05), 0.0),
    "lone": ((0, 0, 0, 0), (0.5, 0.48, 0.02), 0.0),
    "mixed": ((0, 3, 0, 2, 4), (0.6, 0.4), 0.0),
    "missing": ((0, 0, 0, 0), (0.5, 0.5), 0.1),
    "everything": ((0, 3, 0, 2, 4), (0.5, 0.3, 0.2), 0.1),
}
"""How many values each feature has (0 if numeric), shares of the classes, share of missing cells."""


def generate(n_values, shares, missing, n=60, seed=1):
    """Return rows as text, the class last and a question mark where a value is missing."""
    random = np.random.default_rng(seed)
    y = random.choice(len(shares), n, p=shares)
    columns = [
        random.integers(size, size=n).astype(str) if size else [f"{x:.3f}" for x in random.normal(y * (f % 2))]
        for f, size in enumerate(n_values)
    ]
    cells = np.where(random.random((n, len(n_values))) < missing, "?", np.column_stack(columns))
    return [",".join([*row, str(label)]) for row, label in zip(cells.tolist(), y.tolist(), strict=True)]


def parse(rows, nominal):
    """Return the data set that rows of text say."""
    *columns, y = map(numbers, zip(*(row.split(",") for row in rows), strict=True))
    return DataSet(np.column_stack(columns), y.astype(np.int64), tuple(nominal))


def differences(data, f):
    """Return how much each two rows differ in a feature."""
    a = data.X[:, f, np.newaxis]
    b = a.T
    known = data.X[~np.isnan(data.X[:, f]), f]
    one, both = np.isnan(a) | np.isnan(b), np.isnan(a) & np.isnan(b)
    if f in data.nominal:
        return np.where(one, 1.0 - 1.0 / len(np.unique(known)), a != b)
    value = (np.where(np.isnan(a), b, a) - known.min()) / (np.ptp(known) or 1.0)
    apart = np.where(one, np.maximum(value, 1.0 - value), np.abs(a - b) / (np.ptp(known) or 1.0))
    return np.where(both, 1.0, apart)


def refuse_ties(data, n_neighbours):
    """Raise ValueError where it matters which of equally near instances are taken."""
    distances = sum(differences(data, f) for f in range(data.X.shape[1]))
    np.fill_diagonal(distances, np.inf)
    for label in np.unique(data.y):
        of_class = np.sort(distances[:, data.y == label], axis=1)[:, n_neighbours - 1 : n_neighbours + 1]
        if of_class.shape[1] < 2:
            continue  # all are taken
        last, left_out = of_class[np.isfinite(of_class[:, 1])].T
        if (left_out - last < CLOSE).any():
            raise ValueError(f"neighbour {n_neighbours} of class {label} is as near as the next one")


def weigh(data, n_neighbours):
    """Return Weka's weights as JSON."""
    from weka.attribute_selection import ASEvaluation  # noqa: PLC0415 - the tests do without

    from golden.record_j48 import instances  # noqa: PLC0415 - the same

    refuse_ties(data, n_neighbours)
    words = {f: np.unique(data.X[~np.isnan(data.X[:, f]), f]).tolist() for f in data.nominal}
    options = ["-M", ALL_ROWS, "-K", str(n_neighbours)]
    evaluation = ASEvaluation("weka.attributeSelection.ReliefFAttributeEval", options=options)
    evaluation.build_evaluator(instances(data.X, data.y, words))
    weights = [evaluation.jobject.evaluateAttribute(f) for f in range(data.X.shape[1])]
    return {"n_neighbours": n_neighbours, "options": " ".join(options), "weights": weights}


def record_public(name, n_neighbours):
    """Return what is to be known of a public data set, as JSON."""
    data = read(Case(name))
    return {"name": name, "checksum": data.checksum(), "weighed": [weigh(data, k) for k in n_neighbours]}


def record_generated(name, n_values, shares, missing):
    """Return a generated data set, and what is to be known of it, as JSON."""
    rows = generate(n_values, shares, missing)
    nominal = [f for f, size in enumerate(n_values) if size]
    data = parse(rows, nominal)
    return {"name": name, "rows": rows, "nominal": nominal, "weighed": [weigh(data, k) for k in (1, 10)]}


def main():
    """Write `relieff.json`."""
    from weka.core import jvm  # noqa: PLC0415 - the tests do without
    from weka.core.version import weka_version  # noqa: PLC0415 - the same

    jvm.start(packages=False, logging_level=logging.WARNING)
    sets = [record_generated(name, *form) for name, form in GENERATED.items()]
    sets += [record_public(name, n_neighbours) for name, n_neighbours in PUBLIC.items()]
    recorded = {"weka": weka_version(), "sets": sets}
    Path(__file__).with_name("relieff.json").write_text(json.dumps(recorded, indent=1) + "\n")
    jvm.stop()


if __name__ == "__main__":
    main()
