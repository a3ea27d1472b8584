"""What is deployed: the unit, the image, the settings, and where compiled code is kept."""

import configparser
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import pytest
from helpers.broker import free_port
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from streamfs.cli.commands.page import page
from streamfs.gateway.operations import web
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.settings.settings import read_settings

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "deploy" / "streamfs.service"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
SETTINGS = ROOT / "deploy" / "gateway.toml"

INSTRUCTIONS = {
    "CMD",
    "COPY",
    "ENTRYPOINT",
    "ENV",
    "EXPOSE",
    "FROM",
    "HEALTHCHECK",
    "RUN",
    "STOPSIGNAL",
    "USER",
    "VOLUME",
    "WORKDIR",
}
NEW_IN_SYSTEMD = ("RestartSteps", "RestartMaxDelaySec")  # unknown before 254, and ignored there


# The unit


def unit():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.read_text(encoding="utf-8"))
    return parser


@pytest.mark.parametrize("name", ["streamfs", "streamfs@", "streamfs-page"])
def test_systemd_finds_nothing_wrong_with_a_unit(tmp_path, name):
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze not found")
    text = UNIT.with_stem(name).read_text(encoding="utf-8")
    copy = tmp_path / f"{name}.service"
    copy.write_text(text.replace("/opt/streamfs/bin/streamfs", shutil.which("true")), encoding="utf-8")
    verified = str(copy).replace("@", "@attic")
    found = subprocess.run([analyze, "verify", verified], capture_output=True, text=True, check=False)
    complaints = [line for line in found.stderr.splitlines() if not any(key in line for key in NEW_IN_SYSTEMD)]
    assert (found.returncode, complaints) == (0, [])


def test_the_unit_runs_the_gateway_on_its_settings():
    service = unit()["Service"]
    assert service["ExecStart"].endswith("/streamfs run --config /etc/streamfs/gateway.toml")
    assert service["ExecReload"] == "/bin/kill -HUP $MAINPID"


def test_the_unit_is_notified_when_the_gateway_is_ready_and_stops_it_in_time():
    service = unit()["Service"]
    assert service["Type"] == "notify"
    assert int(service["WatchdogSec"]) >= 20
    assert (service["KillSignal"], service["TimeoutStopSec"]) == ("SIGTERM", "10")


def test_the_unit_never_gives_up():
    settings = unit()
    assert settings["Service"]["Restart"] == "always"
    assert int(settings["Service"]["RestartSec"]) >= 1
    assert settings["Unit"]["StartLimitIntervalSec"] == "0"


def test_the_unit_can_write_its_state_and_its_cache_only():
    service = unit()["Service"]
    assert service["DynamicUser"] == "yes"
    assert service["ProtectSystem"] == "strict"
    assert service["StateDirectory"] == service["CacheDirectory"] == "streamfs"
    assert "NUMBA_CACHE_DIR=%C/streamfs/numba" in service["Environment"].split()
    assert "MemoryDenyWriteExecute" not in service  # numba writes code and runs it
    assert read_settings(SETTINGS).state == Path("/var/lib/streamfs")


def test_the_unit_of_one_of_several_gateways_is_that_of_one_alone():
    several = UNIT.with_stem("streamfs@").read_text(encoding="utf-8").partition("[Unit]")[2]
    for own, alone in {
        "/etc/streamfs/%i.toml": "/etc/streamfs/gateway.toml",
        "StateDirectory=streamfs/%i\n": "StateDirectory=streamfs\n",
        "streamfs@%i.service": "streamfs.service",
        "gateway %i:": "gateway:",
        "User=streamfs\n": "",
    }.items():
        assert own in several
        several = several.replace(own, alone)
    assert several == UNIT.read_text(encoding="utf-8").partition("[Unit]")[2]


def test_the_page_runs_as_the_gateways_and_only_reads():
    parser = configparser.ConfigParser(strict=False, interpolation=None)
    parser.optionxform = str
    parser.read_string(UNIT.with_stem("streamfs-page").read_text(encoding="utf-8"))
    service = parser["Service"]
    assert (service["User"], service["ReadOnlyPaths"]) == ("streamfs", "%S/streamfs")
    words = shlex.split(service["ExecStart"])[1:]
    assert page.make_context(words[0], words[1:]).params["gateways"] == ("/var/lib/streamfs",)


def test_the_page_that_a_unit_or_container_stops_has_not_failed(tmp_path):
    command = [sys.executable, "-m", "streamfs", "page", str(tmp_path), "--port", str(free_port())]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as serving:
        said = serving.stderr.readline()
        for _ in range(200):
            with suppress(OSError), urlopen(said.split()[4].removesuffix(";"), timeout=5):  # noqa: S310 - ours
                break
            time.sleep(0.05)
        serving.terminate()
        assert serving.wait(20) == 0, said + serving.stderr.read()


# The image


def instructions():
    """Instructions and their arguments, continued lines joined."""
    lines = CONTAINERFILE.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if line.strip() and not line.startswith("#"))
    return [tuple(line.split(maxsplit=1)) for line in text.replace("\\\n", " ").splitlines()]


def arguments(instruction):
    return [argument for name, argument in instructions() if name == instruction]


def test_each_line_of_the_image_is_an_instruction():
    assert {name for name, _ in instructions()} <= INSTRUCTIONS
    assert instructions()[0] == ("FROM", "python:3.11-slim AS build")


