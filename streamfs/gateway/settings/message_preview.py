"""How a message is read, step by step, for people."""

from typing import Any

from streamfs.errors import PayloadError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.feeds import AS_SENT
from streamfs.gateway.core.routes import Routed
from streamfs.gateway.messages.codecs import Reading, Reported, Several
from streamfs.gateway.settings.device_sources import sources_of


def preview_message(
    bindings: Bindings, topic: str, payload: bytes, arrival: float, content_type: str = ""
) -> dict[str, Any]:
    """Return how a message is read: its node, and a row for each value, or why it is left out.

    Parameters
    ----------
    bindings : Bindings
        Nodes, topics and the channels of a model.
    topic, payload, content_type : str, bytes, str
        The message.
    arrival : float
        When it arrived, in seconds since 1970.

    Returns
    -------
    dict
        ``topic``, ``node``, ``refused`` (empty if all of it can be read) and ``values``: rows with ``channel``,
        ``value``, ``time``, ``sequence`` and what they ``feed``.
    """
    found: dict[str, Any] = {"topic": topic, "node": None, "refused": "", "values": []}
    routed = bindings.route(topic)
    if routed is None:
        found["refused"] = _why(bindings, topic)
        return found
    found["node"] = routed.node
    try:
        decoded = routed.codec.decode(payload, arrival, content_type)
    except PayloadError as error:
        found["refused"] = str(error)
        return found
    if isinstance(decoded, Several):
        parts = list(decoded.parts)
        found["refused"] = "" if decoded.refused is None else str(decoded.refused)
    elif routed.channel is None:
        parts = []
        found["refused"] = "neither topic nor payload names a channel"
    else:
        parts = [(routed.channel, decoded)]
    found["values"] = [row for name, part in parts for row in _rows(bindings, routed, name, part)]
    return found


def preview_by_profile(profile: DeviceProfile, topic: str, payload: bytes, arrival: float) -> list[dict[str, Any]]:
    """Return what a profile reads in a message: rows with ``node``, ``quantity``, ``value`` and ``time``.

    Raise a StreamfsError if it has no such topic, or a PayloadError.
    """
    for source in sources_of(profile):
        route = source.route()
        routed = None if route.ignores(topic) else route.find(topic)
        if routed is not None:
            decoded = routed.codec.decode(payload, arrival, "")
            parts = decoded.parts if isinstance(decoded, Several) else ((routed.channel or "-", decoded),)
            samples = [(name, *sample) for name, part in parts for sample in _samples(part)]
            return [
                {"node": routed.node, "quantity": name, "value": value, "time": time}
                for name, time, value in samples
            ]
    topics = ", ".join(str(reading["topic"]) for reading in profile.readings)
    raise StreamfsError(f"topic is {topic!r}, expected one of {topics}")


def _samples(part: Reported) -> list[tuple[float | None, float]]:
    if isinstance(part, Reading):
        return [(part.time, part.value)]
    times, values = part.arrays()
    return list(zip(times.tolist(), values.tolist(), strict=True))


def _why(bindings: Bindings, topic: str) -> str:
    if bindings.ignores(topic):
        return "left out by the settings (ignore)"
    if any(route.find(topic) is not None for route in bindings.routes):
        return "its node feeds no stream, or the model does not read its channel"
    return f"no source has this topic; subscribed to {', '.join(bindings.topics)}"


def _rows(bindings: Bindings, routed: Routed, name: str, part: Reported) -> list[dict[str, Any]]:
    fed = bindings.fed_by(name, thins=routed.thins)
    feeds = ", ".join(f"{feed.channel}{' (thinned here)' * (feed.how != AS_SENT)}" for feed in fed)
    return [
        {"channel": name, "value": value, "time": time, "sequence": part.sequence, "feeds": feeds or "nothing"}
        for time, value in _samples(part)
    ]
