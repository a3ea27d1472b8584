"""Early classification compared: the rules for when to decide, the sets, and the command."""

import gzip

import numpy as np
import orjson
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from streamfs import StreamSet
from streamfs.cli.app import main
from streamfs.errors import DataError, MissingExtraError, TrainingError
from streamfs.experiments.early import methods, protocol, triggers
from streamfs.experiments.early.protocol import row_of, trial_of
from streamfs.experiments.early.series import LabelledSeries, Split
from streamfs.experiments.early.sets import SeriesFiles, sets_in

WHEN = np.arange(1, 6) / 5


def trajectories(n, turn, seed=0):
    """Two classes: even odds at first, and from point `turn` on the truth is nearly certain."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    sure = np.where(np.arange(5) >= turn, 0.9, 0.5) + rng.uniform(0.0, 0.08, (n, 5))
    right = np.where(np.arange(5) >= turn, True, rng.random((n, 5)) < 0.5)
    one = np.where(right == (truth[:, np.newaxis] == 1), sure, 1.0 - sure)
    return np.stack([1.0 - one, one], axis=2), truth


@pytest.mark.parametrize("name", triggers.TRIGGERS)
@pytest.mark.parametrize("turn", [0, 2])
def test_a_trigger_waits_until_the_class_is_clear_and_no_longer(name, turn):
    cost = triggers.DecisionCost(0.8, 0.2)
    rule = triggers.TRIGGERS[name]().fit(*trajectories(80, turn), WHEN, cost)
    assert np.mean(rule.stops(trajectories(40, turn, seed=1)[0]) == turn) > 0.95


@pytest.mark.parametrize("name", triggers.TRIGGERS)
def test_a_trigger_does_not_wait_for_what_costs_more_than_it_brings(name):
    rule = triggers.TRIGGERS[name]().fit(*trajectories(80, 3), WHEN, triggers.DecisionCost(0.05, 0.95))
    assert_array_equal(rule.stops(trajectories(40, 3, seed=1)[0]), 0)


def test_a_constant_threshold_may_be_given():
    probabilities, truth = trajectories(20, 3)
    rule = triggers.ConstantThreshold(0.9).fit(probabilities, truth, WHEN, triggers.DecisionCost(0.05, 0.95))
    assert_array_equal(rule.stops(probabilities), 3)
    never = triggers.ConstantThreshold(1.0).fit(probabilities, truth, WHEN, triggers.DecisionCost(0.5, 0.5))
    assert_array_equal(never.stops(probabilities), 4)


def test_a_disturbed_series_is_itself_moved_scaled_and_late():
    values = np.random.default_rng(0).normal(size=(30, 40, 2)).cumsum(axis=1)
    found = LabelledSeries(values, np.repeat("a", 30)).disturbed(3)
    assert found.values.shape == values.shape
    for series, out in zip(values, found.values, strict=True):
        best = max(np.corrcoef(series[: 40 - late, 1], out[late:, 1])[0, 1] for late in range(13))
        assert_allclose(best, 1.0)
    assert_array_equal(found.values, LabelledSeries(values, found.labels).disturbed(3).values)


def test_none_is_wrong_and_at_the_last_tick_and_other_errors_fail(monkeypatch):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(methods, "train", refuse)
    series = LabelledSeries(np.zeros((6, 4, 1)), np.repeat(["a", "b"], 3))
    task, error = methods.Task(Split(series, series), 0), DataError("too few")
    assert trial_of(task, methods.OURS) == {"failed": "too few"}
    error = TrainingError("nothing")
    row = row_of(task, methods.OURS)
    assert (row["accuracy"], row["earliness"], row["hm"]) == (0.0, 1.0, 0.0)
    assert set(row["costs"].values()) == {1.0}


def streams(n=24, seed=0, columns=("x",)):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    values = rng.normal(size=(n, 12, len(columns))) + 3.0 * labels[:, np.newaxis, np.newaxis]
    return StreamSet(values, labels.astype(str), columns, 2.0)


def test_sets_are_found_by_the_names_of_their_files(tmp_path):
    streams().write(tmp_path / "a_TRAIN.csv")
    streams(30, seed=1).write(tmp_path / "a_TEST.parquet")
    streams(20).write(tmp_path / "b.csv")
    (tmp_path / "notes.txt").touch()
    with gzip.open(tmp_path / "c.tsv.gz", "wt") as file:
        ticks = "\t".join(map(str, range(10)))
        file.write(f"class\t{ticks}\n" + f"-1\t0.5\t{ticks[2:]}\nturned on\t{ticks}\n" * 4)
    found = sets_in(tmp_path)
    assert [*found] == ["a", "b", "c"]
    official, halves, lines = (files.split(0) for files in found.values())
    assert_allclose(official.test.values, streams(30, seed=1).values)
    assert (official.train.columns, official.train.period) == (("x",), 2.0)
    assert (len(halves.train.labels), len(halves.test.labels)) == (10, 10)
    assert not np.array_equal(halves.train.values, found["b"].split(1).train.values)
    assert {
        (label, *series)
        for label, series in zip(lines.train.labels, lines.train.values[..., 0].tolist(), strict=True)
    } == {
        ("-1", 0.5, *range(1, 10)),
        ("turned on", *range(10)),
    }


def test_sets_are_found_as_archives_have_them(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for part in ("TRAIN", "TEST"):
            path = tmp_path / name / f"{name}_{part}"
            path.with_suffix(".ts").write_text("@classLabel true u v\n@data\n1,2,3:u\n4,5,6:v\n", encoding="utf-8")
            path.with_suffix(".txt").touch()
    (tmp_path / "b" / "others_TRAIN.ts").touch()
    found = sets_in(tmp_path)
    assert [*found] == ["a", "b"]
    assert_array_equal(found["b"].split(0).test.values[:, :, 0], [[1, 2, 3], [4, 5, 6]])
    assert found["a"].split(0).train.labels.tolist() == ["u", "v"]


def refused(folder, message):
    with pytest.raises(DataError, match=message):
        [files.split(0) for files in sets_in(folder).values()]


def test_sets_that_cannot_be_compared_are_refused(tmp_path):
    refused(tmp_path, "has no set, expected files NAME_train")
    streams().write(tmp_path / "a_train.csv")
    refused(tmp_path, "a has a_train.csv, expected NAME_train and NAME_test")
    streams(columns=("y",)).write(tmp_path / "a_test.csv")
    refused(tmp_path, r"a_train.csv: columns of the test series is \('y',\), expected \('x',\)")
    gap, short = streams(), streams()
    gap.values[3, 5, 0] = np.nan
    gap.write(tmp_path / "a_test.csv")
    refused(tmp_path, "stream stream-3 has no x at tick 6")
    StreamSet(short.values, short.labels, ["x"], 2.0, short.names, [12] * 23 + [7]).write(tmp_path / "a_test.csv")
    refused(tmp_path, "stream stream-23 has 7 ticks, expected 12")
    streams().write(tmp_path / "a_TEST.parquet")
    refused(tmp_path, "are the same part of a")
    (tmp_path / "a_TEST.parquet").unlink()
    (tmp_path / "a_test.csv").unlink()
    for text, message in {
        "1\tx": "is 'x' in row 1, expected a number",
        "": "is empty",
        "1" + "\t2" * 10 + "\n1" + "\t2" * 11 + "\n": "has 12 cells, expected 11$",
    }.items():
        (tmp_path / "a_test.tsv").write_text(text, encoding="utf-8")
        refused(tmp_path, f"a_test.tsv.*{message}")


@pytest.mark.parametrize(
    ("header", "classes"), [("", [1, 2]), ("label\ta\tb\tc\n", [1, 2]), ("", [1.5, 2.5]), ("", range(15))]
)
def test_lines_of_a_set_are_known_to_be_series(tmp_path, header, classes):
    lines = "".join(f"{name}\t0.5\t1\t{number}\n" for number, name in enumerate([*classes] * 4))
    (tmp_path / "a.tsv").write_text(header + lines, encoding="utf-8")
    train, test = SeriesFiles(tmp_path / "a.tsv").split(0)
    assert len(train.labels) + len(test.labels) == 4 * len(classes)
    assert {*train.labels} == {*map(str, classes)}
    assert train.values.shape[1:] == (3, 1)


def test_the_command_compares_methods_on_the_sets_of_a_folder(tmp_path, monkeypatch, capsys):
    streams(40).write(tmp_path / "a.csv")
    monkeypatch.setattr(methods, "ALPHAS", (0.5,))
    words = ["bench", "early", str(tmp_path), "--methods", "streamfs,threshold"]
    (tmp_path / "b.tsv").touch()
    with monkeypatch.context() as patched:
        patched.setattr(protocol, "measure", None)  # is not come to
        with pytest.raises(SystemExit):
            main(words)
    assert "b.tsv cannot be read: it is empty" in capsys.readouterr().err
    (tmp_path / "b.tsv").unlink()
    main([*words, "--json"])
    found = orjson.loads(capsys.readouterr().out)
    assert [row["method"] for row in found["trials"]] == ["streamfs", "threshold"] * 2
    best = found["summary"]["as recorded"][0]
    assert (best["method"], best["hm_ci"]) == ("streamfs", None)
    assert best["hm"] == found["trials"][0]["hm"] > 0.7
    monkeypatch.setattr(protocol, "measure", lambda *_: iter(found["trials"]))
    main(words)
    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert [line.split()[0] for line in lines if line.startswith(("streamfs", "threshold"))] == [
        "streamfs",
        "threshold",
    ] * 2
    assert max(map(len, map(str.rstrip, lines))) <= 80
    for name, message in {"ouija": "--methods has 'ouija'", "aeon PT": "aeon is not installed"}.items():
        monkeypatch.setattr(methods, "load_peer", load_nothing)
        with pytest.raises(SystemExit):
            main([*words[:-1], name])
        assert message in capsys.readouterr().err


def load_nothing(package):
    raise MissingExtraError(package, "bench")
