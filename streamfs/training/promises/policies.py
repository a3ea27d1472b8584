"""The same features over cheaper channels: sent less often, on change only, or as a flag."""

from collections.abc import Iterable, Mapping, Sequence

from feature_extractors.base import Feature
from feature_extractors.report import Policy, channel_name, quantity_of, split_channel, split_opening
from streamfs.data.default_features import delta_policies, flag_policies, readings_of_quantity
from streamfs.data.streams import StreamSet

TICKS = (2, 4, 8, 16)
"""Numbers of ticks between messages; each is tried if streams are at least four times as long."""

DEVIATIONS = (0.25, 0.5, 1.0)
"""Changes on which a channel is sent, in standard deviations of its quantity."""


def policies_of(streams: StreamSet, column: str) -> tuple[Policy, ...]:
    """Return report policies worth trying on a column; those of one quantity in two roles are the same."""
    readings = readings_of_quantity(streams, column)
    in_ticks = [Policy("every", k) for k in TICKS if 4 * k <= streams.n_ticks]
    return (Policy(), *in_ticks, *delta_policies(readings, DEVIATIONS), *flag_policies(readings))


def with_policies(
    streams: StreamSet, features: Sequence[Feature], *, widen: bool = True
) -> tuple[tuple[Feature, ...], dict[int, tuple[int, ...]]]:
    """Return the features and their variants over cheaper channels, and the places of each feature's variants.

    Features without a column, and those of flags, which carry the least information, have no variants. Unless
    `widen`, only policies that are offered are variants.
    """
    found = {feature.name: feature for feature in features}
    alike: dict[str, list[str]] = {}
    for feature in features:
        if not _may_vary(feature):
            continue
        family = [feature, *(_variants(streams, feature) if widen else ())]
        known = alike.setdefault(bare_name(feature), [])
        for variant in family:
            found.setdefault(variant.name, variant)
            if variant.name not in known:
                known.append(variant.name)
    places = {name: place for place, name in enumerate(found)}
    variants = {
        places[name]: tuple(places[other] for other in family if other != name)
        for family in alike.values()
        for name in family
    }
    return tuple(found.values()), variants


def bare_name(feature: Feature) -> str:
    """Return the name of a feature as if all its columns were sent at every tick."""
    return _over(feature, Policy()).name


def _may_vary(feature: Feature) -> bool:
    """Return whether it reads columns, all under one kind of policy, and no flags."""
    policies = {split_channel(channel)[1] for channel in feature.columns}
    kinds = {policy.kind for policy in policies}
    return len(kinds) == 1 and "flag" not in kinds


def _variants(streams: StreamSet, feature: Feature) -> list[Feature]:
    policies = [policies_of(streams, split_channel(channel)[0]) for channel in feature.columns]
    if len({len(each) for each in policies}) > 1:  # the columns of a feature change their policies together
        policies = [tuple(p for p in each if p.kind == "every") for each in policies]
    return [_over(feature, *together) for together in zip(*policies, strict=True)]


def _over(feature: Feature, *policies: Policy) -> Feature:
    """Return the same feature with other policies on its columns, one for all or one each."""
    each = policies * len(feature.columns) if len(policies) == 1 else policies
    channels = (
        channel_name(split_channel(channel)[0], policy, split_opening(channel)[1])
        for channel, policy in zip(feature.columns, each, strict=True)
    )
    return _reread(feature, channels)


def opening_at(feature: Feature, ticks: Mapping[str, int]) -> Feature:
    """Return the same feature over channels that open at the ticks of their quantities."""
    columns = (split_channel(channel) for channel in feature.columns)
    channels = (channel_name(column, policy, ticks[quantity_of(column)]) for column, policy in columns)
    return _reread(feature, channels)


def reading(channels: Iterable[str], features: Iterable[Feature]) -> tuple[Feature, ...]:
    """Return the features that read some channels alone, over these as they open."""
    opened = {split_opening(channel)[0]: channel for channel in channels}
    readable = (feature for feature in features if feature.columns and opened.keys() >= set(feature.columns))
    return tuple(_reread(feature, (opened[column] for column in feature.columns)) for feature in readable)


def _reread(feature: Feature, channels: Iterable[str]) -> Feature:
    """Return the same feature over other channels."""
    return Feature(feature.kind, tuple(channels), feature.params)


def opens_at_once(feature: Feature) -> bool:
    """Return whether a feature reads columns, all of which are open at tick 1."""
    return bool(feature.columns) and all(split_opening(channel)[1] == 1 for channel in feature.columns)


def quantities_of(feature: Feature) -> frozenset[str]:
    """Return the quantities that a feature reads."""
    return frozenset(quantity_of(split_channel(channel)[0]) for channel in feature.columns)
