"""The experiment on wrappers and filters for kernel density classifiers, and its conclusions."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin

PAPERS = Path(__file__).parents[2] / "examples" / "papers"
EXPERIMENT = PAPERS / "supervised_selection.py"

METHODS = ("SFS", "SFFS", "SBS", "Relief", "LVF", "FINCO")


@pytest.fixture
def experiment(monkeypatch):
    monkeypatch.syspath_prepend(PAPERS)
    import supervised_selection  # noqa: PLC0415 - examples are not on the path

    return supervised_selection


def outcome(name, method, kernel, selected, seconds=1.0):
    errors = {"before": 20.0, "after": 20.0 - selected, "honest": 21.0}
    shape = {"set": name, "instances": 100, "features": 10}
    return {**shape, "method": method, "kernel": kernel, "selected": selected, "seconds": seconds, **errors}


def outcomes():
    """Two sets, on the second of which SBS is not tried; later methods select more features."""
    return [
        outcome(name, method, kernel, place + 1, 10.0 - place)
        for name in ("small", "large")
        for place, method in enumerate(METHODS)
        for kernel in ("standard", "adaptive")
        if (name, method) != ("large", "SBS")
    ]


def test_methods_are_compared_on_the_sets_on_which_all_were_tried(monkeypatch):
    monkeypatch.syspath_prepend(PAPERS)
    from supervised_selection_remarks import Outcomes  # noqa: PLC0415 - examples are not on the path

    compared = Outcomes([*outcomes(), outcome("large", "SFS", "new", 9)])
    assert compared.means("share", ("SFS", "SBS")) == {"SFS": 10.0, "SBS": 30.0}
    assert compared.means("gain", ("SFS", "LVF")) == {"SFS": (1 + 1 + 1 + 1 + 9) / 5, "LVF": 5.0}


def test_a_remark_holds_or_not_by_the_means(experiment):
    levels = [
        {"level": level, "FINCO": 50.0 - 100.0 * level, "LVF 50": 60.0, "LVF 1000": 40.0, "LVF 10000": 30.0}
        for level in (0.0, 0.05)
    ]
    said = experiment.remarks(outcomes(), levels)
    assert [row["here"] for row in said] == [
        *("no", "no", "no", "no", "no", "no", "no", "no", "no", "no", "no", "yes", "no", "no", "yes")
    ]
    assert said[2]["figures"] == "Relief 40, LVF 50, FINCO 60 % of the features"


class SecondOnly(SelectorMixin, BaseEstimator):
    """Selects the second feature, and records the number of rows."""

    n_seen = 0

    def fit(self, X, y):  # noqa: ARG002 - scikit-learn's signature
        SecondOnly.n_seen = len(X)
        self.n_features_in_ = X.shape[1]
        return self

    def _get_support_mask(self):
        return np.array([False, True])


def test_a_selector_receives_only_training_rows(experiment):
    X, y = np.array([[5.0, 0.0], [5.0, 0.2], [5.0, 1.0], [5.0, 1.2]] * 3), ["a", "a", "b", "b"] * 3
    fitted = experiment.OnSelected(SecondOnly(), "standard", [1]).fit(X, np.array(y))
    assert SecondOnly.n_seen == 12
    assert fitted.selected_.tolist() == [1]
    assert fitted.classifier_.nominal == [0]
    assert fitted.predict(X).tolist() == y
    nothing = experiment.OnSelected(np.zeros(2, bool), "standard", []).fit(X[:7], np.array(y[:7]))
    assert nothing.predict(X[7:]).tolist() == ["a"] * 5


@pytest.mark.slow
def test_the_experiment_runs_and_gives_figures_for_each_method(script, tmp_path):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA is not set: the UCI sets are not there")
    found = json.loads(script(EXPERIMENT, "--quick", "--json", "--plot", tmp_path / "selection.png"))
    rows = found["outcomes"]
    assert {(row["set"], row["method"], row["kernel"]) for row in rows} == {
        (name, method, kernel)
        for name in ("iris", "labor")
        for method in METHODS
        for kernel in ("standard", "adaptive")
    }
    assert all(1 <= row["selected"] == len(row["names"]) <= row["features"] for row in rows)
    assert all(row["after"] < 10.0 for row in rows if row["set"] == "iris")
    assert [row["level"] for row in found["settings"]] == [0.0, 0.01, 0.05, 0.1]
    assert len(found["remarks"]) == 15
    assert imread(tmp_path / "selection.png")[..., :3].std() > 0.05


def test_missing_data_are_reported(refusal, monkeypatch):
    monkeypatch.delenv("STREAMFS_DATA", raising=False)
    ended = refusal(EXPERIMENT, "--quick")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert "STREAMFS_DATA is not set" in ended.stderr
