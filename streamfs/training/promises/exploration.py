"""What is to be explored: the streams, the features, and what decides what their points mean."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import numpy.typing as npt

from feature_extractors.base import Feature
from streamfs.base.container import digest
from streamfs.base.progress import Progress, quiet
from streamfs.costs.energy import Profile
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.data.streams import StreamSet, require_streams
from streamfs.errors import DataError
from streamfs.selection.by_name import MakeSelector
from streamfs.training.arguments import offered_features, selector_of, whole_ticks
from streamfs.training.learners import FOREST, LEARNERS
from streamfs.training.promises.plan import Plan
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.split import Division


def plan_of(
    streams: StreamSet,
    features: Sequence[Feature | str] | None = None,
    *,
    energy_profile: Profile | str = "transmissions",
    a: float = 1.0,
    b: float = 1.0,
    prices: Mapping[str, float] | None = None,
    time_limit: int | timedelta | None = None,
    select: str | MakeSelector | None = "streamrelief",
    max_silence: float | None = None,
    model: str = FOREST,
    min_leaf: float = 2,
    groups: npt.ArrayLike | None = None,
    vary: bool = True,
    risk: float = Promise.risk,
    seconds: float | None = None,
    seed: int = 0,
    n_jobs: int = -1,
    progress: Progress | None = None,
) -> Plan:
    """Return what is to be explored; `streamfs.train` describes the parameters.

    Raises
    ------
    DataError
        If the streams have one class only, or a column is missing.
    ValueError
        If the model is none that may keep a promise, or an option is out of range.
    TypeError
        If the features are no sequence of features.
    """
    require_streams(streams)
    if len(streams.classes) < 2:
        raise DataError(f"there is one class only, {list(streams.classes)}, expected at least two")
    if model not in LEARNERS:
        raise ValueError(f"model is {model!r}, expected one of {', '.join(LEARNERS)}")
    radio = profile(energy_profile) if isinstance(energy_profile, str) else energy_profile
    sorted_prices = None if prices is None else dict(sorted(prices.items()))
    return Plan(
        streams,
        Promise(risk=risk),
        offered_features(streams, features),
        Pricing(radio, sorted_prices, max_silence, a, b),
        selector_of(select),
        (model,),
        min_leaf,
        whole_ticks(time_limit, int(streams.lengths.max()), streams.period),
        groups,
        "floating",
        vary,
        seconds,
        None,
        seed,
        n_jobs,
        progress or quiet,
    )


def identity(plan: Plan) -> str:
    """Return a short name for what decides which streams are set apart, and what points mean."""
    learning = Division.of(plan.streams, plan.groups, plan.seed).learning
    words = learning.names, learning.columns, learning.labels.tolist(), plan.pricing, plan.learners
    numbers = learning.period, learning.lengths.tolist(), plan.min_leaf, plan.time_limit, plan.seed
    return digest(repr((words, numbers)).encode() + learning.values.tobytes())
