"""The same features over cheaper channels: sent more seldom, or on change only."""

from collections.abc import Sequence

import numpy as np

from feature_extractors.base import Feature
from feature_extractors.report import Policy, channel_name, quantity_of, split_channel
from streamfs.streams import StreamSet

TICKS = (2, 4, 8, 16)
"""A channel is sent every so many ticks, if a stream has four times as many."""

DEVIATIONS = (0.25, 0.5, 1.0)
"""A channel is sent on a change of so many standard deviations of its quantity."""


def policies_of(streams: StreamSet, column: str) -> tuple[Policy, ...]:
    """Report policies worth trying on a column: every tick, every k-th, and on changes, small and large.

    Columns that are the same quantity of two roles share them.
    """
    alike = [c for c in streams.columns if quantity_of(c) == quantity_of(column)]
    readings = np.concatenate([streams.column(c).ravel() for c in alike])
    deviation = float(np.nanstd(readings)) if np.isfinite(readings).any() else 0.0
    in_ticks = [Policy("every", k) for k in TICKS if 4 * k <= streams.n_ticks]
    steps = dict.fromkeys(float(f"{deviation * share:.2g}") for share in DEVIATIONS)
    on_change = [Policy("delta", step) for step in steps if step > 0]
    return (Policy(), *in_ticks, *on_change)


def with_policies(
    streams: StreamSet, features: Sequence[Feature], *, widen: bool = True
) -> tuple[tuple[Feature, ...], dict[int, tuple[int, ...]]]:
    """Say which features are the same over other channels, and offer them over cheaper ones.

    Parameters
    ----------
    streams : StreamSet
        Which have the features' columns.
    features : sequence of Feature
        What is offered; those of flags, and of no column, stay as they are.
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
    >>> streams = StreamSet(np.arange(8.0).reshape(1, 8, 1), ["a"], ["t"])
    >>> found, variants = with_policies(streams, [fx.get("mean(t)")])
    >>> [feature.name for feature in found]
    ['mean(t)', 'mean(t@every:2)', 'mean(t@delta:0.57)', 'mean(t@delta:1.1)', 'mean(t@delta:2.3)']
    >>> variants[0]
    (1, 2, 3, 4)
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
    return bool(kinds) and len(kinds) == 1 and "flag" not in kinds


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
