"""A move that is killed at any of its dealings with the disk goes on when it is called again."""

import os
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from helpers.moves import left_behind, run_both

from streamfs.gateway.move import move_zone
from streamfs.gateway.storage.journal import Journal

SYNCS = ((os, "fsync"), (os, "fdatasync"))
DEALINGS = ((Journal, "commit"), (Path, "unlink"), (Path, "replace"))


class Killed(BaseException):
    """The process was killed."""


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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # who is killed closes nothing
def test_a_move_that_is_killed_goes_on(memory, monkeypatch):
    name, ends = run_both(memory), {}
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
