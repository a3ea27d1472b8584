"""Settings: reading files, errors in files, and previews."""

import ast
import re
import tomllib
from collections import Counter
from dataclasses import asdict, fields, replace
from pathlib import Path

import options_page
import orjson
import pytest
from click.testing import CliRunner
from helpers.procedures import mean_procedure
from hypothesis import given
from hypothesis import strategies as st

from feature_extractors.spelling import nearest
from streamfs.cli.app import cli, main
from streamfs.errors import DataError, PayloadError, SettingsError, TransportError
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.core.options import Commits, Drift, Limits, Time
from streamfs.gateway.messages.codecs import Several
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.broker import Broker
from streamfs.gateway.settings.moved_zones import Moved
from streamfs.gateway.settings.preview import preview_gateway
from streamfs.gateway.settings.sections import HomeAssistant, Http, Logging
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings.streams import Streams
from streamfs.gateway.settings.toml_lines import line_of, lines_of
from streamfs.gateway.settings.toml_problems import dotted
from streamfs.procedure.stopping import TickThresholds

ROOT = Path(__file__).parents[3]
LARGE = 50_000  # defaults below may be written elsewhere for other reasons
LEAST = 'model = "rooms.streamfs"\n[broker]\nurl = "mqtt://localhost"\n'
ALL = """
model = "models/rooms.streamfs"
name = "attic"
prefix = "house/streamfs"
state = "/var/lib/streamfs"
spool = "spool"
trust = true
profile = "cc2420"

[broker]
url = "mqtts://broker.example:8884"
user = "me"
password_file = "password"
ca = "ca.pem"
certificate = "me.pem"
key = "me.key"
keepalive = 60
qos = 0
receive_maximum = 100
session_expiry = 0
client_id = "upstairs"

[time]
lateness = 5
grace = 20.5
overtaking = 1

[streams]
pairs_file = "nodes.csv"
reopen_after = 60

[streams.pairs.desk]
a = "n1"
b = "n2"

[[streams.group]]
nodes = ["n3", "n4", "n5"]
roles = ["a", "b"]

[[source]]
topic = "zigbee2mqtt/{node}"
format = "json"
fields = { "illuminance" = "light@flag:300", "climate.t" = "temperature" }
time = "last_seen"
time_unit = "iso"
sequence = "n"

[[source]]
topic = "raw/{node}"
format = "array"
channel = "acceleration@every:2"

[limits]
streams = 1000
streams_when_full = "evict"
evicted_per_hour = 0.5
queue = 50
payload_bytes = 1024
batch_samples = 500
pending = 2000
decisions_kept = 10
outbox = 500
ahead = 60

[commit]
messages = 10
seconds = 0.5
snapshot_seconds = 5
segment_bytes = 65536
segment_seconds = 20

[http]
host = "::1"
port = 0

[log]
format = "json"
level = "debug"

[homeassistant]
prefix = "ha"

[drift]
delta = 0.01
"""


@pytest.fixture
def read(tmp_path):
    """Read a text as the settings of a file."""

    def read(text):
        path = tmp_path / "gateway.toml"
        path.write_text(text, encoding="utf-8")
        return read_settings(path)

    return read


@pytest.fixture
def problems(read):
    """Return the errors of a text, without the folder."""

    def problems(text):
        with pytest.raises(SettingsError) as error:
            read(text)
        return [re.sub(r"^.*(?=gateway\.toml)", "", line) for line in str(error.value).splitlines()]

    return problems


# What is read


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


# What is wrong


