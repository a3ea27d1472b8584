"""Checks of the arguments of training."""

from collections.abc import Sequence
from datetime import timedelta
from numbers import Integral, Real

import numpy as np

import feature_extractors as fx
from feature_extractors.base import Feature, channels_of
from feature_extractors.own_parts import own_part
from feature_extractors.report import split_channel
from streamfs.costs.costs import Costs
from streamfs.costs.pricing import Pricing
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet, require_streams
from streamfs.errors import DataError
from streamfs.procedure.header import check_distinct
from streamfs.selection.by_name import SELECTORS, MakeSelector

ANTICIPATED = "anticipated"
"""In place of a confidence: thresholds for each tick, by what waiting is expected to cost."""

MOST_SEED = 2**31 - 1
"""The largest seed: repetitions add numbers to it, and NumPy takes less than twice as much."""


def require_classes(streams: StreamSet) -> None:
    """Require labelled streams of at least two classes."""
    require_streams(streams)
    if len(streams.classes) < 2:
        raise DataError(f"there is one class only, {list(streams.classes)}, expected at least two")


def counting(streams: StreamSet, select: object, channels: str, *, is_anticipated: bool) -> StreamSet:
    """Return the streams that count anything; weights are refused with what knows none."""
    if streams.weights is None:
        return streams
    if select is not None and select != channels:
        raise ValueError(f"streams have weights, but select is {select!r}, expected {channels!r} or None")
    if is_anticipated:
        raise ValueError(f"streams have weights, but confidence is {ANTICIPATED!r}, which counts each stream once")
    return streams.take(streams.weights > 0.0)


def offered_features(streams: StreamSet, features: Sequence[Feature | str] | None) -> tuple[Feature, ...]:
    """Return the features to choose from, by default `default_features`; every column must be in the streams."""
    if np.isnan(streams.values).all():
        raise DataError(f"no stream has a reading in any column of {', '.join(streams.columns)}")
    if features is None:
        features = default_features(streams)
    if isinstance(features, (str, Feature)):
        raise TypeError(
            f"features is {_named(features)!r}, expected a sequence of features: [{_named(features)!r}]"
        )
    if not features:
        raise ValueError("there are no features to choose from")
    found = tuple(fx.get(feature) if isinstance(feature, str) else feature for feature in features)
    for feature in found:
        if not isinstance(feature, Feature):
            raise TypeError(
                f"features holds {feature!r}, expected features or their names, such as 'mean(a.light)'"
            )
    check_distinct("feature", [feature.name for feature in found])
    for channel in channels_of(found):
        streams.column(split_channel(channel)[0])
    return found


def _named(feature: Feature | str) -> str:
    return feature.name if isinstance(feature, Feature) else feature


def confidence_of(confidence: float | str | None, select: object, channels: str) -> tuple[bool, float | None]:
    """Return whether thresholds are anticipated for each tick, and else the confidence, if it is given."""
    if isinstance(confidence, str):
        if confidence != ANTICIPATED:
            raise ValueError(f"confidence is {confidence!r}, expected a number, or {ANTICIPATED!r}")
        if select != channels:
            raise ValueError(f"confidence is {confidence!r}, but select is {select!r}, expected {channels!r}")
        return True, None
    if confidence is not None and (isinstance(confidence, bool) or not 0 < confidence <= 1):
        raise ValueError(f"confidence is {confidence}, expected more than 0 and at most 1")
    return False, confidence


def require_seed(seed: object) -> None:
    """Refuse a seed that is not a whole number, or to which others cannot be added."""
    if not isinstance(seed, Integral) or not 0 <= int(seed) <= MOST_SEED:
        raise ValueError(f"seed is {seed!r}, expected a whole number, 0 to {MOST_SEED}")


def either_limit(time_limit: int | timedelta | None, horizon: int | timedelta | None) -> int | timedelta | None:
    """Return the time limit by whichever of its two names it is given."""
    if horizon is not None and time_limit is not None:
        raise ValueError(
            f"horizon is {horizon} and time_limit {time_limit}, expected one of them: they are the same"
        )
    return horizon if time_limit is None else time_limit


def whole_ticks(time_limit: int | timedelta | None, longest: int, period: float) -> int:
    """Return the whole ticks of a time limit; by default those of the longest stream."""
    if time_limit is None:
        return longest
    if isinstance(time_limit, timedelta):
        ticks = int(time_limit.total_seconds() / period + 1e-9)
        if ticks < 1:
            raise ValueError(f"time limit is {time_limit}, expected at least one tick of {period:g} s")
        return ticks
    if not isinstance(time_limit, Real) or time_limit < 1 or time_limit != int(time_limit):
        raise ValueError(f"time limit is {time_limit!r}, expected whole ticks, at least 1, or a timedelta")
    return int(time_limit)


def selector_of(select: str | MakeSelector | None, *others: str) -> MakeSelector | None:
    """Return the function that makes the selector; None if features are not ranked, or it is one of the others."""
    if select in others:
        return None
    names = ", ".join([*others, *SELECTORS])
    if isinstance(select, str):
        select = SELECTORS.get(name := select) or own_part("streamfs.selectors", select)
        if select is None:
            raise ValueError(f"select is {name!r}, expected one of {names}, or None")
    if select is not None and not callable(select):
        raise TypeError(f"select is {select!r}, expected one of {names}, a class, or None")
    return select


def pricing_of(pricing: Pricing | str, costs: Costs | None, n_features: int) -> Pricing:
    """Return the pricing, by its radio's name or as given, checked against costs of the features."""
    pricing = Pricing(pricing) if isinstance(pricing, str) else pricing
    if not isinstance(pricing, Pricing):
        raise TypeError(f"pricing is {pricing!r}, expected a radio's name or a Pricing")
    if costs is not None and len(costs) != n_features:
        raise ValueError(f"there are {len(costs)} costs, expected {n_features}, one a feature")
    if costs is not None and pricing.prices:
        raise ValueError(
            f"prices is {pricing.prices}, expected none besides costs: prices apply only to estimated costs"
        )
    return pricing
