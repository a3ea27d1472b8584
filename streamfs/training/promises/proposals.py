"""Choose which of many features to search."""

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
"""Most features that are searched."""

N_RANKED = 300
"""Most streams on which features are ranked."""


def propose(
    streams: StreamSet,
    pricing: Pricing,
    make_selector: MakeSelector,
    confidence: float,
    time_limit: int,
    seed: int,
    features: Sequence[Feature],
) -> list[int]:
    """Propose places of features, in turns by a forest's need, a selector's ranking, and the selector's weights.

    StreamRelief ranks by the expected cost of a decision with one feature alone, so that among many features the
    first are cheap and uninformative; the most informative ones are proposed too, by Relief weight. Both rate
    features one by one, and Relief is misled if most features are noise, whereas a forest finds features that are
    informative together. A selector without weights has no third turn. At most `N_RANKED` streams are drawn.
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
    """Return the places of features in the order in which a forest needs them, each over one channel only."""
    unlike = _unlike(range(len(table.features)), table.features)
    order = elimination(table.with_features(unlike), time_limit, seed)
    return [unlike[place] for place in order]


def _unlike(order: Iterable[int], features: Sequence[Feature]) -> list[int]:
    """Drop features that are an earlier one over different channels: these are exchanged later."""
    first: dict[str, int] = {}
    for feature in order:
        first.setdefault(bare_name(features[feature]), feature)
    return list(first.values())
