"""The command line on real files and a real broker, as a newcomer uses it."""

import os
import pickle
import re
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic, sleep
from types import SimpleNamespace
from typing import NamedTuple

import click
import orjson
import polars as pl
import pytest
from click.testing import CliRunner
from helpers.procedures import channels_procedure
from matplotlib.image import imread

from sensors_sim.fleet import Fleet
from sensors_sim.same_source import SameSource, nodes_of
from streamfs import Procedure, StreamRelief, StreamSet
from streamfs.cli import console
from streamfs.cli.app import COMMANDS as SENTENCES
from streamfs.cli.app import NO_CACHE, TOPICS, cli, main
from streamfs.cli.commands.bench import early
from streamfs.gateway.transport.transport import Transport
from streamfs.procedure import TickThresholds
from streamfs.selection.by_name import SELECTORS

ROOT = Path(__file__).parents[2]
FEATURES = [
    "mean_absolute_difference(a.light@delta:40, b.light@delta:40)",
    "mean_absolute_difference(a.temperature, b.temperature)",
    "mean_absolute_difference(a.humidity, b.humidity)",
]
RANKED = ["--select", "streamrelief", "--n-features", "3"]
TRAIN = ["train", "pairs.csv", *RANKED, *(word for name in FEATURES for word in ("--feature", name))]
NOWHERE = ["--broker", "mqtt://127.0.0.1:1"]


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self):
        return [orjson.loads(line) for line in self.out.splitlines()]


def process(folder, *args):
    """Run a command in a separate process."""
    words = [sys.executable, "-m", "streamfs", *map(str, args)]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=180)
    return Result(ended.returncode, ended.stdout, ended.stderr)


