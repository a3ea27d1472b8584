"""Settings: reading files, and errors in files."""

import ast
import re
import tomllib
from collections import Counter
from dataclasses import asdict, fields, replace
from pathlib import Path

import options_page
import pytest
from settings_texts import ALL, LEAST

from streamfs.errors import SettingsError, TransportError
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.core.options import Commits, Drift, Limits, Time
from streamfs.gateway.settings.broker import Broker
from streamfs.gateway.settings.sections import HomeAssistant, Http, Logging
from streamfs.gateway.settings.settings import read_settings

ROOT = Path(__file__).parents[3]
LARGE = 50_000  # defaults below may be written elsewhere for other reasons


def test_what_a_file_leaves_out_has_a_default(read, tmp_path):
    settings = read(LEAST)
    assert (settings.name, settings.prefix, settings.profile) == ("gateway", "streamfs", "transmissions")
    assert settings.model == tmp_path / "rooms.streamfs"
    assert (settings.state, settings.spool, settings.trust) == (None, None, False)
    assert (settings.http, settings.homeassistant, settings.drift) == (None, None, None)
    broker = settings.broker
    assert (broker.client_id, broker.keepalive, broker.qos) == ("streamfs-gateway", 30, 1)
    assert (broker.receive_maximum, broker.session_expiry) == (1000, 86_400)
    assert asdict(settings.time) == {
        "lateness": None,
        "grace": None,
        "overtaking": 0.0,
    }
    assert asdict(settings.limits) == {
        "streams": 100_000,
        "streams_when_full": "refuse",
        "evicted_per_hour": 0.1,
        "queue": 10_000,
        "payload_bytes": 262_144,
        "batch_samples": 100_000,
        "pending": 100_000,
        "decisions_kept": 100_000,
        "outbox": 100_000,
        "ahead": 10_000,
    }
    assert asdict(settings.commit) == {
        "messages": 500,
        "seconds": 0.02,
        "snapshot_seconds": 60.0,
        "segment_bytes": 67_108_864,
        "segment_seconds": None,
    }
    assert asdict(settings.log) == {"format": "text", "level": "info"}
    assert settings.streams.any_node
    assert [source.topic for source in settings.sources] == ["sensors/{node}/{channel}"]


def test_what_a_file_says_is_read(read, tmp_path):
    settings = read(ALL)
    assert settings.model == tmp_path / "models" / "rooms.streamfs"
    assert (settings.name, settings.prefix, settings.profile) == ("attic", "house/streamfs", "cc2420")
    assert (settings.state, settings.spool) == (Path("/var/lib/streamfs"), tmp_path / "spool")
    assert settings.trust
    broker = asdict(settings.broker)
    assert [broker[key] for key in ("user", "client_id", "keepalive", "qos")] == ["me", "upstairs", 60, 0]
    assert [broker[key] for key in ("receive_maximum", "session_expiry")] == [100, 0]
    assert [broker[key].name for key in ("password_file", "ca", "certificate", "key")] == [
        *("password", "ca.pem", "me.pem", "me.key"),
    ]
    assert list(asdict(settings.time).values()) == [5.0, 20.5, 1.0]
    assert settings.streams.pairs_file == tmp_path / "nodes.csv"
    assert settings.streams.pairs == {"desk": {"a": "n1", "b": "n2"}}
    assert settings.streams.groups[0].nodes == ("n3", "n4", "n5")
    assert (settings.streams.any_node, settings.streams.reopen_after) == (False, 60.0)
    zigbee, raw = settings.sources
    assert zigbee.channels == ("light@flag:300", "temperature")
    assert (zigbee.time, zigbee.time_unit, zigbee.sequence) == ("last_seen", "iso", "n")
    assert raw.channels == ("acceleration@every:2",)
    assert list(asdict(settings.limits).values()) == [1000, "evict", 0.5, 50, 1024, 500, 2000, 10, 500, 60]
    assert list(asdict(settings.commit).values()) == [10, 0.5, 5.0, 65_536, 20.0]
    assert (settings.http.host, settings.http.port) == ("::1", 0)
    assert (settings.log.format, settings.log.level) == ("json", "debug")
    assert settings.homeassistant.prefix == "ha"
    assert settings.drift.delta == 0.01


