"""A zone moves from the state of one gateway to that of another, while neither runs."""

from collections.abc import Sequence
from math import inf
from pathlib import Path
from typing import NamedTuple

from streamfs.base import container
from streamfs.base.plain_files import plain
from streamfs.errors import StateError
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.records import CLOCK, START, STOP, Record, came_record, left_record
from streamfs.gateway.core.roster import ZoneMembers
from streamfs.gateway.core.zone_parcel import names, topics_of, zone_of
from streamfs.gateway.messages.publication import Numbered, Publication
from streamfs.gateway.recovery import Recovered, resume
from streamfs.gateway.settings.moved_zones import FILE, Moved, read_moved
from streamfs.gateway.storage.folders import OWNERS_FILE, sync_folder
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.segment import storing
from streamfs.gateway.storage.state import State

LEAVING = "leaving.zone"
"""The file with a zone that has left a state, and may not have reached the other one yet."""

SKEW = 0.5
"""Seconds that the clocks of two machines may differ."""

_KEPT = 2**53  # decisions: all that there are


class Move(NamedTuple):
    """A zone that has moved, and its members; `is_resumed` if an earlier attempt was ended."""

    zone: str
    members: ZoneMembers
    is_resumed: bool


def move_zone(name: str, source: Path, target: Path, *, trust: bool = False) -> Move:
    """Move the zone of a stream or node, with its state, between the state folders of gateways that are stopped.

    The gateway that takes the zone must have stopped first, and the other one later, after it has heard all that
    there was until then: the broker keeps what comes from then on for the one that takes it, which drops what the
    other has had already. A move that was interrupted goes on when it is called again.

    Parameters
    ----------
    name : str
        A stream or a node of the zone.
    source, target : path
        The states of the gateways that give and take it.
    trust : bool
        Whether pickled models may be loaded.

    Raises
    ------
    StateError
        If a gateway runs, or they have not stopped in this order, or cannot go on with the zone.
    """
    with _opened(source) as giving, _opened(target) as taking:
        path = source / LEAVING
        is_resumed = path.exists()
        giver, taker = resume(giving, trust=trust), resume(taking, trust=trust)
        if is_resumed:
            parcel = _read(path, name)
        else:
            _check_order(giving, taking)
            parcel = _packed(giver.core, name)
        zone, members = zone_of(parcel)
        now = max(giver.core.joiner.latest, taker.core.joiner.latest)
        came = _came(taker.core, came_record(zone, parcel, now), members)
        for state in (giving, taking):
            state.begin()
        if not is_resumed:
            _write(path, parcel)
        _note(source, zone, has_left=True)
        if any(stream in giver.core.roster.streams for stream in members.streams):
            left = left_record(zone, names(members), now)
            giver.effects.add(giver.core.take([left]))
            _commit(giving, giver, left)
        topics = topics_of(members, giver.core.options.prefix)
        waiting, known = _waiting(giving, topics), {publication for _, publication in _waiting(taking, topics)}
        _commit(taking, taker, came, [publication for _, publication in waiting if publication not in known])
        _note(target, zone, has_left=False)
        giving.journal.commit(Entry(giving.log.end, confirmed=[number for number, _ in waiting]))
        with storing(path):
            path.unlink()
            sync_folder(source)
        return Move(zone, members, is_resumed)


def _opened(folder: Path) -> State:
    if not folder.is_dir():
        raise StateError(f"{folder} is no folder, expected the state of a gateway")
    return State(folder, decisions_kept=_KEPT)


def _check_order(giving: State, taking: State) -> None:
    """Check that the broker keeps all for the gateway that takes what the one that gives has not had."""
    (stopped, _), (_, silence) = _end_of(taking), _end_of(giving)
    if stopped is None:
        raise StateError(f"{taking.folder}: its gateway was not stopped in order: start it, and stop it again")
    if silence < stopped + SKEW:
        raise StateError(
            f"{giving.folder}: its gateway has not heard all that there was when that of {taking.folder} stopped: "
            "start it, and stop it again some seconds later, while the other one is stopped"
        )


def _end_of(state: State) -> tuple[float | None, float]:
    """Return when the last run stopped, None if not in order, and the time up to which it has heard all."""
    stopped, silence = None, -inf
    for _, record in state.log.read(state.log.start):
        if record.kind == START:
            stopped, silence = None, -inf
        elif record.kind == CLOCK:
            silence = max(silence, record.arrival)
        elif record.kind == STOP:
            stopped = record.arrival
    return stopped, silence


def _packed(core: Core, name: str) -> bytes:
    try:
        return core.packed_zone(*core.members_of(name))
    except ValueError as error:
        raise StateError(str(error)) from error


def _read(path: Path, name: str) -> bytes:
    """Read a zone that has left, which must be that of the name."""
    with storing(path):
        parcel = plain(path).read_bytes()
    zone, members = zone_of(parcel)
    if name != zone and name not in (*members.streams, *members.nodes):
        raise StateError(f"{path} has zone {zone}, whose move was interrupted: move it first")
    return parcel


def _came(core: Core, record: Record, members: ZoneMembers) -> Record | None:
    """Let a core go on with a zone; return the record, or None if the zone is there already."""
    if any(stream in core.roster.streams for stream in members.streams):
        return None
    try:
        core.take([record])
    except ValueError as error:
        raise StateError(f"zone {record.topic} cannot be taken: {error}") from error
    return record


def _waiting(state: State, topics: list[str]) -> list[Numbered]:
    """Return the publications of a zone that the broker has not confirmed."""
    found, after, of_zone = [], 0, set(topics)
    while page := state.journal.outbox(after):
        found += [each for each in page if each[1].topic in of_zone]
        after = page[-1][0]
    return found


def _commit(state: State, recovered: Recovered, record: Record | None, moved: Sequence[Publication] = ()) -> None:
    """Append a record, and commit the effects of those before, and publications that have moved with the zone."""
    effects = Effects()
    effects.add(recovered.effects)
    publications = [*effects.publications, *moved]
    position = state.log.append([] if record is None else [record])
    state.log.sync()
    state.journal.commit(Entry(position, effects.decisions, publications, effects.energy))


def _note(state: Path, zone: str, *, has_left: bool) -> None:
    """Write down that a zone has left a state, or has reached it."""
    moved = read_moved(state)
    if has_left:
        now = Moved(moved.came - {zone}, moved.left if zone in moved.came else moved.left | {zone})
    else:
        now = Moved(moved.came if zone in moved.left else moved.came | {zone}, moved.left - {zone})
    if now != moved:
        _write(state / FILE, now.packed())


def _write(path: Path, data: bytes) -> None:
    with storing(path):
        container.write(path, data, OWNERS_FILE)
        sync_folder(path.parent)
