"""Channels worth trying on recorded streams, and features over them."""

from collections.abc import Sequence

import numpy as np

import feature_extractors as fx
from feature_extractors.base import Array, Feature
from feature_extractors.report import Policy, channel_name, quantity_of
from streamfs.data.streams import StreamSet


def default_features(streams: StreamSet) -> tuple[Feature, ...]:
    """Features worth trying on some streams: the essential kinds of the catalogue over `default_channels`."""
    return fx.catalogue(default_channels(streams), fx.ESSENTIAL)


def default_channels(streams: StreamSet) -> list[str]:
    """Channels worth trying on some streams: each column at every tick, on change, and as a flag.

    A column is reported on a change of half its standard deviation, and flagged above its median; columns that
    are the same quantity of two roles (``a.light``, ``b.light``) share both figures, which are rounded. A column
    without any reading has no channels.
    """
    channels = []
    for column in streams.columns:
        if np.isfinite(streams.column(column)).any():
            readings = readings_alike(streams, column)
            policies = (Policy(), *on_changes(readings, [0.5]), *flags(readings))
            channels += [channel_name(column, policy) for policy in policies]
    return channels


def readings_alike(streams: StreamSet, column: str) -> Array:
    """All finite readings of a column's quantity, in every role and stream, shape (n_readings,)."""
    alike = [each for each in streams.columns if quantity_of(each) == quantity_of(column)]
    readings = np.concatenate([streams.column(each).ravel() for each in alike])
    return np.asarray(readings[np.isfinite(readings)])


def on_changes(readings: Array, deviations: Sequence[float]) -> list[Policy]:
    """Reports on a change of so many standard deviations, rounded to two figures; of a constant none.

    Parameters
    ----------
    readings : ndarray of shape (n_readings,)
        Finite, in the unit of the column.
    deviations : sequence of float
        Steps, in standard deviations of the readings.

    Examples
    --------
    >>> [policy.name for policy in on_changes(np.array([1.0, 3.0, 1.0, 3.0]), [0.25, 1.0])]
    ['delta:0.25', 'delta:1']
    """
    deviation = float(readings.std()) if len(readings) else 0.0
    steps = dict.fromkeys(float(f"{deviation * share:.2g}") for share in deviations)
    return [Policy("delta", step) for step in steps if step > 0]


def flags(readings: Array) -> list[Policy]:
    """A report of whether a reading is above the median; none where it would never change.

    Parameters
    ----------
    readings : ndarray of shape (n_readings,)
        Finite, in the unit of the column; the median is rounded to a two-hundredth of their standard deviation.

    Examples
    --------
    >>> [policy.name for policy in flags(np.array([1.0, 2.0, 2.5, 9.0]))], flags(np.array([5.0, 5.0]))
    (['flag:2.256'], [])
    """
    for step in (policy.value for policy in on_changes(readings, [0.5])):
        threshold = float(f"{np.round(np.median(readings) / step * 100) * step / 100:.12g}")
        if readings.min() <= threshold < readings.max():
            return [Policy("flag", threshold)]
    return []
