"""Training, and the decisions of what it returns, as a classifier of scikit-learn."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_is_fitted

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import Estimator, training_weights
from streamfs.base.parameters import Made, OneOf, RealNumber, Sequences, Whole
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import PROFILES
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import replay_with_values
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.relief.stream_inputs import Streams, query_streams, training_streams
from streamfs.training.arguments import ANTICIPATED
from streamfs.training.cost_aware import CHANNELS, train


class StreamClassifier(ClassifierMixin, Estimator):
    """Learns what of streams to read and when to decide, and classifies each as early as it may be.

    It is `train` and `evaluate` for scikit-learn's `Pipeline`, `cross_val_score` and `GridSearchCV`.

    Parameters
    ----------
    features, costs, pricing, confidence, error_cost, delay_cost, sending_cost, time_limit, select
        As of `train`.
    n_features, classifier
        As of `train`.
    on_timeout : {"label", "none"}
        What is predicted of a stream that the procedure gives no label: its likeliest class, or None.
    period : float
        Seconds from one tick of an array to the next; a `StreamSet` has its own.
    random_state : int
        Seeds the folds, the probes and the forests.

    Attributes
    ----------
    procedure_ : Procedure
        What `train` returns: it can be saved, and served on a gateway.
    classes_ : ndarray
        The labels, sorted.
    n_features_in_ : int
        Number of columns; of a table of streams of one column, the number of ticks.
    feature_names_in_ : ndarray of str
        Names of the columns of a `StreamSet`, or of those of a frame.

    Notes
    -----
    Streams are a `StreamSet`; an array of shape (n_streams, n_ticks, n_columns); a list of arrays of shape
    (n_ticks, n_columns), as long as each stream; or a table with a row a stream and a column a tick, an array or a
    frame of pandas or polars. A frame with a row per stream and time becomes a set by `StreamSet.from_frame`.
    Features name the columns of arrays and tables ``x0``, ``x1`` and so on.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat(["calm", "busy"], 30)
    >>> X = rng.normal(np.where(y == "calm", 0, 2)[:, None, None], 1, (60, 12, 1))
    >>> classifier = StreamClassifier(features=["mean(x0)", "last(x0)"]).fit(X, y)
    >>> bool(classifier.score(X, y) > 0.9), bool(classifier.decision_ticks(X).mean() < 8)
    (True, True)
    """

    _parameter_constraints: ClassVar = {
        "features": [Sequences(), None],
        "costs": [Costs, None],
        "pricing": [OneOf(*PROFILES), Pricing],
        "confidence": [RealNumber(most=1.0, above=0.0), OneOf(ANTICIPATED), None],
        "error_cost": [RealNumber(above=0.0), None],
        "delay_cost": [RealNumber(), None],
        "sending_cost": [RealNumber(), None],
        "time_limit": [Whole(1), None],
        "select": [str, callable, None],
        "n_features": [Whole(1), None],
        "classifier": [str, callable, Made("fit", "predict_proba"), Made("learn_one", "predict_proba_one"), None],
        "on_timeout": [OneOf("label", "none")],
        "period": [RealNumber(above=0.0)],
        "random_state": [Whole()],
    }

    def __init__(
        self,
        features: Sequence[Any] | None = None,
        costs: Costs | None = None,
        pricing: Pricing | str = "transmissions",
        confidence: float | str | None = None,
        error_cost: float | None = None,
        delay_cost: float | None = None,
        sending_cost: float | None = None,
        time_limit: int | None = None,
        select: Any = CHANNELS,
        n_features: int | None = None,
        classifier: Any = None,
        on_timeout: str = "label",
        period: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.features = features
        self.costs = costs
        self.pricing = pricing
        self.confidence = confidence
        self.error_cost = error_cost
        self.delay_cost = delay_cost
        self.sending_cost = sending_cost
        self.time_limit = time_limit
        self.select = select
        self.n_features = n_features
        self.classifier = classifier
        self.on_timeout = on_timeout
        self.period = period
        self.random_state = random_state

    def fit(
        self,
        X: Streams,
        y: npt.ArrayLike | None = None,
        groups: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Train a procedure.

        Parameters
        ----------
        X : StreamSet, array_like, or list of array_like
            The streams.
        y : array_like of shape (n_streams,), optional
            Their classes; by default the labels of a set of streams.
        groups : array_like of shape (n_streams,), optional
            Streams of one group, such as those of one node, are never trained on and held out at once; by default
            the groups of a set of streams.
        sample_weight : array_like of shape (n_streams,), optional
            What each stream counts (`StreamSet.weighted`); by default the weights of a set of streams. It is
            refused where the model, or what selects features, knows no weights.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or as `train` raises it.
        """
        streams, labels = training_streams(self, X, y)
        check_consistent_length(labels, groups)
        weights = streams.weights
        if sample_weight is not None:
            weights = training_weights(sample_weight, streams.values[:, 0])
        self.classes_ = np.unique(labels if weights is None else labels[weights > 0.0])
        self._names = [str(label) for label in self.classes_]
        if len(set(self._names)) < len(self._names):
            raise ValueError(f"y holds {self.classes_.tolist()}, expected classes that are written differently")
        parameters = self.get_params(deep=False)
        for own in ("on_timeout", "period", "random_state"):
            del parameters[own]
        recorded = self._recorded(streams, X, labels).grouped(streams.groups if groups is None else groups)
        self.procedure_: Procedure = train(recorded.weighted(weights), seed=int(self.random_state), **parameters)
        return self

    def predict_proba(self, X: Streams) -> Array:
        """Return the probability of each class where each stream is decided, or ends; (n_streams, n_classes)."""
        return self.decided(X)[1]

    def predict(self, X: Streams) -> npt.NDArray[Any]:
        """Return the label of each stream; None for one without a label, unless `on_timeout` is ``"label"``."""
        decisions, probabilities = self.decided(X)
        labels: npt.NDArray[Any] = self.classes_[probabilities.argmax(axis=1)]
        if self.on_timeout == "label":
            return labels
        found = labels.astype(object)
        found[[decision.label is None for decision in decisions]] = None
        return found

    def decide(self, X: Streams) -> tuple[Decision, ...]:
        """Return the decision on each stream: its label, if it has one, confidence, ticks, cost and reason."""
        return self.decided(X)[0]

    def decision_ticks(self, X: Streams) -> Integers:
        """Return the ticks that each stream takes until it is decided, or ends; shape (n_streams,)."""
        return np.array([decision.tick for decision in self.decide(X)])

    def score(
        self, X: Streams, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Return the share of streams whose label is right; a stream without one counts as wrong.

        Parameters
        ----------
        X : StreamSet, array_like, or list of array_like
            The streams.
        y : array_like of shape (n_streams,), optional
            Their classes; by default the labels of a set of streams.
        sample_weight : array_like of shape (n_streams,), optional
            What each stream counts.
        """
        right = self.predict(X) == self._truth(X, y)
        weights = _check_sample_weight(sample_weight, np.zeros((len(right), 1)))
        return float(np.average(right, weights=weights))

    def mean_cost(
        self, X: Streams, y: npt.ArrayLike | None = None, sample_weight: npt.ArrayLike | None = None
    ) -> float:
        """Return what decisions cost on average: for errors, delays and sending, by the parameters of these names.

        Where they are None, an error costs 1, and a delay, too; sending costs nothing.

        Streams count as `sample_weight` says, by default each once. A delay up to the time limit costs
        `delay_cost` and a shorter one its share; what is sent is equation 1. A stream without a label is an error
        at the time limit.
        """
        decisions, limit = self.decide(X), self.procedure_.time_limit
        wrong = self.predict(X) != self._truth(X, y)
        is_late = np.array([self.on_timeout == "none" and decision.label is None for decision in decisions])
        ticks = np.array([decision.tick for decision in decisions])
        sent = np.array([decision.cost for decision in decisions])
        delay = np.where(is_late, 1.0, np.minimum(ticks / limit, 1.0))
        given = ((self.error_cost, 1.0), (self.delay_cost, 1.0), (self.sending_cost, 0.0))
        prices = [usual if cost is None else cost for cost, usual in given]
        costs = np.array(prices) @ np.array([wrong, delay, sent])
        return float(np.average(costs, weights=_check_sample_weight(sample_weight, np.zeros((len(costs), 1)))))

    def decided(self, X: Streams) -> tuple[tuple[Decision, ...], Array]:
        """Return each stream's decision, and the probabilities of the classes there."""
        check_is_fitted(self)
        streams = self._recorded(query_streams(self, X), X)
        decided = {made.stream: (made, values) for made, values in replay_with_values(self.procedure_, streams)}
        rows = np.array([decided[name][1] for name in streams.names])
        said = self.procedure_.classifier.probabilities(rows)
        places = [self.procedure_.classes.index(name) for name in self._names]
        return tuple(decided[name][0] for name in streams.names), said[:, places]

    def _recorded(self, streams: StreamSet, X: Streams, labels: npt.ArrayLike | None = None) -> StreamSet:
        """Return streams with labels as text, and the period that arrays are given."""
        text = streams.labels if labels is None else np.asarray(labels).astype(np.str_)
        period = streams.period if isinstance(X, StreamSet) else self.period
        return StreamSet(streams.values, text, streams.columns, period, streams.names, streams.lengths)

    def _truth(self, X: Streams, y: npt.ArrayLike | None) -> npt.NDArray[Any]:
        """Return the classes of streams, which a set of streams has itself."""
        if y is None and not isinstance(X, StreamSet):
            raise ValueError("y is None, expected the classes of the streams")
        return np.asarray(X.labels if y is None else y)  # type: ignore[union-attr] # which is a set of streams

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.three_d_array = True
        tags.target_tags.required = True
        return tags


def cost_score(
    classifier: StreamClassifier,
    X: Streams,
    y: npt.ArrayLike | None = None,
    sample_weight: npt.ArrayLike | None = None,
) -> float:
    """Return less what decisions cost on average, for ``scoring=`` of scikit-learn: the larger, the better."""
    return -classifier.mean_cost(X, y, sample_weight)
