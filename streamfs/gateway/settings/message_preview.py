"""How a message is read, step by step, for people."""

from collections.abc import Sequence
from typing import Any

from streamfs.errors import PayloadError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.core.feeds import AS_SENT
from streamfs.gateway.core.routes import Addressed, Route, Routed, addressed, unnamed
from streamfs.gateway.messages.codecs import Reading, Reported, Several
from streamfs.gateway.settings.device_sources import sources_of
from streamfs.gateway.settings.proposals import suggestion
from streamfs.gateway.settings.unread import root_of, unread


def preview_message(bindings: Bindings, topic: str, payload: bytes, arrival: float) -> dict[str, Any]:
    """Return how a message is read: its node, and a row for each value, or why it is left out.

    Parameters
    ----------
    bindings : Bindings
        Nodes, topics and the channels of a model.
    topic, payload : str, bytes
        The message, without a content type.
    arrival : float
        When it arrived, in seconds since 1970.

    Returns
    -------
    dict
        ``topic``, ``node``, ``refused`` (empty if all of it can be read), ``values``: rows with ``channel``,
        ``value``, ``time``, ``sequence`` and what they ``feed``; and ``unread``: paths of further values, as
        ``fields`` of the source would name them. Of several nodes all are named, and each row has its ``node``.
    """
    parts = bindings.addressed(topic, payload)
    return _together(topic, [_preview_part(bindings, topic, part, arrival) for part in parts])


def _together(topic: str, parts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return how a message is read, given how its parts are."""
    if len(parts) == 1:
        return parts[0]
    return {
        "topic": topic,
        "node": ", ".join(dict.fromkeys(part["node"] for part in parts if part["node"])),
        "refused": "; ".join(dict.fromkeys(part["refused"] for part in parts if part["refused"])),
        "values": [{"node": part["node"], **row} for part in parts for row in part["values"]],
        "unread": [*dict.fromkeys(path for part in parts for path in part["unread"])],
    }


def _preview_part(bindings: Bindings, topic: str, part: Addressed, arrival: float) -> dict[str, Any]:
    """Return how the part of a message is read that one node has sent, as `preview_message`."""
    found: dict[str, Any] = {"topic": topic, "node": None, "refused": "", "values": [], "unread": []}
    routed = bindings.route(part.topic)
    if routed is None:
        found["refused"] = _why(bindings, part)
        return found
    found["node"] = routed.node
    read, found["refused"] = _decoded(routed, part.payload, arrival)
    found["values"] = [row for name, each in read for row in _rows(bindings, routed, name, each)]
    return _with_unread(found, bindings.routes, part.payload)


def preview_by_profile(profile: DeviceProfile, topic: str, payload: bytes, arrival: float) -> dict[str, Any]:
    """Return what a profile reads in a message, as `preview_message`, with `quantity` in the rows of ``values``.

    Raise a StreamfsError if it has no such topic.
    """
    routes = [source.route() for source in sources_of(profile)]
    route = _of_topic(routes, topic, payload)
    if route is None:
        topics = ", ".join(str(reading["topic"]) for reading in profile.readings)
        raise StreamfsError(f"topic is {topic!r}, expected one of {topics}")
    parts = [
        _by_route(routes, routed, topic, part.payload, arrival)
        for part in addressed([route], topic, payload)
        if (routed := route.find(part.topic)) is not None
    ]
    return _together(topic, parts)


def _by_route(
    routes: Sequence[Route], routed: Routed, topic: str, payload: bytes, arrival: float
) -> dict[str, Any]:
    """Return how the part of a message is read that one device has sent, as `preview_by_profile`."""
    parts, refused = _decoded(routed, payload, arrival)
    samples = [(name, *sample) for name, part in parts for sample in _samples(part)]
    found = {
        "topic": topic,
        "node": routed.node,
        "refused": refused,
        "values": [{"quantity": name, "value": value, "time": time} for name, time, value in samples],
    }
    return _with_unread(found, routes, payload)


def _decoded(routed: Routed, payload: bytes, arrival: float) -> tuple[list[tuple[str, Reported]], str]:
    """Return what a payload reports, by channel, and why the rest cannot be read; empty if all can."""
    try:
        decoded = routed.codec.decode(payload, arrival, "")
    except PayloadError as error:
        return [], str(error)
    if isinstance(decoded, Several):
        return list(decoded.parts), "" if decoded.refused is None else str(decoded.refused)
    if routed.channel is None:
        return [], "neither topic nor payload names a channel"
    return [(routed.channel, decoded)], ""


def _of_topic(routes: Sequence[Route], topic: str, payload: bytes) -> Route | None:
    """Return the route that reads a message; None if none does."""
    topic = addressed(routes, topic, payload)[0].topic
    return next((route for route in routes if not route.ignores(topic) and route.find(topic) is not None), None)


def _with_unread(found: dict[str, Any], routes: Sequence[Route], payload: bytes) -> dict[str, Any]:
    """Return what was found in a message with the paths of further values, or why there is none at all."""
    route = _of_topic(routes, found["topic"], payload)
    paths = [] if route is None else list(unread(route, payload))
    root = "" if route is None else root_of(route)
    if root and not (paths or found["values"] or found["refused"]):
        found["refused"] = f"payload has no values in {root}, where the network server puts what its decoder reads"
    return found | {"unread": paths}


def _samples(part: Reported) -> list[tuple[float | None, float]]:
    if isinstance(part, Reading):
        return [(part.time, part.value)]
    times, values = part.arrays()
    return list(zip(times.tolist(), values.tolist(), strict=True))


def _why(bindings: Bindings, part: Addressed) -> str:
    topic = part.topic
    if bindings.ignores(topic):
        return "left out by the settings (ignore)"
    if any(route.find(topic) is not None for route in bindings.routes):
        return "its node feeds no stream, or the model does not read its channel"
    if why := unnamed(bindings.routes, topic):
        return why
    known = suggestion(topic)
    remedy = f'; a source with device = "{known}" has' if known else ""
    return f"no source has this topic; subscribed to {', '.join(bindings.topics)}{remedy}"


def _rows(bindings: Bindings, routed: Routed, name: str, part: Reported) -> list[dict[str, Any]]:
    fed = bindings.fed_by(name, thins=routed.thins)
    feeds = ", ".join(f"{feed.channel}{' (thinned here)' * (feed.how != AS_SENT)}" for feed in fed)
    return [
        {"channel": name, "value": value, "time": time, "sequence": part.sequence, "feeds": feeds or "nothing"}
        for time, value in _samples(part)
    ]
