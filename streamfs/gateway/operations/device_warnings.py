"""Warnings about devices that do not do what they are asked."""

from collections.abc import Iterable

from streamfs.gateway.core.conduct import Device

MOST_NAMED = 10
"""Devices that warnings name."""


def device_warnings(devices: Iterable[Device]) -> list[str]:
    """Return a warning for each device that refuses, or was asked as often as it may be and does not obey.

    Examples
    --------
    >>> device = Device("kitchen", "kitchen", "tasmota:0", 0.0, 9.0, 0.0, disobeys=True)
    >>> device_warnings([device])
    ['kitchen (tasmota) does not do what it is asked; it is asked again once a day, and thinned here meanwhile']
    """
    found = []
    for device in devices:
        kind, refusals = device.profile.partition(":")[0], [each.refusal for each in device.settings.values()]
        if any(refusals):
            reason = next(filter(None, refusals))
            found.append(f"{device.name} ({kind}) refuses what it is asked: {reason}")
        elif device.disobeys:
            again = "it is asked again once a day, and thinned here meanwhile"
            found.append(f"{device.name} ({kind}) does not do what it is asked; {again}")
    further = len(found) - MOST_NAMED
    return (
        found
        if further <= 0
        else [*found[:MOST_NAMED], f"{further} further devices do not do what they are asked"]
    )
