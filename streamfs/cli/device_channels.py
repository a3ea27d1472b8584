"""Channels that devices of a profile can send by themselves, so that a model is promised what it will read."""

from math import floor
from typing import TYPE_CHECKING

import numpy as np

from feature_extractors.report import Policy, channel_name, quantity_of, split_channel
from streamfs.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from streamfs.data.streams import StreamSet
    from streamfs.gateway.core.device_profile import DeviceProfile

EVERY = (1, 2, 4)
"""Ticks between two messages that are tried."""


def device_channels(profile: "DeviceProfile", streams: "StreamSet") -> list[str]:
    """Return the channels to try: what devices can send of each column, in their own steps.

    Raise a DataError if they can send none.
    """
    from streamfs.data.default_features import delta_policies, readings_of_quantity  # noqa: PLC0415 - polars

    channels = []
    for column in streams.columns:
        if not np.isfinite(streams.column(column)).any():
            continue
        changes = delta_policies(readings_of_quantity(streams, column), [0.5])
        policies = [
            *(Policy("every", ticks) for ticks in EVERY),
            *(_rounded(profile, column, each) for each in changes),
        ]
        channels += [
            channel_name(column, each) for each in policies if can_send(profile, column, each, streams.period)
        ]
    if not channels:
        raise DataError(
            f"devices of {profile.name} can send none of {', '.join(streams.columns)} every tick or on change"
        )
    return channels


def check_channels(profile: "DeviceProfile", channels: "Iterable[str]", period: float) -> None:
    """Raise a DataError that names the first channel that devices of a profile cannot send by themselves."""
    for channel in channels:
        column, policy = split_channel(channel)
        if not can_send(profile, column, policy, period):
            reach = profile.reach
            can = f"{' and '.join(reach.can)}, from {reach.min:g} to {reach.max:g} s"
            raise DataError(f"devices of {profile.name} cannot send {channel}: they can {can}")


def can_send(profile: "DeviceProfile", column: str, policy: Policy, period: float) -> bool:
    """Return whether a device can be asked to send a column under a policy, exactly."""
    reach = profile.reach
    if not profile.can_be_asked(quantity_of(column)) or policy.kind not in reach.can:
        return False
    if policy.kind == "every":
        return reach.min <= period * policy.value <= reach.max
    is_within = reach.least_delta <= policy.value <= reach.most_delta and reach.min <= period
    return is_within and _rounded(profile, column, policy) == policy


def _rounded(profile: "DeviceProfile", column: str, policy: Policy) -> Policy:
    """Return a policy of changes in the steps that a device knows: finer than asked, never coarser."""
    if "scale" not in profile.quantities.get(quantity_of(column), {}):
        return policy
    scale = float(profile.quantities[quantity_of(column)]["scale"])
    return Policy("delta", float(f"{max(1, floor(policy.value * scale + 1e-9)) / scale:.12g}"))
