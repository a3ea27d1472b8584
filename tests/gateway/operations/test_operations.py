"""Health, metrics over HTTP, the log's format, and notices to systemd."""

import http.client
import json
import logging
import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack, closing
from datetime import UTC, datetime

import pytest
from helpers.procedures import channels_procedure
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_plain

from streamfs.errors import MissingExtraError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.operations import notify, web
from streamfs.gateway.operations.actions import Actions
from streamfs.gateway.operations.health import Health, HealthLimits, Statistics
from streamfs.gateway.operations.json_log import configure
from streamfs.gateway.operations.log_notes import NOTES, LogNotes
from streamfs.gateway.operations.metrics import HELP, Metrics

HOST = "127.0.0.1"
WELL = Health(connected=True, subscribed=True, storing=True, loop_age=0.1, lag=0.0)
STATISTICS = Statistics(
    counters={"messages": 12, "late": 3, "fsync_seconds": 1.5, "something_new": 1},
    gauges={"streams_open": 4, "lag_seconds": 0.25},
    decisions={("confident", 'wa"lk\n'): 7, ("timeout", ""): 2},
    models={"0123abcd": 4},
    energy=2.5,
    unit="joules",
    alerts={"feature mean(light)": 1},
    rejected={"syntax": 5},
)


# Health


def test_a_gateway_that_works_has_no_problems():
    assert WELL.is_alive()
    assert WELL.problems() == []


def test_a_gateway_without_a_broker_is_alive_but_not_ready():
    why = "broker at b:1883 refuses the connection: Not authorized"
    health = Health(connected=False, subscribed=False, storing=True, loop_age=0.1, lag=0.0, trouble=why)
    assert health.is_alive()
    assert health.problems() == ["not connected to the broker", "not subscribed"]
    assert health.warnings() == [why]


def test_a_loop_that_is_stuck_is_not_alive():
    health = Health(connected=True, subscribed=True, storing=True, loop_age=10.5, lag=0.0)
    assert not health.is_alive()
    assert health.problems() == ["the loop has been stuck for 10.5 s"]


def test_what_cannot_be_stored_or_waits_too_long_is_a_problem():
    health = Health(connected=True, subscribed=True, storing=False, loop_age=0.0, lag=31.0)
    assert health.problems() == ["nothing can be stored", "a message has waited 31.0 s to be stored"]
    assert health.problems(HealthLimits(lag=60.0)) == ["nothing can be stored"]


# Metrics


def samples_of(page, read):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in read(page.decode())
        for sample in family.samples
    }


@pytest.mark.parametrize(
    ("accepted", "read"),
    [("", read_plain), ("application/openmetrics-text; version=1.0.0", read_openmetrics)],
    ids=["plain", "openmetrics"],
)
def test_a_scrape_shows_what_the_gateway_has_counted(accepted, read):
    page, content_type = Metrics(lambda: STATISTICS, lambda: WELL).page(accepted)
    samples = samples_of(page, read)
    assert content_type.startswith(accepted.partition(";")[0] or "text/plain")
    assert samples["streamfs_messages_total",] == 12
    assert samples["streamfs_fsync_seconds_total",] == 1.5
    assert samples["streamfs_something_new_total",] == 1
    assert samples["streamfs_streams_open",] == 4
    assert samples["streamfs_connected",] == 1
    assert samples["streamfs_energy_joules_total",] == 2.5
    assert samples["streamfs_decisions_total", ("label", 'wa"lk\n'), ("reason", "confident")] == 7
    assert samples["streamfs_decisions_total", ("label", ""), ("reason", "timeout")] == 2
    assert samples["streamfs_model_streams_open", ("model", "0123abcd")] == 4
    assert samples["streamfs_drift_alerts_total", ("what", "feature mean(light)")] == 1
    assert samples["process_resident_memory_bytes",] > 0


