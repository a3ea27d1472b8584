"""Feature selectors by name, constructed from the parameters of training."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Integers
from streamfs import relief, selection
from streamfs.costs.costs import Costs
from streamfs.data.feature_table import FeatureTable
from streamfs.errors import TrainingError
from streamfs.relief import PrefixRelief, StreamRelief
from streamfs.selection.stopping import ValueChange

MOST_ROWS = 5000
"""Maximum number of rows of a table for a filter; if there are more, this many are drawn."""

MOST_WRAPPED_ROWS = 1000
"""The same if a classifier evaluates every subset."""


class Selector(Protocol):
    """What training requires of a selector."""

    ranking_: Integers
    """Indices of the selected features, best first."""

    def fit(self, table: FeatureTable) -> Any:
        """Rank the features."""


MakeSelector = Callable[..., Selector]
"""Called with the costs and the keywords `confidence`, `horizon`, `positions` and `random_state`."""


class OnRows:
    """A scikit-learn selector on the rows of a table at some ticks, counted from 1, with streams as groups.

    If there are more than `most_rows` rows, that many are drawn at random. The fitted `ranking_` holds the
    selected features, best first.
    """

    def __init__(
        self, estimator: Any, positions: npt.ArrayLike, most_rows: int = MOST_ROWS, random_state: int = 0
    ) -> None:
        self.estimator = estimator
        self.positions = positions
        self.most_rows = most_rows
        self.random_state = random_state

    def fit(self, table: FeatureTable) -> Self:
        """Rank the features; TrainingError if none is selected."""
        streams, ticks = table.sample_rows(self.positions, self.most_rows, self.random_state)
        values = table.values[streams, ticks - 1]
        self.estimator.fit(np.where(np.isfinite(values), values, np.nan), table.labels[streams], groups=streams)
        self.ranking_: Integers = self.estimator.ranking_
        if not len(self.ranking_):
            raise TrainingError(
                f"{type(self.estimator).__name__} selects none of {values.shape[1]} features on {len(streams)} "
                "rows: take another selection, or offer other features"
            )
        return self


class _Sampled:
    """Active sampling of binned features, without previous ones, up to a budget."""

    def __init__(self, random_state: int) -> None:
        self.random_state = random_state

    def fit(self, X: npt.NDArray[np.float64], y: npt.NDArray[Any], groups: Integers) -> Self:
        codes = selection.EqualWidthDiscretiser().fit_transform(X, y)
        sampling = selection.ActiveFeatureSampling(n_features=X.shape[1], random_state=self.random_state)
        self.ranking_ = sampling.fit(codes, y, groups).ranking_
        return self


def prefix_relief(
    _costs: Costs, *, horizon: int, positions: npt.ArrayLike, random_state: int, **_unused: object
) -> PrefixRelief:
    """Construct Relief for data streams, which ignores costs and confidence."""
    return PrefixRelief(longest=horizon, positions=positions, random_state=random_state)


def on_rows(
    make: Callable[[int], Any],
    most_rows: int,
    _costs: Costs,
    *,
    positions: npt.ArrayLike,
    random_state: int,
    **_unused: object,
) -> OnRows:
    """Construct a selector of rows, which ignores costs and confidence, from the seed of its estimator."""
    return OnRows(make(random_state), positions, most_rows, random_state)


SELECTORS: dict[str, MakeSelector] = {
    "streamrelief": StreamRelief,
    "literal": StreamRelief.literal,
    "relief": prefix_relief,
    "relieff": partial(on_rows, lambda seed: relief.ReliefF(random_state=seed), MOST_ROWS),
    "lvf": partial(on_rows, lambda seed: selection.LasVegasFilter(threshold=0.05, random_state=seed), MOST_ROWS),
    "finco": partial(on_rows, lambda _seed: selection.Finco(), MOST_ROWS),
    "forward": partial(on_rows, lambda seed: selection.SequentialSelector(random_state=seed), MOST_WRAPPED_ROWS),
    "backward": partial(
        on_rows,
        lambda seed: selection.SequentialSelector(direction="backward", random_state=seed),
        MOST_WRAPPED_ROWS,
    ),
    "floating": partial(
        on_rows, lambda seed: selection.SequentialSelector(floating=True, random_state=seed), MOST_WRAPPED_ROWS
    ),
    "floating-backward": partial(
        on_rows,
        lambda seed: selection.SequentialSelector(direction="backward", floating=True, random_state=seed),
        MOST_WRAPPED_ROWS,
    ),
    "dependency-aware": partial(
        on_rows,
        lambda seed: selection.DependencyAwareRanking(
            n_probes=1000, stopping=ValueChange(0.0005), check_every=100, random_state=seed
        ),
        MOST_WRAPPED_ROWS,
    ),
    "active": partial(on_rows, _Sampled, MOST_ROWS),
}
"""StreamRelief, the same exactly as printed, and Relief for data streams; then, on rows of the table, ReliefF, the
two inconsistency filters, sequential selection by 3 nearest neighbours, and the rankings by random probes and by
active sampling."""
