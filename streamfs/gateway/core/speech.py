"""What a device is asked, and the message that asks it."""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import floor
from typing import Any, NamedTuple

import orjson

from feature_extractors.report import Policy
from streamfs.gateway.core.device_profile import DeviceProfile, Report
from streamfs.gateway.messages.codecs.sparkplug import DOUBLE, Metric, encode_metrics
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.messages.senders import MARK

_LEVELS_OF_EDGE = 4  # of topics of Sparkplug without a device
_ONE = re.compile(r"\{(\w+)\}")
_NUMBER_OF_BYTES = re.compile(r"\{seconds:(-?)([1-8])\}")


class Asked(NamedTuple):
    """Seconds between two reports, at least and at most, and the change of the value that is reported between."""

    least: float
    most: float
    delta: float


class Address(NamedTuple):
    """Where a device was heard last, type and alias of the metrics that it lets write, by name, and the time."""

    topic: str
    metrics: Mapping[str, Sequence[int | None]]
    now: float


NOWHERE = Address("", {}, 0.0)


def asked_for(
    profile: DeviceProfile,
    policies: Mapping[str, Sequence[Policy]],
    period: float,
    max_silence: float | None,
    resting: Asked | None = None,
) -> dict[str, Asked]:
    """Return what a device is to be asked, by quantity, or under "" if it has one interval for all.

    `policies` are those under which models want each quantity; of one without any it rests, or does what is
    `resting`. It is never asked for less than they need, unless it cannot do more.

    Examples
    --------
    >>> from streamfs.gateway.settings.profiles import load_profile
    >>> wanted = {"temperature": [Policy.parse("delta:0.33")], "humidity": []}
    >>> asked_for(load_profile("zigbee2mqtt"), wanted, 30.0, 600.0)["temperature"]
    Asked(least=30.0, most=600.0, delta=0.33)
    >>> asked_for(load_profile("tasmota"), wanted, 30.0, 600.0)
    {'': Asked(least=30.0, most=30.0, delta=0.0)}
    """
    asked = {
        quantity: _asked(profile, quantity, wanted, period, max_silence) if wanted else resting or _rest(profile)
        for quantity, wanted in policies.items()
        if profile.can_be_asked(quantity)
    }
    if profile.reach.per == "quantity" or not asked:
        return asked
    return {"": Asked(*(min(column) for column in zip(*asked.values(), strict=True)))}


def safe_for(profile: DeviceProfile, seconds: float | None = None) -> Asked:
    """Return what a device does without a gateway: reports at an interval, by default that of its profile.

    One that can be asked for changes alone reports the smallest.

    Examples
    --------
    >>> from streamfs.gateway.settings.profiles import load_profile
    >>> safe_for(load_profile("tasmota"))
    Asked(least=300.0, most=300.0, delta=0.0)
    """
    reach = profile.reach
    if "every" not in reach.can:
        return Asked(reach.min, reach.max, reach.least_delta)
    interval = _within(profile, seconds or reach.safe or reach.rest)
    return Asked(interval, interval, reach.least_delta)


def _rest(profile: DeviceProfile) -> Asked:
    reach = profile.reach
    return Asked(reach.rest, reach.rest, reach.most_delta)


def _asked(
    profile: DeviceProfile, quantity: str, wanted: Sequence[Policy], period: float, max_silence: float | None
) -> Asked:
    reach = profile.reach
    if "delta" in reach.can and all(policy.kind == "delta" for policy in wanted):
        scale = float(profile.quantities.get(quantity, {}).get("scale", 1))
        steps = max(1, floor(min(policy.value for policy in wanted) * scale + 1e-9))
        delta = min(max(steps / scale, reach.least_delta), reach.most_delta)
        return Asked(_within(profile, period), _within(profile, max_silence or reach.max), delta)
    if "every" not in reach.can:
        return Asked(reach.min, reach.max, reach.least_delta)
    seconds = _within(profile, period * min(policy.value if policy.kind == "every" else 1.0 for policy in wanted))
    return Asked(seconds, seconds, reach.least_delta)


def _within(profile: DeviceProfile, seconds: float) -> float:
    return min(max(seconds, profile.reach.min), profile.reach.max)


