"""The benchmark of early classification measures what it says."""

import gzip
import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
early, early_sets, early_table, triggers = map(
    import_module, ("early", "early_sets", "early_table", "early_triggers")
)
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
    found = early_sets.Series(values, np.repeat("a", 30)).disturbed(3)
    assert found.values.shape == values.shape
    for series, out in zip(values, found.values, strict=True):
        best = max(np.corrcoef(series[: 40 - late, 1], out[late:, 1])[0, 1] for late in range(13))
        assert_allclose(best, 1.0)
    assert_array_equal(found.values, early_sets.Series(values, found.labels).disturbed(3).values)


def rows(**hm):
    known = {"set": "A", "seed": 0, "disturbed": False, "stated": None, "fit_seconds": 1.0, "us_a_tick": 1.0}
    return [
        known | {"method": method, "hm": value, "accuracy": value, "earliness": 0.0, "costs": {"0.5": 1.0 - value}}
        for method, value in hm.items()
    ]


def test_ranks_share_ties_and_what_fails_is_last():
    failed = {"set": "A", "seed": 0, "disturbed": False, "method": "d", "failed": "too few"}
    found = early_table.Table([*rows(a=0.5, b=0.9, c=0.5), failed])
    assert found.ranks() == {"a": 2.5, "b": 1.0, "c": 2.5, "d": 4.0}
    assert "| d | 1 | - | - | 4.00 |" in found.text()


def test_targets_compare_with_the_best_peer():
    found = early_table.Table(rows(streamfs=0.69, threshold=0.81, SR=0.6))
    rank, ratio, weak = early_table.targets(found, found)
    assert (rank.measured, rank.verdict) == (2.0, "missed")
    assert_allclose(ratio.measured, 0.31 / 0.19)
    assert (weak.measured, weak.verdict) == (1, "missed")


def test_none_is_wrong_and_at_the_last_tick(monkeypatch):
    def refuse(*_, **__):
        raise early.TrainingError("nothing")

    monkeypatch.setattr(early, "train", refuse)
    series = early_sets.Series(np.zeros((6, 4, 1)), np.repeat(["a", "b"], 3))
    row = early.row_of(early.Task(early_sets.Split(series, series), 0), early.OURS)
    assert (row["accuracy"], row["earliness"], row["hm"]) == (0.0, 1.0, 0.0)
    assert set(row["costs"].values()) == {1.0}


def write_set(folder, name, seed):
    rng = np.random.default_rng(seed)
    for part, n in (("train", 24), ("test", 30)):
        labels = np.arange(n) % 2 + 1
        values = rng.normal(size=(n, 20)) + 3.0 * labels[:, np.newaxis]
        with gzip.open(folder / f"{name}_{part}.tsv.gz", "wt") as file:
            np.savetxt(file, np.c_[labels, values], header="class values", comments="")


def test_a_quick_run_measures_two_sets_and_prints_a_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "ucr").mkdir()
    for seed, name in enumerate(("GunPoint", "ItalyPowerDemand")):
        write_set(tmp_path / "ucr", name, seed)
    lines = tmp_path / "lines.jsonl"
    monkeypatch.setenv("STREAMFS_DATA", str(tmp_path))
    monkeypatch.setattr(early, "_is_installed", lambda _: False)
    monkeypatch.setattr(early, "ALPHAS", (0.5, 0.9))
    monkeypatch.setattr(sys, "argv", ["early.py", "--quick", "--out", str(lines)])
    early.main()
    printed = capsys.readouterr()
    found = [json.loads(line) for line in lines.read_text().splitlines()]
    assert {(row["set"], row["disturbed"], row["method"]) for row in found} == {
        (name, is_disturbed, method)
        for name in ("GunPoint", "ItalyPowerDemand")
        for is_disturbed in (False, True)
        for method in early.QUICK_METHODS
    }
    assert all(row["hm"] > 0.6 for row in found if not row["disturbed"])
    assert all(set(row["costs"]) == {str(alpha) for alpha in early.ALPHAS} for row in found)
    assert "aeon is not installed" in printed.err
    assert "| streamfs | 1 | 0." in printed.out
    monkeypatch.setattr(sys, "argv", ["early.py", "--from", str(lines)])
    early.main()
    assert capsys.readouterr().out.strip() in printed.out
