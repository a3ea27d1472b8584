"""StreamRelief: features ranked by the expected cost of a decision with each."""

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.base.parameters import OneOf, RealNumber, Whole
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import DataError
from streamfs.relief.extrapolation import (
    EXTRAPOLATIONS,
    decision_probability,
    expected_cost,
    lower_bound,
    probability_by_tick,
)
from streamfs.relief.measure import measure
from streamfs.relief.positions import positions_of
from streamfs.relief.probes import Probes
from streamfs.relief.rows import ReliefRows
from streamfs.relief.table_estimator import TableEstimator

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class StreamRelief(TableEstimator):
    """Rank the features of streams by the expected cost of a decision with each.

    Parameters
    ----------
    costs : Costs, optional
        Each-time and one-time costs of the features, with the user's weights a and b; by default each costs 1.
    confidence : float
        Threshold that the probability of having decided must reach.
    horizon : int, optional
        Time limit, ticks; by default the ticks of the table.
    positions : int or array_like of int, optional
        Ticks at which weights are computed, rising from 1, or a number of ticks to spread evenly; by default all.
    extrapolation : {"linear", "none", "spline", "hermite", "saturating", "auto"}
        How the probability continues after the last position; ``"auto"`` chooses for each feature the
        extrapolation that best predicts the last quarter of its positions.
    neighbours : {"other_streams", "any"}
        Instances that may be a near hit or miss. Neighbouring ticks of one stream are almost equal, so instances
        of the same stream would crowd out the others; the paper does not exclude them.
    first_tick : {"counted", "literal"}
        Whether equation 3 counts the first tick, which is missing in print.
    floor : Probes, optional
        Features no better than probes rank after all others; None ranks by cost alone.
    power : {1, 2}
        Power of each difference.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    ranges : {"table", "position"}
        Ranges that normalise the differences: those of the whole table, so that one pass gives the weights of all
        positions, or at each position those of its training set.
    random_state : int
        Seed of the probes.
    n_features : int, optional
        How many features `transform` keeps; by default the relevant ones.

    Attributes
    ----------
    feature_names_ : tuple of str
        Names of the features.
    positions_ : ndarray of shape (n_positions,)
        The ticks of the weights.
    weights_ : ndarray of shape (n_positions, n_features)
        Relief weights of the training set at each position (equation 2).
    lower_bound_ : ndarray of shape (n_positions, n_features)
        Minimum of the current and all later weights (Figure 1a).
    probability_ : ndarray of shape (n_positions, n_features)
        Probability of having decided (equation 5).
    expected_cost_ : ndarray of shape (n_features,)
        C_F (equation 3).
    score_ : ndarray of shape (n_features,)
        Contribution of the feature to the cost of a classification (equation 4).
    probe_weights_ : ndarray of shape (n_probes,)
        Weights of the probes at the last position.
    floor_ : float
        Weight that a relevant feature exceeds; minus infinity without a floor.
    relevant_ : ndarray of bool of shape (n_features,)
        Features whose weight exceeds the floor.
    ranking_ : ndarray of int of shape (n_features,)
        Indices of the features, best first.

    References
    ----------
    Gao and Wang, Feature Selection for Building Cost-Effective Data Stream Classifiers, ICDM 2005, section 3.2.

    Notes
    -----
    The training set at a position holds the instances of all positions up to it. On real streams weights are near
    0 and probabilities near one half, so a useless feature that costs nothing would rank first without the floor.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat(["calm", "busy"], 10)
    >>> informative = np.where(labels == "calm", 0.0, 1.0)[:, None] + rng.normal(0, 0.2, (20, 5))
    >>> values = np.stack([rng.normal(size=(20, 5)), informative], axis=2)
    >>> selector = StreamRelief(Costs([0.0, 1.0])).fit(values, labels)
    >>> selector.ranking_.tolist(), selector.relevant_.tolist()
    ([1, 0], [False, True])
    >>> StreamRelief.literal(Costs([0.0, 1.0])).fit(values, labels).ranking_.tolist()
    [0, 1]
    """

    _parameter_constraints: ClassVar = {
        **TableEstimator._parameter_constraints,  # noqa: SLF001 - inherited
        "costs": [Costs, None],
        "confidence": [RealNumber(0.0, 1.0, above=0.0)],
        "horizon": [Whole(1), None],
        "extrapolation": [OneOf(*EXTRAPOLATIONS, "auto")],
        "first_tick": [OneOf("counted", "literal")],
        "floor": [Probes, None],
        "ranges": [OneOf("table", "position")],
    }

    def __init__(
        self,
        costs: Costs | None = None,
        confidence: float = 0.9,
        horizon: int | None = None,
        positions: int | npt.ArrayLike | None = None,
        extrapolation: str = "linear",
        neighbours: str = "other_streams",
        first_tick: str = "counted",
        floor: Probes | None = Probes(),  # noqa: B008 - frozen
        power: int = 1,
        nominal: Sequence[int] | None = None,
        ranges: str = "table",
        random_state: int = 0,
        n_features: int | None = None,
    ) -> None:
        self.costs = costs
        self.confidence = confidence
        self.horizon = horizon
        self.positions = positions
        self.extrapolation = extrapolation
        self.neighbours = neighbours
        self.first_tick = first_tick
        self.floor = floor
        self.power = power
        self.nominal = nominal
        self.ranges = ranges
        self.random_state = random_state
        self.n_features = n_features

    @classmethod
    def literal(cls, costs: Costs | None = None, **parameters: Any) -> Self:
        """Construct the method exactly as printed: any neighbours, equation 3 as printed, no floor."""
        return cls(costs, neighbours="any", first_tick="literal", floor=None, **parameters)

    def _fit(self, table: FeatureTable) -> None:
        n_features = table.values.shape[2]
        self.costs_ = Costs(np.ones(n_features)) if self.costs is None else self.costs
        if len(self.costs_) != n_features:
            raise ValueError(f"costs has {len(self.costs_)} costs, expected {n_features}, one a feature")
        n_ticks = int(table.lengths.max(initial=0))
        if not n_ticks:
            raise DataError("the streams have no ticks")
        self.positions_ = positions_of(self.positions, n_ticks)
        streams, ticks = table.rows(self.positions_)
        rows = self._rows(table, streams, ticks)
        ends = np.searchsorted(ticks, self.positions_, side="right").tolist()
        if self.ranges == "table":
            self.weights_ = rows.weights(ends)
        else:
            alone = [self._rows(table, streams[:end], ticks[:end]).weights([end]) for end in ends]
            self.weights_ = np.concatenate(alone)
        self.lower_bound_ = lower_bound(self.weights_)
        self._fit_floor(table, rows, streams, ticks)
        self.horizon_ = n_ticks if self.horizon is None else self.horizon
        self._fit_costs()

    def _fit_floor(self, table: FeatureTable, rows: ReliefRows, streams: Integers, ticks: Integers) -> None:
        """Compare the weights at the last position with those of probes."""
        self.floor_, self.probe_weights_ = -np.inf, np.zeros(0)
        if self.floor is not None:
            rng = np.random.default_rng(self.random_state)
            self.probe_features_, self.probe_permutations_ = self.floor.draw(table, rng)
            probes = np.empty((len(rows), self.floor.n))
            for p, feature in enumerate(self.probe_features_):
                probes[:, p] = table.values[self.probe_permutations_[p, streams], ticks - 1, feature]
            nominal = np.isin(self.probe_features_, list(self.nominal or ()))
            self.probe_weights_ = rows.probe_weights(measure(probes, nominal))
            self.floor_ = float(np.quantile(self.probe_weights_, self.floor.quantile))
        self.relevant_ = self.lower_bound_[-1] > self.floor_

    def _fit_costs(self) -> None:
        """Compute probabilities, costs, scores and the ranking from the weights."""
        self.probability_ = decision_probability(self.lower_bound_)
        self.expected_cost_ = expected_cost(
            self.probability_,
            self.costs_.each,
            self.confidence,
            self.horizon_,
            self.extrapolation,
            self.first_tick,
            self.positions_,
        )
        self.score_ = self.costs_.score(self.expected_cost_)
        self.ranking_ = np.lexsort((self.score_, ~self.relevant_))

    def at_confidence(self, confidence: float) -> Self:
        """Return the same fit at another confidence threshold, on which weights and floor do not depend.

        Raises
        ------
        ValueError
            If the threshold is not in (0, 1].
        """
        other = copy(self)
        other.confidence = confidence
        other._validate_params()  # noqa: SLF001 - a copy of this one
        other._fit_costs()  # noqa: SLF001 - the same
        return other

    def probability_by_tick(self) -> Array:
        """Return the probability of having decided by each tick, shape (horizon, n_features) (Figure 1b)."""
        return probability_by_tick(self.probability_, self.horizon_, self.extrapolation, self.positions_)

    def plot(self, feature: int, name: str | None = None) -> "Figure":
        """Draw the paper's Figure 1 for one feature: (a) weight and lower bound, (b) extrapolated probability.

        Parameters
        ----------
        feature : int
            Index of the feature.
        name : str, optional
            Title of the figure; by default the feature's name.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ValueError
            If the index is out of range.
        MissingExtraError
            If matplotlib is not installed.
        """
        from streamfs.relief.figure_1 import figure_1  # noqa: PLC0415 - matplotlib is an extra

        n_features = self.weights_.shape[1]
        if not 0 <= feature < n_features:
            raise ValueError(f"feature is {feature}, expected 0 to {n_features - 1}")
        return figure_1(self, feature, name or self.feature_names_[feature])

    def _html_repr(self) -> str:
        """Return what a notebook shows: scikit-learn's view before `fit`, the ranking after it."""
        from streamfs.relief.notebook import stream_relief_html  # noqa: PLC0415 - for notebooks alone

        shown: str = stream_relief_html(self) if hasattr(self, "ranking_") else super()._html_repr()
        return shown
