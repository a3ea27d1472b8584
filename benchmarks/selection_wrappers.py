"""Compare forward selection around nearest neighbours with mlxtend, and print JSON lines and a table.

python benchmarks/selection_wrappers.py [PART ...]

From no features to ten, three nearest neighbours without scaling, five folds, the same for both, as CPU time; the two
alternate. mlxtend fits scikit-learn's ``KNeighborsClassifier`` to each fold. Its score is the number of correct rows, not
the mean of the folds' accuracies, so that folds of unequal size count as here. The sets are read from the folder
that ``STREAMFS_DATA`` names.

- ``sonar``: 208 rows of 60 features
- ``vehicle``: 846 rows of 18 features, whole numbers with many equal distances
- ``same``: at how many of the ten steps both have chosen the same features. The two break ties between equally near rows
  differently: numbers are moved by up to a millionth of their range, so that no two distances are equal
"""

from collections.abc import Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np
from figures import Figure, Parts, described, load_peer, main, processor, versus
from sklearn.neighbors import KNeighborsClassifier

from feature_extractors.arrays import Array
from streamfs.classifiers.neighbours import NeighborsClassifier
from streamfs.data.datasets import folder
from streamfs.data.instances import Instances
from streamfs.selection.folds import Fold, make_folds
from streamfs.selection.sequential import SequentialSelector

N_FEATURES, N_NEIGHBORS, N_TURNS = 10, 3, 3


def rows(name: str) -> tuple[Array, Any, tuple[Fold, ...]]:
    """Values, classes and folds of a set."""
    instances = Instances.read(folder() / f"uci/{name}.csv")
    values, labels = instances.values, np.asarray(instances.labels)
    return values, labels, make_folds(values, labels, None, 5, 0)


def moved(values: Array) -> Array:
    """Values without ties."""
    return values + 1e-6 * np.ptp(values, axis=0) * np.random.default_rng(0).random(values.shape)


def ours(values: Array, labels: Any, folds: Sequence[Fold]) -> list[set[int]]:
    """The features at each step."""
    classifier = NeighborsClassifier(N_NEIGHBORS, scale=False)
    selector = SequentialSelector(classifier, n_features=N_FEATURES, cv=folds).fit(values, labels)
    return [set(step.subset) for step in selector.history_]


def n_right(classifier: Any, values: Array, labels: Any) -> float:
    return float(np.sum(classifier.predict(values) == labels))


def peers(values: Array, labels: Any, folds: Sequence[Fold]) -> list[set[int]]:
    """The same of mlxtend."""
    selector = load_peer("mlxtend.feature_selection").SequentialFeatureSelector(
        KNeighborsClassifier(N_NEIGHBORS),
        k_features=N_FEATURES,
        scoring=n_right,
        cv=[tuple(fold) for fold in folds],
    )
    steps = selector.fit(values, labels).subsets_
    return [set(steps[size]["feature_idx"]) for size in sorted(steps)]


def faster(name: str) -> list[Figure]:
    """How much less time than mlxtend ours takes."""
    given = rows(name)
    took = versus(lambda: ours(*given), lambda: peers(*given), N_TURNS)
    return [Figure(f"mlxtend : streamfs, {name}, forward to ten", took.ratio, at_least=4, detail=took.detail)]


def same() -> list[Figure]:
    """At how many steps both have the same features."""
    figures = []
    for name in ("sonar", "vehicle"):
        values, labels, folds = rows(name)
        both = zip(ours(moved(values), labels, folds), peers(moved(values), labels, folds), strict=True)
        n_same = sum(one == other for one, other in both)
        figures.append(Figure(f"{name}: steps at which both have the same features", n_same, at_least=N_FEATURES))
    return figures


PARTS: Parts = {"sonar": lambda: faster("sonar"), "vehicle": lambda: faster("vehicle"), "same": same}


def about() -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn", "mlxtend"))
    return f"{processor()}; {packages}"


section = partial(
    described,
    "Forward selection around nearest neighbours compared with mlxtend",
    __file__,
    __doc__,
    PARTS,
    about=about,
)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