@pytest.fixture(scope="module")
def first_steps(tmp_path_factory):
    """Run all steps from simulation to evaluation in processes; return the folder, and the results by name."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "two.csv").write_text("stream,a,b\np,n1,n2\n", encoding="utf-8")
    steps = {
        "simulate": ["simulate", "pairs.csv", "--pairs", "60", "--ticks", "20"],
        "simulate more": ["simulate", "new.parquet", "--pairs", "40", "--ticks", "20", "--seed", "1"],
        "train": [*TRAIN, "-o", "pairs.streamfs"],
        "train river": [*TRAIN, "-o", "bayes.streamfs", "--river", "naive_bayes.GaussianNB", "--json"],
        "evaluate": ["evaluate", "pairs.streamfs", "new.parquet"],
        "replay": ["replay", "pairs.streamfs", "new.parquet", "--json"],
    }
    return folder, {name: process(folder, *args) for name, args in steps.items()}


@pytest.fixture
def command(first_steps, monkeypatch, capfd):
    """Return a function that runs a command in this process, in the folder of the first steps."""
    folder, _ = first_steps
    monkeypatch.chdir(folder)

    def run(*args):
        code = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def variant(first_steps):
    """Return a function that writes a variant of pairs.csv."""
    folder, _ = first_steps

    def write(change):
        table = change(pl.read_csv(folder / "pairs.csv"))
        table.write_csv(folder / "variant.csv")

    return write


def test_the_first_steps_succeed_and_say_what_comes_next(first_steps):
    folder, results = first_steps
    assert {name: result.code for name, result in results.items()} == dict.fromkeys(results, 0)
    assert "next: streamfs train pairs.csv -o MODEL" in results["simulate"].err
    assert "next: streamfs evaluate pairs.streamfs STREAMS" in results["train"].err
    assert len(StreamSet.read(folder / "pairs.csv")) == 60


def test_results_go_to_standard_output_and_messages_to_standard_error(first_steps):
    _, results = first_steps
    assert results["simulate"].out == ""
    assert results["train"].out.startswith("classes     different, same\nconfidence  0.")
    assert "\nasked       0.9 as the classifier states it\n" in results["train"].out
    assert "StreamSet(60 streams of up to 20 ticks" in results["train"].err
    assert "thresholds" not in results["evaluate"].out
    assert "thresholds" in results["evaluate"].err
    assert results["replay"].err == ""


def test_train_prints_the_procedure(first_steps):
    folder, results = first_steps
    procedure = Procedure.load(folder / "pairs.streamfs")
    assert results["train"].out.startswith(f"{procedure.text()}\n\nasked       ")


def test_a_classifier_of_scikit_learn_is_trained_and_served(command):
    options = ["--sklearn", "tree.DecisionTreeClassifier", "--feature", "mean(a.light)", "--seed", "3"]
    command("train", "pairs.csv", "-o", "sk.streamfs", *options)
    (figures,) = command("evaluate", "sk.streamfs", "new.parquet", "--json", "--trust").rows
    assert figures["completeness"] == 1.0
    assert Procedure.load("sk.streamfs", trust=True).classifier.uncalibrated().model.random_state == 3


def test_train_prints_json(first_steps):
    _, results = first_steps
    (row,) = results["train river"].rows
    assert row["model"] == "bayes.streamfs"
    assert row["features"] == row["offered"] == FEATURES
    assert (row["classes"], row["time_limit"], row["period"]) == (["different", "same"], 20, 1)
    assert 0.5 < row["confidence"] < 1.0
    assert row["held_out"]["asked"] == 0.9
    assert len(row["each_costs"]) == 3


def test_evaluate_prints_a_table(first_steps):
    _, results = first_steps
    text, _, classes = results["evaluate"].out.partition("\nclass ")
    *header, line, figures = (line.split() for line in text.splitlines() if line.strip())
    assert [line.split()[0] for line in classes.splitlines()[-2:]] == ["different", "same"]
    names = ["confidence", "streams", "completeness", "accuracy", "ticks", "cost", "sent", "paid"]
    assert sorted(word for words in header for word in words) == sorted(names)
    assert set("".join(line)) == {"─"}
    assert 0.5 < float(figures[0]) < 1.0
    assert figures[1] == "40"


def test_evaluate_knows_the_streams_of_the_training_again(command, first_steps):
    assert "evaluate it on others" not in first_steps[1]["evaluate"].err
    again = command("evaluate", "pairs.streamfs", "pairs.csv").err
    assert "60 of 60 streams of its training that pairs.streamfs remembers are among these" in again
    (figures,) = command("evaluate", "pairs.streamfs", "pairs.csv", "--json").rows
    assert figures["trained_on"] == 1.0


def test_evaluate_and_replay_agree(command, first_steps):
    (figures,) = command("evaluate", "pairs.streamfs", "new.parquet", "--json").rows
    decisions = first_steps[1]["replay"].rows
    labelled = [d for d in decisions if d["label"] is not None]
    assert figures["streams"] == len(decisions) == 40
    assert figures["completeness"] == len(labelled) / 40
    assert figures["ticks"] == pytest.approx(sum(d["tick"] for d in decisions) / 40)
    assert figures["cost"] == pytest.approx(sum(d["cost"] for d in decisions) / 40)


def test_replay_prints_a_line_for_each_decision(command, first_steps):
    decisions = first_steps[1]["replay"].rows
    lines = command("replay", "pairs.streamfs", "new.parquet").out.splitlines()
    assert [line.split()[0] for line in lines] == [d["stream"] for d in decisions]
    assert max(map(len, lines)) <= 80


def test_a_sweep_is_printed_written_and_drawn(command):
    swept = ["evaluate", "pairs.streamfs", "new.parquet", "--sweep", "0.80:0.95:0.05"]
    result = command(*swept, "--json", "--csv", "sweep.csv", "--png", "sweep.png")
    (rows,) = result.rows
    assert [row["confidence"] for row in rows] == [0.8, 0.85, 0.9, 0.95]
    assert pl.read_csv("sweep.csv")["ticks"].to_list() == [row["ticks"] for row in rows]
    image = imread("sweep.png")
    assert image.shape[:2] == (456, 1560)
    assert image[..., :3].std() > 0.05
    assert command(*swept[:-1], "0.9,0.8", "--json").rows[0][1] == rows[0]


def test_a_model_whose_threshold_depends_on_the_tick_is_evaluated_by_it(command, first_steps):
    folder, _ = first_steps
    procedure = Procedure.load(folder / "pairs.streamfs")
    stopping = TickThresholds((1, procedure.time_limit), (1.0, 0.0))
    replace(procedure, stopping=stopping).save(folder / "tick.streamfs")
    evaluated = ["evaluate", "tick.streamfs", "new.parquet"]
    (figures,) = command(*evaluated, "--json").rows
    assert (figures["confidence"], figures["completeness"]) == (None, 1.0)
    ticks = [decision["tick"] for decision in command("replay", "tick.streamfs", "new.parquet", "--json").rows]
    assert figures["ticks"] == pytest.approx(sum(ticks) / len(ticks))
    swept = ["evaluate", "pairs.streamfs", "new.parquet", "--sweep", "0.8,0.9", "--json"]
    assert command(*evaluated, *swept[3:]).rows == command(*swept).rows
    refused = command(*evaluated, "--png", "none.png")
    assert (refused.code, (folder / "none.png").exists()) == (2, False)
    assert "--png needs --sweep, since tick.streamfs has no single threshold" in refused.err


def test_files_are_written_even_if_nobody_reads_the_table(first_steps, variant):
    variant(lambda table: table.select("stream", "time", "label", "a.light", "b.light"))
    words = [
        "figure2",
        "--data",
        "variant.csv",
        "--seeds",
        "1",
        "--csv",
        "kept.csv",
        "--png",
        "kept.png",
        "--json",
    ]
    folder, _ = first_steps
    command = [sys.executable, "-m", "streamfs", *words, "--thresholds", "0.9"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as experiment:
        experiment.stdout.close()
        assert b"Traceback" not in experiment.stderr.read()
    assert len(pl.read_csv(folder / "kept.csv")) == 6
    assert (folder / "kept.png").exists()


@pytest.mark.parametrize("extrapolation", ["spline", "auto"])
def test_probabilities_are_extrapolated_to_a_longer_time_limit(command, extrapolation, monkeypatch):
    made = []

    def watched(costs, **parameters):
        made.append(StreamRelief(costs, **parameters))
        return made[-1]

    monkeypatch.setitem(SELECTORS, "streamrelief", watched)
    words = [*TRAIN, "-o", "long.streamfs", "--time-limit", "200", "--extrapolation", extrapolation, "--json"]
    (trained,) = command(*words).rows
    assert trained["time_limit"] == 200
    (selector,) = made
    assert (selector.extrapolation, selector.horizon_) == (extrapolation, 200)


def test_the_full_catalogue_can_be_offered(command, variant):
    variant(lambda table: table.select("stream", "time", "label", "a.light", "b.light"))
    words = ["train", "variant.csv", "-o", "full.streamfs", "--select", "literal", "--n-features", "200", "--json"]
    few = command(*words)
    assert (few.code, few.out) == (1, "")
    assert "n_features is 200, expected 1 to " in few.err
    (trained,) = command(*words, "--catalogue", "full").rows
    assert len(trained["offered"]) == 200
    assert any("kurtosis" in name for name in trained["offered"])


def test_the_experiment_is_printed_written_and_drawn(command, variant):
    variant(lambda table: table.select("stream", "time", "label", "a.light", "b.light"))
    words = ["figure2", "--data", "variant.csv", "--seeds", "2", "--thresholds", "0.8,0.9", "--n-jobs", "2"]
    result = command(*words, "--json", "--csv", "figure2.csv", "--png", "figure2.png")
    (rows,) = result.rows
    methods = ["naive", "cost-based", "Relief", "literal", "StreamRelief", "promise"]
    assert [(row["method"], row["confidence"]) for row in rows] == [(m, c) for m in methods for c in (0.8, 0.9)]
    assert {row["seeds"] for row in rows} == {2}
    assert pl.read_csv("figure2.csv")["cost_ci"].to_list() == [row["cost_ci"] for row in rows]
    image = imread("figure2.png")
    assert image.shape[:2] == (912, 1560)
    assert image[..., :3].std() > 0.05
    table = command(*words, "--price", "light=2")
    assert "StreamRelief against the cheapest other method" in table.out
    assert max(map(len, table.out.splitlines())) <= 80


def test_streams_need_no_labels_to_be_replayed(command, variant):
    variant(lambda table: table.drop("label"))
    assert len(command("replay", "pairs.streamfs", "variant.csv", "--json").rows) == 60
    result = command("evaluate", "pairs.streamfs", "variant.csv")
    assert (result.code, result.out) == (1, "")
    assert "variant.csv has no column 'label'" in result.err


def test_a_stream_without_readings_is_replayed_too(command, variant):
    lone = pl.col("stream") == "pair-0003"
    variant(lambda table: table.with_columns(pl.when(~lone).then(pl.col("a.light", "b.light")).name.keep()))
    result = command("replay", "pairs.streamfs", "variant.csv")
    (line,) = [line for line in result.out.splitlines() if line.startswith("pair-0003")]
    assert line.split() == ["pair-0003", "-", "closed", "tick", "0", "confidence", "-", "cost", "0"]


def test_a_column_without_readings_does_not_prevent_training(command, variant):
    variant(lambda table: table.with_columns(pl.lit(None).alias("a.light")).filter(pl.col("time") < 6))
    result = command("train", "variant.csv", "-o", "variant.streamfs", "--features", "20")
    assert result.code == 0, result.err
    assert "a.light" not in result.out
    assert "a.light of variant.csv has no reading in any of 60 streams, and is left out" in result.err


def test_a_smallest_step_far_from_the_usual_one_is_reported(command, variant):
    late = (pl.col("stream") == "pair-0003") & (pl.col("time") == 19)
    variant(lambda table: table.with_columns(pl.when(late).then(18.25).otherwise(pl.col("time")).alias("time")))
    words = ["train", "variant.csv", "-o", "variant.streamfs", *TRAIN[2:]]
    note = "a tick is 0.25 s, the smallest step of time in variant.csv, but the usual step is 1 s: give --period"
    assert note in command(*words).err
    variant(lambda table: table)
    assert "the usual step" not in command(*words).err


def test_simulated_readings_are_written_in_the_steps_of_the_sensor(first_steps):
    folder, _ = first_steps
    cells = pl.read_csv(folder / "pairs.csv", infer_schema=False)
    assert cells["a.humidity"].str.len_chars().max() == len("44.8")
    assert cells["a.temperature"].str.len_chars().max() == len("20.0625")


def test_compiling_is_announced_once_and_code_of_another_version_is_reported(first_steps, tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMFS_KERNELS", "numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    words = [first_steps[0], "replay", "bayes.streamfs", "new.parquet", "--trust"]  # trees compile more
    assert process(*words).err.splitlines() == [console.COMPILING]
    assert process(*words).err == ""
    indexes = list(tmp_path.rglob("*.nbi"))
    for index in indexes:
        version = pickle.dumps(pickle.loads(index.read_bytes()))  # noqa: S301 - numba's own
        index.write_bytes(version + b"cstreamfs.errors\nAnOldClass\n.")
    result = process(*words)
    assert result.code == 1
    assert result.err.splitlines()[-1] in {
        f"streamfs: {index.parent} has code that an older version compiled: delete *.nbi there"
        for index in indexes
    }


def test_an_empty_cache_is_announced_before_workers_compile(capfd, tmp_path):
    dispatcher = SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    kernel = SimpleNamespace(dispatcher=dispatcher)
    console.announce_empty_cache(kernel)
    assert capfd.readouterr().err == f"{console.COMPILING}\n"
    (tmp_path / "search-1.py311.nbi").touch()
    console.announce_empty_cache(kernel)
    assert capfd.readouterr().err == ""


def test_long_steps_are_shown(first_steps):
    _, results = first_steps
    for what in ("reading the streams", "computing the features", "ranking the features", "building the classif"):
        assert what in results["train"].err
    assert "reading the streams" in results["evaluate"].err


def test_a_river_model_is_loaded_only_with_trust(command):
    result = command("evaluate", "bayes.streamfs", "new.parquet", "--json")
    assert (result.code, result.out) == (1, "")
    assert "--trust" in result.err
    (figures,) = command("evaluate", "bayes.streamfs", "new.parquet", "--json", "--trust").rows
    assert figures["accuracy"] > 0.5
    assert len(command("replay", "bayes.streamfs", "new.parquet", "--trust").out.splitlines()) == 40


def test_a_river_model_of_two_classes_refuses_three(command, variant):
    third = pl.col("stream") < "pair-0010"
    variant(
        lambda t: t.with_columns(pl.when(third).then(pl.lit("near")).otherwise(pl.col("label")).alias("label"))
    )
    result = command(
        "train", "variant.csv", "-o", "none.streamfs", *TRAIN[2:], "--river", "linear_model.Perceptron"
    )
    assert (result.code, result.out) == (1, "")
    assert "River's Perceptron separates two classes, not 3: different, near, same" in result.err


def test_time_limits_are_in_ticks_or_seconds(command, variant):
    variant(lambda table: table.with_columns(pl.col("time") * 0.5))
    words = [
        "train",
        "variant.csv",
        "-o",
        "limit.streamfs",
        "--select",
        "streamrelief",
        "--features",
        "2",
        "--json",
        *TRAIN[6:],
    ]
    assert command(*words, "--time-limit", "5").rows[0]["time_limit"] == 5
    assert command(*words, "--time-limit", "5s").rows[0]["time_limit"] == 10
    result = command(*words, "--time-limit", "0.2s")
    assert result.code == 1
    assert "time limit is 0:00:00.200000, expected at least one tick of 0.5 s" in result.err


LINKED = {"linked.csv": "pairs.csv", "linked.png": "pairs.csv", "model.csv": "pairs.streamfs"}
USAGE = {
    "nonsense": "There is no command 'nonsense'.",
    "simulate": "Missing argument 'OUT'",
    "simulate x.csv --pairs 0": "0 is not in the range",
    "simulate x.csv --pairs many": "'many' is not a valid integer",
    "simulate x.csv --period nan": "nan is not a finite number",
    "simulate x.csv --period 0": "0.0 is not in the range",
    "simulate none/x.csv": "none/x.csv cannot be written: there is no folder none",
    "simulate .": "File '.' is a directory",
    "train pairs.csv": "Missing option '-o'",
    "train pairs.csv -o .": "File '.' is a directory",
    "train pairs.csv -o none/x": "none/x cannot be written: there is no folder none",
    "train pairs.csv -o x --confidence 2": "2.0 is not in the range 0<x<=1",
    "train pairs.csv -o x --confidence 0": "0.0 is not in the range 0<x<=1",
    "train pairs.csv -o x --confidence nan": "nan is not a finite number",
    "train pairs.csv -o x --time-limit 0": "'0', expected 1 to 1000000 ticks (40), or seconds with an s (600s)",
    "train pairs.csv -o x --time-limit abc": "'abc', expected 1 to",
    "train pairs.csv -o x --time-limit 2.5": "'2.5', expected 1 to",
    "train pairs.csv -o x --time-limit -5s": "'-5s', expected 1 to",
    "train pairs.csv -o x --time-limit nans": "'nans', expected 1 to",
    "train pairs.csv -o x --time-limit 1e99s": "'1e99s', expected 1 to",
    "train pairs.csv -o x --time-limit ''": "'', expected 1 to",
    "train pairs.csv -o x --period -1": "-1.0 is not in the range x>0",
    "train pairs.csv -o x --max-silence 0": "0.0 is not in the range x>0",
    "train pairs.csv -o x --feature 'bogus(a.light)'": "bogus is not a kind of feature, expected one of count,",
    "train pairs.csv -o x --feature mean": "'mean' is not a feature, expected the form kind(column, ...",
    "train pairs.csv -o x --channel a.light@bogus:1": "report policy is 'bogus:1', expected kind:value",
    "train pairs.csv -o x --channel ''": "channel is '', expected a column",
    "train pairs.csv -o x --features none": "'none' is not a valid integer",
    "train pairs.csv -o x --select best": "'best' is not one of 'channels', 'streamrelief'",
    "train pairs.csv -o x --profile radio": "'radio' is not one of 'transmissions', 'heinzelman2000'",
    "train pairs.csv -o x --seed -1": "-1 is not in the range x>=0",
    "train pairs.csv -o x -a -1": "-1.0 is not in the range x>=0",
    "train pairs.csv -o x -b inf": "inf is not a finite number",
    "train pairs.csv -o x --river bogus": "'bogus': No module named",
    "train pairs.csv -o x --river naive_bayes.Bogus": "expected a name such as naive_bayes.GaussianNB",
    "train pairs.csv -o x --river linear_model.LinearRegression": "expected a River classifier",
    "train pairs.csv -o x --river ensemble.BaggingClassifier": "missing 1 required positional argument",
    "train pairs.csv -o x --sklearn bogus": "'bogus': No module named",
    "train pairs.csv -o x --sklearn ensemble.Bogus": "expected a name such as ensemble.RandomForestClassifier",
    "train pairs.csv -o x --sklearn linear_model.LinearRegression": "expected a classifier with fit and",
    "train pairs.csv -o x --sklearn naive_bayes.GaussianNB --river naive_bayes.GaussianNB": "are 2 classifiers",
    "evaluate pairs.streamfs": "Missing argument 'STREAMS...'",
    "evaluate . new.parquet": "File '.' is a directory",
    "evaluate pairs.streamfs new.parquet --sweep abc": "'abc', expected at most 1000 numbers above 0 and up to 1",
    "evaluate pairs.streamfs new.parquet --sweep 0.8,2": "'0.8,2', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:0.9:0": "'0.8:0.9:0', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.9:0.8:0.2": "'0.9:0.8:0.2', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:inf:0.1": "'0.8:inf:0.1', expected",
    "evaluate pairs.streamfs new.parquet --sweep 0.8:0.9:1e-9": "'0.8:0.9:1e-9', expected at most 1000",
    "evaluate pairs.streamfs new.parquet --png none/x.png": "there is no folder none",
    "evaluate pairs.streamfs new.parquet --png x.bogus": "x.bogus ends in '.bogus', expected one of .png, .svg",
    "figure2 --data rooms": "'rooms', expected one of room_climate, room_B, sml2010, appliances, uncg_wsn, or",
    "figure2 --data pairs.csv --noise 2": "--noise is for simulated sensors, and --data names recorded streams",
    "figure2 --seeds 0": "0 is not in the range",
    "figure2 --thresholds 0.8,1.2": "'0.8,1.2', expected at most 1000 numbers above 0 and up to 1",
    "figure2 --noise -1": "-1.0 is not in the range x>=0",
    "figure2 --price light": "'light', expected a quantity and a number of at least 0: light=10",
    "figure2 --price light=-1": "'light=-1', expected a quantity and a number",
    "figure2 --price light=nan": "'light=nan', expected a quantity and a number",
    "figure2 --price =2": "'=2', expected a quantity and a number",
    "figure2 --features 0": "0 is not in the range x>=1",
    "figure2 --n-jobs 0": "0 is not in the range",
    "figure2 --csv none/x.csv": "there is no folder none",
    "train pairs.csv -o pairs.csv": "--out pairs.csv is the file of STREAMS, which it would overwrite",
    "train pairs.csv -o linked.csv": "--out linked.csv is the file of STREAMS",
    "evaluate pairs.streamfs pairs.csv --csv linked.csv": "--csv linked.csv is the file of STREAMS",
    "evaluate pairs.streamfs new.parquet --csv model.csv": "--csv model.csv is the file of MODEL",
    "evaluate pairs.streamfs new.parquet --csv linked.csv --png linked.png": "linked.png is the file of --csv",
    "evaluate pairs.streamfs new.parquet --csv pairs.streamfs": "pairs.streamfs ends in '.streamfs', expected",
    "evaluate pairs.streamfs new.parquet --csv x.txt": "x.txt ends in '.txt', expected .csv",
    "figure2 --csv x.png": "x.png ends in '.png', expected .csv",
    "figure2 --data pairs.csv --csv linked.csv": "--csv linked.csv is the file of --data",
    "figure2 --data pairs.csv --features 3000": "--n-features is 3000, expected 1 to 172",
    "figure2 --price light=1 --price light=2": "--price names light twice: 1 and 2",
    "train pairs.csv -o x --price light=10 --price a=3 --price light=2": "--price names light twice: 10 and 2",
    "train pairs.csv -o x --select none --features 3": "--n-features counts ranked features",
    "train pairs.csv -o x --catalogue full --feature 'mean(a.light)'": "--catalogue needs --channel",
    "train pairs.csv -o x --select relief --extrapolation spline": "--extrapolation is for StreamRelief, and --se",
    "train pairs.csv -o x --extrapolation cubic": "'cubic' is not one of 'linear', 'none', 'spline'",
    "train pairs.csv -o x --catalogue some": "'some' is not one of 'essential', 'full'",
    "figure2 --png x.csv": "x.csv ends in '.csv', expected one of .png",
    "run pairs.streamfs": "Missing option '--broker'",
    "run pairs.streamfs --broker localhost": "broker is 'localhost', expected mqtt://",
    "run pairs.streamfs --broker mqtt://host:99999": "broker is 'mqtt://host:99999'",
    "run pairs.streamfs --broker http://me:secret@host": "broker is 'http://me:***@host'",
    "run pairs.streamfs --broker mqtt://host --lateness -1": "-1.0 is not in the range x>=0",
    "run pairs.streamfs --broker mqtt://host --idle nan": "nan is not a finite number",
    "run pairs.streamfs --broker mqtt://host --prefix 'a/#'": "'a/#', expected a topic without + and #",
    "run pairs.streamfs --broker mqtt://host --energy-log none/log": "there is no folder none",
    "run pairs.streamfs --broker mqtt://host --pairs p.csv --node n": "--pairs and --node exclude each other",
    "demo --pairs 1": "1 is not in the range x>=2",
    "demo --out pairs.csv": "Directory 'pairs.csv' is a file",
}


@pytest.mark.parametrize("words", USAGE)
def test_wrong_usage_is_refused_before_any_work(command, words):
    for link, path in LINKED.items():
        Path(link).unlink(missing_ok=True)
        Path(link).hardlink_to(path)
    result = command(*shlex.split(words))
    assert (result.code, result.out) == (2, "")
    assert USAGE[words] in result.err
    assert "Traceback" not in result.err


ERRORS = {
    "simulate x.txt --pairs 2 --ticks 2": "x.txt ends in '.txt', expected .csv or .parquet",
    "simulate /proc/x.csv --pairs 2 --ticks 2": "/proc/x.csv: No such file or directory",
    "simulate x.csv --pairs 100000 --ticks 100000": "there is not enough memory: Unable to allocate",
    "train none.csv -o x": "none.csv cannot be read: No such file",
    "train pairs.streamfs -o x": "pairs.streamfs ends in '.streamfs', expected .csv",
    "train pairs.csv -o x --period 2": "several rows at tick 2 of 2 s: keep one of them, "
    "or resample; a model keeps the period of its training; try --resample last --max-age 4",
    "train pairs.csv -o x --period 1e-9": "spans 19,000,000,001 ticks of 1e-09 s",
    "train pairs.csv -o x --feature 'mean(a.lihgt)'": "b.light; did you mean a.light?",
    "train pairs.csv -o x --channel a.lihgt": "column 'a.lihgt' does not exist, expected one of a.temperature",
    "train pairs.csv -o x --features 2 --feature 'mean(a.light)'": "n_features is 2, expected 1 to 1",
    "train pairs.csv -o /proc/x --features 1 --feature 'mean_absolute_difference(a.light, b.light)'": (
        "/proc/x.partial: No such file or directory"
    ),
    "evaluate none.streamfs new.parquet": "none.streamfs cannot be read: No such file",
    "evaluate pairs.csv new.parquet": "pairs.csv is not a streamfs model",
    "evaluate pairs.streamfs none.csv": "none.csv cannot be read: No such file",
    "evaluate pairs.streamfs new.parquet --csv /proc/x.csv": "/proc/x.csv: No such file",
    "figure2 --data none.csv --seeds 1": "none.csv cannot be read: No such file",
    "figure2 --data pairs.csv --seeds 1 --price sound=2": "there is a price of 'sound', expected one of humidity,",
    "replay pairs.streamfs pairs.streamfs": "pairs.streamfs ends in '.streamfs', expected .csv",
    "run none.streamfs --broker mqtt://127.0.0.1:1": "none.streamfs cannot be read: No such file",
    "run bayes.streamfs --broker mqtt://127.0.0.1:1": "--trust",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1": "channels have the roles a and b",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs two.csv": "broker at 127.0.0.1:1 cannot be reached: ",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --energy-log pairs.streamfs": "pairs.streamfs is not an",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --energy-log pairs.csv": "pairs.csv is not an energy log",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --node a/b": "stream is 'a/b', expected a name without",
    "train pairs.csv -o m.streamfs --max-silence 0.1": "max_silence is 0.1 s, expected at least a tick of 1 s",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs none.csv": "none.csv cannot be read",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs pairs.csv": "pairs.csv, line 3: stream 'pair-0000' is",
    "run pairs.streamfs --broker mqtt://127.0.0.1:1 --pairs pairs.streamfs": "pairs.streamfs cannot be read",
}


@pytest.fixture
def old_handlers():
    """Restore the signal handlers that `run` replaces."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("old_handlers")
