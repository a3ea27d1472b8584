"""The view: what it shows of streams and nodes, what it takes, and that nothing depends on it."""

from threading import Event

import numpy as np
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, label, message, new_core, raw

from streamfs.gateway import view_writer
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.view_arrays import UNKNOWN
from streamfs.gateway.operations.courses import from_json
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.view_file import NOW, STREAMS, unpack
from streamfs.gateway.view_writer import SHARE, ViewWriter

PROCEDURE = channels_procedure("x", "y", time_limit=100)


class Quiet:
    """A gateway of which only the view asks."""

    def __init__(self, *, connected=True):
        self.ready = Event()
        self.ready.set()
        self.connected = connected

    def statistics(self):
        return Statistics({"messages": 3}, {"lag_seconds": 0.0}, {("confident", "on"): 2}, {}, 1.5, "joules", {})

    def health(self):
        return Health(self.connected, subscribed=True, storing=True, loop_age=0.0, lag=0.0, data=["hot"])


@pytest.fixture
def core():
    """Node n0 is decided, n1 is open and no longer sends y, and n2 never sent it."""
    core, _ = new_core(
        Models(PROCEDURE), Bindings.single(PROCEDURE.channels, ["n0", "n1", "n2"]), lateness=0.0, grace=0.0
    )
    for tick in range(4):
        core.take([message("n0", float(tick), 1.0), message("n0", float(tick), 1.0, channel="y")])
        core.take([message("n1", float(tick), 0.1)])
        core.take([message("n1", float(tick), 7.0, channel="y")] if tick < 2 else [])
        core.take([message("n2", float(tick), 0.1)])
    return core


def write(writer, core, gateway=None):
    """Write all, whether it is due or not."""
    writer._due = writer._rows_due = 0.0
    writer.advance(core, gateway or Quiet())
    writer._thread.join()


def seen(writer, name):
    return unpack(writer.newest(name))


@pytest.mark.parametrize("has_folder", [True, False])
def test_streams_and_nodes_are_seen(core, tmp_path, has_folder):
    writer = ViewWriter(tmp_path / "view" if has_folder else None)
    assert writer.newest(NOW) == b""
    before = content(core)
    write(writer, core)
    assert content(core) == before, "looking changes nothing"
    facts, of = seen(writer, STREAMS)
    ((first, second, third),) = facts["streams"]
    assert (first, second, third) == ("n0", "n1", "n2")
    assert facts["nodes"] == ["n0", "n1", "n2"]
    assert facts["models"][0]["classes"] == ["off", "on"]
    assert of["model0.status"].tolist() == [3, 2, 1], "decided, open, waiting"
    assert of["model0.value"][1].tolist() == pytest.approx([0.1, 7.0])
    assert of["model0.age"][2].tolist() == [0, UNKNOWN]
    assert of["model0.age"][1][1] > of["model0.age"][1][0]
    assert of["nodes.told"][0].tolist() == [False, False]
    assert of["nodes.told"][1].tolist() == [True, True]
    assert of["nodes.heard"][0] == 3.0


def test_what_happens_is_seen(core, tmp_path):
    writer = ViewWriter(tmp_path)
    effects = core.take(
        [raw("sensors/n1/x", b"<script>", 5.0), label("n0", "off", 6.0), raw("sensors/what", b"1")]
    )
    writer.note_rejected(effects.rejected)
    writer.note_decisions(core.take([message("n1", 9.0, 9.0), message("n1", 10.0, 900.0)]).decisions)
    write(writer, core, Quiet(connected=False))
    facts = seen(writer, NOW).facts
    assert facts["letters"][0]["payload"] == "<script>"
    assert facts["problems"] == ["not connected to the broker"]
    assert facts["warnings"] == ["hot"]
    assert not facts["is_ready"]
    assert facts["decided"] == [["confident", "on", 2]]
    assert [decision["stream"] for decision in facts["decisions"]] == ["n1"]
    assert not facts["has_ended"]
    writer.finish(core, Quiet())
    assert seen(writer, NOW).facts["has_ended"]


def test_the_course_of_a_stream_is_seen(core, tmp_path):
    writer = ViewWriter(tmp_path)
    write(writer, core)
    for tick, large in ((4.0, 1e60), (5.0, 7.0)):
        core.take([message("n1", tick, 0.2), message("n1", tick, large, channel="y")])
        write(writer, core)
    (course,) = from_json(writer.course("n1"))
    assert course.classes == ("off", "on")
    assert course.features == ("mean(x)", "mean(y)")
    assert len(course.ticks) == 3
    assert (np.diff(course.ticks) > 0).all()
    assert course.probabilities.sum(axis=1) == pytest.approx(1.0)
    assert from_json(writer.course("nobody")) == []


def test_it_is_written_as_seldom_as_its_share_demands(core, tmp_path, monkeypatch):
    clock = iter(np.arange(0.0, 1e3, 0.5).tolist())
    monkeypatch.setattr(view_writer, "thread_time", lambda: next(clock))  # each step takes half a second
    monkeypatch.setattr(view_writer, "monotonic", lambda: 1000.0)
    writer = ViewWriter(tmp_path)
    write(writer, core)
    pauses = writer._rows_due - 1000.0, writer._due - 1000.0
    assert writer.cpu_seconds >= 1.0
    assert min(pauses) >= 0.5 / SHARE
    writer.advance(core, Quiet())
    assert not writer._thread.is_alive(), "nothing is due"


def test_decisions_are_written_as_soon_as_the_share_allows(core, tmp_path, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(view_writer, "monotonic", lambda: now[0])
    monkeypatch.setattr(view_writer, "thread_time", lambda: 0.0)
    writer = ViewWriter(tmp_path, seconds=60.0)
    write(writer, core)
    (decision,) = core.take([message("n1", 9.0, 9.0), message("n1", 10.0, 900.0)]).decisions
    writer.advance(core, Quiet())
    writer._thread.join()
    assert seen(writer, NOW).facts["decisions"] == [], "nothing was due"
    writer.note_decisions([decision])
    writer.advance(core, Quiet())
    writer._thread.join()
    (shown,) = seen(writer, NOW).facts["decisions"]
    assert shown["stream"] == "n1"
    assert seen(writer, NOW).facts["rows_written"] == seen(writer, STREAMS).facts["written"]


def test_no_view_takes_the_place_of_a_state_that_was_moved_away(core, tmp_path, caplog):
    state = tmp_path / "state"
    writer = ViewWriter(state / "view")
    write(writer, core)
    state.rename(tmp_path / "moved")
    write(writer, core)
    assert not state.exists()
    assert "cannot be written" in caplog.text
    (tmp_path / "moved").rename(state)
    (state / "view" / NOW).unlink()
    write(writer, core)
    assert seen(writer, NOW).facts["problems"] == []


def test_a_gateway_goes_on_without_a_view(core, tmp_path, caplog):
    (tmp_path / "view").write_text("in the way")
    writer = ViewWriter(tmp_path / "view")
    write(writer, core)
    write(writer, core)
    assert sum("cannot be written" in text for text in caplog.messages) == 1
    assert writer.newest(NOW) == b""
    writer._facts = None
    writer._due = 0.0
    writer.advance(core, Quiet())
    writer.advance(core, Quiet())
    writer.finish(core, Quiet())
    assert sum("cannot be made" in text for text in caplog.messages) == 1
