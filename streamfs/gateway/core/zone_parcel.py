"""A zone with its state, on its way from one gateway's core to another's."""

from typing import NamedTuple

import orjson

from streamfs.base import container
from streamfs.gateway.core.intake import Intake
from streamfs.gateway.core.roster import Roster, ZoneMembers
from streamfs.gateway.core.shards import zone_by_node

KIND, VERSION = "zone", 1


class Parts(NamedTuple):
    """The parts of a core that know of streams and nodes."""

    roster: Roster
    intake: Intake


def members_of(roster: Roster, name: str) -> tuple[str, ZoneMembers]:
    """Return the zone that has a stream or a node of this name, and its members; ValueError if there is none."""
    bindings = roster.bindings
    zones = zone_by_node(bindings.nodes_of)
    of_stream = {stream: zones[next(iter(nodes.values()))] for stream, nodes in bindings.nodes_of.items()}
    if bindings.discovers:
        zones |= {node: zones.get(node, node) for node in roster.nodes}
        of_stream |= {stream: zones[stream] for stream in roster.streams if stream not in of_stream}
    zone = zones.get(name) or of_stream.get(name)
    if zone is None:
        raise ValueError(f"{name!r} is no stream and no node here, expected one of the zone")
    streams = [stream for stream in roster.streams if of_stream.get(stream) == zone]
    return zone, ZoneMembers(streams, [node for node in roster.nodes if zones.get(node) == zone])


def pack_zone(parts: Parts, zone: str, members: ZoneMembers) -> bytes:
    """Pack what is held of a zone's streams and nodes."""
    header, arrays = parts.roster.part_of(members)
    nodes, bindings = set(members.nodes), parts.roster.routes
    header["zone"] = zone
    header["repeated"] = {
        topic: said for topic, said in parts.intake.repeated.to_state().items() if bindings.node_of(topic) in nodes
    }
    header["aliases"] = [
        [name, [*of.items()]]
        for name, of in parts.intake.aliases.items()
        if (bindings.aliases.get(name) or name) in nodes
    ]
    return container.pack(KIND, VERSION, header, arrays)


def adopt_zone(parts: Parts, parcel: bytes) -> None:
    """Go on with a zone as `pack_zone` has packed it; raise a ValueError, and do nothing, if that cannot be."""
    header, arrays, _ = container.unpack(parcel, KIND, VERSION, "the zone")
    parts.roster.place_part(header, arrays)
    parts.intake.repeated.restore(parts.intake.repeated.to_state() | header["repeated"])
    parts.intake.aliases |= {name: dict(of) for name, of in header["aliases"]}
    parts.intake.forget_targets()


def named_members(payload: bytes) -> ZoneMembers:
    """Read which streams and nodes leave."""
    said = orjson.loads(payload)
    return ZoneMembers(said["streams"], said["nodes"])


def drop_zone(parts: Parts, members: ZoneMembers) -> None:
    """Forget a zone that another gateway goes on with."""
    parts.roster.drop_part(members)
    parts.intake.forget_targets()


def names(members: ZoneMembers) -> bytes:
    """Pack which streams and nodes leave."""
    return orjson.dumps(members._asdict())


def zone_of(parcel: bytes) -> tuple[str, ZoneMembers]:
    """Return the name of a packed zone, and its members."""
    header, _, _ = container.unpack(parcel, KIND, VERSION, "the zone")
    return header["zone"], ZoneMembers(list(header["streams"]), list(header["nodes"]))


def topics_of(members: ZoneMembers, prefix: str) -> list[str]:
    """Return the retained topics of a zone: its streams' decisions, and its nodes' control messages."""
    decisions = (f"{prefix}/decision/{stream}" for stream in members.streams)
    return [*decisions, *(f"{prefix}/control/{node}" for node in members.nodes)]
