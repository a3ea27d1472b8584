"""The simulator of the documentation decides as the engine does, and tests promises as training does."""

import json
import shutil
import subprocess

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.browser import PATIENCE, Watching, chromium, require_chromium
from helpers.snippets import ROOT
from playwright.sync_api import expect
from scipy.stats import binom

from sensors_sim.same_source import SameSource
from streamfs import Procedure, StreamSet
from streamfs.costs import Duty, life, profile
from streamfs.evaluation import sweep

expect.set_options(timeout=PATIENCE)

FOLDER = ROOT / "docs" / "simulator"
THRESHOLDS = [0.6, 0.8, 0.9, 0.97]
MODELS = sorted(FOLDER.glob("*.streamfs"))

node = pytest.mark.skipif(shutil.which("node") is None, reason="node not found: it runs the simulator")


def run(*words):
    return subprocess.run([shutil.which("node"), *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def streams():
    return StreamSet(*SameSource().uncalibrated(noise=1.5).sample(40, 60, 60.0, seed=7))


@pytest.fixture(scope="module")
def decided(streams, tmp_path_factory):
    """Return what the models in WebAssembly decide, by model and threshold."""
    rows = [{c: streams.column(c)[i].tolist() for c in streams.columns} for i in range(len(streams))]
    path = tmp_path_factory.mktemp("simulator") / "streams.json"
    path.write_text(json.dumps({"streams": rows, "thresholds": THRESHOLDS}), encoding="utf-8")
    return json.loads(run(ROOT / "tests" / "helpers" / "simulate.js", FOLDER, path))


@node
@pytest.mark.parametrize("path", MODELS, ids=lambda path: path.stem)
def test_each_model_decides_as_the_engine_does(path, streams, decided):
    procedure = Procedure.load(path)
    for found, evaluation in zip(decided[path.stem], sweep(procedure, streams, THRESHOLDS), strict=True):
        for ours, decision in zip(found, evaluation.decisions, strict=True):
            label = None if ours["label"] < 0 else procedure.classes[ours["label"]]
            assert (label, ours["tick"]) == (decision.label, decision.tick)
            if label is not None:
                assert ours["confidence"] == decision.confidence


def test_all_models_are_there():
    text = (FOLDER / "models.js").read_text(encoding="utf-8").removeprefix("var MODELS = ").rstrip(";\n")
    assert sorted(json.loads(text)["models"]) == [path.stem for path in MODELS]


@node
def test_promises_and_batteries_are_those_of_the_package():
    settings = """{ prices: { light: 3 }, pause: 1800, radio: found.radios.cc2420, period: 60, capacity: 21060 }"""
    code = f"""
    const engine = require({json.dumps(str(FOLDER / "engine.js"))});
    const text = require("fs").readFileSync({json.dumps(str(FOLDER / "models.js"))}, "utf8");
    const found = require("vm").runInNewContext(text + "; MODELS");
    const {{ days }} = engine.batteryOf(["a.light", "a.temperature", "b.light"], 5, {settings});
    console.log(JSON.stringify([engine.chanceOfSoFew(7, 120, 0.9), days]));
    """
    chance, days = json.loads(run("-e", code))
    assert chance == pytest.approx(binom.cdf(7, 120, 0.1), rel=1e-9)
    messages, duty = {"light": 5.0, "temperature": 5.0}, Duty(reopen_after=1800.0)
    assert days == pytest.approx(life(messages, 5.0, 60.0, profile("cc2420"), duty, prices={"light": 3.0}).days)


def test_the_page_is_dragged_in_a_browser(tmp_path):
    require_chromium()
    html = (ROOT / "docs" / "simulator.md").read_text(encoding="utf-8")
    html = html[html.index("<style>") : html.rindex("</script>")] + "</script>"
    head = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Simulator</title><main><h1>Simulator</h1>'
    (tmp_path / "index.html").write_text(f"{head}{html}</main></html>", encoding="utf-8")
    for script in FOLDER.glob("*.js"):
        shutil.copy(script, tmp_path)
    with chromium() as browser, Watching(browser, color_scheme="light") as one:
        one.tab.goto((tmp_path / "index.html").as_uri())
        said = one.tab.locator("#sim .said")
        expect(said).to_contain_text("Read light")
        expect(one.tab.locator("#sim tbody tr")).to_have_count(len(MODELS))
        assert not Axe().run(one.tab).response["violations"]
        one.tab.locator("#sim-price").fill("10")
        expect(said).to_contain_text("Read temperature")
        one.tab.locator("#sim-noise").fill("4")
        one.tab.locator("#sim-promise").fill("0.98")
        expect(said).to_contain_text("Refused")
        assert one.faults == []
        assert all(each.startswith(("file:", "data:")) for each in one.asked)
