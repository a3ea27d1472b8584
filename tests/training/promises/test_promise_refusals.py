"""Promises that are refused, and arguments that are wrong."""

import numpy as np
import pytest
from helpers.procedures import labelled_streams
from low_promises import kept

from streamfs import Costs, StreamSet
from streamfs.errors import DataError, TrainingError
from streamfs.training.promises import Promise, PromiseError
from streamfs.training.promises.held_out import HeldOut
from streamfs.training.promises.split import TrainTestSplit


class TestRefusals:
    def test_noise_keeps_no_promise_however_many_there_are(self, streams):
        with pytest.raises(PromiseError, match="cannot be promised: the best threshold") as refused:
            kept(streams, features=["mean(a.noise)", "mean(b.noise)"])
        error = refused.value
        assert error.streams_needed is None
        assert error.best.accuracy < 0.8
        labelled = [point["completeness"] for point in error.curve]
        assert labelled == sorted(labelled)
        assert error.best._asdict() in error.curve or len(error.curve) == 12

    def test_a_promise_nearly_kept_says_how_many_streams_would_do(self):
        few = labelled_streams(n_streams=100, n_ticks=3)
        names = ["mean(a.noise)", "last(b.level@flag:2)"]
        with pytest.raises(
            PromiseError, match=r"about \d+ streams are needed, \d+ more than there are"
        ) as refused:
            kept(few, features=names, promise=Promise(0.84, 0.5, 0.02), classifier="c45")
        needed = refused.value.streams_needed
        assert needed > 100
        assert f"about {needed} streams are needed, {needed - 100} more than there are" in str(refused.value)
        assert refused.value.best.accuracy > 0.84

    def test_few_streams_are_refused_before_anything_is_fitted(self, streams, monkeypatch):
        monkeypatch.setattr(HeldOut, "curves", None)
        with pytest.raises(DataError, match="of 160 streams 64 are left for the test, expected at least 299"):
            kept(streams, promise=Promise(0.99, risk=0.05))

    def test_constant_features_are_refused(self, streams):
        flat = StreamSet(np.ones_like(streams.values), streams.labels, streams.columns)
        with pytest.raises(TrainingError, match="tells the classes apart on 96 streams"):
            kept(flat, classifier="c45")

    def test_a_class_without_readings_is_named(self, streams):
        values = streams.values.copy()
        values[streams.labels == "calm", :, 1] = np.nan
        with pytest.raises(DataError, match=r"class 'calm' .* b\.level has 0 readings"):
            kept(StreamSet(values, streams.labels, streams.columns))


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("options", "error", "message"),
        [
            ({"promise": 0.9}, TypeError, r"promise is 0.9, expected a Promise, such as Promise\(accuracy=0.9\)"),
            ({"promise": {"accuracy": 0.9}}, TypeError, "expected a Promise"),
            ({"confidence": 0.9}, TypeError, "unexpected keyword argument 'confidence'"),
            ({"classifier": "qsfs1"}, ValueError, "classifier is 'qsfs1', expected one of extra-trees, c45"),
            ({"classifier": "forest"}, ValueError, "classifier is 'forest', expected one of extra-trees, c45"),
            ({"strategy": "best"}, ValueError, "strategy is 'best', expected one of floating, exhaustive"),
            ({"seconds": 0}, ValueError, "seconds is 0, expected a number of more than 0"),
            ({"seconds": float("nan")}, ValueError, "seconds is nan, expected a number of more than 0"),
            ({"seconds": "1"}, ValueError, "seconds is '1', expected a number"),
            ({"max_cost": -1.0}, ValueError, "max_cost is -1.0, expected a number of more than 0"),
            ({"seed": -1}, ValueError, "seed is -1, expected a whole number, 0 to 2147483647"),
            ({"seed": None}, ValueError, "seed is None, expected a whole number"),
            ({"n_jobs": 0}, ValueError, "n_jobs is 0, expected a whole number of threads, or -1 for all"),
            ({"n_jobs": 1.5}, ValueError, "n_jobs is 1.5, expected a whole number"),
            ({"groups": [1, 2]}, DataError, r"groups have shape \(2,\), expected \(160,\), one a stream"),
            ({"groups": np.arange(160) % 9}, DataError, "there are 9 groups, expected at least 10"),
            ({"groups": [None, *range(159)]}, DataError, "the group of stream pair-000 is None"),
            ({"prices": {"light": 2.0}}, DataError, "there is a price of 'light', expected one of level, noise"),
            ({"prices": {"level": -1.0}}, ValueError, "price of level is -1.0, expected a finite number"),
            ({"costs": Costs([1.0])}, ValueError, "there are 1 costs, expected 3, one a feature"),
            ({"time_limit": 0}, ValueError, "time limit is 0, expected whole ticks, at least 1"),
            ({"time_limit": 3, "horizon": 3}, ValueError, "horizon is 3 and time_limit 3, expected one of them"),
            ({"max_silence": 0.5}, ValueError, "max_silence is 0.5 s, expected at least a tick of 1 s"),
            ({"features": ["count()"]}, TrainingError, r"none of count\(\) is left to search"),
            ({"features": ["mean(z)"]}, DataError, "column 'z' does not exist"),
            ({"select": "best"}, ValueError, "select is 'best', expected one of streamrelief"),
            ({"resume": "."}, IsADirectoryError, "Is a directory"),
            ({"resume": "no/where.jsonl"}, FileNotFoundError, r"no/where\.jsonl"),
        ],
        ids=str,
    )
    def test_are_named(self, streams, options, error, message):
        with pytest.raises(error, match=message):
            kept(streams, **options)

    def test_many_features_are_not_exhausted(self, streams):
        names = [f"{kind}({column})" for kind in ("mean", "max", "min") for column in streams.columns]
        with pytest.raises(ValueError, match="there are 12 features to exhaust, expected at most 10"):
            kept(streams, features=names, strategy="exhaustive")

    @pytest.mark.parametrize("select", ["streamrelief", None])
    def test_many_features_of_a_few_channels_are_not_exhausted_either(self, streams, select):
        channels = ("a.level", "a.level@delta:0.5")
        names = [f"{kind}({c})" for kind in ("mean", "max", "min", "last", "range", "slope") for c in channels]
        with pytest.raises(ValueError, match="there are 12 features to exhaust, expected at most 10"):
            kept(streams, features=names, strategy="exhaustive", select=select)


def test_a_rare_class_that_only_the_test_has_is_refused_before_anything_is_fitted(streams, monkeypatch):
    monkeypatch.setattr(HeldOut, "curves", None)
    sites = np.arange(160) % 20
    labels = np.where(np.isin(sites, [3, 4]), "aaa", np.where(sites % 2, "a", "b"))
    recorded = StreamSet(streams.values, labels, streams.columns)
    seeds = [s for s in range(30) if refuses(recorded, sites, s)]
    assert seeds
    with pytest.raises(DataError, match=r"of 2 groups of class 'aaa' (none|1) is left to train on"):
        kept(recorded, groups=sites, seed=seeds[0])


def refuses(recorded, sites, seed):
    try:
        TrainTestSplit.of(recorded, sites, seed)
    except DataError:
        return True
    return False
