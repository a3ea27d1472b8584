"""The examples run, and are short."""

import ast
import os
from pathlib import Path

import pytest
from helpers.procedures import labelled_streams
from matplotlib.image import imread

from streamfs import Procedure, StreamSet, evaluate
from streamfs.procedure import stopping

ROOT = Path(__file__).parents[2]


EXAMPLES = {path.stem: path for path in (ROOT / "examples").glob("*.py")}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_short(name):
    assert len(EXAMPLES[name].read_text(encoding="utf-8").splitlines()) < 40


def test_features_are_ranked_on_a_file_and_on_simulated_pairs(script, tmp_path):
    assert "mean(" in script(EXAMPLES["rank_features"])
    labelled_streams(30, 10).write(tmp_path / "streams.csv")
    best = script(EXAMPLES["rank_features"], tmp_path / "streams.csv").splitlines()
    assert "cheapest decision first" in best[0]
    assert "level" in best[4]


def test_figure_1_is_plotted(script, tmp_path):
    assert "expected to cost" in script(EXAMPLES["figure_1"], tmp_path / "figure_1.png")
    image = imread(tmp_path / "figure_1.png")
    assert image.shape[:2] == (400, 1000)
    assert image[..., :3].std() > 0.05


def test_an_own_feature_is_trained_with_and_loaded_again(script):
    printed = script(EXAMPLES["own_feature"])
    assert "median_gap(a.temperature, b.temperature; window=30)" in printed
    assert "'completeness'" in printed


def test_an_own_stopping_rule_decides_and_is_loaded_again(script, monkeypatch):
    monkeypatch.setattr(stopping, "_RULES", dict(stopping._RULES))
    said, summary = script(EXAMPLES["own_stopping"]).splitlines()
    assert said == "leads (margin 0.8, patience 12)"
    assert 0.5 < ast.literal_eval(summary.replace("nan", "None"))["completeness"] <= 1.0


def test_own_costs_decide_which_feature_is_selected(script):
    selected = [
        line.split()[-4]
        for line in script(EXAMPLES["own_costs"]).splitlines()
        if " expensive " in line or "all equal" in line
    ]
    assert selected[0] == "humidity"
    assert selected[1] != "humidity"
    assert selected[2] == "light"


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("rank_features", ["none.csv"], "none.csv cannot be read: No such file or directory"),
        ("figure_1", ["none/x.png"], "No such file or directory: 'none/x.png'"),
        ("room_climate", [], "STREAMFS_DATA is not set"),
    ],
)
def test_an_example_reports_a_missing_file(refusal, monkeypatch, name, arguments, message):
    monkeypatch.delenv("STREAMFS_DATA", raising=False)
    ended = refusal(EXAMPLES[name], *arguments)
    assert (ended.returncode, ended.stdout) == (1, "")
    assert message in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_room_climate_trains_on_one_fold_and_replays_the_other(script, tmp_path):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA is not set: room_climate is not available")
    assert "confidence" in script(EXAMPLES["room_climate"], "--every", "2", "--out", tmp_path)
    test = StreamSet.read(tmp_path / "test.parquet")
    assert len(test) == 144
    assert not any(word in column for column in test.columns for word in ("occ", "act", "door", "win"))
    procedure = Procedure.load(tmp_path / "room_climate.streamfs")
    evaluation = evaluate(procedure.with_confidence(0.8), test)
    assert evaluation.completeness > 0.8
    assert evaluation.accuracy > 0.8


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("active_sampling", ["--out", "none/figures"], "--out: 'none/figures', expected a folder"),
        ("dependency_aware", ["--n-jobs", "0"], "--n-jobs: '0', expected a whole number, at least 1"),
        ("query_sensitive", ["--eta", "nan"], "--eta: 'nan', expected a number above 0"),
        ("query_sensitive", ["--plot", "none/x.png"], "--plot: 'none/x.png', expected a file in an existing"),
        ("supervised_selection", ["--plot", "x.foo"], "--plot: 'x.foo', expected a file that ends in one of .png"),
        ("supervised_selection", ["--sets", "foo"], "--sets: invalid choice: 'foo'"),
    ],
)
def test_an_experiment_refuses_wrong_options_before_any_work(refusal, name, arguments, message):
    ended = refusal(ROOT / "examples" / "papers" / f"{name}.py", *arguments)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert message in ended.stderr
