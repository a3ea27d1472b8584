"""`streamfs train` with a promise, and with the trade-off: real runs on small simulated pairs."""

import csv
import signal
import subprocess
import sys
import time
from typing import NamedTuple

import numpy as np
import orjson
import pytest
from matplotlib.image import imread

from streamfs import Procedure, StreamSet, evaluate
from streamfs.cli.app import main
from streamfs.cli.commands.promise_text import print_front
from streamfs.training.promises.front import FrontPoint
from streamfs.training.promises.split import TrainTestSplit

FEATURES = [
    "mean_absolute_difference(a.temperature, b.temperature)",
    "mean_absolute_difference(a.humidity, b.humidity)",
    "mean_absolute_difference(a.light, b.light)",
]
OFFERED = [*(word for name in FEATURES for word in ("--feature", name)), "--as-offered"]
PROMISE = ["--promise", "0.85", "--completeness", "0.8"]


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("promise")
    main(["simulate", str(folder / "pairs.csv"), "--pairs", "400", "--ticks", "12"])
    return folder


@pytest.fixture
def command(folder, monkeypatch, capfd):
    """Return a function that runs `streamfs train pairs.csv` in the folder of the pairs."""
    monkeypatch.chdir(folder)

    def run(*args, streams="pairs.csv"):
        code = 0
        try:
            main(["train", streams, *map(str, args)])
        except SystemExit as stop:
            code = stop.code
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def front(command, folder):
    """Return the rows of an explored front."""
    if not (folder / "front.csv").exists():
        assert command(*OFFERED, "--explore", "front.csv", "--png", "front.png").code == 0
    with (folder / "front.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_promise_is_shown_with_its_evidence_and_its_limits(command, folder):
    result = command(*OFFERED, *PROMISE, "-o", "kept.streamfs", "--png", "kept.png")
    assert result.code == 0
    assert "promised    accuracy 0.85, completeness 0.8, at a risk of 0.05" in result.out
    evidence = Procedure.load(folder / "kept.streamfs").about["promise"]
    assert f"{evidence['labelled']} of {evidence['streams']} test streams got a label" in result.out
    assert "transmissions a stream" in result.out
    assert "not a guarantee elsewhere" in result.out
    assert "nor for pairs that share nodes" in " ".join(result.out.split())
    assert "searching the cheapest features" in result.err
    assert "next: streamfs evaluate kept.streamfs STREAMS" in result.err
    assert imread(folder / "kept.png").std() > 0.05


def test_whether_a_promise_is_kept_is_said_of_other_streams(command, folder, capfd):
    assert command(*OFFERED, *PROMISE, "-o", "kept.streamfs").code == 0
    main(["evaluate", "kept.streamfs", "pairs.csv"])
    shown = " ".join(capfd.readouterr().err.split())
    assert "The promise of 0.85 is kept so far: " in shown
    assert "Decisions look as those where it was certified." in shown
    main(["evaluate", "kept.streamfs", "pairs.csv", "--json"])
    promise = orjson.loads(capfd.readouterr().out)["promise"]
    assert (promise["status"], promise["findings"]) == ("kept so far", [])
    assert promise["model"] == Procedure.load(folder / "kept.streamfs").digest


def test_with_json_the_evidence_is_json_and_its_meaning_a_message(command):
    result = command(*OFFERED, *PROMISE, "--risk", "0.2", "-o", "kept.streamfs", "--json")
    printed = orjson.loads(result.out)
    assert printed["promise"]["risk"] == 0.2
    assert printed["promise"]["accuracy"] == 0.85
    assert "not a guarantee elsewhere" in result.err


def test_a_refused_promise_shows_the_thresholds(command, folder):
    result = command(*OFFERED, "--promise", "0.97", "--completeness", "0.97", "-o", "none.streamfs")
    assert result.code == 1
    assert "streamfs: accuracy 0.97 at completeness 0.97 (risk 0.05) cannot be promised" in result.err
    assert "streams are needed" in result.err
    assert "threshold" in result.out
    assert "completeness" in result.out
    assert len(result.out.splitlines()) > 8
    assert not (folder / "none.streamfs").exists()


def test_with_json_a_refusal_is_json(command):
    result = command(*OFFERED, "--promise", "0.97", "--completeness", "0.97", "-o", "none.streamfs", "--json")
    assert result.code == 1
    printed = orjson.loads(result.out)
    assert printed["streams_needed"] > 400
    assert "cannot be promised" in printed["error"]
    assert (
        set(printed["best"])
        == set(printed["curve"][0])
        == {"threshold", "completeness", "accuracy", "cost", "ticks"}
    )
    assert 4 < len(printed["curve"]) <= 12


def test_a_refusal_says_how_many_more_streams_are_needed(command):
    result = command(*OFFERED, "--promise", "0.999", "-o", "none.streamfs")
    assert result.code == 1
    assert "more" in result.err
    assert result.out == ""


def test_a_search_is_resumed_from_its_file(command, folder):
    first = command(
        *OFFERED, *PROMISE, "-o", "one.streamfs", "--resume", "scores.jsonl", "--strategy", "exhaustive"
    )
    n_scored = len((folder / "scores.jsonl").read_text(encoding="utf-8").splitlines())
    second = command(
        *OFFERED, *PROMISE, "-o", "two.streamfs", "--resume", "scores.jsonl", "--strategy", "exhaustive"
    )
    assert (first.code, second.code) == (0, 0)
    assert n_scored == 7
    assert len((folder / "scores.jsonl").read_text(encoding="utf-8").splitlines()) == n_scored
    assert first.out == second.out


def test_a_stopped_search_says_how_to_resume(folder):
    kept = folder / "stopped.jsonl"
    words = [*OFFERED[:-1], *PROMISE, "-o", "stopped.streamfs", "--resume", kept.name]
    with subprocess.Popen(
        [sys.executable, "-m", "streamfs", "train", "pairs.csv", *words],
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as training:
        for _ in range(1200):
            if kept.exists() or training.poll() is not None:
                break
            time.sleep(0.05)
        training.send_signal(signal.SIGINT)
        said = training.stderr.read()
    assert f"the subset scores are in {kept.name}: the same command resumes from there" in said
    assert "Traceback" not in said
    assert training.returncode != 0
    assert not (folder / "stopped.streamfs").exists()


def test_a_search_stopped_before_any_score_names_no_file(command, folder, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("streamfs.training.promises.promised.train_promised", stop)
    result = command(*OFFERED, *PROMISE, "-o", "stopped.streamfs", "--resume", "nothing.jsonl")
    assert result.code == 130
    assert "nothing.jsonl" not in result.err
    assert not (folder / "nothing.jsonl").exists()


def test_groups_are_never_on_both_sides_of_the_test(command, folder):
    streams = StreamSet.read(folder / "pairs.csv")
    rows = [f"{name},room {place // 8}" for place, name in enumerate(streams.names)]
    (folder / "rooms.csv").write_text("\n".join(["stream,group", *reversed(rows)]), encoding="utf-8")
    result = command(*OFFERED, *PROMISE, "-o", "rooms.streamfs", "--groups", "rooms.csv")
    assert result.code == 0
    procedure = Procedure.load(folder / "rooms.streamfs")
    rooms = np.arange(400) // 8
    testing = TrainTestSplit.of(streams, [f"room {room}" for room in rooms], 0).test
    assert procedure.about["promise"]["completeness"] == 0.8
    evaluation = evaluate(procedure, testing)
    assert procedure.about["promise"]["labelled"] == round(evaluation.completeness * len(testing))


def test_a_group_that_is_missing_is_named(command, folder):
    (folder / "few.csv").write_text("stream,group\n", encoding="utf-8")
    name = StreamSet.read(folder / "pairs.csv").names[0]
    offered = [word for name in FEATURES for word in ("--feature", name)]
    for options in ([*OFFERED, *PROMISE], offered):
        result = command(*options, "-o", "none.streamfs", "--groups", "few.csv")
        assert (result.code, result.out) == (1, "")
        assert f"few.csv has no group for stream {name!r}" in result.err


def test_prices_make_other_features_cheaper(command, folder):
    read = {}
    for quantity in ("light", "humidity"):
        result = command(*OFFERED, *PROMISE, "-o", "dear.streamfs", "--price", f"{quantity}=50")
        assert result.code == 0
        features = Procedure.load(folder / "dear.streamfs").features
        read[quantity] = {column.partition(".")[2] for feature in features for column in feature.columns}
    assert read == {"light": {"temperature", "humidity"}, "humidity": {"temperature", "light"}}


def test_extra_trees_can_be_trained_without_a_promise(command, folder):
    result = command(*OFFERED[:-1], "-o", "forest.streamfs", "--classifier", "extra-trees", "--features", "2")
    assert result.code == 0
    assert "forest" in result.out
    assert "promise" not in Procedure.load(folder / "forest.streamfs").about


def test_a_point_of_many_features_shows_their_channels(capsys):
    names = tuple(f"{kind}({column})" for kind in ("mean", "max", "min") for column in ("a.t", "a.t@delta:1"))
    point = FrontPoint(0.9, 0.9, 1.0, 1.0, 0.5, ("count()", *names))
    print_front([point, point._replace(features=names[:1])], "joules", as_json=False)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-2:] == [" A  6 features of a.t, a.t@delta:1", " B  mean(a.t)"]


def test_the_trade_off_is_a_table_a_file_and_a_plot(command, folder):
    result = command(*OFFERED, "--explore", "front.csv", "--png", "front.png")
    assert result.code == 0
    rows = [line.split() for line in result.out.splitlines() if line.strip()[:1].isdigit()]
    with (folder / "front.csv").open(newline="", encoding="utf-8") as file:
        points = list(csv.DictReader(file))
    assert [row[0] for row in rows] == [point["point"] for point in points]
    assert [float(row[1]) for row in rows] == pytest.approx([float(p["accuracy"]) for p in points], rel=1e-3)
    assert max(map(len, result.out.splitlines())) <= 80
    assert "cost in transmissions" in result.out
    assert f" A  {orjson.loads(points[0]['features'])[1]}" in result.out
    assert "accuracy 0.9, completeness 0.7" in result.err
    assert "--point NUMBER -o MODEL" in result.err
    assert imread(folder / "front.png").std() > 0.02


def test_with_json_the_trade_off_is_a_line_for_each_point(command):
    result = command(*OFFERED, "--explore", "again.csv", "--json", "--seconds", "0.001")
    points = [orjson.loads(line) for line in result.out.splitlines()]
    assert [point["point"] for point in points] == list(range(1, len(points) + 1))
    assert {"accuracy", "completeness", "cost", "ticks", "threshold", "features"} < set(points[0])


def test_a_point_becomes_a_model_with_its_bounds(command, folder, front):
    result = command("--explore", "front.csv", "--point", len(front), "-o", "point.streamfs", "--risk", "0.1")
    assert result.code == 0
    procedure = Procedure.load(folder / "point.streamfs")
    evidence = procedure.about["point"]
    assert f"accuracy at least {evidence['accuracy_at_least']:.3f}" in result.out
    assert "each at a risk of 0.1" in result.out
    assert "nor for the best of many points" in " ".join(result.out.split())
    assert evidence["held_out"]["accuracy"] == float(front[-1]["accuracy"])
    assert {feature.name for feature in procedure.features} <= set(orjson.loads(front[-1]["features"]))


def test_a_point_of_other_options_is_refused(command, front):
    assert front
    result = command("--explore", "front.csv", "--point", "1", "-o", "none.streamfs", "--seed", "3")
    assert result.code == 1
    assert "other streams or options" in result.err


def test_a_missing_point_is_refused(command, front):
    result = command("--explore", "front.csv", "--point", "99", "-o", "none.streamfs")
    assert result.code == 2
    assert f"--point is 99, and front.csv has {len(front)} points" in result.err


WRONG = {
    "": "Missing option '-o' / '--out'",
    "--explore f.csv --point 1": "Missing option '-o' / '--out'",
    "--point 1 -o m": "Missing option '--explore'",
    "--explore q.png": "q.png ends in '.png', expected .csv",
    "--explore q": "q ends in '', expected .csv",
    "--explore q.parquet --point 1 -o m": "q.parquet ends in '.parquet', expected .csv",
    "--explore f.csv -o m": "--out cannot be combined with --explore, which writes points and not a model",
    "--explore f.csv --promise 0.9": "--promise cannot be combined with --explore",
    "--explore f.csv --strategy floating": "--strategy cannot be combined with --explore",
    "--explore f.csv --river naive_bayes.GaussianNB": "--river cannot be combined with --explore",
    "--explore f.csv --classifier qsfs1": "--classifier qsfs1 cannot be tested",
    "--promise 0.9 -o m --classifier qsfs2": "--classifier qsfs2 cannot be tested",
    "--promise 0.9 -o m --confidence 0.9": "--confidence cannot be combined with --promise, which determines it",
    "--promise 0.9 -o m --features 2": "--n-features cannot be combined with --promise",
    "--promise 0.9 -o m --error-cost 4": "--error-cost cannot be combined with --promise, which determines it",
    "--explore f.csv --sending-cost 0.01": "--sending-cost cannot be combined with --explore",
    "--promise 1 -o m": "1.0 is not in the range 0<x<1",
    "--promise 0.9 -o m --risk 0": "0.0 is not in the range 0<x<1",
    "--promise 0.9 -o m --strategy best": "'best' is not one of",
    "--promise 0.9 -o m --seconds 0": "0.0 is not in the range x>0",
    "--promise 0.9 -o m --price light": "'light', expected a quantity and a number of at least 0: light=10",
    "--promise 0.9 -o m --strategy exhaustive": "of at most 10 features, and there are",
    "--promise 0.9 -o m --png m.txt": "m.txt ends in '.txt'",
    "--promise 0.9 -o m --resume m": "--resume m is the file of --out",
    "--promise 0.9 -o pairs.csv": "--out pairs.csv is the file of STREAMS",
    "--promise 0.9 -o m.csv --groups m.csv": "--out m.csv is the file of --groups",
    "--explore pairs.csv": "--explore pairs.csv is the file of STREAMS",
    "--explore f.csv --point 1 -o f.csv": "--out f.csv is the file of --explore",
    "--explore f.csv --point 1 -o m --feature mean(a.light)": "--feature cannot be combined with --point",
    "--explore f.csv --point 1 -o m --select relief": "--select cannot be combined with --point",
    "--explore f.csv --point 1 -o m --as-offered": "--as-offered cannot be combined with --point",
    "--explore f.csv --point 1 -o m --png m.png": "--png cannot be combined with --point",
    "--explore f.csv --point 0 -o m": "0 is not in the range x>=1",
    "-o m --completeness 0.9": "--completeness needs --promise",
    "-o m --risk 0.1": "--risk needs --promise or --explore",
    "-o m --as-offered": "--as-offered needs --promise or --explore",
    "-o m --png m.png": "--png needs --promise or --explore",
    "-o m --resume r.jsonl": "--resume needs --promise",
}


@pytest.mark.parametrize("words", WRONG)
def test_options_that_exclude_each_other_are_refused_before_any_work(command, folder, words):
    before = sorted(folder.iterdir())
    result = command(*words.split())
    assert (result.code, result.out) == (2, "")
    assert WRONG[words] in " ".join(result.err.split())
    assert sorted(folder.iterdir()) == before