@pytest.mark.parametrize("words", ERRORS)
def test_an_error_is_reported_in_a_line(command, words):
    result = command(*shlex.split(words))
    assert result.code == 1
    assert result.out == "" or words.startswith("evaluate")
    last = result.err.splitlines()[-1]
    assert last.startswith("streamfs: ")
    assert ERRORS[words] in last
    assert "Traceback" not in result.err


def test_a_missing_folder_for_compiled_code_is_reported(first_steps, monkeypatch):
    monkeypatch.setenv("STREAMFS_KERNELS", "numba")
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("NUMBA_CACHE_LOCATOR_CLASSES", "UserProvidedCacheLocator")  # and the user provides none
    result = process(first_steps[0], "evaluate", "pairs.streamfs", "new.parquet")
    assert (result.code, result.out) == (1, "")
    assert result.err.splitlines()[-1] == f"streamfs: {NO_CACHE}"


@pytest.mark.usefixtures("old_handlers")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("stream,a,b\n", "names no stream"),
        ("", "line 1: header is '', expected stream and then distinct roles"),
        ("stream;a;b\np;x;y\n", "line 1: header is 'stream;a;b', expected stream"),
        ("pair,a,b\np,x,y\n", "line 1: header is 'pair,a,b', expected stream"),
        ("stream,a\np,x\n", "channel 'b.light@delta:40' has role 'b', stream 'p' has a"),
        ("stream,a,b\np,x\n", "line 2: 'p,x' has 2 values, expected 3"),
        ("stream,a,b\np,x/1,y\n", "line 2: node is 'x/1', expected a name without"),
        ("stream,a,b\np,x,y\np,x,z\n", "line 3: stream 'p' is listed twice"),
    ],
)
def test_a_wrong_file_of_pairs_is_refused(command, text, message):
    Path("nodes.csv").write_text(text, encoding="utf-8")
    result = command("run", "pairs.streamfs", *NOWHERE, "--pairs", "nodes.csv")
    assert (result.code, result.out) == (1, "")
    assert message in result.err


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("name", ["pairs.streamfs", "bayes.streamfs"])
def test_a_damaged_model_is_refused(command, name, share):
    whole = Path(name).read_bytes()
    place = int(share * len(whole))
    flipped = whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :]
    for damaged in (whole[:place], flipped):
        Path("damaged.streamfs").write_bytes(damaged)
        result = command("evaluate", "damaged.streamfs", "new.parquet", "--trust")
        assert (result.code, result.out) == (1, "")
        assert re.match("streamfs: damaged.streamfs (is|has) ", result.err)


