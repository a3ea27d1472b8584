"""Processes that run streamfs: the command itself, or a fork that spares the time for the imports."""

import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(
    ["pytest", "streamfs.cli.app", "streamfs.gateway.host", "streamfs.gateway.operations.web"]
)


def begin(args, errors):
    """Run the command `streamfs`, with standard error in a file."""
    with errors.open("wb") as file:
        return subprocess.Popen([sys.executable, "-m", "streamfs", *args], stdout=subprocess.DEVNULL, stderr=file)


class Fork:
    """The same in a fork of a process that has imported all; it behaves as what `begin` returns.

    Parameters
    ----------
    args : sequence of str
        Of the command.
    errors : pathlib.Path
        For what it says on standard error.
    sabotage : sequence
        What the process does to itself, as `sabotage.py` has it.
    """

    def __init__(self, args, errors, sabotage=()):
        self._process = FORKS.Process(target=run, args=(args, errors, sabotage))
        self._process.start()
        self.pid = self._process.pid

    def poll(self):
        """Exit code of the process; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout):
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("streamfs", timeout)
        return self._process.exitcode


def run(args, errors, sabotage):
    from sabotage import spoil  # noqa: PLC0415 - only where streamfs is run

    from streamfs.cli.app import main  # noqa: PLC0415 - the same

    for path, stream in ((os.devnull, sys.stdout), (errors, sys.stderr)):
        with Path(path).open("wb") as file:
            os.dup2(file.fileno(), stream.fileno())
    spoil(*sabotage)
    main(args)
