"""A simulated world: broker, network, disk, clocks and nodes around the real gateway, in one process."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from math import inf
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from threading import Event
from typing import NamedTuple

from devices import Yard
from disk import START, Disk
from fault import Faults
from process import Killed, Process, Threads, pause
from scenario import REST, WALL, Scenario, bindings, commits_of, models, options_of
from simulated_broker import Broker, Delivery, SimulatedTransport
from timeline import Timeline

from streamfs.errors import StorageError, StreamfsError
from streamfs.gateway import batch, commit_cycle, dead_letters, outbox, redeliveries, service
from streamfs.gateway.core.left_out import CAUSES
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.service import Gateway
from streamfs.gateway.storage import committer, log
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.mirror import Mirror
from streamfs.gateway.storage.segment import Segment, first_position, segments
from streamfs.gateway.storage.state import State, journal_path, log_folder

HEARD = 1.0  # seconds after which devices have heard what was published last
MIRRORED = 3  # as large a segment of the mirror is as one of the log, so that they are cut at other records
DOWNTIME = (0.0, 0.2, 3.0)  # seconds from a death to the next life


class Outcome(NamedTuple):
    """What a world has left at its end, how often the gateway has lived, and why it refused to start."""

    records: list
    decisions: list
    energy: list
    published: list
    retained: dict
    acknowledged: set
    said: list
    devices: list
    asked: dict
    snapshot: bytes
    requested: dict
    refused: dict
    counters: dict
    duplicates: dict
    n_lives: int
    refusal: StreamfsError | None


class World:
    """Runs a scenario in an empty folder."""

    def __init__(self, scenario: Scenario, folder: Path):
        self.timeline = Timeline()
        self.threads = Threads(self.timeline)
        self._scenario, self._folder = scenario, folder
        self._random = Random(scenario.seed)  # noqa: S311 - no secret
        self._faults = Faults(scenario.faults)
        self.process = Process(self._faults.deaths)
        seams = self.timeline, self.process, self._random, self._faults
        self.disk = Disk(folder / "state", folder / "spool", *seams)
        self._burnt = {}  # records that were on disks that are gone, by their ends
        self._broker = Broker(self.timeline, self._random, self._faults, scenario.receive_maximum)
        self.yard = Yard(scenario, self.timeline, self._broker, WALL)
        self._broker.on_taken = self.yard.hear
        self._wall_step = 0.0
        self._model = models(scenario.kind).first
        self._bindings = bindings(scenario.kind)  # what makes them once in a process is no dealing of the gateway
        self._options = options_of(scenario)
        self._gateway = self._mirror = None
        self._stop = Event()
        self._born = 0.0
        self._schedule()

    def run(self) -> Outcome:
        """Let the gateway live, and again after each death, until the end."""
        n_lives, refusal, has_ended = 0, None, False
        while not has_ended and refusal is None:
            n_lives += 1
            try:
                self._live()
                self.timeline.run(self.timeline.now + HEARD)
                has_ended = not self._gateway.health().outbox_fullness
                if not has_ended:  # there was no time to publish all
                    self._bury()
            except (Killed, StorageError):
                self._bury()
            except StreamfsError as error:
                refusal = error
                self.threads.kill()
        return self._outcome(n_lives, refusal)

    def wall(self):
        return WALL + self.timeline.now + self._wall_step

    def _schedule(self):
        at, broker = self.timeline.at, self._broker
        for count, (time, topic, payload, qos) in enumerate(self._scenario.messages, 1):
            delivery = Delivery(count, time, topic, payload, qos)
            at(time, lambda delivery=delivery: broker.publish(delivery))
        acts = {
            "cut": lambda _: broker.cut(),
            "crash": lambda _: broker.crash(),
            "forget": lambda _: broker.lose_session(),
            "step": self._step_wall,
            "reload": self._reload,
            "lie": lambda _: self.disk.begin_to_lie(),
            "burn": self._burn,
            "restart": self.yard.restart,
        }
        for fault in self._scenario.faults:
            if fault.kind in acts:
                at(fault.begin, lambda fault=fault: acts[fault.kind](fault.value))
            if fault.kind == "stall" and fault.value:
                at(fault.end, broker.cut)
        at(self._scenario.end, self._end)

    def _end(self):
        """End the world, unless there are messages either way, or the broker has just hung up, or a life begun."""
        broker = self._broker
        has_more = broker.n_waiting or (self._gateway is not None and self._gateway.statistics().gauges["outbox"])
        if has_more or self.timeline.now < max(self._born, broker.hung_up) + REST / 2:
            self.timeline.at(self.timeline.now + REST, self._end)
        else:
            broker.is_calm = True
            self._stop.set()

    def _step_wall(self, seconds):
        self._wall_step += seconds

    def _burn(self, _):
        self.process.doom = "burn"

    def _reload(self, number):
        known = models(self._scenario.kind)
        self._model = known([*known][int(number)])
        if self._gateway is not None:
            self._gateway.request_reload()

    def _live(self):
        self.process.begin()
        self._born = self.timeline.now
        commits = self._scenario.commits
        self._state = self._transport = self._gateway = self._mirror = None
        folder, size = self._folder / "state", commits["segment_bytes"]
        self._state = State(folder, segment_bytes=size, spool=self._folder / "spool")
        if self._scenario.is_mirrored:
            self._mirror = Mirror(self._state, self._folder / "mirror", MIRRORED * size)
            self._state.mirror = self._mirror
        model_file = ModelFile(lambda: self._model)
        self._transport = SimulatedTransport(
            self._broker, self.timeline, self.process, self._random, self._faults, self.wall
        )
        self._gateway = Gateway(
            model_file.first(self._state),
            self._bindings,
            self._transport,
            self._options,
            state=self._state,
            commits=commits_of(self._scenario),
            max_queue=commits["max_queue"],
            model_file=model_file,
        )
        self._gateway.run(self._stop)
        self.threads.kill()

    def _bury(self):
        """Leave behind what a dead process leaves, and let time pass."""
        self._born = inf
        if self._transport is not None:
            self._transport.close()
        self.threads.kill()
        for each in (self._mirror, self._state):
            if each is not None:
                each.close()
        self.disk.restart(power_failed=self.process.death == "power")
        if self.process.death == "burn" and journal_path(self._folder / "mirror").exists():
            self._stand_in()
        if self._stop.is_set():  # it died at the end
            self._stop.clear()
            self.timeline.at(self.timeline.now + REST, self._end)
        self.timeline.run(self.timeline.now + self._random.choice(DOWNTIME))

    def _stand_in(self):
        """Let a standby go on with the mirror."""
        known = self._burnt | self._found()
        self.disk.replace(self._folder / "mirror")
        last = max(records_in(log_folder(self._folder / "state")), default=0)
        self._burnt = {end: record for end, record in known.items() if end <= last}

    def _outcome(self, n_lives, refusal):
        """Return what is left; of a gateway that refused to start, only what it has published."""
        broker = self._broker
        seen = (
            broker.published,
            broker.retained,
            broker.acknowledged,
            self.yard.said,
            self.yard.devices,
            broker.asked,
        )
        state, gateway = self._state, self._gateway
        try:
            if refusal is not None:
                return Outcome([], [], [], *seen, b"", {}, {}, {}, {}, n_lives, refusal)
            return Outcome(
                self._records(),
                state.journal.decisions(),
                state.journal.energy(),
                *seen,
                gateway.core.to_state()(),
                {each.topic: each.payload for each in gateway.core.control_states()},
                gateway.health().refused_publications,
                gateway.core.counters,
                duplicates(gateway.core),
                n_lives,
                refusal,
            )
        finally:
            self.disk.put_aside()  # nobody reads it any more: it need not be made one file
            for each in (self._mirror, state):
                if each is not None:
                    each.close()

    def _records(self):
        """Return all records there were, if the disk has not lied about them."""
        records = self._burnt | self._found()
        return [records[end] for end in sorted(records)]

    def _found(self):
        """Return the records in spool and log, by their ends; none if the disk may have lied about them."""
        if self._faults.of("lie") and self._faults.of("power"):
            return {}
        return records_in(self._folder / "spool") | records_in(log_folder(self._folder / "state"))


def records_in(folder):
    """Return the records in a folder of segments, by their ends."""
    paths = segments(folder) if folder.exists() else []
    return dict(read_log(folder, first_position(paths[0]))) if paths else {}


def duplicates(core):
    """Return how many readings of each node were duplicates."""
    numbers = core.left_out()[:, 1 + CAUSES.index("duplicate")]
    return {name: int(numbers[node]) for name, node in core.roster.nodes.items()}


@contextmanager
def seams(world: World) -> Iterator[None]:
    """Replace clocks, threads, syncs, commits and the process number of the gateway with those of a world."""

    def start_segment(segment):
        segment._file = world.disk.open(segment._file)
        START(segment)

    def commit(journal, entry):
        return world.disk.commit(journal, entry)

    def monotonic():
        return world.timeline.now

    replaced = [
        (service, "monotonic", monotonic),
        (batch, "monotonic", monotonic),
        (outbox, "monotonic", monotonic),
        (commit_cycle, "monotonic", monotonic),
        (dead_letters, "monotonic", monotonic),
        (redeliveries, "monotonic", monotonic),
        (commit_cycle, "sleep", partial(pause, world.timeline)),
        (committer, "perf_counter", monotonic),
        (committer, "Thread", world.threads.thread),
        (committer, "Event", world.threads.event),
        (committer, "SimpleQueue", world.threads.queue),
        (log, "getpid", lambda: 1),  # the lock of the state has it; how much of that is lost depends on its digits
        (os, "fsync", world.disk.sync),
        (os, "fdatasync", world.disk.sync),
        (Segment, "_start", start_segment),
        (Journal, "commit", commit),
    ]
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in replaced]
    try:
        for owner, name, new in replaced:
            setattr(owner, name, new)
        yield
    finally:
        for owner, name, old in before:
            setattr(owner, name, old)


@cache
def empty_journal() -> bytes:
    """Return the file of a journal without rows, since each world would make the same one."""
    with TemporaryDirectory() as folder:
        path = journal_path(folder)
        with Journal(path) as journal:
            journal.begin()
        return path.read_bytes()


def run(scenario: Scenario, folder: Path) -> Outcome:
    """Run a scenario in a folder, whose content is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "state").mkdir(parents=True)
    journal_path(folder / "state").write_bytes(empty_journal())
    world = World(scenario, folder)
    with seams(world):
        return world.run()