UNSUITABLE = {
    "one class": (lambda t: t.with_columns(pl.lit("same").alias("label")), "there is one class only, ['same']"),
    "one stream of a class": (
        lambda t: t.filter(pl.col("stream").is_in(t.unique("label")["stream"].to_list())),
        "has only 1 streams, expected at least",
    ),
    "no readings": (
        lambda t: t.with_columns(pl.lit(None).alias(c) for c in t.columns if "." in c),
        "no stream has a reading in any column of a.temperature, b.temperature",
    ),
    "a column without readings": (
        lambda t: t.with_columns(pl.lit(None).alias("b.light")),
        "has a tick by which all columns of the features are known; b.light has 0 readings in all of them",
    ),
    "constant columns": (
        lambda t: t.with_columns(pl.lit(7).alias(c) for c in t.columns if "." in c),
        "tells the classes apart on 60 streams: record more, or offer other features",
    ),
    "words among numbers": (
        lambda t: t.with_columns(pl.lit("dark").alias("a.light")),
        "a.light of variant.csv is 'dark' in row 1, expected a number",
    ),
    "no rows": (lambda t: t.clear(), "variant.csv has no readings: it has no rows"),
    "no columns": (lambda t: t.select("stream", "time", "label"), "variant.csv has no column of readings"),
    "no label": (lambda t: t.drop("label"), "variant.csv has no column 'label', only stream, time, a.temp"),
}


