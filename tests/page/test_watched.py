"""What a page knows of a gateway: from a folder or over HTTP, also when the gateway is not well or not there."""

import os
from time import time

import numpy as np
import pytest
from helpers.views import decision, now_facts, rows_of, write_view

from streamfs.errors import StateError
from streamfs.gateway.operations import courses
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.view_file import pack
from streamfs.gateway.operations.web import ForPages, serve
from streamfs.page.sources import GatewayFolder, HttpGateway, source_of
from streamfs.page.watched import Watched


@pytest.fixture
def state(tmp_path):
    """Make the folder of a state, in which only the view is."""
    return tmp_path / "state"


def write(state, rows=None, **facts):
    write_view(state / "view", now_facts(**facts), rows)


def test_a_gateway_comes_has_trouble_is_killed_and_ends(state):
    gateway = Watched(1, GatewayFolder(state))
    assert gateway.now().state == "unknown"
    assert "cannot be read" in gateway.now().error
    write(state)
    assert gateway.now().state == "working"
    assert gateway.name == "attic"
    write(state, problems=["not connected to the broker"], warnings=["hot"])
    assert gateway.now().state == "trouble"
    write(state, warnings=["3 messages"], muted={"# messages": time() + 60.0})
    assert gateway.now().state == "working", "what is muted is not shown"
    write(state, warnings=["3 messages"], muted={"# messages": time() - 60.0})
    assert gateway.now().state == "warnings"
    write(state, written=time() - 6.0)
    assert gateway.now().state == "silent"
    write(state, written=time() - 6.0, seconds=10.0)
    assert gateway.now().state == "working", "it writes that seldom"
    write(state, has_ended=True, written=time() - 600.0)
    assert gateway.now().state == "stopped"


def test_what_cannot_be_read_is_said_and_what_was_known_stays(state):
    write(state)
    gateway = Watched(1, GatewayFolder(state))
    gateway.now()
    for content in (b"", b"half", b'{"version": 99, "arrays": {}}\n'):
        (state / "view" / "now").write_bytes(content)
        os.utime(state / "view" / "now", (1, len(content)))
        assert gateway.now().error
        assert gateway.now().facts["name"] == "attic"
    assert "expected 1" in gateway.now().error, "of another version"


def test_streams_are_read_when_they_are_written(state):
    gateway = Watched(1, GatewayFolder(state))
    assert len(gateway.rows().streams) == 0
    write(state, rows_of(["a", "b"], ["n"]), rows_written=5.0)
    first = gateway.rows()
    assert first.streams.names == ["a", "b"]
    write(state, rows_written=5.0)
    assert gateway.rows() is first
    (state / "view" / "streams").unlink()
    write(state, rows_written=6.0)
    assert gateway.rows() is first, "better old than none"


def test_the_past_is_what_was_counted_and_ends_with_a_new_start(state):
    gateway = Watched(1, GatewayFolder(state))
    for place in range(4):
        write(state, written=1000.0 + 3.0 * place, decided=[["confident", "on", place]])
        gateway.now()
    assert [(point.time, point.decided) for point in gateway.past] == [(1000.0, 0), (1006.0, 2)]
    write(state, written=1020.0, decided=[])
    gateway.now()
    assert [point.decided for point in gateway.past] == [0]


def test_a_view_folder_alone_serves_too(tmp_path):
    write_view(tmp_path, now_facts(decisions=[decision("a")]), rows_of(["a"], ["n"]))
    gateway = Watched(1, source_of(str(tmp_path)))
    assert gateway.rows().streams.names == ["a"]
    assert gateway.decisions(["a", "b"])["a"][0]["label"] == "on", (
        "those that are shown, where there is no journal"
    )
    assert gateway.source.models() == []


def test_a_gateway_is_read_over_http():
    rows = rows_of(["a", "b"], ["n"])
    kept = {"now": now_facts(rows_written=rows[0]["written"]), "streams": rows}
    packed = {"now": b"".join(pack(kept["now"], {})), "streams": b"".join(pack(*rows))}
    course = courses.Course(("off", "on"), ("f",), 1, np.array([1]), *(np.array([[0.5]]),) * 4)
    statistics, health = Statistics({}, {}, {}, {}, 0.0, "joules", {}), Health(True, True, True, 0.0, 0.0)
    pages = ForPages(lambda kind: packed[kind], lambda _: courses.to_json([course]))
    with serve("127.0.0.1", 0, lambda: statistics, lambda: health, pages) as site:
        gateway = Watched(1, source_of(f"http://127.0.0.1:{site.port}"))
        assert gateway.now().state == "working"
        assert gateway.rows().streams.names == ["a", "b"]
        assert gateway.courses("a")[0].classes == ("off", "on")
        assert gateway.source.address(None) is None
        assert gateway.source.address("http://0.0.0.0:1") == gateway.source.place
    assert gateway.courses("a") == []
    with pytest.raises(StateError, match="does not answer"):
        gateway.source.fetch("now")


@pytest.mark.parametrize("text", ["ftp://host", "file:///etc/passwd"])
def test_a_place_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="neither"):
        source_of(text)


def test_a_file_is_no_place(tmp_path):
    (tmp_path / "model").write_text("")
    with pytest.raises(ValueError, match="neither"):
        source_of(str(tmp_path / "model"))
    assert isinstance(source_of("https://host:1"), HttpGateway)
