"""What is deployed for many gateways: alarms, a dashboard, a compose file and an add-on, against what there is."""

import copy
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from urllib.request import urlopen

import pytest
import yaml
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.dashboard import Dashboard
from helpers.broker import free_port
from helpers.promised import promised

from streamfs.cli.app import cli
from streamfs.gateway.host import hosted
from streamfs.gateway.settings.settings import read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
ALARMS = DEPLOY / "streamfs-alarms.yml"
RULES = yaml.safe_load(ALARMS.read_text(encoding="utf-8"))["groups"][0]["rules"]
BOARD = json.loads((DEPLOY / "grafana.json").read_text(encoding="utf-8"))
PANELS = {panel["title"]: panel for panel in BOARD["panels"]}
OTHERS = {"up", "process_cpu_seconds_total", "process_resident_memory_bytes"}
"""Metrics that Prometheus has of every target, or of every process on Linux."""

_TYPE = r"(str|bool|int|float|email|url|password|port|match\([^)]*\)|list\([^)]*\))\??"
ADD_ON = {
    **dict.fromkeys(("name", "description"), r'"[^"]+"'),
    "version": r'"\d+\.\d+\.\d+"',
    "slug": r'"[-_.A-Za-z0-9]+"',
    "url": r'"https://[^"]+"',
    "arch": r'\[("(aarch64|amd64)"(, )?)+\]',
    "init": "true|false",
    "startup": '"(initialize|system|services|application|once)"',
    "boot": '"(auto|manual|manual_only)"',
    "services": r'\[("(mqtt|mysql):(provide|want|need)"(, )?)+\]',
    "map": r'\["addon_config:r[ow]"\]',
    "ports": r'{"\d+/(tcp|udp)": \d+}',
    "ports_description": r'{"\d+/(tcp|udp)": "[^"]+"}',
    "webui": r'"(https?|\[PROTO:\w+\])://\[HOST\]:\[PORT:\d+\][^"]*"',
    "watchdog": r'"(https?|tcp)://\[HOST\]:(\[PORT:\d+\]|\d+)[^"]*"',
    "backup": '"(hot|cold)"',
    "options": "{.*}",
    "schema": rf'{{("\w+": "{_TYPE}"(, )?)+}}',
}
"""What may stand in the configuration of an add-on, as JSON: those keys of Home Assistant's that this one has."""

FIRST_WITH_AN_EVENT = {"streamfs_decisions_total"}
"""Metrics with labels that nobody knows beforehand: there is none before the first event."""


@pytest.fixture(scope="module")
def metrics(tmp_path_factory):
    """Return the names of the metrics of a gateway that has just begun, with a promise, and has no broker."""
    folder = tmp_path_factory.mktemp("gateway")
    promised().save(folder / "model.streamfs")
    port = free_port()
    toml = 'model = "model.streamfs"\nprofile = "cc2420"\n[broker]\nurl = "mqtt://127.0.0.1:1"\n'
    more = f"[http]\nport = {port}\n[streams]\nany_node = true\n"
    (folder / "gateway.toml").write_text(toml + more, encoding="utf-8")
    with (
        hosted(read_settings(folder / "gateway.toml")),
        urlopen(f"http://127.0.0.1:{port}/metrics", timeout=20) as answer,
    ):
        lines = answer.read().decode().splitlines()
    return {re.match(r"\w+", line)[0] for line in lines if not line.startswith("#")}


def named(expression):
    """Return the metrics that an expression names."""
    bare = re.sub(r"{[^}]*}|\[[^]]*\]|\"[^\"]*\"", "", expression)
    bare = re.sub(r"\b(?:by|without)\s*\([^)]*\)", "", bare)
    functions = {"increase", "rate", "sum", "label_values", "instance"}
    return set(re.findall(r"[a-z]\w*", bare)) - functions


