"""What the doctor finds on machines that are fit, and on others."""

import socket
import time
from errno import ENOSPC
from unittest.mock import Mock

import orjson
import pytest
from click.testing import CliRunner

from streamfs.cli import doctor
from streamfs.cli.app import cli, main
from streamfs.cli.doctor import ERROR, NOTE, OK, WARNING
from streamfs.gateway.transport.broker_address import parse_url


def asked(*words):
    result = CliRunner().invoke(cli, ["doctor", "--json", *words])
    return result.exit_code, {row["what"]: row for row in orjson.loads(result.stdout)}


def test_a_machine_that_runs_these_tests_has_what_it_needs():
    code, found = asked()
    assert code == 0
    assert found["numpy"]["status"] == OK
    assert found["extra gateway"] == {"what": "extra gateway", "status": OK, "text": "is complete"}


def test_an_extra_that_lacks_a_package_is_named(monkeypatch):
    usual = doctor._installed
    monkeypatch.setattr(doctor, "_installed", lambda name: None if name in ("jinja2", "rich") else usual(name))
    found = {finding.what: finding for finding in doctor.packages()}
    assert found["extra report"].status == NOTE
    assert found["extra report"].text == "lacks jinja2: pip install 'streamfs[report]'"
    assert found["rich"].status == ERROR


def test_a_gateway_needs_no_compiler(monkeypatch):
    class Kernel:
        @property
        def dispatcher(self):
            raise ModuleNotFoundError("no numba", name="numba")

    monkeypatch.setattr(doctor, "in_c", object)
    monkeypatch.setattr(doctor, "difference", Kernel())
    assert doctor.compiled_code().status == OK


@pytest.mark.parametrize(
    ("now", "is_unsynchronised", "status"), [(0.0, False, ERROR), (2e9, True, WARNING), (2e9, False, OK)]
)
def test_a_wrong_clock_is_noticed(monkeypatch, now, is_unsynchronised, status):
    monkeypatch.setattr(doctor, "_is_unsynchronised", lambda: is_unsynchronised)
    assert doctor.clock(now).status == status


def test_a_clock_of_today_is_not_in_the_past():
    assert doctor.clock(time.time()).status != ERROR


def test_a_disk_is_looked_at(monkeypatch, tmp_path):
    assert [finding.status for finding in doctor.disk("state", tmp_path / "not" / "yet")] == [OK, OK]
    assert list(tmp_path.iterdir()) == []
    file = tmp_path / "file"
    file.touch()
    assert [finding.text for finding in doctor.disk("state", file)] == [f"{file} is not a folder"]
    monkeypatch.setattr(doctor, "LEAST_FREE", 1e30)
    monkeypatch.setattr(doctor, "SLOWEST_SYNC", 0.0)
    assert [finding.status for finding in doctor.disk("state", tmp_path)] == [WARNING, WARNING]
    monkeypatch.setattr(doctor, "_seconds_to_sync", Mock(side_effect=OSError(ENOSPC, "No space left on device")))
    assert [*doctor.disk("state", tmp_path)][1].text == f"{tmp_path} takes no file: No space left on device"


def test_a_broker_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setattr(doctor, "PATIENCE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert doctor.broker(parse_url(f"mqtt://127.0.0.1:{port}")).status == ERROR
    code, found = asked("--broker", f"mqtt://127.0.0.1:{port}")
    assert (code, found["broker"]["status"]) == (1, ERROR)
    assert f"127.0.0.1:{port}" in found["broker"]["text"]
    with pytest.raises(SystemExit, match="1"):
        main(["doctor", "--broker", f"mqtt://127.0.0.1:{port}"])


@pytest.mark.mqtt
def test_a_broker_that_accepts_is_fit(broker, tmp_path):
    code, found = asked("--broker", broker.url)
    assert (code, found["broker"]["status"]) == (0, OK)
    settings = tmp_path / "gateway.toml"
    settings.write_text(f'name = "g"\nmodel = "m.streamfs"\nstate = "s"\n[broker]\nurl = "{broker.url}"\n')
    code, found = asked("--config", str(settings))
    assert (code, found["broker"]["status"], found["state"]["status"]) == (0, OK, OK)


def test_settings_and_a_broker_exclude_each_other(tmp_path):
    settings = tmp_path / "gateway.toml"
    settings.touch()
    result = CliRunner().invoke(cli, ["doctor", "--config", str(settings), "--broker", "mqtt://h"])
    assert (result.exit_code, "exclude each other" in result.stderr) == (2, True)