@pytest.mark.parametrize("change", UNSUITABLE)
def test_unsuitable_streams_are_refused(command, variant, change):
    variant(UNSUITABLE[change][0])
    result = command("train", "variant.csv", "-o", "none.streamfs", *TRAIN[2:])
    assert (result.code, result.out) == (1, "")
    assert UNSUITABLE[change][1] in result.err.splitlines()[-1]
    assert not Path("none.streamfs").exists()


def test_streams_of_other_labels_are_not_evaluated(command, variant):
    variant(lambda table: table.with_columns(pl.col("label").replace("same", "alike")))
    result = command("evaluate", "pairs.streamfs", "variant.csv")
    assert (result.code, result.out) == (1, "")
    assert "label 'alike' is not one of the model's classes different, same" in result.err


def test_streams_of_other_columns_are_not_replayed(command, variant):
    variant(lambda table: table.drop("b.light"))
    result = command("replay", "pairs.streamfs", "variant.csv")
    assert (result.code, result.out) == (1, "")
    missing = "column 'b.light', which the model reads, is not in variant.csv, only a.temperature"
    assert missing in result.err
    assert missing in command("evaluate", "pairs.streamfs", "variant.csv").err


COMMANDS = {name: cli.get_command(click.Context(cli), name) for name in SENTENCES}


