"""A mirror has what the state's spool lacks, so that a standby goes on with both."""

import shutil
from contextlib import closing
from threading import Event

import pytest
from logs import record

from streamfs.gateway.storage.committer import Commit, Committer
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.log_reader import read_log
from streamfs.gateway.storage.mirror import Mirror
from streamfs.gateway.storage.state import State

PATIENCE = 30  # seconds until a test gives up


def commit_each(state, numbers):
    """Commit a record at a time, each with a snapshot."""
    is_done = Event()
    committer = Committer(state.log, state.journal, is_done.set, mirror=lambda: state.mirror)
    for number in numbers:
        committer.submit(Commit([record(number)], 1, Entry(snapshot=b"state")))
        assert is_done.wait(PATIENCE)
        is_done.clear()
    assert committer.stop(PATIENCE)


@pytest.mark.parametrize(("there", "here"), [(300, 1000), (1000, 300), (1, 300)])
def test_a_standby_goes_on_with_the_spool_whatever_the_segments(tmp_path, there, here):
    spool = tmp_path / "spool"
    with (
        State(tmp_path / "state", segment_bytes=here, spool=spool) as state,
        closing(Mirror(state, tmp_path / "mirror", there)) as state.mirror,
    ):
        commit_each(state, range(20))
    shutil.rmtree(tmp_path / "state")
    with State(tmp_path / "mirror", segment_bytes=here, spool=spool) as state:
        for number in range(20, 35):
            commit_each(state, [number])
            kept = dict(read_log(spool)) | dict(state.log.read(state.log.start))
            assert kept == {each + 1: record(each) for each in range(number + 1)}
