"""Default channels and features for recorded streams."""

from collections.abc import Sequence

import numpy as np

import feature_extractors as fx
from feature_extractors.arrays import Array
from feature_extractors.base import Feature, Kind
from feature_extractors.report import Policy, channel_name, quantity_of
from streamfs.data.streams import StreamSet

RICH = tuple(kind for kind in fx.KINDS if kind.n_columns < 2 or kind in fx.ESSENTIAL)
"""All kinds of features of one column, and the essential ones of pairs."""


def default_features(streams: StreamSet, kinds: Sequence[Kind] = fx.ESSENTIAL) -> tuple[Feature, ...]:
    """Return the features to try by default: the essential kinds of the catalogue over `default_channels`."""
    return fx.catalogue(default_channels(streams), kinds)


def default_channels(streams: StreamSet) -> list[str]:
    """Return the channels to try by default: each column at every tick, on change, and as a flag.

    A column is reported on a change of half its standard deviation, and flagged above its median. Columns of the
    same quantity (``a.light``, ``b.light``) share both figures, which are rounded.
    """
    channels = []
    for column in streams.columns:
        if np.isfinite(streams.column(column)).any():
            readings = readings_of_quantity(streams, column)
            policies = (Policy(), *delta_policies(readings, [0.5]), *flag_policies(readings))
            channels += [channel_name(column, policy) for policy in policies]
    return channels


def readings_of_quantity(streams: StreamSet, column: str) -> Array:
    """Return all finite readings of a column's quantity, over all roles and streams, shape (n_readings,)."""
    alike = [each for each in streams.columns if quantity_of(each) == quantity_of(column)]
    readings = np.concatenate([streams.column(each).ravel() for each in alike])
    return np.asarray(readings[np.isfinite(readings)])


def delta_policies(readings: Array, deviations: Sequence[float]) -> list[Policy]:
    """Return policies that report changes of `deviations` standard deviations, to two figures, unless constant."""
    deviation = float(readings.std()) if len(readings) else 0.0
    steps = dict.fromkeys(float(f"{deviation * share:.2g}") for share in deviations)
    return [Policy("delta", step) for step in steps if step > 0]


def flag_policies(readings: Array) -> list[Policy]:
    """Return a policy that flags readings above the median, or none if the flag would never change.

    The median of the finite `readings` is rounded to a two-hundredth of their standard deviation.

    Examples
    --------
    >>> [policy.name for policy in flag_policies(np.array([1.0, 2.0, 2.5, 9.0]))]
    ['flag:2.256']
    >>> flag_policies(np.array([5.0, 5.0]))
    []
    """
    for step in (policy.value for policy in delta_policies(readings, [0.5])):
        threshold = float(f"{np.round(np.median(readings) / step * 100) * step / 100:.12g}")
        if readings.min() <= threshold < readings.max():
            return [Policy("flag", threshold)]
    return []
