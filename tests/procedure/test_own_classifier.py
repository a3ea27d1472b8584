"""A kind of classifier defined in this test: trained, saved, loaded, served, updated and described."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.own_classifier import Minimal, NearestMean, learn_nearest_mean
from helpers.procedures import labelled_streams
from helpers.records import Models, label, message, new_core, restored

from streamfs import Engine, Procedure, StreamSet, evaluate, tabulate, train
from streamfs.base import container
from streamfs.classifiers import kinds, register
from streamfs.errors import ModelError
from streamfs.evaluation.model_card import facts, markdown
from streamfs.gateway.core.bindings import Bindings
from streamfs.training import register_learner


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setattr(kinds, "_KINDS", dict(kinds._KINDS))
    monkeypatch.setattr("streamfs.training.models.OWN_LEARNERS", {})
    register(NearestMean)
    register_learner("nearest-mean", learn_nearest_mean)


@pytest.fixture
def streams():
    found = labelled_streams()
    return StreamSet(found.values, found.labels, ["level", "x", "noise", "y"])


@pytest.fixture
def procedure(streams):
    return train(
        streams, features=["mean(level)", "last(noise)"], select=None, classifier="nearest-mean", time_limit=9
    )


def test_it_is_trained_by_name_or_as_an_object(procedure, streams):
    names = [feature.name for feature in procedure.features]
    given = train(streams, features=names, select=None, classifier=learn_nearest_mean, time_limit=9)
    assert given.digest == procedure.digest
    table = tabulate(streams, procedure.features)
    np.testing.assert_array_equal(procedure.classifier.uncalibrated().means, learn_nearest_mean(table).means)
    with pytest.raises(ValueError, match="name is 'c45', expected one that is not taken"):
        register_learner("c45", learn_nearest_mean)


def test_it_is_saved_and_loaded(procedure, streams, tmp_path):
    procedure.save(tmp_path / "m.streamfs")
    loaded = Procedure.load(tmp_path / "m.streamfs")
    assert isinstance(loaded.classifier.uncalibrated(), NearestMean)
    assert loaded.digest == procedure.digest
    assert evaluate(loaded, streams).decisions == evaluate(procedure, streams).decisions
    assert evaluate(loaded, streams).completeness == 1.0


def test_its_header_is_validated(procedure, tmp_path):
    header, arrays, sealed = container.unpack(procedure.packed, "model", 1, "it")
    data = container.pack("model", 1, {**header, "base": {**header["base"], "sure": "very"}}, arrays, **sealed)
    (tmp_path / "m.streamfs").write_bytes(data)
    with pytest.raises(ModelError, match="sure is 'very', expected a number"):
        Procedure.load(tmp_path / "m.streamfs")


def test_a_kind_that_is_not_registered_is_refused_by_its_word(procedure, tmp_path, monkeypatch):
    procedure.save(tmp_path / "m.streamfs")
    monkeypatch.delitem(kinds._KINDS, "nearest-mean")
    with pytest.raises(ModelError, match="'nearest-mean', expected one of tree, forest, boosting, river"):
        Procedure.load(tmp_path / "m.streamfs")


def test_a_word_that_is_taken_is_refused():
    class Other(Minimal):
        word = "tree"

    with pytest.raises(ValueError, match="word is 'tree', expected one that is not taken"):
        register(Other)


def test_an_engine_serves_it_through_a_snapshot(procedure):
    engine = Engine(procedure)
    assert engine.push("s", 0.0, [0.0, np.nan]) is None
    engine = Engine.restore(procedure, engine.snapshot())
    assert engine.push("s", 1.0, [0.0, 0.0]).label == "calm"


def test_a_gateway_serves_it_trains_it_further_and_keeps_it_in_snapshots(procedure, tmp_path):
    procedure.save(tmp_path / "m.streamfs")
    core, _ = new_core(Models(procedure), Bindings.single(["level", "noise"], ["a"]), lateness=0.0)
    readings = [message("a", 0.0, 0.0, channel=channel) for channel in ("level", "noise")]
    decided = core.take([*readings, message("a", 5.0, 0.0, channel="level")]).decisions
    assert [decision.label for decision in decided] == ["calm"]
    core.take([label("a", "calm", 6.0)])
    assert core.counters["labels_learned"] == 1
    served = procedure.classifier.uncalibrated()
    assert served.counts.tolist() == [1.0, 2.0]
    fresh = Procedure.load(tmp_path / "m.streamfs")
    again = restored(core, Models(fresh))
    assert fresh.classifier.uncalibrated().counts.tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(fresh.classifier.uncalibrated().means, served.means)
    served.n_failures = 7
    assert (core.counters["classifier_failures"], again.counters["classifier_failures"]) == (7, 0)


def test_a_person_reads_it(procedure):
    plain = replace(procedure, classifier=procedure.classifier.uncalibrated())
    assert plain.text().splitlines()[-2].startswith("busy: {'mean(level)': ")
    assert facts(plain)["classifier"] == "the nearest of 2 class means"
    assert "Classified by the nearest of 2 class means, with calibrated confidence." in markdown(procedure)
