"""What is to be explored: the streams, the features, and what decides what their points mean."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.container import digest
from streamfs.base.progress import Progress, quiet
from streamfs.costs.pricing import Pricing
from streamfs.data.streams import StreamSet
from streamfs.selection.by_name import MakeSelector
from streamfs.training.arguments import offered_features, pricing_of, require_classes, selector_of, whole_ticks
from streamfs.training.learners import FOREST, LEARNERS
from streamfs.training.promises.problem import PromiseProblem, SearchSettings
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.split import Division


def plan_of(
    streams: StreamSet,
    features: Sequence[Feature | str] | None = None,
    *,
    pricing: Pricing | str = "transmissions",
    time_limit: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    model: str = FOREST,
    min_leaf: float = 2,
    groups: npt.ArrayLike | None = None,
    risk: float = Promise.risk,
    search: SearchSettings | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> PromiseProblem:
    """Return what is to be explored; `train_promised` describes the parameters.

    Raises
    ------
    DataError
        If the streams have one class only, or a column is missing.
    ValueError
        If the model is none that may keep a promise, or an option is out of range.
    TypeError
        If the features are no sequence of features.
    """
    require_classes(streams)
    if model not in LEARNERS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(LEARNERS)}")
    found = offered_features(streams, features)
    pricing = pricing_of(pricing, None, len(found))
    if pricing.prices is not None:  # in any order they are the same exploration
        pricing = replace(pricing, prices=dict(sorted(pricing.prices.items())))
    return PromiseProblem(
        streams,
        Promise(risk=risk),
        found,
        pricing,
        selector_of(select),
        (model,),
        min_leaf,
        whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
        groups,
        search or SearchSettings(),
        seed,
        n_jobs,
        progress or quiet,
    )


def identity(plan: PromiseProblem) -> str:
    """Return a short name for what decides which streams are set apart, and what points mean."""
    learning = Division.of(plan.streams, plan.groups, plan.seed).learning
    words = learning.names, learning.columns, learning.labels.tolist(), plan.pricing, plan.learners
    numbers = learning.period, learning.lengths.tolist(), plan.min_leaf, plan.time_limit, plan.seed
    return digest(repr((words, numbers)).encode() + learning.values.tobytes())