def test_sections_that_are_there_but_empty_have_their_defaults(read):
    settings = read(LEAST + "[http]\n[homeassistant]\n[drift]\n")
    assert (settings.http.host, settings.http.port) == ("127.0.0.1", 9464)
    assert settings.homeassistant.prefix == "homeassistant"
    assert settings.drift.delta == 0.002


def test_drift_detection_can_be_switched_off(read):
    assert read(LEAST + "[drift]\nenabled = false\n").drift is None


def test_paths_are_taken_from_the_files_folder(tmp_path, monkeypatch):
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "gateway.toml").write_text(f'state = "../state"\n{LEAST}', encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    settings = read_settings("etc/gateway.toml")
    assert settings.model == folder / "rooms.streamfs"
    assert settings.state.is_absolute()
    assert settings.state.resolve() == tmp_path / "state"


def test_a_password_is_read_when_it_is_used_and_never_shown(read, tmp_path, monkeypatch):
    settings = read(LEAST + 'user = "me"\npassword_file = "secret"\n')
    with pytest.raises(TransportError, match="secret"):
        settings.broker.address()
    (tmp_path / "secret").write_text("geheim\n", encoding="utf-8")
    assert settings.broker.address().password == "geheim"  # noqa: S105
    settings = read(LEAST + 'user = "me"\npassword = "geheim"\n')
    assert settings.broker.address().password == "geheim"  # noqa: S105
    assert "geheim" not in repr(settings)
    assert "geheim" not in repr(read(LEAST.replace("localhost", "me:geheim@localhost")))
    monkeypatch.setenv("SECRET", "geheim")
    assert read(LEAST + 'user = "me"\npassword_env = "SECRET"\n').broker.address().password == "geheim"  # noqa: S105


WRONG = {
    'name = "a/b"': "line 1: name is 'a/b', expected a name without any of",
    'name = ""': "line 1: name is '', expected text that is not empty",
    "name = 5": "line 1: name is 5, expected text",
    'prefix = "a/#"': "line 1: prefix is 'a/#', expected a topic without + and #",
    'prefix = "a/"': "line 1: prefix is 'a/', expected a topic without + and #, empty levels and a",
    "trust = 1": "line 1: trust is 1, expected true or false",
    'profile = "cc2421"': "line 1: profile is 'cc2421', expected one of transmissions",
    'spool = "there"': "line 1: spool is set without state, expected both",
    "modell = 1": "line 1: modell is unknown; did you mean model?",
    "source = 5": "line 1: source is 5, expected an array",
    '[source]\ntopic = "a/{node}"': "line 1: source is a table, expected one of several: write [[source]]",
    '[[source]]\ntopic = "a/{Node}"': "line 2: source.topic is 'a/{Node}', whose level '{Node}' is not valid in a "
    "topic, expected text, +, {node}, {node...} or {channel}",
    "source = [5]": "line 1: source is 5, expected a table",
    "limits = 5": "line 1: limits is 5, expected a table",
    "limits = { streems = 5 }": "line 1: limits.streems is unknown; did you mean streams?",
    "[time]\nlateness = -1": "line 2: time.lateness is -1.0, expected a number, at least 0",
    '[time]\nlateness = "1s"': "line 2: time.lateness is '1s', expected a number",
    "[time]\ngrace = inf": "line 2: time.grace is inf, expected a number",
    "[time]\novertaking = nan": "line 2: time.overtaking is nan, expected a number",
    '[time]\nclock = "wall"': "line 2: time.clock is gone: every stream has the time of its own stamps",
    "[time]\ngrace = true": "line 2: time.grace is true, expected a number",
    "[streams]\nany_node = false": "line 2: streams.any_node is false, expected nodes, pairs_file, pairs or group",
    '[streams]\nnodes = ["n1", "n1"]': "line 2: streams.nodes is ['n1', 'n1'], expected an array of texts",
    "[streams]\nnodes = []": "line 2: streams.nodes is [], expected an array of texts",
    "[streams]\nnodes = [1]": "line 2: streams.nodes is [1], expected an array of texts",
    '[streams]\nnodes = ["n+"]': "line 2: streams.nodes cannot be: node is 'n+'",
    '[streams]\nany_node = true\nnodes = ["n1"]': "line 2: streams.any_node is true besides nodes",
    '[streams]\nnodes = ["n1"]\nexpire_after = 5': "line 3: streams.expire_after is set besides nodes",
    '[streams]\nnodes = ["n1"]\npairs_file = "x"': "line 2: streams.nodes is set besides pairs_file",
    "[streams]\nreopen_after = -1": "line 2: streams.reopen_after is -1.0, expected a number, at least 0",
    "[streams.pairs.desk]\na = 1": "line 1: streams.pairs.desk is {'a': 1}, expected a table of texts",
    '[streams.pairs."a/b"]\na = "n1"': "line 1: streams.pairs.\"a/b\" cannot be: stream is 'a/b'",
    '[[streams.group]]\nnodes = ["n1"]': "line 1: streams.group cannot be: group has 1 nodes",
    '[[streams.group]]\nnodes = ["n1", "n2"]\nroles = ["a"]': "line 1: streams.group cannot be: roles are 'a'",
    '[[streams.group]]\nnodes = ["n1", "n2"]\nrole = 1': "line 3: streams.group.role is unknown; did you",
    "[[source]]": "line 1: source.topic is missing, expected a topic",
    '[[source]]\ntopic = "a/#"': "line 2: source.topic is 'a/#', whose level '#'",
    '[[source]]\ntopic = "a/b"\nchannel = "x"': "line 1: source cannot be: topic is 'a/b', expected one {node}",
    '[[source]]\ntopic = "a/{node}"\nnode = "n1"\nchannel = "x"': "line 1: source cannot be: topic is 'a/{node}'",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nvalues = { ON = "yes" }': "line 1: source cannot be: 'ON' ",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nvalues = { ON = true }': "line 4: source.values is {'ON':",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nunits = { x = "F to m" }': "line 1: source cannot be: unit ",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nunits = { x = "{u} to q" }': "line 1: source cannot be: unit ",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nformat = "array"\nunits = { x = "{u} to C" }': "line 1: "
    "source cannot be: units are stated by JSON payloads, and format is 'array'",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nunits = { y = "F to C" }': "line 4: source.units has 'y', ",
    '[node.a]\nalias = ["x"]\n[node.b]\nalias = ["x"]': "line 2: node.a.alias has 'x', which another node has",
    '[node."a/b"]\nalias = ["x"]': "line 1: node.\"a/b\" cannot be: node is 'a/b'",
    "[node.a]\nalias = []": "line 2: node.a.alias is [], expected an array of texts",
    '[[source]]\ntopic = "a/{node}"\nformat = "xml"': "line 3: source.format is 'xml', expected one of auto, json",
    '[[source]]\ntopic = "a/{node}"\nformat = "json"': "line 1: source.channel is missing, and neither topic nor",
    '[[source]]\ntopic = "{channel}/{node}"\nchannel = "x"': "line 3: source.channel is set, but the topic",
    '[[source]]\ntopic = "a/{node}"\nformat = "chirpstack"\nchannel = "x"': "line 4: source.channel is set, but",
    '[[source]]\ntopic = "{channel}/{node}"\nformat = "senml+json"': "line 2: source.topic is '{channel}/{node}'",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x@often:3"': "line 3: source.channel cannot be: report policy is",
    '[[source]]\ntopic = "a/{node}"\nfields = { a = "x/y" }': "line 1: source cannot be: channel is 'x/y'",
    '[[source]]\ntopic = "a/{node}"\nfields = {}': "line 3: source.fields is {}, expected a table of texts",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\ntime_unit = "h"': "line 4: source.time_unit is 'h', expected",
    '[[source]]\ntopic = "a/{node}"\nchannel = "x"\nformat = "array"\nvalue = "v"': "line 1: source cannot be: fo",
    "[limits]\nstreams = 0": "line 2: limits.streams is 0, expected at least 1",
    f"[limits]\nstreams = {10**20}": f"line 2: limits.streams is {10**20}, expected at least 1 and at most",
    "[limits]\nqueue = true": "line 2: limits.queue is true, expected a whole number",
    "[limits]\nqueue = 1.5": "line 2: limits.queue is 1.5, expected a whole number",
    "[limits]\nahead = 99999999999999999999": "line 2: limits.ahead is 99999999999999999999, expected at",
    '[limits]\nstreams_when_full = "drop"': "line 2: limits.streams_when_full is 'drop', expected one of",
    "[commit]\nseconds = -1": "line 2: commit.seconds is -1.0, expected a number, at least 0",
    "[commit]\nsegment_bytes = 1": "line 2: commit.segment_bytes is 1, expected at least 4096",
    "[http]\nport = 65536": "line 2: http.port is 65536, expected at least 0 and at most 65535",
    '[log]\nlevel = "loud"': "line 2: log.level is 'loud', expected one of debug, info, warning, error",
    '[homeassistant]\nprefix = "+"': "line 2: homeassistant.prefix is '+', expected a topic",
    "[drift]\ndelta = 1": "line 2: drift.delta is 1.0, expected a number, more than 0 and at most 0.5",
    '[drift]\nenabled = "yes"': "line 2: drift.enabled is 'yes', expected true or false",
    "[http]\nport = 1\nstate = 's'": "line 3: http.state is in a table: write it above the first",
    "[nonsense]": "line 1: nonsense is unknown, expected one of broker",
}
WRONG_BROKER = {
    'url = "foo"': "broker.url is 'foo', expected mqtt",
    'url = "mqtt://me:geheim@"': "broker.url is 'mqtt://me:***@', expected mqtt",
    "url = 5": "broker.url is 5, expected text",
    'ulr = "mqtt://localhost"': "broker.url is missing, expected the broker's URL",
    "keepalive = 0": "broker.keepalive is 0, expected at least 1 and at most 65535",
    "keepalve = 5": "broker.keepalve is unknown; did you mean keepalive?",
    "qos = 2": "broker.qos is 2, expected at least 0 and at most 1",
    "receive_maximum = 65536": "broker.receive_maximum is 65536, expected at least 1 and at most 65535",
    "session_expiry = 4294967296": "broker.session_expiry is 4294967296, expected at least 0 and at most",
    'password = "geheim"\npassword_env = "X"': "broker.password_env is set besides password, expected one",
    'key = "me.key"': "broker.key is set without certificate, expected both",
    "password = 1234": "broker.password is not text, expected text",
}


@pytest.mark.parametrize("text", WRONG)
def test_errors_have_line_and_key(problems, text):
    before, after = ('model = "m"\nbroker.url = "mqtt://b"\n', "") if text.startswith("[") else ("", "\n" + LEAST)
    shift = before.count("\n")
    line = int(re.search(r"\d+", WRONG[text])[0]) + shift
    expected = re.sub(r"\d+", str(line), WRONG[text], count=1)
    assert any(problem.startswith(f"gateway.toml, {expected}") for problem in problems(before + text + after))


UNFIT = {
    'http = {host = ".."}': "http.host is '..', expected a host name or an IP address",
    "limits = {payload_bytes = 64_000_001}": "expected at least 1 and at most 64000000",
    f'name = "{10_001 * "x"}"': "name has 10001 bytes, expected at most 10000",
    f'prefix = "{3000 * chr(0x1F600)}"': "prefix has 12000 bytes, expected at most 10000",
    'state = "a\\u0000b"': "expected names without NUL and of at most 255 bytes",
    f'state = "a/{256 * "b"}/c"': "expected names without NUL and of at most 255 bytes",
    f'state = "{999 * "a/"}{9 * "b"}"': "expected a shorter path",
    'state = "~nobody-of-that-name/state"': "is '~nobody-of-that-name/state', but there is no such user",
}


@pytest.mark.parametrize("text", UNFIT)
def test_texts_that_nothing_can_take_are_refused(problems, text):
    (problem,) = problems(f"{text}\n{LEAST}")
    assert problem.startswith("gateway.toml, line 1: ")
    assert problem.endswith(UNFIT[text])
    assert len(problem) < 200


@pytest.mark.parametrize("text", WRONG_BROKER)
def test_errors_of_the_broker_have_no_secrets(problems, text):
    url = "" if text.startswith("u") else 'url = "mqtt://localhost"\n'
    found = problems(f'model = "m"\n[broker]\n{url}{text}\n')
    assert any(WRONG_BROKER[text] in problem for problem in found)
    assert "geheim" not in str(found)
    assert "1234" not in str(found)


def test_all_errors_are_reported_together_in_the_order_of_the_file(problems):
    found = problems('naem = "x"\n[limits]\nqueue = 0\n[broker]\nqos = 3\n[time]\ngrace = "x"\n')
    assert [re.search(r"line (\d+): (\S+)", problem).groups() for problem in found] == [
        *(("1", "model"), ("1", "naem"), ("3", "limits.queue")),
        *(("4", "broker.url"), ("5", "broker.qos"), ("7", "time.grace")),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'model = "a"\nname = \n', "line 2: Invalid value, expected TOML: write a value"),
        (b"model = a.streamfs", 'line 1: Invalid value, expected TOML: write text in quotes, key = "text"'),
        ("model = “a”".encode(), "expected TOML: write straight quotes"),
        (b"model: a", "expected TOML: write key = value"),
        ("model\xa0= 'a'".encode(), "expected TOML: remove what looks like a space"),
        (b"trust = True", "expected TOML: write true or false"),
        (rb'model = "C:\models"', r"expected TOML: write text with .* between single quotes"),
        (b'model = "a"\nmodel = "b"\n', "line 2: Cannot overwrite a value, expected TOML"),
        (b"model = '\xff'\n", "is not UTF-8 from .* on, expected a gateway.toml, saved as UTF-8"),
        (b"model = 1" + b"0" * 5000, "expected TOML"),
        (b"model = " + b"[" * 5000, "expected TOML"),
        (b'model = "a', "expected TOML"),
    ],
)
def test_a_file_that_is_no_toml_is_refused_by_line(tmp_path, text, message):
    path = tmp_path / "gateway.toml"
    path.write_bytes(text)
    with pytest.raises(SettingsError, match=rf"gateway\.toml.*{message}"):
        read_settings(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"gateway\.toml cannot be read"):
        read_settings(tmp_path / "gateway.toml")


