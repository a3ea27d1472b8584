"""Compare kernel density classification with scikit-learn and scipy, and print JSON lines and a table.

python benchmarks/selection_densities.py [PART ...]

Probabilities of three classes for 1000 queries, from 2000 rows of 5 and of 20 numeric features, as CPU time of one
thread; the peers' rows are divided by our bandwidths, class by class, and all values are compared before anything is
timed, and must agree to 1e-9.

- ``scikit-learn``: ``KernelDensity`` of each class, by its ball tree
- ``scipy``: the squared distances of each class by ``cdist``, then ``logsumexp``, as one would write it
- ``wrapper``: a subset of 5 features of 200 rows scored in five folds, as a sequential search does, compared with the
  same classifier fitted to each fold through scikit-learn's conventions; both must be equal
"""

from collections.abc import Callable
from functools import partial
from importlib.metadata import version

import numpy as np
from figures import Figure, Parts, described, main, processor, versus
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.neighbors import KernelDensity

from feature_extractors.arrays import Array
from streamfs.classifiers.kernel_density import KernelDensityClassifier
from streamfs.selection.criteria import EstimatorEvaluator
from streamfs.selection.folds import make_folds
from streamfs.selection.wrapped_densities import DensityEvaluator

N_ROWS, N_QUERIES, N_CLASSES = 2000, 1000, 3

LogDensities = Callable[[Array, Array], Array]
"""Of queries in one class, from its rows; both in bandwidths."""


def clouds(n_rows: int, n_features: int) -> tuple[Array, Array]:
    random = np.random.default_rng(0)
    y = np.arange(n_rows) % N_CLASSES
    return random.normal(size=(n_rows, n_features)) + 0.5 * y[:, np.newaxis], y


def by_tree(rows: Array, queries: Array) -> Array:
    return KernelDensity(bandwidth=1.0).fit(rows).score_samples(queries)


def by_scipy(rows: Array, queries: Array) -> Array:
    halves = 0.5 * cdist(queries, rows, "sqeuclidean")
    return logsumexp(-halves, axis=1) - np.log(len(rows)) - 0.5 * rows.shape[1] * np.log(2.0 * np.pi)


def probabilities(log_densities: LogDensities, X: Array, y: Array, widths: Array, queries: Array) -> Array:
    """Bayes' rule with a peer's densities."""
    logs = np.empty((len(queries), N_CLASSES))
    for c in range(N_CLASSES):
        rows = X[y == c]
        shift = np.log(len(rows)) - np.log(widths[c]).sum()
        logs[:, c] = shift + log_densities(rows / widths[c], queries / widths[c])
    shares = np.exp(logs - logs.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def against(what: str, log_densities: LogDensities) -> list[Figure]:
    found = []
    for n_features in (5, 20):
        X, y = clouds(N_ROWS, n_features)
        queries = clouds(N_QUERIES, n_features)[0][::-1] * 1.1
        classifier = KernelDensityClassifier().fit(X, y)
        widths = classifier.bandwidths_
        theirs = probabilities(log_densities, X, y, widths, queries)
        np.testing.assert_allclose(classifier.predict_proba(queries), theirs, rtol=0, atol=1e-9)
        took = versus(
            lambda: KernelDensityClassifier().fit(X, y).predict_proba(queries),  # noqa: B023 - called at once
            lambda: probabilities(log_densities, X, y, widths, queries),  # noqa: B023 - called at once
        )
        found.append(Figure(f"{what} : streamfs, {n_features} features", took.ratio, detail=took.detail))
    return found


def by_wrapper() -> list[Figure]:
    X, y = clouds(200, 20)
    found = []
    for kernel in ("standard", "adaptive"):
        classifier, folds = KernelDensityClassifier(kernel), make_folds(X, y, None, 5, 0)
        ours, peer = DensityEvaluator.prepare(classifier, X, y, folds), EstimatorEvaluator(classifier, X, y, folds)
        subset = [2, 5, 7, 11, 19]
        if ours(subset) != peer(subset):
            raise RuntimeError(f"the {kernel} kernel's score is {ours(subset)}, expected {peer(subset)}")
        took = versus(lambda: ours(subset), lambda: peer(subset))  # noqa: B023 - called at once
        found.append(Figure(f"fitted anew : wrapped, {kernel} kernel", took.ratio, detail=took.detail))
    return found


PARTS: Parts = {
    "scikit-learn": lambda: against("scikit-learn", by_tree),
    "scipy": lambda: against("scipy", by_scipy),
    "wrapper": by_wrapper,
}


def about() -> str:
    """What it was measured on."""
    packages = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba", "scikit-learn", "scipy"))
    return f"{processor()}; {packages}"


section = partial(
    described, "Kernel densities compared with scikit-learn and scipy", __file__, __doc__, PARTS, about=about
)


if __name__ == "__main__":
    main(__doc__ or "", PARTS, about)
