"""Classification of streams as River has it."""

from collections.abc import Hashable, Iterator
from typing import TYPE_CHECKING, Any

from river import base
from river.naive_bayes import GaussianNB

from feature_extractors.for_river import StreamFeatures

if TYPE_CHECKING:
    from river.base import Classifier as RiverClassifier


class PrefixClassifier(base.Classifier):
    """A classifier of River on the features of streams' prefixes, which may label a stream before its end.

    Parameters
    ----------
    model : river.base.Classifier
        What is trained on the features.
    features : tuple of str
        As of `StreamFeatures`.
    key : str, optional
        Which entry of a sample names its stream; by default all samples are of one stream.
    confidence : float
        The probability from which a label is predicted; below it, None.
    period : float
        Seconds from one sample of a stream to the next.

    Notes
    -----
    `learn_one` alone moves the state of a stream; where the label is not known yet, it is None, and the model is
    not trained. Predictions are of the samples that were learned.

    Examples
    --------
    >>> classifier = PrefixClassifier(GaussianNB(), ("mean",), key="node")
    >>> for number in range(20):
    ...     classifier.learn_one({"node": "n1", "x": number % 3}, "low")
    ...     classifier.learn_one({"node": "n2", "x": number % 3 + 9}, "high")
    >>> classifier.learn_one({"node": "n3", "x": 8.5}, None)
    >>> classifier.predict_one({"node": "n3"})
    'high'
    """

    def __init__(
        self,
        model: "RiverClassifier",
        features: tuple[str, ...] = ("last", "mean"),
        key: str | None = None,
        confidence: float = 0.0,
        period: float = 1.0,
    ) -> None:
        self.model = model
        self.features = features
        self.key = key
        self.confidence = confidence
        self.period = period
        self._prefixes = StreamFeatures(features, key, period)

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"model": GaussianNB()}

    @property
    def _multiclass(self) -> bool:
        return bool(self.model._multiclass)  # noqa: SLF001 - River's own way to ask

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Add a sample to its stream, and train the model on the stream's features if its label is known."""
        self._prefixes.learn_one(x)
        if y is not None:
            self.model.learn_one(self._prefixes.transform_one(x), y)

    def predict_proba_one(self, x: dict[Any, Any]) -> dict[Any, float]:
        """Return the probability of each label of a sample's stream."""
        found: dict[Any, float] = self.model.predict_proba_one(self._prefixes.transform_one(x))
        return found

    def predict_one(self, x: dict[Any, Any]) -> Any:
        """Return the likeliest label of a sample's stream, None if it is not likely enough."""
        found = self.predict_proba_one(x)
        best = max(found, key=found.__getitem__, default=None)
        return best if best is not None and found[best] >= self.confidence else None

    def forget(self, stream: Hashable) -> None:
        """Forget a stream, not what the model learned of it."""
        self._prefixes.forget(stream)
