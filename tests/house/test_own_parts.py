"""Parts of one's own: a package that is installed makes them known by name, in Python and on the command line."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from shutil import copytree

import pytest
from helpers.peers import require
from helpers.procedures import labelled_streams

import feature_extractors as fx
from feature_extractors import own_parts
from streamfs import Pricing, Procedure, StreamSet, evaluate, train
from streamfs.errors import ModelError, PayloadError, SettingsError
from streamfs.gateway.core.routes import Route
from streamfs.gateway.messages import codecs
from streamfs.gateway.settings.profiles import load_profile
from streamfs.procedure import read_rule

PACKAGE = Path(__file__).parents[2] / "examples" / "own_parts"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """Install the package into a folder of its own, and return that."""
    require("setuptools.command.bdist_wheel")  # of a setuptools that needs no other package
    folder = tmp_path_factory.mktemp("installed")
    source = copytree(PACKAGE, folder / "source")
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--disable-pip-version-check"]
    command = [sys.executable, "-m", "pip", "install", *options, "--target", folder / "site", source]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / "site"


@pytest.fixture
def package(installed, monkeypatch):
    monkeypatch.syspath_prepend(installed)
    own_parts._found.cache_clear()
    yield
    own_parts._found.cache_clear()


@pytest.fixture
def streams():
    return labelled_streams(40, 10)


@pytest.mark.usefixtures("package")
def test_each_part_is_known_by_its_name(streams, tmp_path):
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert set(project["entry-points"]) == set(own_parts.GROUPS)
    options = {"features": ["middle(a.level)", "mean(b.noise)"], "pricing": "own_radio", "confidence": 0.6}
    procedure = train(streams, **options, select="variance", n_features=1, classifier="nearest-mean")
    assert len(procedure.features) == 1
    rule = read_rule({"rule": "patient", "patience": 3})
    patient = procedure.with_stopping(rule)
    patient.save(tmp_path / "own.streamfs")
    loaded = Procedure.load(tmp_path / "own.streamfs")
    assert evaluate(loaded, streams).decisions == evaluate(patient, streams).decisions
    assert evaluate(loaded, streams).ticks == 3
    assert load_profile("own_device").about.startswith("A meter")
    route = Route.of("meters/{node}/{channel}", "percent")
    assert route.codec.decode(b"37 %", 5.0).value == 0.37
    with pytest.raises(PayloadError, match="expected a number and %"):
        route.codec.decode(b"dry", 5.0)
    (tmp_path / "cellar.notes").write_text("n1 0 warmth 21\nn1 10 warmth 22\n", encoding="utf-8")
    assert StreamSet.read(tmp_path / "cellar.notes", labelled=False).values.tolist() == [[[21.0], [22.0]]]
    with pytest.raises(ValueError, match="format 'percent' takes no value: it is a part of your own"):
        Route.of("meters/{node}/{channel}", "percent", value="x")


@pytest.mark.usefixtures("package")
def test_a_feature_has_a_window_or_the_one_of_its_package():
    assert fx.get("middle(a)").name == "middle(a; window=30)"
    assert fx.get("middle(a; window=7)").params == {"window": 7.0}


def test_without_the_package_they_are_not_known(streams):
    with pytest.raises(ValueError, match="middle is not a kind of feature"):
        fx.get("middle(a)")
    with pytest.raises(ValueError, match="profile is 'own_radio', expected one of transmissions"):
        Pricing("own_radio")
    with pytest.raises(ValueError, match="select is 'variance', expected one of channels"):
        train(streams, select="variance")
    with pytest.raises(ValueError, match="classifier is 'nearest-mean', expected one of"):
        train(streams, classifier="nearest-mean")
    with pytest.raises(ModelError, match="rule is 'patient', expected"):
        read_rule({"rule": "patient", "patience": 3})
    with pytest.raises(SettingsError, match="device is 'own_device', expected one of"):
        load_profile("own_device")
    with pytest.raises(ValueError, match="format is 'percent', expected one of auto"):
        codecs.own_codec("percent", {})


def test_the_command_line_knows_them(tmp_path, streams, installed):
    streams.write(tmp_path / "streams.csv")
    paths = os.pathsep.join(map(str, (installed, *sys.path)))
    train_line = [
        "train", "streams.csv", "-o", "own.streamfs", "--feature", "middle(a.level)", "--feature", "mean(b.noise)",
        "--classifier", "nearest-mean", "--select", "variance", "--n-features", "1", "--profile", "own_radio",
        "--confidence", "0.6",
    ]  # fmt: skip
    for words in (train_line, ["evaluate", "own.streamfs", "streams.csv", "--json"]):
        found = subprocess.run(
            [sys.executable, "-m", "streamfs", *words],
            cwd=tmp_path, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert found.returncode == 0, found.stderr
    assert '"accuracy":' in found.stdout
