"""Which of many features to search: the cheap and the telling, but none twice over different channels."""

from collections.abc import Sequence

import numpy as np

from feature_extractors.base import Feature
from streamfs.promises.policies import bare_name
from streamfs.promises.pricing import Pricing
from streamfs.relief import position_grid
from streamfs.selectors import MakeSelector
from streamfs.streams import StreamSet
from streamfs.tables import tabulate

N_PROPOSED = 16
"""Features that are searched at most."""

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
    """Propose features to search: by turns the first of a selector's ranking, and the first by Relief weight.

    StreamRelief ranks by what a decision is expected to cost, with one feature alone. Among many features the
    first are those that cost hardly anything and tell hardly anything; the features that tell most belong to the
    proposals too. A selector without weights has its ranking only.

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
    selector.fit(table)
    orders = [selector.ranking_.tolist()]
    weights = getattr(selector, "weights_", None)
    if weights is not None:
        orders.append(np.argsort(-weights.mean(axis=0), kind="stable").tolist())
    by_turns = dict.fromkeys(feature for together in zip(*orders, strict=True) for feature in together)
    return _unlike(list(by_turns), features)


def _unlike(order: Sequence[int], features: Sequence[Feature]) -> list[int]:
    """The first of an order, none of which is another over different channels: those are exchanged later."""
    proposed: dict[str, int] = {}
    for feature in order:
        proposed.setdefault(bare_name(features[feature]), feature)
    return list(proposed.values())[:N_PROPOSED]
