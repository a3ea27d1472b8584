"""A copy of the state of a running gateway is whole, and the gateway goes on from it."""

from threading import Event, Thread

import pytest
from accounts import assert_nothing_lost, await_readings, take_account
from gateway_process import GatewayProcess
from helpers.records import raw
from survival import SPOOLED, split
from traffic import traffic
from witness import Publisher

from streamfs.errors import StateError
from streamfs.gateway.storage import backup
from streamfs.gateway.storage.backup import back_up
from streamfs.gateway.storage.segment import segments
from streamfs.gateway.storage.state import State, log_folder
from streamfs.gateway.storage.verification import Verified

HOLE = 1 << 24  # bytes


@pytest.mark.mqtt
def test_a_gateway_goes_on_from_a_copy_that_was_made_while_it_ran(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with GatewayProcess(tmp_path, broker.url, **SPOOLED) as gateway, Publisher(broker) as publisher:
        gateway.start()
        gateway.await_ready()
        ended, positions = Event(), []

        def copy_again_and_again():
            while not ended.is_set():
                positions.append(back_up(gateway.state, tmp_path / f"copy-{len(positions)}"))

        copying = Thread(target=copy_again_and_again)
        copying.start()
        publisher.send(first)
        await_readings(gateway, first)
        ended.set()
        copying.join()
        assert positions == sorted(positions)
        last = tmp_path / "last"
        assert back_up(gateway.state, last) >= positions[-1]
        gateway.kill()
        gateway.state.rename(tmp_path / "lost")
        last.rename(gateway.state)
        publisher.send(second)
        gateway.start()
        await_readings(gateway, second)
        gateway.stop()
        assert_nothing_lost(take_account(gateway, broker), undisturbed())


def test_a_copy_has_the_holes_of_what_is_copied(tmp_path):
    """After a failure of the power a log may end in one, which takes no room."""
    with State(tmp_path / "state") as state:
        state.begin()
        state.log.append([raw("sensors/n1/light", b"410")])
        state.log.sync()
    (segment,) = segments(log_folder(tmp_path / "state"))
    with segment.open("r+b") as file:
        file.truncate(HOLE)
        file.seek(HOLE // 2)
        file.write(b"~")
    back_up(tmp_path / "state", tmp_path / "copy")
    copy = log_folder(tmp_path / "copy") / segment.name
    assert copy.read_bytes() == segment.read_bytes()
    assert 512 * copy.stat().st_blocks < HOLE // 10
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_copy_that_is_not_whole_is_made_again(tmp_path, monkeypatch):
    with State(tmp_path / "state") as state:
        state.begin()
    problems = iter([[Verified("log", "gone")], []])
    monkeypatch.setattr(backup, "verify_state", lambda _folder: next(problems))
    assert back_up(tmp_path / "state", tmp_path / "copy") == 0
    assert next(problems, None) is None


def test_a_state_that_is_damaged_is_not_copied(tmp_path, monkeypatch):
    with State(tmp_path / "state") as state:
        state.begin()
    monkeypatch.setattr(backup, "verify_state", lambda _folder: [Verified("log", "the log is damaged")])
    with pytest.raises(StateError, match="could not be copied whole: the log is damaged"):
        back_up(tmp_path / "state", tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_nothing_is_written_over(tmp_path):
    with State(tmp_path / "state") as state:
        state.begin()
    (tmp_path / "copy").mkdir()
    with pytest.raises(StateError, match="copy exists, expected a new folder"):
        back_up(tmp_path / "state", tmp_path / "copy")


def test_a_folder_that_is_no_state_is_refused(tmp_path):
    with pytest.raises(StateError, match="does not exist, expected a gateway's journal"):
        back_up(tmp_path, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
