"""Which of many features to search: the first of a ranking, but not many that are nearly the same."""

from collections.abc import Sequence

from feature_extractors.base import Feature
from streamfs.promises.policies import bare_name
from streamfs.promises.pricing import Pricing
from streamfs.relief import position_grid
from streamfs.selectors import MakeSelector
from streamfs.streams import StreamSet
from streamfs.tables import tabulate

N_PROPOSED = 16
"""Features that are searched at most."""

N_ALIKE = 2
"""Of these, over different channels the same feature at most."""

N_RANKED = 300
"""Streams on which features are ranked at most."""


def propose(
    streams: StreamSet,
    pricing: Pricing,
    make_selector: MakeSelector,
    confidence: float,
    time_limit: int,
    seed: int,
    features: Sequence[Feature],
) -> list[int]:
    """Propose features to search, the best of the ranking first.

    Parameters
    ----------
    streams : StreamSet
        To learn from; of more than `N_RANKED`, so many are drawn.
    pricing : Pricing
        What features cost.
    make_selector : callable
        Makes the selector that ranks.
    confidence : float
        What the selector takes for the threshold.
    time_limit : int
        Ticks.
    seed : int
        Seeds the draw and the selector.
    features : sequence of Feature
        What is offered.

    Returns
    -------
    list of int
        Places of those to search.
    """
    costs = pricing.costs(streams, features)
    if len(streams) > N_RANKED:
        streams, _ = streams.split(N_RANKED / len(streams), seed)
    table = tabulate(streams, features, pricing.max_silence)
    grid = position_grid(min(time_limit, max(1, int(table.lengths.max()))))
    selector = make_selector(costs, confidence=confidence, horizon=time_limit, positions=grid, random_state=seed)
    ranking = selector.fit(table).ranking_
    proposed: list[int] = []
    alike: dict[str, int] = {}
    for feature in ranking.tolist():
        bare = bare_name(features[feature])
        if alike.get(bare, 0) < N_ALIKE:
            alike[bare] = alike.get(bare, 0) + 1
            proposed.append(feature)
        if len(proposed) == N_PROPOSED:
            break
    return proposed
