"""The same features over cheaper channels: sent more seldom, on change only, or as a flag."""

from collections.abc import Sequence

from feature_extractors.base import Feature
from feature_extractors.report import Policy, channel_name, split_channel
from streamfs.data.default_features import delta_policies, flag_policies, readings_of_quantity
from streamfs.data.streams import StreamSet

TICKS = (2, 4, 8, 16)
"""A channel is sent every so many ticks, if a stream has four times as many."""

DEVIATIONS = (0.25, 0.5, 1.0)
"""A channel is sent on a change of so many standard deviations of its quantity."""


def policies_of(streams: StreamSet, column: str) -> tuple[Policy, ...]:
    """Report policies worth trying on a column: every tick, every k-th, on changes, small and large, as a flag.

    Columns that are the same quantity of two roles share them.
    """
    readings = readings_of_quantity(streams, column)
    in_ticks = [Policy("every", k) for k in TICKS if 4 * k <= streams.n_ticks]
    return (Policy(), *in_ticks, *delta_policies(readings, DEVIATIONS), *flag_policies(readings))


def with_policies(
    streams: StreamSet, features: Sequence[Feature], *, widen: bool = True
) -> tuple[tuple[Feature, ...], dict[int, tuple[int, ...]]]:
    """Say which features are the same over other channels, and offer them over cheaper ones.

    Parameters
    ----------
    streams : StreamSet
        Which have the features' columns.
    features : sequence of Feature
        What is offered; those of no column, and of flags, which tell least, stay as they are.
    widen : bool
        Whether policies that are not offered are tried, too.

    Returns
    -------
    features : tuple of Feature
        Those offered, then their variants.
    variants : dict of int to tuple of int
        For each feature the others that are the same but for their policies.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> import numpy as np
    >>> streams = StreamSet(np.arange(8.0).reshape(1, 8, 1), ["a"], ["t"])
    >>> found, variants = with_policies(streams, [fx.get("mean(t)")])
    >>> [feature.name for feature in found[:3]], found[-1].name
    (['mean(t)', 'mean(t@every:2)', 'mean(t@delta:0.57)'], 'mean(t@flag:3.498)')
    >>> variants[0]
    (1, 2, 3, 4, 5)
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
    """Name of a feature as if all its columns were sent at every tick.

    Examples
    --------
    >>> import feature_extractors as fx
    >>> bare_name(fx.get("correlation(a@delta:1, b@delta:1)"))
    'correlation(a, b)'
    """
    return _over(feature, Policy()).name


def _may_vary(feature: Feature) -> bool:
    """Whether it reads columns, all under one kind of policy, and no flags."""
    policies = {split_channel(channel)[1] for channel in feature.columns}
    kinds = {policy.kind for policy in policies}
    return len(kinds) == 1 and "flag" not in kinds


def _variants(streams: StreamSet, feature: Feature) -> list[Feature]:
    policies = [policies_of(streams, split_channel(channel)[0]) for channel in feature.columns]
    if len({len(each) for each in policies}) > 1:  # the columns of a feature change their policies together
        policies = [tuple(p for p in each if p.kind == "every") for each in policies]
    return [_over(feature, *together) for together in zip(*policies, strict=True)]


def _over(feature: Feature, *policies: Policy) -> Feature:
    """The same feature with other policies on its columns, one for all or one each."""
    each = policies * len(feature.columns) if len(policies) == 1 else policies
    columns = tuple(
        channel_name(split_channel(channel)[0], policy)
        for channel, policy in zip(feature.columns, each, strict=True)
    )
    return Feature(feature.kind, columns, feature.params)