def test_the_program_says_of_commands_what_they_say_of_themselves():
    assert {name: command.get_short_help_str(100) for name, command in COMMANDS.items()} == SENTENCES
    assert [*SENTENCES] == sorted(SENTENCES)
    assert sorted(name for names in TOPICS.values() for name in names) == [*SENTENCES]


def examples(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith("streamfs ")]


@pytest.mark.parametrize("width", [80, 110])
@pytest.mark.parametrize("name", ["", *COMMANDS, "bench early"])
def test_help_fits_the_terminal_and_shows_examples(name, width):
    result = CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="streamfs", terminal_width=width)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= width
    assert name or "..." not in result.output.partition("Options:")[2]
    shown = examples(result.output.partition("Example")[2])
    assert shown
    for example in shown:
        (word,) = re.findall(r"(?<!\.)streamfs ([\w-]+)", example)
        assert word in (name.split()[:1] or COMMANDS)


@pytest.mark.parametrize(
    "example",
    [
        *(example for each in (cli, *COMMANDS.values(), early) for example in examples(each.epilog)),
        *examples((ROOT / "README.md").read_text(encoding="utf-8")),
    ],
)
def test_the_examples_are_valid(example):
    _, name, *words = shlex.split(example.partition(" > ")[0], comments=True)
    command = COMMANDS[name]
    if isinstance(command, click.Group):
        name, *words = words
        command = command.commands[name]
    with command.make_context(name, words) as context:
        assert context.params


