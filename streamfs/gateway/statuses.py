"""What gateways that share streams say of themselves, retained, and what is wrong between them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from time import monotonic
from typing import Any, Self

import orjson

from streamfs.base import container
from streamfs.errors import TransportError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, shard_of, zone_by_node
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.transport.transport import Transport

ONLINE, OFFLINE = "online", "offline"

_POLL = 0.05  # seconds that is waited for a status at most

MAX_MOVED = 1000
"""Zones that have moved which a status names."""


@dataclass(frozen=True)
class Status:
    """The status of a gateway: which shard it serves, since when, in which run, and how many zones these are.

    `epoch` counts the times that a standby has taken over; `digest` is that of all gateways' streams and nodes.
    """

    gateway: str
    status: str = ONLINE
    shard: str = ""
    run: str = ""
    since: float = 0.0
    epoch: int = 0
    zones: int = 0
    digest: str = ""
    came: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    is_orderly: bool = False

    @classmethod
    def read(cls, payload: bytes) -> Self | None:
        """Read a status; None if it is none, whoever wrote it."""
        try:
            said: dict[str, Any] = orjson.loads(payload)
            known = {key: said[key] for key in cls.__dataclass_fields__ if key in said}
            for key in ("came", "left"):
                known[key] = tuple(known.get(key, ()))
            status = cls(**known)
            if status.shard:
                Shard.parse(status.shard)
            values = [*asdict(status).items(), *(("gateway", zone) for zone in status.came + status.left)]
            is_sound = all(type(value) is type(getattr(cls(""), key)) for key, value in values)
        except (ValueError, TypeError):
            return None
        return status if is_sound else None

    @property
    def is_online(self) -> bool:
        """Whether the gateway serves."""
        return self.status == ONLINE

    def publication(self, prefix: str) -> Publication:
        """Return the retained publication of this status."""
        return Publication(status_topic(prefix, self.gateway), orjson.dumps(asdict(self)))

    def ended(self, *, is_orderly: bool) -> Self:
        """Return the status of a gateway that has ended, in order or not."""
        return replace(self, status=OFFLINE, is_orderly=is_orderly)

    def of_bindings(self, bindings: Bindings) -> Self:
        """Return the status with what the bindings say."""
        share, own = bindings.share, zone_by_node(bindings.nodes_of)
        names = [sorted({*bindings.streams, *bindings.streams_elsewhere}), sorted({*own, *bindings.elsewhere})]
        moved = ((), ()) if share is None else (share.came, share.left)
        return replace(
            self,
            zones=len(set(own.values())),
            digest=container.digest(orjson.dumps(names)),
            came=tuple(sorted(moved[0])[:MAX_MOVED]),
            left=tuple(sorted(moved[1])[:MAX_MOVED]),
        )


def status_topic(prefix: str, gateway: str) -> str:
    """Return the topic of a gateway's status; all gateways' are `status_topic(prefix, "+")`."""
    return f"{prefix}/status/{gateway}"


def troubles(statuses: Iterable[Status]) -> list[str]:
    """Return what is wrong between gateways that share streams: what nobody serves, and what two do.

    Examples
    --------
    >>> troubles([Status("attic", shard="1/2"), Status("cellar", status="offline", shard="2/2")])
    ['shard 2/2 is served by nobody; cellar is offline']
    """
    sharing = [status for status in statuses if status.shard]
    live = [status for status in sharing if status.is_online]
    found = [*_of_division(live or sharing)]
    for of in sorted({Shard.parse(status.shard).of for status in live or sharing}):
        for number in range(1, of + 1):
            found += _of_shard(str(Shard(number, of)), sharing)
    return [*found, *_of_moves(sharing)]


def _of_division(statuses: list[Status]) -> list[str]:
    """Return what gateways do not agree on."""
    found = []
    numbers = sorted({Shard.parse(status.shard).of for status in statuses})
    if len(numbers) > 1:
        found.append(f"streams are divided in several ways: by {' and by '.join(map(str, numbers))}")
    by_digest: dict[str, str] = {}
    for status in statuses:
        by_digest.setdefault(status.digest, status.gateway)
    if len(by_digest) > 1:
        found.append(f"the settings of {' and '.join(by_digest.values())} name different streams or nodes")
    return found


def _of_shard(shard: str, sharing: list[Status]) -> list[str]:
    of_it = [status for status in sharing if status.shard == shard]
    serving = [status.gateway for status in of_it if status.is_online]
    if len(serving) > 1:
        return [f"shard {shard} is served {len(serving)} times: by {' and '.join(serving)}"]
    if serving:
        return []
    away = "".join(f"; {status.gateway} is offline" for status in of_it)
    return [f"shard {shard} is served by nobody{away}"]


def _of_moves(sharing: list[Status]) -> list[str]:
    """Return the zones that have left one gateway and reached none, or have reached one and not left the other."""
    came, found = defaultdict(list), []
    for status in sharing:
        for zone in status.came:
            came[zone].append(status)
    for zone, at in sorted(came.items()):
        of = Shard.parse(at[0].shard).of
        home = str(Shard(shard_of(zone, of), of))
        also = [status for status in sharing if status.shard == home and zone not in status.left]
        doubly = [status.gateway for status in {*at, *also}]
        if len(doubly) > 1:
            found.append(f"zone {zone} is served by {' and '.join(sorted(doubly))}")
    lost = ((zone, status.gateway) for status in sharing for zone in status.left if zone not in came)
    return [*found, *(f"zone {zone} has left {gateway} and is served by nobody" for zone, gateway in lost)]


def read_statuses(transport: Transport, prefix: str, patience: float) -> list[Status]:
    """Return the statuses that the broker has retained, by shard and name, of all gateways with this prefix.

    Raise a TransportError if it cannot be reached within the patience, in seconds.
    """
    since, deadline = transport.clock.now(), monotonic() + patience
    transport.subscribe([status_topic(prefix, "+")])
    transport.connect(patience)
    transport.check_subscribed(patience)
    found = []
    while transport.silence <= since:
        if monotonic() > deadline:
            raise TransportError(f"the broker does not answer within {patience:g} s")
        transport.prove_silence()
        found += [Status.read(message.payload) for message in transport.poll(_POLL)]
    return sorted((each for each in found if each is not None), key=lambda each: (each.shard, each.gateway))
