"""Warnings about devices that do not do what they are asked, are offline, or would not go back by themselves."""

from collections.abc import Iterable

from streamfs.gateway.core.device_states import Device

MOST_NAMED = 10
"""Devices that warnings name."""


def device_warnings(devices: Iterable[Device]) -> list[str]:
    """Return a warning for each device that is offline, refuses, or does not obey though it was asked often.

    Examples
    --------
    >>> device = Device("kitchen", "kitchen", "tasmota:0", 9.0, 0.0, disobeys=True)
    >>> device_warnings([device])
    ['kitchen (tasmota) does not do what it is asked; it is asked again once a day, and thinned here meanwhile']
    """
    found = []
    for device in devices:
        kind, refusals = device.profile.partition(":")[0], [each.refusal for each in device.settings.values()]
        if device.offline_since is not None:
            found.append(f"{device.name} ({kind}) is offline; it is asked nothing until it is back")
        elif any(refusals):
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


def unguarded_warning(devices: Iterable[Device]) -> list[str]:
    """Return a warning that names devices which would keep what they were asked last if the gateway died.

    Examples
    --------
    >>> unguarded_warning([Device("kitchen", "kitchen", "tasmota:0", 9.0, 0.0)])
    ['if the gateway dies, kitchen keeps the interval that it was asked for last: no streamfs guard is online']
    """
    names = [device.name for device in devices]
    if not names:
        return []
    shown = ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} others" * (len(names) > MOST_NAMED))
    keeps = "keeps the interval that it was" if len(names) == 1 else "keep the intervals that they were"
    return [f"if the gateway dies, {shown} {keeps} asked for last: no streamfs guard is online"]
