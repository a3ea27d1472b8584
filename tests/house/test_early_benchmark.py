"""The benchmark of early classification measures what it says."""

import gzip
import json
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
from numpy.testing import assert_allclose

from streamfs.experiments.early import methods

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
early, early_table = map(import_module, ("early", "early_table"))


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


def write_set(folder, name, seed):
    rng = np.random.default_rng(seed)
    for part, n in (("train", 24), ("test", 30)):
        labels = np.arange(n) % 2 + 1
        values = rng.normal(size=(n, 20)) + 3.0 * labels[:, np.newaxis]
        with gzip.open(folder / f"{name}_{part}.tsv.gz", "wt") as file:
            np.savetxt(file, np.c_[labels, values], header=" ".join(["class", *map(str, range(20))]), comments="")


def test_a_quick_run_measures_two_sets_and_prints_a_table(tmp_path, monkeypatch, capsys):
    (tmp_path / "ucr").mkdir()
    for seed, name in enumerate(("GunPoint", "ItalyPowerDemand")):
        write_set(tmp_path / "ucr", name, seed)
    lines = tmp_path / "lines.jsonl"
    monkeypatch.setenv("STREAMFS_DATA", str(tmp_path))
    monkeypatch.setattr(early, "is_installed", lambda method: method not in methods.NEEDED)
    monkeypatch.setattr(methods, "ALPHAS", (0.5, 0.9))
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
    assert all(set(row["costs"]) == {str(alpha) for alpha in methods.ALPHAS} for row in found)
    assert "aeon is not installed" in printed.err
    assert "| streamfs | 1 | 0." in printed.out
    monkeypatch.setattr(sys, "argv", ["early.py", "--from", str(lines)])
    early.main()
    assert capsys.readouterr().out.strip() in printed.out