def test_a_report_is_written_and_never_over_an_input(command, first_steps):
    folder, _ = first_steps
    result = command("report", "pairs.streamfs", "new.parquet", "-o", "report.html")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[-1] == "wrote report.html; open it in a browser"
    assert "40 streams of new.parquet" in (folder / "report.html").read_text(encoding="utf-8")
    assert command("report", "pairs.streamfs", "new.parquet", "-o", "new.parquet").code == 2


def test_a_misspelt_command_is_answered_with_those_that_are_spelt_alike(command):
    assert "There is no command 'trian'. Did you mean train" in command("trian").err
    assert command("xyz").err.splitlines()[-1] == "Error: There is no command 'xyz'."


def test_the_version_is_printed(command):
    assert command("--version") == Result(0, f"streamfs, version {version('streamfs')}\n", "")


def test_help_does_not_wait_for_heavy_libraries():
    code = f"""
import sys
from streamfs.cli.app import main
for words in ([], *([name] for name in {list(COMMANDS)})):
    main([*words, "--help"])
heavy = "numba numpy polars scipy sklearn river paho matplotlib rich orjson".split()
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"


def test_a_closed_pipe_leaves_no_traceback(first_steps):
    folder, _ = first_steps
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "streamfs", "replay", "pairs.streamfs", "new.parquet"]
    with os.fdopen(writer, "wb") as closed:
        ended = subprocess.run(words, cwd=folder, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (1, b"")


SHARES = dict.fromkeys(("confidence", "completeness", "accuracy"), 0.98765)
COSTS = dict.fromkeys(("cost", "offered_cost"), 1.2345e-10)


@pytest.mark.parametrize(
    "row",
    [
        {"streams": 100_000, **SHARES, "ticks": 98765.4, "cost": 1.2345e-10, "offered_cost": 1.2e100},
        {"streams": 1_000, **SHARES, "ticks": 119.81, **COSTS, "sent": 64.031},
    ],
)
def test_a_table_fits_a_terminal_and_breaks_its_headings_at_words_only(capfd, row):
    console.print_table([row])
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert sorted(out[: out.index("─")].split()) == sorted(word for name in row for word in name.split("_"))


def test_a_table_shows_names_as_they_are(capfd):
    console.print_table([{"stream": "[red]x"}, {"stream": ":smile: [/] [bold]y[/bold]"}])
    out = capfd.readouterr().out
    assert "[red]x" in out
    assert ":smile: [/] [bold]y[/bold]" in out


def test_messages_are_neither_wrapped_nor_read_as_markup(capfd):
    text = "mean_absolute_difference(a.light@delta:40, b.light@delta:40) [bold] :smile: " * 5
    console.say(text)
    assert capfd.readouterr() == ("", text + "\n")


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_experiment_ends_with_all_its_processes(first_steps, number):
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
        experiment.send_signal(number)
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
    result = process(tmp_path, "run", "--config", "gateway.toml", *idle)
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


def test_a_command_accepts_what_an_error_proposes(command):
    for name in ("run", "walk"):
        folder = Path("steps", name)
        folder.mkdir(parents=True, exist_ok=True)
        for number in range(8):
            rows = [
                f"{1.7e12 + 1000 * tick + 37 * (tick * number % 5):.0f},{tick % (number + 2)}" for tick in range(9)
            ]
            (folder / f"{number}.csv").write_text("\n".join(["When (ms),x", *rows]), encoding="utf-8")
    refused = command("train", "steps", "-o", "steps.streamfs")
    assert refused.code == 1
    last = refused.err.splitlines()[-1]
    assert last == (
        "streamfs: steps/run/0.csv has no column 'time', only When (ms), x; "
        "try --time 'When (ms)' --labels folder --resample last --max-age 2 --period 1"
    )
    read = command("train", "steps", "-o", "steps.streamfs", *shlex.split(last.partition("; try ")[2]))
    assert "StreamSet(16 streams of up to 9 ticks of 1 s, columns x, labels run 8, walk 8)" in read.err


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
