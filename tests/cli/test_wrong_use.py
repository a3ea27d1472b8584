"""Errors of a file or a caller are reported in words: the value, its place, and what was expected."""

import sys

import numpy as np
import pytest
from helpers.procedures import channels_procedure, labelled_streams

from streamfs import Procedure, evaluate, train
from streamfs.base import container
from streamfs.cli.demo import run_demo
from streamfs.errors import MissingExtraError, ModelError
from streamfs.evaluation.evaluation import replay
from streamfs.procedure.procedure import KIND, OLDEST, VERSION
from streamfs.relief import Relief, ReliefF


@pytest.fixture
def rewritten(tmp_path):
    """Return a function that rewrites a model with a changed header and arrays, and loads it."""

    def rewrite(change):
        path = tmp_path / "m.streamfs"
        channels_procedure("x").save(path)
        header, arrays, sealed = container.unpack(path.read_bytes(), KIND, VERSION, "m", OLDEST)
        header = change(header, arrays) or header
        path.write_bytes(container.pack(KIND, VERSION, header, arrays, **sealed))
        return Procedure.load(path)

    return rewrite


def test_a_rewritten_model_is_loaded(rewritten):
    assert rewritten(lambda _header, _arrays: None).channels == ("x",)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("features", None, "features is None, expected a list of texts"),
        ("features", [1], "features holds 1, expected a text"),
        ("classes", 7, "classes is 7, expected a list of texts"),
        ("classes", [1, 2], "classes holds 1, expected a text"),
        ("classes", ["on", "on"], "class 'on' is there twice, expected each once"),
        ("classes", ["on", ""], "class 2 is '', expected a text that is not empty"),
        (
            "classifier",
            "bush",
            "classifier is 'bush', expected one of tree, forest, boosting, river, river-frozen",
        ),
        ("laplace", "yes", "laplace is 'yes', expected true or false"),
        ("confidence", "high", "confidence is 'high', expected a number"),
        ("time_limit", 2.5, "time_limit is 2.5, expected a whole number of ticks"),
        ("time_limit", True, "time_limit is True, expected a whole number of ticks"),
        ("time_limit", 2**53 + 1, "time limit is 9007199254740993, expected 1 to"),
        ("period", [], r"period is \[\], expected a number of seconds"),
        ("max_silence", "long", "max_silence is 'long', expected a number of seconds, or null"),
        ("about", 3, "about is 3, expected an object"),
    ],
)
def test_a_header_with_a_wrong_field_is_refused_with_the_file(rewritten, field, value, message):
    with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: {message}"):
        rewritten(lambda header, _arrays: header.update({field: value}))


@pytest.mark.parametrize(
    "field", ["features", "classes", "classifier", "laplace", "confidence", "period", "about"]
)
def test_a_header_that_lacks_a_field_is_refused_with_the_file(rewritten, field):
    with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: {field} is missing, expected"):
        rewritten(lambda header, _arrays: header.pop(field) and None)


@pytest.mark.parametrize("name", ["tree.counts", "tree.feature", "costs.each", "costs.weights"])
def test_a_model_that_lacks_an_array_is_refused_with_the_file(rewritten, name):
    with pytest.raises(ModelError, match=rf"m\.streamfs is damaged: {name} is missing"):
        rewritten(lambda _header, arrays: arrays.pop(name) is None or None)


def test_a_header_that_is_not_an_object_is_refused_with_the_file(rewritten):
    with pytest.raises(ModelError, match=r"m\.streamfs is damaged: its header is \[1\], expected an object"):
        rewritten(lambda _header, _arrays: [1])


def test_a_feature_is_in_a_procedure_once():
    once = channels_procedure("x", "y")
    with pytest.raises(ValueError, match=r"feature '.*' is there twice"):
        Procedure(once.features[:1] * 2, once.classifier, once.classes, once.costs, 0.9, 5)


@pytest.mark.parametrize("streams", ["streams.csv", None])
def test_an_argument_that_is_not_streams_is_refused_with_a_hint(streams):
    for work in (train, lambda given: evaluate(channels_procedure("x"), given)):
        with pytest.raises(TypeError, match=r"expected a StreamSet, such as StreamSet\.read\('streams\.csv'\)"):
            work(streams)


def test_an_argument_that_is_not_a_procedure_is_refused_with_a_hint():
    for work in (evaluate, lambda *given: next(replay(*given))):
        with pytest.raises(TypeError, match=r"procedure is 'm\.streamfs', expected a Procedure, such as Proc"):
            work("m.streamfs", labelled_streams(8, 4))


@pytest.mark.parametrize(
    ("features", "error", "message"),
    [
        ("mean(a)", TypeError, r"features is 'mean\(a\)', expected a sequence of features: \['mean\(a\)'\]"),
        ([3], TypeError, "features holds 3, expected features or their names"),
        (["mean(x)", "mean(x)"], ValueError, r"feature 'mean\(x\)' is there twice"),
    ],
)
def test_features_are_a_sequence_of_distinct_features(features, error, message):
    with pytest.raises(error, match=message):
        train(labelled_streams(8, 4), features=features, select="streamrelief")


@pytest.mark.parametrize("relief", [Relief, ReliefF])
def test_relief_refuses_numbers_that_are_not_classes(relief):
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        relief().fit(rng.normal(size=(20, 2)), rng.normal(size=20))


@pytest.mark.parametrize("package", ["iotcore", "matplotlib"])
def test_the_demo_without_its_extra_says_so_before_any_work(tmp_path, monkeypatch, package):
    for name in [
        name for name in sys.modules if name.partition(".")[0] == package or name == "streamfs.experiments.plots"
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delattr("streamfs.experiments.plots", raising=False)
    with pytest.raises(MissingExtraError, match=f"{package} is not installed"):
        run_demo(tmp_path / "demo", n_pairs=2, profile_name="cc2420", seed=0)
    assert not (tmp_path / "demo").exists()
