"""Recovery of a gateway from its state: snapshots and the replay of records."""

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from streamfs.base import container
from streamfs.errors import LogError, ModelError, StateError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import KIND, VERSION, Core, UndescribedError
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import CLOCK, MESSAGE, MODEL, SETTINGS, START, Record, start_record
from streamfs.gateway.core.replay_configuration import described, understood
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.models import check_model
from streamfs.gateway.storage.segment import first_position, segment_name, segments
from streamfs.gateway.storage.state import State
from streamfs.procedure.procedure import Decision, Procedure

_log = logging.getLogger(__name__)

Load = Callable[[str], Procedure]

_AT_ONCE = 1000  # records replayed together


class Recovered(NamedTuple):
    """The core as of the last stored record, effects not in the journal, and what the last run had.

    These are the number of records replayed, and the topics that were subscribed to.
    """

    core: Core
    effects: Effects
    n_replayed: int
    topics: tuple[str, ...]


def recover(
    state: State, procedure: Procedure, bindings: Bindings, options: Options, *, trust: bool = False
) -> Recovered:
    """Restore the newest valid snapshot, and replay the records after it.

    The procedure is that of a gateway without records; the state is not changed. Raise a ModelError if a recorded
    model cannot be loaded, a LogError if the log is damaged or begins after what is known, and a StateError if
    streams still use a model for whose channels the bindings have no nodes.
    """

    def load(digest: str) -> Procedure:
        if digest != procedure.digest:
            return kept_model(state, digest, trust=trust)
        learns = procedure.classifier.dump() is not None
        return Procedure.from_packed(procedure.packed, trust=trust) if learns else procedure

    core, position = _restore(state, bindings, options, load)
    records = state.log.read(position)
    if core is None:
        if state.log.start > 0:
            raise LogError(
                f"{state.journal.path} has no snapshot that can be used, and the log starts at record "
                f"{state.log.start}, expected 0: earlier ones are released; move the folder away to start afresh"
            )
        first = next(records, None)
        if first is None:
            core = Core(procedure, bindings, options, load)
        else:
            core = _begin(first[1], procedure, bindings, options, load)
            records = chain([first], records)
    effects = Effects()
    for end, run in _runs(records, state.journal.position):
        core = _configured(core, run[0], load)
        made = core.take(run)
        if end > state.journal.position:
            effects.add(made)
    topics = core.topics
    if core.configuration != described(bindings, options):
        _check_roles(state, core, bindings)
        core = Core.from_state(core.to_state()(), load, bindings, options)
    return Recovered(core, effects, state.log.end - position, topics)


def resume(state: State, *, trust: bool = False) -> Recovered:
    """Restore what the last run has left, with its own model, bindings and options; otherwise as `recover`."""
    procedure, configuration = last_model(state, trust=trust), _last_configuration(state)
    if procedure is None or not configuration:
        raise StateError(f"{state.folder} has nothing of a gateway's run, expected the state of one that has run")
    return recover(state, procedure, *understood(configuration, procedure.channels), trust=trust)


def _last_configuration(state: State) -> bytes:
    """Return the bindings and options of the last run; empty if there was none, or they cannot be written."""
    position, found = newest_configuration(state.journal.snapshots())
    for _, record in state.log.read(state.log.start if position is None else position):
        if record.kind in (START, SETTINGS):
            found = record.payload
    return found


def newest_configuration(snapshots: Iterable[tuple[int, bytes]]) -> tuple[int | None, bytes]:
    """Return position, bindings and options of the newest readable snapshot; None, and empty, if there is none."""
    for position, snapshot in snapshots:
        try:
            header, _, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        except ModelError:  # of another version; `recover` warns about it
            continue
        return position, header["configuration"].encode()
    return None, b""


def last_model(state: State, *, trust: bool = False) -> Procedure | None:
    """Return the model of new episodes as of the last stored record; None if there was no run."""
    digest, position = _last_in_snapshot(state)
    for _, record in state.log.read(position):
        if record.kind in (START, MODEL, SETTINGS):
            digest = record.topic
    return None if digest is None else kept_model(state, digest, trust=trust)


