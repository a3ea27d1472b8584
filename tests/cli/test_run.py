"""A gateway and other long commands as processes: they decide, and end when they should."""

import os
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from time import monotonic, sleep

import click
import orjson
import pytest
from helpers.commands import process
from helpers.procedures import channels_procedure

from sensors_sim.fleet import Fleet
from sensors_sim.same_source import SameSource, nodes_of
from streamfs.cli.app import main
from streamfs.gateway.transport.transport import Transport


@contextmanager
def running(folder, *args):
    words = [sys.executable, "-m", "streamfs", "run", *args]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as gateway:
        try:
            yield gateway
        finally:
            gateway.kill()


def await_control(broker, prefix, n_nodes):
    """Wait until a gateway has sent control messages to all nodes."""
    with closing(Transport(broker.url)) as transport:
        transport.connect(10.0)
        transport.subscribe([f"{prefix}/control/+"])
        received = []
        assert awaited(lambda: received.extend(transport.poll(0.1)) or len(received) >= n_nodes)


@pytest.mark.mqtt
def test_run_decides_over_mqtt_as_replay_does(first_steps, broker):
    folder, results = first_steps
    live = SameSource().sample(40, 20, seed=1)
    nodes = "\n".join(f"{name},{name}-a,{name}-b" for name in live.names)
    (folder / "nodes.csv").write_text(f"stream,a,b\n{nodes}\n", encoding="utf-8")
    options = (
        "--pairs nodes.csv --energy-log energy.jsonl --prefix cli-run --profile cc2420 --until-decided --json"
    )
    with (
        running(folder, "pairs.streamfs", "--broker", broker.url, *options.split()) as gateway,
        ThreadPoolExecutor(1) as pool,
    ):
        await_control(broker, "cli-run", 80)
        fleet = Fleet(nodes_of(live), live.period, "cc2420", prefix="cli-run")
        replayed = pool.submit(fleet.run, broker.host, broker.port, 0.03)
        out, err = gateway.communicate(timeout=40)
        replayed.result(timeout=40)
    assert gateway.returncode == 0, err
    kept = ("stream", "label", "tick", "confidence", "reason")
    expected = {tuple(d[key] for key in kept) for d in results["replay"].rows}
    assert {tuple(orjson.loads(line)[key] for key in kept) for line in out.splitlines()} == expected
    log = [orjson.loads(line) for line in (folder / "energy.jsonl").read_bytes().splitlines()]
    assert log[-1]["energy"] == pytest.approx(fleet.meter.joules)
    assert f"40 decisions, {fleet.meter.messages} messages of 80 nodes, {fleet.meter.joules:.4g} joules" in err