def expressions():
    return {
        f"{title} {target['refId']}": target["expr"]
        for title, panel in PANELS.items()
        for target in panel["targets"]
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alarm_is_about_a_metric_that_there_is(rule, metrics):
    assert named(rule["expr"]) <= metrics | OTHERS
    assert named(rule["expr"])
    assert rule["labels"]["severity"] in ("warning", "critical")


def test_the_table_of_alarms_is_that_of_the_rules():
    text = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(Streamfs\w+)` \| (.+?) \| ", text, re.MULTILINE))
    waits = {rule["alert"]: f" for {rule['for']}" if "for" in rule else "" for rule in RULES}
    assert rows == {rule["alert"]: f"`{rule['expr']}`{waits[rule['alert']]}" for rule in RULES}
    assert len(rows) == len(RULES)


def story(rule):
    """Return a test of promtool: silence while all is well for ten minutes, and then the alarm."""
    (metric,) = named(rule["expr"])
    labels = {"job": "streamfs", "instance": "attic", **dict(re.findall(r'(\w+)="([^"]*)"', rule["expr"]))}
    shown = ",".join(f'{name}="{value}"' for name, value in labels.items())
    bad = float(rule["expr"].rpartition(" ")[2])
    values = f"0x10 {2 * bad + 1:g}x20" if metric.endswith("_total") else f"{1 - bad:g}x10 {bad:g}x20"
    sound = {
        "exp_labels": labels | rule["labels"],
        "exp_annotations": {
            name: text.replace("{{ $labels.instance }}", "attic") for name, text in rule["annotations"].items()
        },
    }
    soon = "13m" if metric.endswith("_total") else "18m"  # while the window has the step, and after the wait
    return {
        "interval": "1m",
        "input_series": [{"series": f"{metric}{{{shown}}}", "values": values}],
        "alert_rule_test": [
            {"eval_time": "10m", "alertname": rule["alert"], "exp_alerts": []},
            {"eval_time": soon, "alertname": rule["alert"], "exp_alerts": [sound]},
        ],
    }


def promtool(*words):
    program = shutil.which("promtool")
    if program is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("promtool not found: sh tests/install.sh promtool")
    run(program, *words)


def run(*words):
    found = subprocess.run([*map(str, words)], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_alarms_sound_when_they_should_and_not_before(tmp_path):
    tests = tmp_path / "test.yml"
    stories = [story(rule) for rule in RULES]
    tests.write_text(json.dumps({"rule_files": [str(ALARMS)], "tests": stories}), encoding="utf-8")
    promtool("test", "rules", tests)


def test_the_dashboard_shows_metrics_that_there_are(metrics):
    unknown = {name: named(each) - metrics - OTHERS - FIRST_WITH_AN_EVENT for name, each in expressions().items()}
    assert {name: each for name, each in unknown.items() if each} == {}


def test_the_panels_of_the_dashboard_fit_together():
    panels = BOARD["panels"]
    assert len({panel["id"] for panel in panels}) == len(PANELS) == len(panels)
    for one, other in combinations([panel["gridPos"] for panel in panels], 2):
        beside = one["x"] + one["w"] <= other["x"] or other["x"] + other["w"] <= one["x"]
        below = one["y"] + one["h"] <= other["y"] or other["y"] + other["h"] <= one["y"]
        assert beside or below
    assert max(panel["gridPos"]["x"] + panel["gridPos"]["w"] for panel in panels) <= 24
    sources = {target["datasource"]["uid"] for panel in panels for target in [panel, *panel["targets"]]}
    assert sources == {"${datasource}"}
    as_grafana_has_it = json.loads(JSONEncoder().encode(Dashboard.from_json(copy.deepcopy(BOARD))))
    assert left_out(BOARD, as_grafana_has_it) == []


def left_out(ours, theirs, path="board"):
    """Return the places of what one has and the other has not, or otherwise."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [place for key in ours for place in left_out(ours[key], theirs.get(key), f"{path}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        return [place for number, pair in pairs for place in left_out(*pair, f"{path}[{number}]")]
    return [] if ours == theirs else [path]


def test_the_expressions_of_the_dashboard_can_be_read(tmp_path):
    rules = [
        {"record": f"panel{place}", "expr": each.replace("$__rate_interval", "5m")}
        for place, each in enumerate(expressions().values())
    ]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "board", "rules": rules}]}), encoding="utf-8")
    promtool("check", "rules", file)


def test_the_compose_file_starts_what_there_is():
    checker = Path(sys.executable).with_name("check-jsonschema")
    run(checker, "--builtin-schema", "vendor.compose-spec", DEPLOY / "compose.yaml")
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    services = compose["services"]
    assert set(services) == {"broker", "gateway", "page"}
    assert (DEPLOY / services["gateway"]["build"]["context"] / services["gateway"]["build"]["dockerfile"]).exists()
    for service in services.values():
        assert set(service.get("depends_on", [])) <= set(services)
        named_volumes = {each.partition(":")[0] for each in service.get("volumes", []) if each[0] not in "./"}
        assert named_volumes <= set(compose["volumes"])
    name, *words = services["page"]["command"]
    params = cli.get_command(None, name).params
    assert {word for word in words if word.startswith("--")} <= {opt for param in params for opt in param.opts}
    assert "state:/var/lib/streamfs:ro" in services["page"]["volumes"]


@pytest.mark.parametrize("has_user", [True, False])
def test_the_add_on_writes_settings_that_a_gateway_takes(tmp_path, has_user):
    addon = runpy.run_path(str(DEPLOY / "homeassistant" / "addon.py"))
    config = yaml.safe_load((DEPLOY / "homeassistant" / "config.yaml").read_text(encoding="utf-8"))
    assert set(config["options"]) == set(config["schema"])
    for key, value in config.items():
        assert re.fullmatch(ADD_ON[key], json.dumps(value)), key
    (tmp_path / "sources.toml").write_text('[[source]]\ntopic = "zigbee2mqtt/{node}"\nfields = {x = "x"}\n')
    options = config["options"] | {"settings": "sources.toml", "name": 'a "home"'}
    mqtt = {"host": "core-mosquitto", "port": 1883, "ssl": False} | ({"username": "addons"} if has_user else {})
    (tmp_path / "mqtt.password").write_text("secret")
    (tmp_path / "gateway.toml").write_text(addon["settings"](options, mqtt, tmp_path, tmp_path), encoding="utf-8")
    found = read_settings(tmp_path / "gateway.toml")
    assert found.broker.url == "mqtt://core-mosquitto:1883"
    assert (found.name, found.model, found.streams.any_node) == ('a "home"', tmp_path / "rooms.streamfs", True)
    assert found.sources[0].topic == "zigbee2mqtt/{node}"
    assert found.broker.user == ("addons" if has_user else None)


def test_the_add_on_is_of_this_version():
    version = re.search(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)[
        1
    ]
    folder = DEPLOY / "homeassistant"
    assert yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))["version"] == version
    assert f"=={version}" in (folder / "Dockerfile").read_text(encoding="utf-8")
