"""Early classification of streams as aeon has it."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from aeon.classification.early_classification import BaseEarlyClassifier

from feature_extractors.arrays import Array
from streamfs.training.stream_classifier import StreamClassifier

Cases = Array | Sequence[Array]
"""As aeon has them: of shape (n_cases, n_channels, n_timepoints), or a list of (n_channels, n_timepoints)."""


class EarlyStreamClassifier(BaseEarlyClassifier):
    """A `StreamClassifier` as an early classifier of aeon.

    Cases are beginnings of streams, of any length. A case has a label from the tick on at which it is decided, and
    at the time limit at the latest; before that, ``-1``.

    Parameters
    ----------
    classifier : StreamClassifier, optional
        What is trained; by default one with nothing set. Its `on_timeout` must be ``"label"``. If it has no
        time limit, that is the length of the shortest training case, so that each whole case gets a label.

    Attributes
    ----------
    classifier_ : StreamClassifier
        It, trained; `classifier_.procedure_` can be saved, and served on a gateway.
    state_info : ndarray
        After a prediction, a row a case: its ticks, and those until it was decided, or -1.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["calm", "busy"], 30)
    >>> X = rng.normal(np.where(y == "calm", 0, 2)[:, None, None], 1, (60, 1, 12))
    >>> early = EarlyStreamClassifier(StreamClassifier(features=["mean(x0)"])).fit(X, y)
    >>> labels, is_decided = early.predict(X[:, :, :4])
    >>> bool(0 < is_decided.sum() < 60), bool(early.predict(X)[1].all())
    (True, True)
    """

    _tags: ClassVar = {
        "X_inner_type": ["np-list", "numpy3D"],
        "capability:multivariate": True,
        "capability:unequal_length": True,
        "capability:missing_values": True,
    }

    def __init__(self, classifier: StreamClassifier | None = None) -> None:
        self.classifier = classifier
        super().__init__()

    def _fit(self, X: Cases, y: npt.NDArray[Any]) -> "EarlyStreamClassifier":
        given = StreamClassifier() if self.classifier is None else self.classifier
        if not isinstance(given, StreamClassifier):
            raise TypeError(f"classifier is a {type(given).__name__}, expected a StreamClassifier")
        if given.on_timeout != "label":
            raise ValueError(
                f"on_timeout is {given.on_timeout!r}, expected 'label': aeon's classifiers always end"
            )
        limit = given.time_limit or int(_lengths(X).min())
        self.classifier_ = StreamClassifier(**given.get_params(deep=False)).set_params(time_limit=limit)
        self.classifier_.fit(_streams(X), y)
        return self

    def _predict(self, X: Cases) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        probabilities, is_decided = self._predict_proba(X)
        labels = self.classes_[probabilities.argmax(axis=1)]
        if labels.dtype.kind not in "iuf":
            labels = labels.astype(object)
        labels[~is_decided] = -1
        return labels, is_decided

    def _predict_proba(self, X: Cases) -> tuple[Array, npt.NDArray[np.bool_]]:
        decisions, probabilities = self.classifier_.decided(_streams(X))
        lengths, ticks = _lengths(X), np.array([decision.tick for decision in decisions])
        has_label = np.array([decision.label is not None for decision in decisions])
        is_decided = has_label | (lengths >= self.classifier_.procedure_.time_limit)
        self.state_info = np.column_stack([lengths, np.where(is_decided, ticks, -1)])
        return np.where(is_decided[:, np.newaxis], probabilities, -1.0), is_decided

    def _update_predict(self, X: Cases) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_]]:
        self._require_longer(X)
        return self._predict(X)

    def _update_predict_proba(self, X: Cases) -> tuple[Array, npt.NDArray[np.bool_]]:
        self._require_longer(X)
        return self._predict_proba(X)

    def _require_longer(self, X: Cases) -> None:
        """Refuse all but longer beginnings of the cases that were left undecided."""
        before = self.state_info[self.state_info[:, 1] < 0, 0]
        if len(X) != len(before):
            raise ValueError(f"X has {len(X)} cases, expected the {len(before)} that are not decided yet")
        if (short := np.flatnonzero(_lengths(X) < before)).size:
            raise ValueError(
                f"case {short[0]} has {_lengths(X)[short[0]]} ticks, expected {before[short[0]]} or more"
            )

    def _score(self, X: Cases, y: npt.ArrayLike) -> tuple[float, float, float]:
        """Return harmonic mean, accuracy, and earliness: the mean share of a case until it is decided."""
        labels, _ = self._predict(X)
        lengths, ticks = self.state_info.T
        accuracy = float(np.mean(labels == np.asarray(y)))
        earliness = float(np.mean(np.where(ticks < 0, lengths, ticks) / lengths))
        both = accuracy + 1.0 - earliness
        return 2.0 * accuracy * (1.0 - earliness) / both if both else 0.0, accuracy, earliness

    @classmethod
    def _get_test_params(cls, parameter_set: str = "default") -> dict[str, Any]:  # noqa: ARG003 - aeon's name
        return {"classifier": StreamClassifier(features=["mean(x0)", "last(x0)"], confidence=0.7, select=None)}


def _streams(X: Cases) -> list[Array]:
    return [np.asarray(case, dtype=np.float64).T for case in X]


def _lengths(X: Cases) -> npt.NDArray[np.int64]:
    return np.array([case.shape[1] for case in X])