def processes_of(session):
    """Return the ids of the running processes of a session."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text(encoding="utf-8").rpartition(") ")[2].split()
            if fields[0] != "Z" and int(fields[3]) == session:
                found.add(int(stat.parent.name))
    return found


def seconds_of(pid):
    """Return the CPU seconds of a process; 0 if it has ended."""
    with suppress(OSError):
        user, system = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
    return 0.0


def awaited(condition, seconds=30):
    deadline = monotonic() + seconds
    while not condition() and monotonic() < deadline:
        sleep(0.05)
    return condition()


def test_an_experiment_ends_with_all_its_processes(first_steps):
    """By SIGTERM, of which a command makes what Ctrl-C is."""
    words = ["figure2", "--data", "pairs.csv", "--seeds", "1000", "--n-jobs", "2"]
    experiment = subprocess.Popen(
        [sys.executable, "-m", "streamfs", *words],
        cwd=first_steps[0],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert awaited(lambda: sum(seconds_of(pid) > 1 for pid in processes_of(experiment.pid)) >= 3)
        experiment.send_signal(signal.SIGTERM)
        out, err = experiment.communicate(timeout=30)
        assert (experiment.returncode, out) == (130, ""), err
        assert "Traceback" not in err
        assert awaited(lambda: not processes_of(experiment.pid))
    finally:
        for left in processes_of(experiment.pid):
            os.kill(left, signal.SIGKILL)


def test_what_compiled_code_makes_of_an_interruption_is_one(monkeypatch, capsys):
    def interrupted(*_):
        raise SystemError("a compiled function returned a result with an exception set") from KeyboardInterrupt()

    monkeypatch.setattr(click.Group, "invoke", interrupted)
    with pytest.raises(SystemExit) as ended:
        main(["doctor"])
    assert (ended.value.code, capsys.readouterr().err.strip()) == (130, "")


@pytest.mark.mqtt
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_ends_on_a_signal(first_steps, broker, number):
    folder, _ = first_steps
    prefix = f"cli-{number.name.lower()}"
    command = ["pairs.streamfs", "--broker", broker.url, "--pairs", "two.csv", "--prefix", prefix]
    with running(folder, *command) as gateway:
        await_control(broker, prefix, 2)
        gateway.send_signal(number)
        out, err = gateway.communicate(timeout=30)
    assert gateway.returncode == 0
    assert out.split() == ["p", "-", "closed", "tick", "0", "confidence", "-", "cost", "0"]
    assert "listening to sensors/+/light@delta:40" in err
    assert "1 decisions, 0 messages of 0 nodes, 0 transmissions; " in err.splitlines()[-1]


@pytest.mark.mqtt
def test_run_ends_if_no_messages_arrive(tmp_path, broker):
    channels_procedure("x").save(tmp_path / "x.streamfs")
    idle = ["--idle", "0.1"]
    result = process(tmp_path, "run", "x.streamfs", "--broker", broker.url, *idle, "--prefix", "cli-idle")
    assert (result.code, result.out) == (0, "")
    assert "every node that sends is a stream, unless --pairs or --node names them" in result.err
    settings = f'model = "x.streamfs"\n[broker]\nurl = "{broker.url}"\n'
    (tmp_path / "gateway.toml").write_text(settings, encoding="utf-8")
    for named in (["gateway.toml"], ["--config", "gateway.toml"]):
        result = process(tmp_path, "run", *named, *idle)
        assert "every node that sends is a stream, unless [streams] of gateway.toml names them" in result.err


def test_systemd_is_notified_even_without_a_broker(first_steps, tmp_path, monkeypatch):
    (tmp_path / "gateway.toml").write_text(
        f"""
        model = "{first_steps[0]}/pairs.streamfs"
        state = "state"
        [broker]
        url = "mqtt://127.0.0.1:1"
        [streams.pairs.p]
        a = "n1"
        b = "n2"
        """,
        encoding="utf-8",
    )
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))
        monkeypatch.setenv("WATCHDOG_USEC", "200000")
        with running(tmp_path, "--config", "gateway.toml") as gateway:
            assert [systemd.recv(100) for _ in range(3)] == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
            gateway.send_signal(signal.SIGTERM)
            received = {systemd.recv(100)}
            while b"STOPPING=1" not in received:
                received.add(systemd.recv(100))
            out, err = gateway.communicate(timeout=30)
        assert (gateway.returncode, out) == (0, ""), err
        assert received <= {b"WATCHDOG=1", b"STOPPING=1"}


HUNG_UP = """
import signal
from streamfs.cli.app import main
from streamfs.gateway.settings import settings

read = settings.read_settings

def interrupted(path):
    if settings.read_settings is interrupted:
        settings.read_settings = read
        signal.raise_signal(signal.SIGHUP)
    return read(path)

settings.read_settings = interrupted
main(["run", "--config", "gateway.toml", "--idle", "0.5"])
"""


def test_a_reload_that_is_asked_for_during_the_start_comes_after_it(tmp_path):
    channels_procedure("x").save(tmp_path / "x.streamfs")
    (tmp_path / "gateway.toml").write_text('model = "x.streamfs"\n[broker]\nurl = "mqtt://127.0.0.1:1"\n')
    words = [sys.executable, "-c", HUNG_UP]
    ended = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended
    assert "reloads 1" in ended.stderr


@pytest.mark.parametrize("words", ["train pairs.csv -o x --promise 0.8", "simulate big.csv --pairs 99999"])
def test_any_command_ends_on_sigterm_without_a_traceback(first_steps, words):
    typed = [sys.executable, "-m", "streamfs", *shlex.split(words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(typed, cwd=first_steps[0], start_new_session=True, **pipes) as process:
        assert awaited(lambda: seconds_of(process.pid) > 1)
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
    interrupted = 130, -signal.SIGINT  # Python ends by the signal if an `exec`, as in dataclasses, was interrupted
    assert process.returncode in interrupted, err
    assert "Traceback" not in err


def test_a_closed_pipe_leaves_no_traceback(first_steps):
    folder, _ = first_steps
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "streamfs", "replay", "pairs.streamfs", "new.parquet"]
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(words, cwd=folder, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"")
