"""A zone that moves between two states while the process dies and the power fails, on simulated disks."""

import os
from pathlib import Path
from random import Random
from unittest.mock import patch

from disk import START, Disk
from fault import DEATHS, Faults
from helpers.moves import left_behind
from process import Killed, Process
from timeline import Timeline

from streamfs.gateway.move import move_zone
from streamfs.gateway.storage import log
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.segment import Segment

STATES = ("giving", "taking")
APART = (4, 12, 40)  # dealings from one death to the next, at most
MOST = 6  # deaths


class Machine:
    """Two states, on disks that lose their power together."""

    def __init__(self, folder, random):
        at, deaths = 0, {}
        for _ in range(random.randint(1, MOST)):
            at += random.randint(1, random.choice(APART))
            deaths[at] = random.choice(DEATHS)
        self.process = Process(deaths)
        seams = Timeline(), self.process, random, Faults(())
        self.disks = {folder / name: Disk(folder / name, folder / "spool", *seams) for name in STATES}
        self.process.on_death = lambda: [disk.put_aside() for disk in self.disks.values()]

    def put(self, folder):
        """Let the states that a folder has be there, and all of them durable."""
        for root, disk in self.disks.items():
            root.mkdir(parents=True)
            disk.replace(folder / root.name)

    def disk(self, path):
        """Return the disk with a file or folder; of a folder above both, which nothing is lost of, the last."""
        *_, last = self.disks.values()
        return next((disk for root, disk in self.disks.items() if root in (path, *path.parents)), last)

    def sync(self, descriptor):
        self.disk(Path(f"/proc/self/fd/{descriptor}").readlink()).sync(descriptor)

    def move(self, name):
        """Move a zone, again after each death."""
        self.process.begin()
        try:
            move_zone(name, *self.disks)
        except Killed:
            for disk in self.disks.values():
                disk.restart(power_failed=self.process.death == "power")
            return 1 + self.move(name)
        return 0


def move_and_fail(seed, folder, before, name):
    """Return what two states are after a zone has moved, and how often the process has died."""
    machine = Machine(folder, Random(seed))  # noqa: S311 - no secret
    machine.put(before)

    def start_segment(segment):
        segment._file = machine.disk(Path(segment._file.name)).open(segment._file)
        START(segment)

    def commit(journal, entry):
        return machine.disk(journal.path).commit(journal, entry)

    with (
        patch.object(log, "getpid", lambda: 1),  # as in `world.seams`
        patch.object(os, "fsync", machine.sync),
        patch.object(os, "fdatasync", machine.sync),
        patch.object(Segment, "_start", start_segment),
        patch.object(Journal, "commit", commit),
    ):
        n_deaths = machine.move(name)
    return [left_behind(root) for root in machine.disks], n_deaths
