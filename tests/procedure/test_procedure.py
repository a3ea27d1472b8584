"""The model file: round trips, damage, trust."""

import pickle
import re
from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import labelled_streams, mean_procedure
from hypothesis import given
from hypothesis import strategies as st
from river.naive_bayes import GaussianNB

from streamfs import Costs, Procedure, evaluate, train
from streamfs.base import container
from streamfs.errors import ModelError, StreamfsError

NAN = float("nan")


@pytest.fixture(scope="module")
def streams():
    return labelled_streams()


@pytest.fixture(scope="module")
def tree(streams):
    return train(streams, confidence=0.8, n_features=3, seed=2, select="streamrelief")


@pytest.fixture(scope="module")
def river(streams):
    return train(streams, confidence=0.8, n_features=3, model=GaussianNB(), seed=2, select="streamrelief")


def test_a_saved_tree_decides_alike(tree, streams, tmp_path):
    tree.save(tmp_path / "m.streamfs")
    loaded = Procedure.load(tmp_path / "m.streamfs")
    assert loaded.digest == tree.digest
    assert loaded.text() == tree.text()
    assert evaluate(loaded, streams).decisions == evaluate(tree, streams).decisions


def test_a_river_model_is_unpickled_only_on_trust(river, streams, tmp_path):
    path = tmp_path / "m.streamfs"
    river.save(path)
    with pytest.raises(ModelError, match="trust=True"):
        Procedure.load(path)
    loaded = Procedure.load(path, trust=True)
    assert loaded.digest == river.digest
    assert evaluate(loaded, streams).decisions == evaluate(river, streams).decisions


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("a pickle in an array was loaded",))


def test_no_array_is_unpickled(tree, tmp_path):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    arrays["costs.each"] = np.array([Bomb()], dtype=object)
    with pytest.raises(ValueError, match="Object arrays"):
        container.pack("model", 1, header, arrays)
    data = container.pack("model", 1, header, {}, **{"costs.each.npy": pickle.dumps(Bomb())})
    (tmp_path / "bomb.streamfs").write_bytes(data)
    with pytest.raises(ModelError):
        Procedure.load(tmp_path / "bomb.streamfs", trust=True)


@given(st.data())
def test_a_damaged_model_is_a_clear_error(tree, tmp_path_factory, data):
    packed = bytearray(tree.packed)
    path = tmp_path_factory.mktemp("models") / "m.streamfs"
    if data.draw(st.booleans()):
        packed = packed[: data.draw(st.integers(0, len(packed) - 1))]
    else:
        packed[data.draw(st.integers(0, len(packed) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(packed)
    with pytest.raises(ModelError, match=re.escape(str(path))):
        Procedure.load(path)


@pytest.mark.parametrize(
    "change", [{"features": ["mean(a"]}, {"classes": ["one"]}, {"features": [1]}, {"time_limit": 0}, {"about": 3}]
)
def test_a_header_that_does_not_fit_is_refused(tree, tmp_path, change):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    (tmp_path / "m.streamfs").write_bytes(container.pack("model", 1, {**header, **change}, arrays))
    with pytest.raises(ModelError, match=r"m\.streamfs is damaged|the tree"):
        Procedure.load(tmp_path / "m.streamfs")


def test_other_files_are_refused(tmp_path, tree):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    for name, data, message in (
        ("text", b"stream,time\n", "not a streamfs model"),
        ("zip", container.pack("model", 1, {}, {})[60:], "not a streamfs model"),
        ("empty", b"", "not a streamfs model"),
        ("kind", container.pack("snapshot", 1, header, arrays), "not a streamfs model"),
        ("version", container.pack("model", 99, header, arrays), "version 99"),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ModelError, match=message):
            Procedure.load(tmp_path / name)
    with pytest.raises(StreamfsError, match="cannot be read"):
        Procedure.load(tmp_path / "nothing")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 0.0}, "confidence is 0"),
        ({"time_limit": 0}, "time limit is 0"),
        ({"time_limit": 2**63}, "time limit is 9223372036854775808, expected 1 to 9007199254740992 ticks"),
        ({"time_limit": 1e300}, r"time limit is 1e\+300"),
        ({"time_limit": NAN}, "time limit is nan"),
        ({"period": -1.0}, "period"),
    ],
)
def test_a_procedure_names_what_is_out_of_range(change, message):
    with pytest.raises(ValueError, match=message):
        mean_procedure(**change)


def test_the_numbers_of_numpy_are_welcome(tmp_path):
    procedure = mean_procedure(time_limit=np.int64(3), period=np.float32(2.0)).with_confidence(np.float64(0.8))
    procedure.save(tmp_path / "m.streamfs")
    assert Procedure.load(tmp_path / "m.streamfs").digest == procedure.digest


def test_a_classifier_of_other_sizes_is_refused():
    whole = mean_procedure()
    with pytest.raises(ValueError, match="knows 2 classes"):
        replace(whole, classes=("only",))
    with pytest.raises(ValueError, match="tests feature 0"):
        replace(whole, features=(), costs=Costs([]))
    with pytest.raises(ValueError, match=r"time limit is 2\.5"):
        replace(whole, time_limit=2.5)


def test_two_saves_are_equal_bytes(tree, tmp_path):
    for name in ("one", "two"):
        tree.save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