def test_everything_that_is_copied_into_the_image_is_there():
    copied = [words.split() for words in arguments("COPY") if not words.startswith("--from=build")]
    sources = [source for *several, _ in copied for source in several]
    assert [source for source in sources if not (ROOT / source).exists()] == []
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    assert {name.rstrip("*") for name in packages["packages"]["find"]["include"]} <= set(sources)


def test_everything_that_is_no_module_is_in_a_wheel():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
    for package, patterns in settings["package-data"].items():
        files = {path for path in (ROOT / package).rglob("*") if path.is_file()}
        modules = {path for path in files if path.suffix in (".py", ".so") or path.parent.name == "__pycache__"}
        assert files - modules == {path for pattern in patterns for path in (ROOT / package).glob(pattern)}


def test_the_image_installs_what_is_pinned_and_that_fits_the_project():
    installs = [words for words in arguments("RUN") if "pip install" in words]
    assert all("--require-hashes" in words or "--no-deps --no-build-isolation" in words for words in installs)
    lines = (ROOT / "deploy" / "requirements.txt").read_text(encoding="utf-8").replace("\\\n", "").splitlines()
    pinned = {}
    for line in lines:
        if not line.startswith("#"):
            requirement, *hashes = line.split(" --hash=sha256:")
            name, version = re.fullmatch(r"([a-z0-9.-]+)==([\w.]+)\s*", requirement).groups()
            pinned[name] = version
            assert hashes
            assert all(re.fullmatch(r"[0-9a-f]{64}\s*", each) for each in hashes)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    for text in (
        *project["dependencies"],
        *extras["train"],
        *extras["gateway"],
        *extras["page"],
        *extras["sign"],
        "setuptools>=77",
    ):
        wanted = Requirement(text)
        assert pinned[canonicalize_name(wanted.name)] in wanted.specifier


def test_the_image_runs_as_nobody_in_particular_and_keeps_its_state():
    (user,) = arguments("USER")
    assert int(user) > 0
    folders = json.loads(arguments("VOLUME")[0])
    environment = arguments("ENV")[0]
    assert "/var/lib/streamfs" in folders
    assert any(f"NUMBA_CACHE_DIR={folder}/" in environment for folder in folders)
    assert json.loads(arguments("ENTRYPOINT")[0]) + json.loads(arguments("CMD")[0]) == (
        ["streamfs", "run", "--config", "/etc/streamfs/gateway.toml"]
    )


@pytest.mark.parametrize("is_connected", [True, False])
def test_the_health_check_fails_when_the_gateway_is_not_ready(is_connected):
    (check,) = arguments("HEALTHCHECK")
    _, code = check.split("CMD", 1)
    program, *words = json.loads(code)
    health = Health(connected=is_connected, subscribed=True, storing=True, loop_age=0.0, lag=0.0)
    statistics = Statistics({}, {}, {}, {}, 0.0, "joules", {})
    with web.serve("127.0.0.1", 0, lambda: statistics, lambda: health) as site:
        here = [word.replace(":9464/", f":{site.port}/") for word in words]
        ended = subprocess.run([sys.executable, *here], capture_output=True, check=False)
    assert (program, ended.returncode == 0) == ("python", is_connected)


# The settings


def test_the_settings_are_those_of_a_gateway():
    settings = read_settings(SETTINGS)
    assert settings.broker.url == "mqtt://localhost"
    assert settings.streams.any_node
    assert f":{settings.http.port}/" in CONTAINERFILE.read_text(encoding="utf-8")


def test_what_is_commented_out_is_right_too(tmp_path):
    whole = re.sub(r"^# (?=\[|\w+ = )", "", SETTINGS.read_text(encoding="utf-8"), flags=re.MULTILINE)
    copy = tmp_path / "gateway.toml"
    copy.write_text(whole, encoding="utf-8")
    settings = read_settings(copy)
    assert whole.count("\n# ") == 1  # the introduction goes on
    assert settings.sources[0].topic == "zigbee2mqtt/{node}"
    assert settings.homeassistant.prefix == "homeassistant"


# A cache for compiled code


@pytest.fixture
def read_only(tmp_path):
    """Make a folder with a compiled function, and a way to run Python where it cannot be written to."""
    folder = tmp_path / "installed"
    folder.mkdir()
    source = "import numba\n@numba.njit(cache=True)\ndef double(x):\n    return 2 * x\n"
    (folder / "compiled.py").write_text(source, encoding="utf-8")
    folder.chmod(0o555)
    drop = []
    if os.geteuid() == 0:  # root may write anywhere, unless it gives up its capabilities
        setpriv = shutil.which("setpriv")
        if setpriv is None:
            pytest.skip("setpriv not found: root cannot be kept from writing")
        drop = [setpriv, "--inh-caps=-all", "--bounding-set=-all"]

    def run(**variables):
        code = "import compiled; print(compiled.double(21))"
        environment = {"PATH": os.environ["PATH"], "HOME": "/proc", "PYTHONPATH": str(folder), **variables}
        command = [*drop, sys.executable, "-c", code]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    yield run
    folder.chmod(0o755)


def test_compiled_code_needs_a_cache_folder_where_nothing_is_writable(read_only):
    assert "no locator available" in read_only().stderr


def test_the_cache_folder_of_unit_and_image_serves(read_only, tmp_path):
    cache = tmp_path / "cache" / "numba"  # made when it is needed, as under the unit's CacheDirectory
    assert read_only(NUMBA_CACHE_DIR=str(cache)).stdout == "42\n"
    assert list(cache.rglob("*.nbc"))