def test_each_scrape_reads_the_gateway_anew():
    seen = iter([STATISTICS, Statistics({"messages": 13}, {}, {}, {}, 0.0, "transmissions", {})])
    metrics = Metrics(lambda: next(seen), lambda: WELL)
    metrics.page()
    samples = samples_of(metrics.page()[0], read_plain)
    assert samples["streamfs_messages_total",] == 13
    assert samples["streamfs_energy_transmissions_total",] == 0
    assert ("streamfs_late_total",) not in samples


def test_every_help_text_is_a_phrase():
    assert all(text[0].isupper() and not text.endswith(".") for text in HELP.values())


# HTTP


@pytest.fixture
def site():
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL) as running:
        yield running


def get(site, path, method="GET"):
    with closing(http.client.HTTPConnection(site.host, site.port, timeout=5)) as connection:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read()


def connect(site, source=HOST):
    return socket.create_connection((HOST, site.port), timeout=5, source_address=(source, 0))


def read_to_end(connection):
    """Read until the server closes or resets the connection."""
    received = b""
    try:
        while piece := connection.recv(4096):
            received += piece
    except ConnectionError:
        pass
    return received


def test_the_pages_are_there(site):
    assert b"streamfs_messages_total 12.0" in get(site, "/metrics")[1]
    assert get(site, "/healthz") == (200, b'{"ok":true,"problems":[],"warnings":[]}')
    assert get(site, "/readyz?verbose") == (200, b'{"ok":true,"problems":[],"warnings":[]}')
    status, index = get(site, "/")
    assert status == 200
    assert all(f'href="/{page}"'.encode() in index for page in ("metrics", "healthz", "readyz"))


def test_other_pages_are_not_there(site):
    assert get(site, "/etc/passwd")[0] == 404
    assert get(site, "/metrics", "DELETE")[0] == 501


def test_a_head_request_is_answered_without_the_page(site):
    with connect(site) as client:
        client.sendall(b"HEAD /healthz HTTP/1.0\r\n\r\n")
        answer = read_to_end(client)
    assert answer.startswith(b"HTTP/1.0 200 OK\r\n")
    assert answer.endswith(b"\r\n\r\n")


def test_readiness_and_liveness_differ():
    cut_off = Health(connected=False, subscribed=False, storing=True, loop_age=0.1, lag=0.0)
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: cut_off) as site:
        status, body = get(site, "/readyz")
        assert status == 503
        assert json.loads(body)["problems"] == ["not connected to the broker", "not subscribed"]
        assert get(site, "/healthz")[0] == 200


def test_a_loop_that_is_stuck_fails_both():
    stuck = Health(connected=True, subscribed=True, storing=True, loop_age=11.0, lag=0.0)
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: stuck) as site:
        assert get(site, "/readyz")[0] == get(site, "/healthz")[0] == 503


def test_a_port_in_use_is_an_error_that_names_it(site):
    with (
        pytest.raises(
            StreamfsError, match=f"cannot listen for HTTP on 127.0.0.1, port {site.port}: Address already"
        ),
        web.serve(HOST, site.port, lambda: STATISTICS, lambda: WELL),
    ):
        pass


def test_a_host_that_is_not_there_is_an_error_that_names_it():
    with (
        pytest.raises(StreamfsError, match=r"cannot listen for HTTP on no\.such\.host\.invalid, port 9464: \w"),
        web.serve("no.such.host.invalid", 9464, lambda: STATISTICS, lambda: WELL),
    ):
        pass


def test_a_port_that_cannot_be_is_refused():
    with (
        pytest.raises(ValueError, match="port is 70000, expected 0 to 65535"),
        web.serve(HOST, 70_000, lambda: STATISTICS, lambda: WELL),
    ):
        pass


def test_ipv6_is_served_too():
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("this machine has no IPv6")
    with web.serve("::1", 0, lambda: STATISTICS, lambda: WELL) as site:
        assert get(site, "/healthz")[0] == 200


