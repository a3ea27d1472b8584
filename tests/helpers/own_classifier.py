"""Kinds of classifiers that the package does not know."""

from typing import ClassVar

import numpy as np

from streamfs.classifiers.classifier import Classifier, FileParts


class Minimal(Classifier):
    """No more than a classifier must have; its file form is empty."""

    word = "minimal"

    def describe(self):
        return "a minimal classifier"

    def to_file(self):
        return FileParts({}, {}, {})

    @classmethod
    def from_file(cls, _parts, _feature_names, _classes):
        return cls()


class Opaque(Minimal):
    """A tree that the engine does not know to be one."""

    def __init__(self, tree):
        self._tree, self.n_classes = tree, tree.n_classes

    def probabilities(self, values):
        return self._tree.probabilities(values)

    def features_tested(self):
        return self._tree.features_tested()


class NearestMean(Classifier):
    """The class whose mean is nearest, which moves with each label that arrives; infinite features fail."""

    word = "nearest-mean"
    header_fields: ClassVar = {"sure": ((float,), "a number")}

    def __init__(self, means, sure=0.95, counts=None):
        self.means, self.sure = np.array(means, dtype=float), sure
        self.counts = np.ones(len(means)) if counts is None else counts
        self.n_classes, self.n_failures = len(means), 0

    def probabilities(self, values):
        is_known = np.isfinite(values).all(axis=1)
        self.n_failures += int((~is_known).sum())
        result = np.full((len(values), self.n_classes), (1 - self.sure) / max(self.n_classes - 1, 1))
        gaps = np.abs(values[is_known, np.newaxis] - self.means).sum(axis=2)
        result[np.flatnonzero(is_known), gaps.argmin(axis=1)] = self.sure
        result[~is_known] = 1 / self.n_classes
        return result

    def features_tested(self):
        return tuple(range(self.means.shape[1]))

    def describe(self):
        return f"the nearest of {self.n_classes} class means"

    def text(self, feature_names, class_names):
        rows = zip(class_names, self.means.tolist(), strict=True)
        return "\n".join(f"{label}: {dict(zip(feature_names, mean, strict=True))}" for label, mean in rows)

    def to_file(self):
        return FileParts({"sure": self.sure}, {"means": self.means}, {"counts": self.counts.tobytes()})

    @classmethod
    def from_file(cls, parts, _feature_names, _classes):
        return cls(parts.arrays["means"], parts.header["sure"], np.frombuffer(parts.sealed["counts"]).copy())

    def learn_one(self, values, label):
        place = int(label == "calm")
        self.counts[place] += 1
        self.means[place] += (values - self.means[place]) / self.counts[place]
        return True

    def dump(self):
        return self.means.tobytes() + self.counts.tobytes()

    def restore(self, data):
        numbers = np.frombuffer(data)
        self.means, self.counts = (
            numbers[: self.means.size].reshape(self.means.shape).copy(),
            numbers[self.means.size :].copy(),
        )


def learn_nearest_mean(table):
    """Fit a `NearestMean` to the last tick of each stream."""
    last = table.values[np.arange(len(table.lengths)), table.lengths - 1]
    return NearestMean([last[table.labels == label].mean(axis=0) for label in np.unique(table.labels)])


class Nearest:
    """A classifier of no library, with what a `ProbabilisticModel` needs and no more."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)[::-1]  # in an order of its own
        self.means = np.array([X[y == label].mean(axis=0) for label in self.classes_])

    def predict_proba(self, X):
        return np.exp(-((X[:, np.newaxis] - self.means) ** 2).sum(axis=2))
