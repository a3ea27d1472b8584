"""A move that is killed at any of its dealings with the disk goes on when it is called again."""

import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, make_options, message

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.records import clock_record, start_record, stop_record
from streamfs.gateway.core.shards import Shard, Share
from streamfs.gateway.move import LEAVING, move_zone
from streamfs.gateway.recovery import resume
from streamfs.gateway.settings.moved_zones import read_moved
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.state import State

MODELS = Models(channels_procedure("x", time_limit=4))
NODES = tuple(f"n{i}" for i in range(6))
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
SYNCS = ((os, "fsync"), (os, "fdatasync"))
DEALINGS = ((Journal, "commit"), (Path, "unlink"), (Path, "replace"))


class Killed(BaseException):
    """The process was killed."""


def run_before(folder, number, end):
    """Leave the state of a gateway of one of two shards that has run until a time."""
    bindings = Bindings.single(MODELS.first.channels, NODES).of_share(Share(Shard(number, 2)))
    core, effects = Core(MODELS.first, bindings, make_options(lateness=1.0, reopen_after=3.0), MODELS), Effects()
    of_nodes = [message(node, 0.5 + tick, tick % 3 / 2, tick) for tick in range(9) for node in bindings.streams]
    runs = [start_record(MODELS.first.digest, 0.0, core.configuration)], of_nodes, [clock_record(end)]
    with State(folder) as state:
        state.models.keep_model(MODELS.first.packed)
        for records in (*runs, [stop_record(end)]):
            effects = core.take(records)
            position = state.log.append(records)
            state.log.sync()
            of_journal = effects.decisions, effects.publications, effects.energy
            state.journal.commit(Entry(position, *of_journal))
    return bindings.streams


def left_behind(folder):
    """Return all that a state holds, and that gateways look at."""
    with State(folder) as state:
        core = resume(state).core
        publications = [publication for _, publication in state.journal.outbox()]
        return (
            content(core),
            state.journal.decisions(),
            publications,
            read_moved(folder),
            (folder / LEAVING).exists(),
        )


def kill_at(number, monkeypatch):
    """Let the process be killed at one of its dealings, before or after its effect; return a count of these."""
    dealt = count(1)

    def mortal(deal):
        def dealing(*args, **options):
            if next(dealt) == number:
                raise Killed
            result = deal(*args, **options)
            if next(dealt) == number:
                raise Killed
            return result

        return dealing

    for owner, name in DEALINGS:
        monkeypatch.setattr(owner, name, mortal(getattr(owner, name)))
    for owner, name in SYNCS:  # which a kill does not need
        monkeypatch.setattr(owner, name, mortal(lambda _: None))
    return dealt


@pytest.fixture
def memory():
    """A folder that no disk has to write, if there is one."""
    with TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        yield Path(folder)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # who is killed closes nothing
def test_a_move_that_is_killed_goes_on(memory, monkeypatch):
    streams = run_before(memory / "giving", 1, 12.0)
    run_before(memory / "taking", 2, 11.0)
    name, ends = next(iter(streams)), {}
    for number in count():
        folders = [memory / str(number) / each for each in ("giving", "taking")]
        for folder in folders:
            shutil.copytree(memory / folder.name, folder)
        with monkeypatch.context() as patch:
            dealt = kill_at(number, patch)
            with suppress(Killed):
                move_zone(name, *folders)
        if number and next(dealt) <= number:
            break
        if number:
            move_zone(name, *folders)
        ends[number] = [left_behind(folder) for folder in folders]
    assert number > 20
    assert {number for number, end in ends.items() if end != ends[0]} == set()