def test_a_silent_client_is_cut_off(site, monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 0.1)
    with connect(site) as client:
        assert read_to_end(client) == b""


def is_cut_off(client, n_drops):
    """Return whether the server disconnects a client that sends byte by byte."""
    for _ in range(n_drops):
        try:
            client.sendall(b"x")
            if not client.recv(1):
                return True
        except TimeoutError:
            continue
        except ConnectionError:
            return True
    return False


def test_a_client_that_drips_is_cut_off_however_steadily_it_drips(site, monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 0.3)
    with connect(site) as client:
        client.settimeout(0.05)
        assert is_cut_off(client, n_drops=200)


def test_a_request_without_end_is_cut_off(site):
    with connect(site) as client:
        try:
            while True:
                client.sendall(b"GET / HTTP/1.0\r\n" + b"X: y\r\n" * 10_000)
        except ConnectionError:
            pass
        assert b"200" not in read_to_end(client)


def test_what_is_no_http_is_refused(site):
    with connect(site) as client:
        client.sendall(b"\x10\x0cMQTT\x05 hello\r\n\r\n")
        assert b"400" in read_to_end(client)


def test_others_are_answered_while_clients_dawdle(site):
    with ExitStack() as clients:
        for _ in range(web.MOST - 1):
            clients.enter_context(connect(site))
        assert get(site, "/healthz")[0] == 200


def test_clients_that_dawdle_keep_nobody_out(site, monkeypatch):
    monkeypatch.setattr(web, "_is_local", lambda host: host != "127.0.0.2")
    with ExitStack() as clients:
        slow = [clients.enter_context(connect(site, "127.0.0.2")) for _ in range(web.MOST)]
        other = clients.enter_context(connect(site, "127.0.0.2"))
        other.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert b" 200 " in read_to_end(other)
        assert get(site, "/readyz")[0] == 200
        assert read_to_end(slow[0]) == b""


def test_wrong_tokens_keep_nobody_out_and_are_logged_once(monkeypatch, caplog):
    monkeypatch.setattr(web, "_PENANCE", 600.0)
    pages = web.ForPages(actions=Actions("a token of sixteen", {}, print, print))
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL, pages) as site, ExitStack() as clients:
        wrong = []
        for number in range(3 * web.MOST):
            wrong.append(clients.enter_context(connect(site)))
            wrong[-1].sendall(b"POST /do HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}")
            assert number < web.MOST or read_to_end(wrong[number - web.MOST]) == b""
        assert get(site, "/readyz")[0] == 200
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_the_end_cuts_what_is_open_and_frees_the_port(monkeypatch):
    monkeypatch.setattr(web, "PATIENCE", 600.0)
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL) as site:
        client = connect(site)
        assert get(site, "/healthz")[0] == 200
    with client:
        assert read_to_end(client) == b""
    assert not any(thread.name.startswith("streamfs-web") for thread in threading.enumerate())
    with web.serve(HOST, site.port, lambda: STATISTICS, lambda: WELL) as again:
        assert again.port == site.port


def test_a_failing_page_is_logged_and_others_go_on(caplog):
    def fail():
        raise ZeroDivisionError("statistics")

    with web.serve(HOST, 0, fail, lambda: WELL) as site:
        with pytest.raises(http.client.RemoteDisconnected):
            get(site, "/metrics")
        assert get(site, "/healthz")[0] == 200
    assert [record.exc_info[0] for record in caplog.records if record.levelname == "ERROR"] == [ZeroDivisionError]


def test_without_prometheus_client_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    monkeypatch.delitem(sys.modules, "streamfs.gateway.operations.metrics")
    with (
        pytest.raises(MissingExtraError, match=r"prometheus-client is not installed.*streamfs\[gateway\]"),
        web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL),
    ):
        pass


