"""The first steps of a newcomer on real files: simulate, train, evaluate, replay, report."""

import pickle
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import polars as pl
import pytest
from helpers.commands import FEATURES, TRAIN, process
from matplotlib.image import imread

from streamfs import Procedure, StreamRelief, StreamSet
from streamfs.cli import console
from streamfs.procedure import TickThresholds
from streamfs.selection.by_name import SELECTORS


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


def test_evaluate_shows_groups(command, first_steps):
    streams = StreamSet.read(first_steps[0] / "new.parquet")
    rows = [f"{name},{'hall' if place % 4 else 'lab'}" for place, name in enumerate(streams.names)]
    (first_steps[0] / "rooms.csv").write_text("\n".join(["stream,group", *rows]), encoding="utf-8")
    (figures,) = command("evaluate", "pairs.streamfs", "new.parquet", "--groups", "rooms.csv", "--json").rows
    labelled = sum(row["labelled"] for row in figures["classes"])
    assert [(row["group"], row["streams"]) for row in figures["groups"]] == [("hall", 30), ("lab", 10)]
    assert sum(row["labelled"] for row in figures["groups"]) == labelled
    grouped = ["evaluate", "pairs.streamfs", "new.parquet", "--groups", "rooms.csv"]
    assert "\ngroup " in command(*grouped).out
    at = figures["confidence"]
    ((low, same),) = command(*grouped, "--sweep", f"0.5,{at}", "--json").rows
    assert same["groups"] == figures["groups"]
    assert sum(row["labelled"] for row in low["groups"]) == round(low["completeness"] * low["streams"])
    lines = command(*grouped, "--sweep", f"0.5,{at}").out.split("\nconfidence  group ")[1].splitlines()
    assert [line.split()[:3] for line in lines[2:6]] == [
        [confidence, *row] for confidence in ("0.5", f"{at:.4g}") for row in (("hall", "30"), ("lab", "10"))
    ]
    command(*grouped, "--sweep", f"0.5,{at}", "--csv", "sweep.csv")
    table = pl.read_csv(first_steps[0] / "sweep.csv")
    assert table.columns[-3:] == ["group", "labelled", "right"]
    assert table["group"].to_list() == [None, "hall", "lab"] * 2
    assert table["confidence"].to_list() == [0.5] * 3 + [at] * 3
    assert table["labelled"][3:].to_list() == [labelled, *(row["labelled"] for row in figures["groups"])]
    assert (table["right"] / table["labelled"])[0] == pytest.approx(low["accuracy"])


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
    words = ["figure2", "--data", "variant.csv", "--seeds", "2", "--thresholds", "0.8,0.9", "--n-jobs", "1"]
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


def test_a_report_is_written_and_never_over_an_input(command, first_steps):
    folder, _ = first_steps
    result = command("report", "pairs.streamfs", "new.parquet", "-o", "report.html")
    assert (result.code, result.out) == (0, "")
    assert result.err.splitlines()[-1] == "wrote report.html; open it in a browser"
    assert "40 streams of new.parquet" in (folder / "report.html").read_text(encoding="utf-8")
    assert command("report", "pairs.streamfs", "new.parquet", "-o", "new.parquet").code == 2