WRONG = {
    'name = "a/b"': "line 1: name is 'a/b', expected a name without any of",
    'name = ""': "line 1: name is '', expected text that is not empty",
    "name = 5": "line 1: name is 5, expected text",
    'prefix = "a/#"': "line 1: prefix is 'a/#', expected a topic without + and #",
    "trust = 1": "line 1: trust is 1, expected true or false",
    'profile = "cc2421"': "line 1: profile is 'cc2421', expected one of transmissions",
    'spool = "there"': "line 1: spool is set without state, expected both",
    "modell = 1": "line 1: modell is unknown; did you mean model?",
    "source = 5": "line 1: source is 5, expected an array",
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
        (b'model = "a"\nname = \n', "line 2: Invalid value, expected TOML"),
        (b'model = "a"\nmodel = "b"\n', "line 2: Cannot overwrite a value, expected TOML"),
        (b"model = '\xff'\n", "cannot be read"),
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


# The examples of the documentation


SECTIONS = {"broker": Broker, "time": Time, "limits": Limits, "commit": Commits, "http": Http, "log": Logging}


def blocks():
    text = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    return re.findall(r"```toml\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block.splitlines()[0])
def test_an_example_of_the_documentation_is_read(read, block):
    assert read(block if "model" in block else LEAST + block).sources


def test_the_documentation_has_the_options_as_they_are_declared():
    page = (ROOT / "docs" / "gateway.md").read_text(encoding="utf-8")
    assert f"\n```toml\n{options_page.block()}\n```\n" in page
    assert f"\n\n{options_page.source_table()}\n" in page


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


# Lines


TOML_VALUES = st.sampled_from(
    [
        *(
            "1",
            "true",
            '"#"',
            "'['",
            '"\\""',
            '"""\n[a]\nb = 1\n"""',
            "'''\n\"\"\"\n'''",
            '""""quoted""""',
            "'''it's'''",
        ),
        *("[]", "[\n  1, # ]\n  2,\n]", "[[1], [\n2]]", '{ x = 1, y = { z = "}" } }', "1979-05-27T07:32:00Z"),
    ]
)
FILLING = st.sampled_from(["", "\n", "# key = 1 [\n", "  \n\t\n", '# """\n'])


HEADERS = {
    "[t{n}]\n": ("t{n}",),
    "[[s]]\n": ("s", "last"),
    "[ s.u{n} ] # [[s]]\n": ("s", "last", "u{n}"),
    '[ "t.{n}".x ]\n': ("t.{n}", "x"),
    "[[ a.b ]]\n[c{n}]\n": ("c{n}",),
}


@st.composite
def documents(draw):
    """A TOML document, and the line of each table and key that was put into it."""
    text, expected, section = draw(FILLING), {}, ()
    n_tables = 0
    for n in range(draw(st.integers(1, 6))):
        header = draw(st.sampled_from(["", *HEADERS]))
        if header and ("s.u" not in header or n_tables):
            n_tables += header == "[[s]]\n"
            section = tuple(n_tables - 1 if part == "last" else part.format(n=n) for part in HEADERS[header])
            text += header.format(n=n)
            expected[section] = text.count("\n")
        text += draw(FILLING)
        key = f"k{n}" + draw(st.sampled_from(["", ".x", ' . "y z"', ".'='"]))
        expected[section + tuple(part.strip(" \"'") for part in key.split("."))] = 1 + text.count("\n")
        text += f"{key} = {draw(TOML_VALUES)}" + draw(st.sampled_from(["\n", " # x = 1\n", "\r\n"]))
    return text, expected


@given(documents())
def test_every_key_has_the_line_on_which_it_stands(document):
    text, expected = document
    tomllib.loads(text)
    lines = lines_of(text)
    assert {place: lines.get(place) for place in expected} == expected


def test_a_key_within_an_inline_table_has_its_line_and_one_in_an_array_that_of_the_array():
    lines = lines_of("x = 1\na = { b = { c = 1 } }\nd = [\n  { e = 1 },\n]\n")
    assert lines[("a", "b", "c")] == 2
    assert line_of(("d", 0, "e"), lines) == 3
    assert line_of(("nowhere",), lines) == 1


def test_a_key_is_named_with_its_tables_and_the_most_similar_known_word():
    assert dotted(("source", 0, "fields", "a.b")) == 'source.fields."a.b"'
    assert nearest("keepalve", ["url", "keepalive"]) == "; did you mean keepalive?"
    assert nearest("x", ["url", "keepalive"]) == ""


# Bindings


def test_pairs_from_all_places_are_streams(read, tmp_path):
    (tmp_path / "nodes.csv").write_text("stream,a,b\nsofa,n6,n7\n", encoding="utf-8")
    settings = read(ALL)
    channels = ["a.light@flag:300", "b.light@flag:300", "b.temperature"]
    bindings = settings.bindings(channels)
    assert bindings.streams == ("desk", "sofa", "n3--n4", "n3--n5", "n4--n5")
    assert bindings.topics == ("zigbee2mqtt/+", "raw/+")
    node, channel, codec, *_ = bindings.route("zigbee2mqtt/n6")
    assert (node, channel) == ("n6", None)
    payload = b'{"illuminance": 500, "last_seen": "1970-01-01T00:00:01Z", "n": 4}'
    assert codec.decode(payload, 0.0) == Several((("light@flag:300", (1.0, 500.0, 4)),))
    line = 1 + ALL[: ALL.rindex("[[source]]")].count("\n")
    (unread,) = settings.unread_sources(bindings)
    assert f"line {line}: source has acceleration@every:2, which the model does not read" in unread
    assert unread.endswith("; its channels are light@flag:300, temperature")


def test_a_message_has_no_more_samples_than_the_limit(read):
    bindings = read(f"{LEAST}[limits]\nbatch_samples = 3\n").bindings(["x"])
    codec = bindings.route("sensors/n1/x").codec
    assert codec.decode(b'{"t0": 0, "dt": 1, "v": [1, 2, 3]}', 0.0)
    with pytest.raises(PayloadError, match="1 to 3"):
        codec.decode(b'{"t0": 0, "dt": 1, "v": [1, 2, 3, 4]}', 0.0)


def test_a_file_of_pairs_that_cannot_be_read_is_refused(read):
    with pytest.raises(DataError, match=r"nodes\.csv"):
        read(ALL).bindings(["a.light@flag:300"])


@pytest.mark.parametrize(
    ("text", "channels", "message"),
    [
        (
            '[streams.pairs.desk]\na = "n1"\nb = "n2"',
            ["light"],
            "line 4: streams cannot be bound: channel light has no",
        ),
        ('[streams.pairs.desk]\na = "n1"', ["a.light", "b.light"], "line 4: .*has role 'b', stream 'desk' has a"),
        (
            '[[streams.group]]\nnodes = ["n1", "n2", "n3"]\n[limits]\nstreams = 2',
            ["a.light"],
            r"line 4: .*there are 3 streams, expected at most 2 \(limits\.streams\)",
        ),
        (
            '[streams]\nnodes = ["n1", "n2"]\n[limits]\nstreams = 1',
            ["light"],
            "there are 2 streams, expected at most 1",
        ),
        (
            '[streams.pairs.n1--n2]\na = "n1"\n[[streams.group]]\nnodes = ["n1", "n2"]',
            ["a.light"],
            "stream 'n1--n2' is defined 2 times",
        ),
        (
            '[[source]]\ntopic = "x/{node}"\nchannel = "door"',
            ["light", "door"],
            "line 4: no source has channel light, which the model reads",
        ),
    ],
)
def test_streams_that_cannot_be_bound_are_refused(read, text, channels, message):
    with pytest.raises(SettingsError, match=message):
        read(f"{LEAST}{text}\n").bindings(channels)


def test_settings_that_come_from_no_file_have_no_lines(read):
    settings = replace(read(LEAST), file=Path("the command line"), lines={}, streams=Streams(nodes=("n1", "n#")))
    with pytest.raises(SettingsError, match=r"^the command line: streams cannot be bound: stream is 'n#'"):
        settings.bindings(["light"])


def test_a_file_of_pairs_without_streams_is_refused(read, tmp_path):
    (tmp_path / "nodes.csv").write_text("stream,a,b\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"nodes\.csv names no stream"):
        read(LEAST + '[streams]\npairs_file = "nodes.csv"\n').bindings(["a.light"])


# What a gateway would do


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


def test_a_shard_takes_its_part_of_the_streams(read, tmp_path):
    nodes = [f"n{i}" for i in range(20)]
    named = (
        LEAST.replace("[broker]", 'state = "state"\nshard = "{}/2"\n[broker]') + f"[streams]\nnodes = {nodes}\n"
    )
    parts = [set(read(named.replace("{}", str(number))).bindings(("x",)).streams) for number in (1, 2)]
    assert parts[0].isdisjoint(parts[1])
    assert parts[0] | parts[1] == set(nodes)
    (tmp_path / "state").mkdir()
    came, left = min(parts[1]), min(parts[0])
    (tmp_path / "state" / "zones.json").write_bytes(Moved(frozenset([came]), frozenset([left])).packed())
    assert set(read(named.replace("{}", "1")).bindings(("x",)).streams) == parts[0] - {left} | {came}


def test_a_shard_without_a_zone_is_refused(read):
    settings = read(LEAST.replace("[broker]", f'shard = "{1}/50"\n[broker]') + '[streams]\nnodes = ["n1"]\n')
    with pytest.raises(SettingsError, match="none of the 1 zones is of shard 1/50"):
        settings.bindings(("x",))