def test_the_extras_are_loaded_only_where_they_are_used():
    code = (
        "import sys, streamfs.gateway.core.drift; from streamfs.gateway.operations import json_log, web; "
        "print([m for m in ('prometheus_client', 'pythonjsonlogger', 'river') if m in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


# The log


@pytest.fixture
def logger():
    """Return the logger of streamfs, and restore it."""
    logger = logging.getLogger("streamfs")
    handlers, level = logger.handlers, logger.level
    yield logger
    logger.handlers, logger.level = handlers, level
    logger.manager._clear_cache()


def test_a_log_line_in_json_is_one_line_with_everything(logger, capsys):
    configure("json", "info")
    logger.getChild("gateway").info("heard %s\nagain", "wörld", extra={"topic": "a/b", "odd": {1}})
    out, err = capsys.readouterr()
    line = json.loads(err)
    assert (out, err.count("\n")) == ("", 1)
    assert line["level"] == "INFO"
    assert line["logger"] == "streamfs.gateway"
    assert line["message"] == "heard wörld\nagain"
    assert line["topic"] == "a/b"
    assert "exception" not in line
    assert abs(datetime.fromisoformat(line["time"]) - datetime.now(UTC)).total_seconds() < 60
    assert line["time"].endswith("+00:00")


def test_an_exception_is_in_its_json_line(logger, capsys):
    configure("json")
    try:
        int("x")
    except ValueError:
        logger.exception("bad")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert json.loads(err)["exception"].endswith("ValueError: invalid literal for int() with base 10: 'x'")


def test_a_log_line_in_text_can_be_read(logger, capsys):
    configure("text", "warning")
    logger.info("not this")
    logger.warning("but %d", 7)
    err = capsys.readouterr().err
    assert err.endswith("WARNING streamfs: but 7\n")
    assert "not this" not in err


def test_a_log_line_in_text_has_no_control_characters(logger, capsys):
    configure("text")
    logger.warning("sensors/%s: unreadable", "n1\x1b[2J\n2026-01-01 ERROR forged\x9b\u202ekcab")
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert r"sensors/n1\x1b[2J\n2026-01-01 ERROR forged\x9b\u202ekcab: unreadable" in error


def test_configuring_twice_writes_once(logger, capsys):
    configure("json")
    configure("text")
    logger.info("once")
    assert capsys.readouterr().err.count("once") == 1


@pytest.mark.parametrize(
    ("options", "named"), [(("xml",), "format is 'xml'"), (("text", "loud"), "level is 'loud'")]
)
def test_a_form_that_there_is_not_is_refused(options, named):
    with pytest.raises(ValueError, match=named):
        configure(*options)


@pytest.mark.parametrize("length", [300, 3000])
def test_a_log_that_nobody_reads_stops_nothing(length, monkeypatch, logger):
    reader, writer = os.pipe()
    monkeypatch.setattr(sys, "stderr", os.fdopen(writer, "w"))
    configure()
    for number in range(1000):
        logger.warning("number %d %s", number, length * "x")
    said = os.read(reader, 2**20)
    logger.warning("after %s", 3000 * "y")
    *kept, number, last = (said + os.read(reader, 2**20)).decode().splitlines()
    n_whole = sum(line.endswith(length * "x") for line in kept)
    assert 10 < n_whole <= len(kept) < 1000
    assert f"{1000 - n_whole} messages before this were left out or cut off" in number
    assert "x" not in number
    assert last.endswith(f"after {3000 * 'y'}")
    sys.stderr.close()
    os.close(reader)


def test_without_python_json_logger_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pythonjsonlogger.json", None)
    with pytest.raises(MissingExtraError, match=r"python-json-logger is not installed.*streamfs\[gateway\]"):
        configure("json")


# systemd


@pytest.fixture(params=["path", "abstract"])
def systemd(request, tmp_path, monkeypatch):
    """Listen in place of systemd."""
    path = str(tmp_path / "notify") if request.param == "path" else f"@streamfs-test-{os.getpid()}"
    monkeypatch.setenv("NOTIFY_SOCKET", path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(path.replace("@", "\0", 1))
        listener.settimeout(5)
        yield listener


def test_systemd_is_notified(systemd):
    assert notify.notify(notify.READY, "STATUS=following 3 streams")
    assert systemd.recv(4096) == b"READY=1\nSTATUS=following 3 streams"


def test_nothing_is_notified_without_systemd(monkeypatch):
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    assert not notify.notify(notify.ALIVE)


def test_a_socket_that_is_gone_is_logged_and_survived(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "gone"))
    assert not notify.notify(notify.STOPPING)
    assert "systemd was not notified of ('STOPPING=1',)" in caplog.text


def seconds_of(monkeypatch, **variables):
    for name in ("WATCHDOG_USEC", "WATCHDOG_PID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return notify.watchdog_seconds()


def test_the_watchdog_is_for_this_process_only(monkeypatch):
    own = str(os.getpid())
    assert seconds_of(monkeypatch) is None
    assert seconds_of(monkeypatch, WATCHDOG_USEC="30000000") == 30
    assert seconds_of(monkeypatch, WATCHDOG_USEC="500000", WATCHDOG_PID=own) == 0.5
    assert seconds_of(monkeypatch, WATCHDOG_USEC="500000", WATCHDOG_PID="1") is None
    assert seconds_of(monkeypatch, WATCHDOG_USEC="0") is None


@pytest.mark.parametrize("text", ["soon", "-1", "1.5", "²", ""])
def test_a_watchdog_that_is_no_number_is_an_error(monkeypatch, text):
    with pytest.raises(StreamfsError, match="WATCHDOG_USEC is"):
        seconds_of(monkeypatch, WATCHDOG_USEC=text)


def test_a_counter_that_rises_is_remarked_on_once(caplog):
    notes = LogNotes()
    notes.update({"late": 0, "messages": 3})
    assert caplog.text == ""
    notes.update({"late": 51, "messages": 4})
    notes.update({"late": 60, "messages": 5})
    assert caplog.messages == [f"{NOTES['late']} (late: 51; further ones are only counted)"]


def test_what_is_remarked_on_is_counted():
    core = Core(channels_procedure("x"), Bindings.single(["x"]))
    assert NOTES.keys() <= {*core.counters, "lost_sessions", "outbox_dropped", "dropped"}


# What pages ask for


def act(site, body, token="a token of sixteen"):  # noqa: S107 - of the test
    with closing(http.client.HTTPConnection(site.host, site.port, timeout=5)) as connection:
        connection.request("POST", "/do", body, {"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())


def test_views_are_there_and_who_has_the_token_may_act(monkeypatch):
    monkeypatch.setattr(web, "_PENANCE", 0.0)
    sent = []
    actions = Actions(
        "a token of sixteen", {"label": "l/", "command": "c"}, lambda *each: sent.append(each), print
    )
    pages = web.ForPages(str.encode, str.encode, actions)
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL, pages) as site:
        assert get(site, "/view/now") == (200, b"now")
        assert get(site, "/view/other")[0] == 404
        assert get(site, "/course?stream=a%2Fb%20c") == (200, b"a/b c")
        long = "x" * 3000  # more than one piece
        assert act(site, json.dumps({"action": "label", "stream": long, "label": "on"}))[0] == 200
        assert sent == [(f"l/{long}", b'{"label":"on"}')]
        assert act(site, '{"action": "reload"}', "another token, wrong") == (
            403,
            {"ok": False, "text": "the token is not the right one"},
        )
        assert act(site, b"x" * 5000)[0] == 400
        assert act(site, b"{}")[0] == 400
    with web.serve(HOST, 0, lambda: STATISTICS, lambda: WELL) as site:
        assert get(site, "/view/now")[0] == 404
        with closing(http.client.HTTPConnection(site.host, site.port, timeout=5)) as connection:
            connection.request("POST", "/do", b"{}")
            assert connection.getresponse().status == 404