def message(
    profile: DeviceProfile,
    device: str,
    quantity: str,
    asked: Asked,
    number: int,
    address: Address = NOWHERE,
) -> Publication:
    """Return the message that asks a device, heard at an address; its number comes back if it answers."""
    report = profile.report
    if report is None:
        raise ValueError(f"devices of {profile.name} cannot be asked")
    values = _values(profile, device, quantity, asked, number) | _levels(address.topic)
    topic = _filled_text(report.topic, values)
    if report.text is not None:
        return Publication(topic, str(_filled_text(report.text, values)).encode(), report.retain)
    said = _filled(dict(report.payload), values)
    if report.format == "sparkplug":
        written = [
            Metric(name, alias, datatype, value)
            for name, value in said.items()
            for alias, datatype in [address.metrics.get(name.casefold(), (None, DOUBLE))]
        ]
        return Publication(topic, encode_metrics(written, address.now), report.retain)
    return Publication(topic, orjson.dumps([said] if report.array else said), report.retain)


def size_on_air(profile: DeviceProfile, asked: Asked, publication: Publication) -> int:
    """Return the bytes of a message to a device that reach it: of a downlink, those that its network is given."""
    report = profile.report
    return len(_bytes(report, asked)) if report is not None and report.bytes else len(publication.payload)


def written_metrics(profile: DeviceProfile, quantity: str, asked: Asked, topic: str) -> dict[str, Any]:
    """Return the metrics that a message to a device heard on a topic writes, and their values, by name."""
    report = profile.report
    if report is None or report.format != "sparkplug":
        return {}
    values = _values(profile, "", quantity, asked, 0) | _levels(topic)
    return {name.casefold(): value for name, value in _filled(dict(report.payload), values).items()}


def _levels(topic: str) -> dict[str, Any]:
    """Return the levels of a topic as placeholders, and what Sparkplug makes of them; none without a topic.

    A node that payloads name stands behind the topic, not in a level of its own.
    """
    if not topic:
        return {}
    levels = topic.partition(MARK)[0].split("/")
    kind, scope = ("DCMD", "Device") if len(levels) > _LEVELS_OF_EDGE else ("NCMD", "Node")
    command = "/".join([*levels[:2], kind, *levels[3:]])
    return {f"level{i}": level for i, level in enumerate(levels)} | {"command": command, "scope": scope}


def _values(profile: DeviceProfile, device: str, quantity: str, asked: Asked, number: int) -> dict[str, Any]:
    """Return what is filled in for placeholders."""
    own = profile.quantities.get(quantity, {})
    scale = float(own.get("scale", 1))
    values: dict[str, Any] = {
        **own,
        "device": device,
        "quantity": quantity,
        "seconds": max(1, floor(asked.most)),
        "min": max(1, floor(asked.least)),
        "max": max(1, floor(asked.most)),
        "delta": _plain(min(asked.delta * scale, 32_767.0)),
        "milliseconds": max(1, floor(1000 * asked.most)),
        "id": number,
        "uuid": _uuid(device, number),
    }
    report = profile.report
    if report is not None and report.bytes:
        values["bytes"] = b64encode(_bytes(report, asked)).decode()
    return values


def _filled(template: Any, values: Mapping[str, Any]) -> Any:
    """Return a template with values for its placeholders; a text that is only one becomes a value of its type."""
    if isinstance(template, dict):
        return {_filled_text(key, values): _filled(each, values) for key, each in template.items()}
    if isinstance(template, list):
        return [_filled(each, values) for each in template]
    if not isinstance(template, str):
        return template
    alone = _ONE.fullmatch(template)
    return values.get(alone[1], template) if alone else _filled_text(template, values)


def _filled_text(template: str, values: Mapping[str, Any]) -> str:
    return _ONE.sub(lambda found: str(values.get(found[1], found[0])), template)


def _bytes(report: Report, asked: Asked) -> bytes:
    """Return hexadecimal bytes; ``{seconds:3}`` are three bytes, the largest first, with a minus the smallest."""

    def number(found: re.Match[str]) -> str:
        return max(1, floor(asked.most)).to_bytes(int(found[2]), "little" if found[1] else "big").hex()

    return bytes.fromhex(_NUMBER_OF_BYTES.sub(number, str(report.bytes.get("hex", ""))))


def _uuid(device: str, number: int) -> str:
    """Return a UUID that ends with the number of a message to a device, and begins as that of no other device."""
    digits = sha256(device.encode()).hexdigest()
    return f"{digits[:8]}-{digits[8:12]}-8{digits[12:15]}-8{digits[15:18]}-{number % 10**12:012d}"


def _plain(number: float) -> float | int:
    rounded = round(number, 9)
    return int(rounded) if rounded == int(rounded) else rounded
