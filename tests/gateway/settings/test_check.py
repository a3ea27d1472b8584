"""`streamfs check`: what a gateway would do."""

import re
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from click.testing import CliRunner
from helpers.procedures import mean_procedure
from settings_texts import LEAST

from streamfs.cli.app import cli, main
from streamfs.errors import SettingsError
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.preview import preview_gateway
from streamfs.gateway.settings.settings import read_settings
from streamfs.procedure.stopping import TickThresholds


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a model of one channel, in which commands run."""
    mean_procedure(column="light@flag:300").save(tmp_path / "rooms.streamfs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(text, *options):
    Path("gateway.toml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(cli, ["check", "gateway.toml", *options], prog_name="streamfs")


SOUND = f"""name = "attic"
state = "state"
{LEAST.replace("localhost", "me:geheim@broker.example")}
[[source]]
topic = "zigbee2mqtt/{{node}}"
fields = {{ "illuminance" = "light@flag:300", "temperature" = "temperature" }}
[[source]]
topic = "sensors/{{node}}/{{channel}}"
[http]
"""


@pytest.mark.usefixtures("folder")
def test_what_a_gateway_would_do_is_shown():
    result = check(SOUND)
    assert result.exit_code == 0
    assert max(map(len, result.stdout.splitlines())) <= 80
    for text in ("attic", "off or on", "broker.example:1883", "every node that sends", "zigbee2mqtt/+"):
        assert text in result.output
    assert "light@flag:300, temperature (not read)" in result.output
    assert "sensors/+/light@flag:300" in result.output
    assert "geheim" not in result.output


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("topic", ["streamfs/deadletter/{node}", "streamfs/control/{node}"])
def test_a_source_of_the_gateways_own_topics_is_refused(topic):
    """Also as a gateway starts, or reads its settings again."""
    Path("gateway.toml").write_text(SOUND.replace("zigbee2mqtt/{node}", topic), encoding="utf-8")
    with pytest.raises(SettingsError, match=rf"topic is '{topic}', expected one outside streamfs/"):
        read_settings("gateway.toml")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("sections", "error"),
    [
        ("[time]\novertaking = 3.0", "time.overtaking is 3, expected at most time.lateness, 2"),
        (
            "[time]\nlateness = 9.0\n[limits]\nahead = 9",
            "limits.ahead is 9 ticks of 1 s, expected more than time.lateness",
        ),
        ("[time]\nlateness = 9.0\n[limits]\npending = 8", "limits.pending is 8, expected 9 or more"),
        (
            "[streams]\nexpire_after = 61\n[time]\ngrace = 60.0",
            "streams.expire_after is 61, expected more than 61",
        ),
        (
            "[streams]\nexpire_after = 300",
            "streams.expire_after is 300, expected more than 300: the model allows",
        ),
        ("", "broker.session_expiry is 0, expected more with qos 1"),
    ],
)
def test_settings_of_time_that_contradict_each_other_or_the_model_are_refused(sections, error):
    replace(mean_procedure(column="light@flag:300"), max_silence=300.0).save("rooms.streamfs")
    text = SOUND if sections else SOUND.replace("[[source]]", "session_expiry = 0\n[[source]]", 1)
    Path("gateway.toml").write_text(f"{text}{sections}\n", encoding="utf-8")
    key = error.partition(" ")[0].partition(".")[2]
    lines = Path("gateway.toml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if line.startswith(key))
    with pytest.raises(SettingsError) as raised:
        preview_gateway(read_settings("gateway.toml"))
    assert str(raised.value).startswith(f"gateway.toml, line {number}: {error}")
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("folder")
def test_topics_of_its_own_below_a_wide_source_are_said_to_be_left_out():
    result = check(SOUND.replace("zigbee2mqtt/{node}", "+/+/{node}"), "--json")
    assert [source["left_out"] for source in orjson.loads(result.output)["sources"]] == [["streamfs/#"], []]


@pytest.mark.parametrize(
    ("text", "prefix", "does"),
    [
        ("+/{node}", "streamfs", True),
        ("{node}/{channel}", "streamfs", True),
        ("+/{node}", "house/streamfs", False),
        ("house/+/{node}", "house/streamfs", True),
        ("house/{node}", "house", True),
        ("sensors/{node}", "streamfs", False),
    ],
)
def test_a_template_overlaps_a_prefix_if_it_matches_a_topic_below_it(text, prefix, does):
    assert Template(text).overlaps(prefix) is does
    below = "/".join([prefix, *["x"] * max(1, text.count("/") - prefix.count("/"))])
    assert (Template(text).match(below) is not None) is does


def test_the_preview_is_json_for_machines(folder):
    result = check(SOUND, "--json")
    assert result.exit_code == 0
    assert "geheim" not in result.output
    plan = orjson.loads(result.output)
    assert plan["broker"] == {
        "host": "broker.example",
        "port": 1883,
        "user": "me",
        "tls": False,
        "client_id": "streamfs-attic",
        "qos": 1,
    }
    assert plan["sources"] == [
        {
            "topics": ["zigbee2mqtt/+"],
            "format": "auto",
            "channels": ["light@flag:300"],
            "unread": ["temperature"],
            "left_out": [],
        },
        {
            "topics": ["sensors/+/light@flag:300"],
            "format": "auto",
            "channels": ["light@flag:300"],
            "unread": [],
            "left_out": [],
        },
    ]
    assert (plan["any_node"], plan["streams"], plan["classes"]) == (True, [], ["off", "on"])
    assert plan["limits"]["streams"] == 100_000
    assert (plan["model"], plan["state"]) == (str(folder / "rooms.streamfs"), str(folder / "state"))


def open_to(folder, **modes):
    (folder / "state").mkdir()
    (folder / "password").write_text("geheim", encoding="utf-8")
    for name, mode in ({"state": 0o700, "password": 0o640, "rooms": 0o644, "here": 0o755} | modes).items():
        (folder / {"rooms": "rooms.streamfs", "here": "."}.get(name, name)).chmod(mode)


OPEN = """model = "rooms.streamfs"
state = "state"
[broker]
url = "URL"
user = "attic"
password_file = "password"
"""


@pytest.mark.parametrize(
    ("url", "modes", "warnings"),
    [
        ("mqtt://localhost", {}, []),
        ("mqtts://broker.example", {}, []),
        ("mqtt://broker.example", {}, ["everybody between here and broker.example can read and change messages"]),
        (
            "mqtt://localhost",
            {"state": 0o750},
            ["state: .*/state has mode 750, .*: chmod go-rwx .*/state"],
        ),
        ("mqtt://localhost", {"state": 0o701}, ["state: .*/state has mode 701"]),
        ("mqtt://localhost", {"rooms": 0o664}, ["model: .*/rooms.streamfs has mode 664, .* chmod go-w"]),
        ("mqtt://localhost", {"here": 0o777}, ["model: .* has mode 777"]),
        ("mqtt://localhost", {"here": 0o1777}, []),
        ("mqtt://localhost", {"password": 0o644}, ["broker.password_file: .*/password has mode 644"]),
    ],
)
def test_the_preview_warns_of_what_others_could_read_and_change(folder, url, modes, warnings):
    open_to(folder, **modes)
    plan = orjson.loads(check(OPEN.replace("URL", url), "--json").output)
    assert len(plan["warnings"]) == len(warnings)
    assert all(re.match(text, found) for text, found in zip(warnings, plan["warnings"], strict=True))


@pytest.mark.usefixtures("folder")
def test_a_gateway_without_a_name_at_the_broker_is_warned_of():
    shown = check(LEAST)
    assert shown.exit_code == 0
    assert "warning: the gateway has no user name at the broker" in shown.stderr


def test_a_withdrawal_on_which_nothing_would_happen_is_warned_of(folder):
    shown = check(f'{LEAST}[promise]\non_withdrawal = "raise"\nraised_to = 0.1\n')
    assert shown.exit_code == 0
    assert 'on_withdrawal = "raise" does nothing: 0.1, raised_to, is no higher than' in shown.stderr
    assert (
        '"previous" does nothing without a state'
        in check(f'{LEAST}[promise]\non_withdrawal = "previous"\n').stderr
    )
    assert "does nothing" not in check(f'{LEAST}[promise]\non_withdrawal = "raise"\n').stderr
    for rule, warning in (
        (TickThresholds((1,), (0.9,)), ""),
        (TickThresholds((1, 5), (0.9, 0.9), (0.0, 0.7)), "certifies nothing: the model gives streams up"),
        (TickThresholds((1, 5), (0.9, 0.8)), "does nothing: the model has several confidence thresholds"),
    ):
        replace(mean_procedure(column="light@flag:300"), stopping=rule).save(folder / "rooms.streamfs")
        shown = check(f'{LEAST}[promise]\non_withdrawal = "recertify"\n')
        assert (warning in shown.stderr, "nothing:" in shown.stderr) == (True, bool(warning))


@pytest.mark.usefixtures("folder")
def test_many_streams_are_counted_and_the_first_ones_named():
    nodes = [f"n{n}" for n in range(1, 21)]
    result = check(f"{LEAST}[streams]\nnodes = {nodes}\n")
    assert "20: n1, n2, n3, n4, n5, ..." in result.output


def test_all_errors_of_a_preview_are_reported_together(folder):
    (folder / "file").write_text("", encoding="utf-8")
    text = (
        SOUND.replace("me:geheim@", "me@").replace("light@flag:300", "light@flag:3").replace('"state"', '"file"')
    )
    text = text.replace("[[source]]", 'password_env = "NOT_SET"\n[[source]]', 1)
    (folder / "gateway.toml").write_text(text, encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        preview_gateway(read_settings(folder / "gateway.toml"))
    state, broker, source = str(error.value).splitlines()
    assert "line 2: state is" in state
    assert "line 4: broker: environment variable NOT_SET is not set" in broker
    assert "line 8: source has light@flag:3, temperature, which the model does not read" in source


def test_a_missing_model_is_reported_with_its_line(folder):
    (folder / "gateway.toml").write_text(SOUND.replace("rooms.streamfs", "attic.streamfs"), encoding="utf-8")
    with pytest.raises(SettingsError, match=r"line 3: .*attic\.streamfs cannot be read"):
        preview_gateway(read_settings(folder / "gateway.toml"))


def test_missing_packages_are_reported(folder, monkeypatch):
    monkeypatch.setattr("streamfs.gateway.settings.preview.find_spec", lambda _: None)
    (folder / "gateway.toml").write_text(SOUND + '[log]\nformat = "json"\n', encoding="utf-8")
    with pytest.raises(SettingsError) as error:
        preview_gateway(read_settings(folder / "gateway.toml"))
    http, log = str(error.value).splitlines()
    assert "line 12: http: prometheus-client is not installed" in http
    assert "line 14: log.format: python-json-logger is not installed" in log


@pytest.mark.usefixtures("folder")
def test_settings_that_are_wrong_end_the_command_with_1(capsys):
    Path("gateway.toml").write_text("modle = 1\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["check", "gateway.toml"])
    assert ended.value.code == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 3
    assert "gateway.toml, line 1: modle is unknown; did you mean model?" in told.err