SECTIONS = {"broker": Broker, "time": Time, "limits": Limits, "commit": Commits, "http": Http, "log": Logging}


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def blocks():
    text = page("gateway.md") + page("sources.md")
    return re.findall(r"```toml\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.splitlines()[0])
def test_an_example_of_the_documentation_is_read(read, block):
    assert read(block if "model = " in block else LEAST + block).sources


def test_the_documentation_has_the_options_as_they_are_declared():
    assert f"\n```toml\n{options_page.block()}\n```\n" in page("gateway.md")
    assert f"\n\n{options_page.source_table()}\n" in page("sources.md")


def test_a_default_is_written_once_in_the_gateway():
    defaults = Counter(
        repr(each.default)
        for section in options_page.SECTIONS.values()
        for each in declared(section).values()
        if type(each.default) in (int, float) and each.default > LARGE
    )
    written = Counter()
    for path in (ROOT / "streamfs" / "gateway").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        written.update(
            repr(node.value) for node in ast.walk(tree) if type(getattr(node, "value", None)) in (int, float)
        )
    assert {value: written[value] for value in defaults} == defaults


def test_the_documentation_shows_every_key_of_the_sections_with_its_default(read):
    (whole,) = (block for block in blocks() if "[limits]" in block)
    values, settings = tomllib.loads(whole), read(whole)
    for name, section in SECTIONS.items():
        shown = set(values[name]) | ({"password", "password_env"} if name == "broker" else set())
        assert shown == {each.name for each in fields(section)}
    assert (settings.limits, replace(settings.http, token=None)) == (Limits(), Http())
    assert replace(settings.commit, segment_seconds=None) == Commits()
    assert replace(settings.time, lateness=None, grace=None) == Time()
    assert (settings.log, settings.drift, settings.homeassistant) == (Logging(), Drift(), HomeAssistant())


def test_the_example_that_is_deployed_is_read():
    assert read_settings(ROOT / "deploy" / "gateway.toml").state
