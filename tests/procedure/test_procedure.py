"""The model file: round trips, damage, trust."""

import hashlib
import io
import pickle
import re
import tracemalloc
import zipfile
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
from helpers.procedures import channels_procedure, labelled_streams, mean_procedure
from hypothesis import given
from hypothesis import strategies as st
from river.naive_bayes import GaussianNB
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from skops.io import dumps

from streamfs import Costs, Procedure, evaluate, train
from streamfs.base import container
from streamfs.classifiers import skops_files
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
    return train(streams, confidence=0.8, n_features=3, classifier=GaussianNB(), seed=2, select="streamrelief")


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


def test_a_model_of_scikit_learn_needs_trust_only_where_skops_does(streams, tmp_path, monkeypatch):
    models = make_pipeline(SimpleImputer(), LogisticRegression()), DecisionTreeClassifier()
    kept, pickled = (train(streams, features=["mean(a.level)"], classifier=model) for model in models)
    assert replace(kept).digest == kept.digest
    kept.save(tmp_path / "m.streamfs")
    assert (
        evaluate(Procedure.load(tmp_path / "m.streamfs"), streams).decisions == evaluate(kept, streams).decisions
    )
    with pytest.raises(ModelError, match="holds a pickled scikit-learn model"):
        Procedure.from_packed(pickled.packed)
    header, arrays, sealed = container.unpack(kept.packed, "model", 2, "it")
    part = sealed["calibrated.skops"]
    size = sum(member.file_size for member in zipfile.ZipFile(io.BytesIO(part)).infolist())
    monkeypatch.setattr(skops_files, "LARGEST", size - 1)
    for wrong, message in (
        ({"calibrated.pickle": pickle.dumps(Bomb())}, "it has no model that skops has packed"),
        ({"calibrated.skops": part[:-9]}, "cannot be restored: File is not a zip file"),
        (
            {"calibrated.skops": dumps(models[1].fit([[0.0], [1.0]], ["a", "b"]))},
            r"Untrusted types .*'sklearn\.tree\._tree\.Tree'",
        ),
        ({"calibrated.skops": dumps(StandardScaler())}, "the packed model is a StandardScaler, expected a scikit"),
        ({"calibrated.skops": part}, f"unpacks to {size} bytes, expected at most {size - 1}"),
    ):
        with pytest.raises(ModelError, match=message):
            Procedure.from_packed(container.pack("model", 2, header, arrays, **wrong))


def test_no_array_is_unpickled(tree, tmp_path):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    arrays["costs.each"] = np.array([Bomb()], dtype=object)
    with pytest.raises(ValueError, match="an array has dtype object"):
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


def rezipped(packed, change):
    """A model file with a right checksum, of which `change` has altered the archive."""
    line, _, content = packed.partition(b"\n")
    content = bytes(change(bytearray(content)))
    digest = hashlib.sha256(content).hexdigest().encode()
    return b" ".join([*line.split(b" ")[:3], digest]) + b"\n" + content


def in_directory(place, value):
    """Set two bytes of every entry of an archive's directory."""

    def change(content):
        at = content.find(b"PK\x01\x02")
        while at >= 0:
            content[at + place : at + place + 2] = value.to_bytes(2, "little")
            at = content.find(b"PK\x01\x02", at + 4)
        return content

    return change


def bomb(n_bytes):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("header.json", "w") as file:
        for _ in range(n_bytes >> 20):
            file.write(bytes(1 << 20))
    return bytearray(buffer.getvalue())


def with_false_size(content):
    """Say of the first member that it unpacks to ten bytes."""
    at = content.find(b"PK\x01\x02") + 24
    content[at : at + 4] = (10).to_bytes(4, "little")
    return content


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (in_directory(8, 1), "encrypted, or compressed in a way that is not used here"),
        (in_directory(10, 99), "encrypted, or compressed in a way that is not used here"),
        (lambda _: bomb(2**28 + 2**20), "unpacks to 269484032 bytes, expected at most 268435456"),
        (lambda _: with_false_size(bomb(2**27)), "is damaged"),
    ],
    ids=["encrypted", "method", "bomb", "false size"],
)
def test_a_crafted_archive_is_refused_and_takes_no_memory(tree, tmp_path, change, message):
    (tmp_path / "m.streamfs").write_bytes(rezipped(tree.packed, change))
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match=message):
            Procedure.load(tmp_path / "m.streamfs")
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@given(st.data())
def test_crafted_bytes_of_an_array_give_a_model_error_or_a_model(tree, tmp_path_factory, data):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    name = data.draw(st.sampled_from(sorted(arrays)))
    part = io.BytesIO()
    np.lib.format.write_array(part, arrays.pop(name))
    content = bytearray(part.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.mktemp("models") / "m.streamfs"
    path.write_bytes(container.pack("model", 1, header, arrays, **{f"{name}.npy": bytes(content)}))
    with suppress(ModelError):
        Procedure.load(path)


@pytest.mark.parametrize("shape", ["(10000000000,)", "(0, 10000000000000)", "(" * 2000])
def test_an_array_has_no_more_values_than_bytes(tree, tmp_path, shape):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    del arrays["costs.each"]
    head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    part = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head
    path = tmp_path / "m.streamfs"
    path.write_bytes(container.pack("model", 1, header, arrays, **{"costs.each.npy": part}))
    with pytest.raises(ModelError, match=r"m\.streamfs is damaged"):
        Procedure.load(path)


@pytest.mark.parametrize(
    "change",
    [{"classes": ["\x1b[31mon", "off"]}, {"about": {"streamfs": "\x1b]0;x\x07"}}, {"about": {"\x9b": [1]}}],
)
def test_escape_sequences_are_refused(tree, tmp_path, change):
    header, arrays, _ = container.unpack(tree.packed, "model", 1, "it")
    (tmp_path / "m.streamfs").write_bytes(container.pack("model", 1, {**header, **change}, arrays))
    with pytest.raises(ModelError, match="expected no control characters"):
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


def test_a_silence_that_cannot_be_counted_is_refused():
    with pytest.raises(ValueError, match=r"max_silence is 1e\+19 s, expected at most 9\.0072e\+15 s"):
        channels_procedure("x", max_silence=1e19)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"confidence": 0.0}, "confidence is 0"),
        ({"time_limit": 0}, "time limit is 0"),
        ({"time_limit": 2**63}, "time limit is 9223372036854775808, expected 1 to 9007199254740992 ticks"),
        ({"time_limit": 1e300}, r"time limit is 1e\+300"),
        ({"time_limit": NAN}, "time limit is nan"),
        ({"period": -1.0}, r"period is -1\.0, expected 1e-06 to 1e\+09 seconds"),
        ({"period": 1e308}, r"period is 1e\+308, expected 1e-06 to 1e\+09 seconds"),
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
