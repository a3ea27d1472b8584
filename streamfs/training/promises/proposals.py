"""Which of many features to search: the cheap and the telling, but none twice over different channels."""

from collections.abc import Iterable, Sequence
from itertools import chain, zip_longest

import numpy as np

from feature_extractors.base import Feature
from streamfs.costs.pricing import Pricing
from streamfs.data.feature_table import FeatureTable, tabulate
from streamfs.data.streams import StreamSet
from streamfs.relief import position_grid
from streamfs.selection.by_name import MakeSelector
from streamfs.training.promises.elimination import elimination
from streamfs.training.promises.policies import bare_name

N_PROPOSED = 32
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
    """Propose features to search: by turns of what a forest needs, of a selector's ranking, and of its weights.

    StreamRelief ranks by what a decision is expected to cost, with one feature alone. Among many features the
    first are those that cost hardly anything and tell hardly anything; the features that tell most belong to the
    proposals too, by Relief weight. Both look at features one by one, and Relief is led astray where most of many
    features are noise: what a forest can do without last are features that tell much together. A selector
    without weights has no turn of these.

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
    orders = [_needed(table, time_limit, seed), selector.ranking_.tolist()]
    weights = getattr(selector, "weights_", None)
    if weights is not None:
        orders.append(np.argsort(-weights.mean(axis=0), kind="stable").tolist())
    by_turns = (feature for feature in chain(*zip_longest(*orders)) if feature is not None)
    return _unlike(by_turns, features)[:N_PROPOSED]


def _needed(table: FeatureTable, time_limit: int, seed: int) -> list[int]:
    """The features in the order in which a forest needs them, each over one channel only."""
    unlike = _unlike(range(len(table.features)), table.features)
    order = elimination(table.with_features(unlike), time_limit, seed)
    return [unlike[place] for place in order]


def _unlike(order: Iterable[int], features: Sequence[Feature]) -> list[int]:
    """Those of an order that are no earlier one over different channels: these are exchanged later."""
    first: dict[str, int] = {}
    for feature in order:
        first.setdefault(bare_name(features[feature]), feature)
    return list(first.values())