def replay_log(
    folder: str | PathLike[str], procedure: Procedure, bindings: Bindings, options: Options
) -> Iterator[Decision]:
    """Yield the decisions of a model on the messages of a gateway; streams open at the end are closed.

    Model, bindings and options need not be the gateway's. Raise a LogError if a segment is missing or damaged.
    """
    paths = segments(Path(folder))
    if not paths:
        raise LogError(f"{folder} has no segment of a log, expected files such as {segment_name(0)}")
    core = Core(procedure, bindings, options)
    core.take([start_record(procedure.digest, 0.0)])
    records = (record for _, record in read_log(folder, first_position(paths[0])))
    runs = (record._replace(topic=procedure.digest) if record.kind == START else record for record in records)
    heard = (record for record in runs if record.kind in (MESSAGE, CLOCK, START))
    for chunk in _chunks(heard):
        yield from core.take(chunk).decisions
    yield from core.finish().decisions


def kept_model(state: State, digest: str, *, trust: bool) -> Procedure:
    """Return the model with this digest, which a state keeps."""
    path = state.models.model_path(digest)
    check_model(path)
    return Procedure.load(path, trust=trust)


def _restore(state: State, bindings: Bindings, options: Options, load: Load) -> tuple[Core | None, int]:
    """Return the core of the newest valid snapshot, and the position after it."""
    for position, snapshot in state.journal.snapshots():
        try:
            try:
                return Core.from_state(snapshot, load), position
            except UndescribedError:
                return Core.from_state(snapshot, load, bindings, options), position
        except ModelError as error:
            _log.warning("the snapshot at record %d cannot be used: %s", position, error)
    return None, 0


def _begin(record: Record, procedure: Procedure, bindings: Bindings, options: Options, load: Load) -> Core:
    """Return the core as of the log's first record."""
    if record.kind != START:
        return Core(procedure, bindings, options, load)
    first = procedure if record.topic == procedure.digest else load(record.topic)
    if record.payload not in (b"", described(bindings, options)):
        bindings, options = understood(record.payload, first.channels)
    return Core(first, bindings, options, load)


def _last_in_snapshot(state: State) -> tuple[str | None, int]:
    """Return the digest of the newest snapshot's newest model, and the position after it."""
    for position, snapshot in state.journal.snapshots():
        try:
            header, _, _ = container.unpack(snapshot, KIND, VERSION, "the snapshot")
        except ModelError:  # of another version; `recover` warns about it
            continue
        return header["models"][-1]["procedure"], position
    return None, state.log.start


def _check_roles(state: State, core: Core, bindings: Bindings) -> None:
    """Check that the bindings have a node for each channel that a previous model reads."""
    try:
        bindings.with_channels(core.roster.routes.channels)
    except ValueError as error:
        raise StateError(
            f"{state.folder} has streams of another model, which the bindings do not fit: {error}; run the "
            "gateway with the previous bindings until these are decided, or move the folder away to start afresh"
        ) from error


def _configured(core: Core, record: Record, load: Load) -> Core:
    """Return the core for a record: a start, or settings, may have other bindings and options."""
    if record.kind not in (START, SETTINGS) or record.payload in (b"", core.configuration):
        return core
    bindings, options = understood(record.payload, core.procedure.channels)
    return Core.from_state(core.to_state()(), load, bindings, options)


def _runs(records: Iterator[tuple[int, Record]], known: int) -> Iterator[tuple[int, list[Record]]]:
    """Divide records into runs, each with its end; one starts at a start or settings, and where ``known`` ends."""
    run: list[Record] = []
    position = 0
    for end, record in records:
        if run and (record.kind in (START, SETTINGS) or position == known or len(run) == _AT_ONCE):
            yield position, run
            run = []
        run.append(record)
        position = end
    if run:
        yield position, run


def _chunks(records: Iterator[Record]) -> Iterator[list[Record]]:
    while chunk := list(islice(records, _AT_ONCE)):
        yield chunk
