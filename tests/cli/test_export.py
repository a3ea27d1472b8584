"""`streamfs export`: files that compile, and a test that decides as streamfs does."""

import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from helpers.random_models import random_forest, random_procedure, random_tree

import feature_extractors as fx
from streamfs import Costs, Procedure, StreamSet
from streamfs.classifiers.tree import Tree
from streamfs.cli.app import main
from streamfs.procedure.split import split


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "rooms.streamfs"
    random_procedure(np.random.default_rng(3)).save(path)
    return path


@pytest.fixture
def recorded(tmp_path):
    values = np.random.default_rng(0).normal(1, 1, (30, 12, 2))
    values[values > 2.5] = np.nan
    path = tmp_path / "recorded.csv"
    StreamSet(values, ["t"] * 30, ("a", "b"), 0.5).write(path)
    return path


@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_test_of_an_exported_model_passes(tmp_path, model, recorded, precision, capsys):
    out = tmp_path / "c"
    options = ["-o", out, "--precision", precision, "--name", "rooms", "--json"]
    main(["export", *map(str, [model, recorded, *options])])
    found = json.loads(capsys.readouterr().out)
    assert {path.name for path in out.iterdir()} == {"rooms.h", "rooms.c", "self_test.c", "Makefile"}
    assert found["n_tests"] == 20
    strict = "-std=c99 -O1 -Wall -Wextra -Werror -pedantic"
    flags = f"CFLAGS={strict} -fsanitize=address,undefined -fno-sanitize-recover=all"
    made = subprocess.run(["make", "-C", out, flags, "test"], capture_output=True, text=True, check=False)  # noqa: S607
    assert "20 of 20 streams are decided as expected" in made.stdout, made.stderr


def test_a_split_model_sends_what_is_expected_and_its_gateway_decides_alike(tmp_path, recorded, capsys):
    model, out = tmp_path / "rooms.streamfs", tmp_path / "c"
    procedure = random_procedure(np.random.default_rng(3), random_forest(1, 5))
    procedure.save(model)
    main(["export", *map(str, [model, recorded, "-o", out, "--split", "crossings", "--name", "rooms"])])
    assert {path.name for path in out.iterdir()} == {
        "rooms.h",
        "rooms.c",
        "rooms_gateway.streamfs",
        "self_test.c",
        "Makefile",
    }
    strict = "-std=c99 -O1 -Wall -Wextra -Werror -pedantic"
    flags = f"CFLAGS={strict} -fsanitize=address,undefined -fno-sanitize-recover=all"
    made = subprocess.run(["make", "-C", out, flags, "test"], capture_output=True, text=True, check=False)  # noqa: S607
    assert "20 of 20 streams send what is expected" in made.stdout, made.stderr
    assert Procedure.load(out / "rooms_gateway.streamfs").digest == split(procedure).gateway.digest
    assert "messages    a stream: " in capsys.readouterr().err
    for options, why in (
        (["--target", "zephyr"], "--split is for --target c, not zephyr"),
        (["--exact"], "--exact is for models that decide on nodes, not for --split"),
        (["--split", "values", "--precision", "float"], "the test compares values to the bit"),
    ):
        with pytest.raises(SystemExit):
            main(["export", *map(str, [model, recorded, "-o", out, "--split", "crossings", *options])])
        assert why in capsys.readouterr().err


FOLDERS = {"arduino": "extras", "esphome": "test", "zephyr": "test"}
STUB = """
#include <cstdint>
#include <cmath>
#define A0 14
static unsigned long millis() { return 0; }
static int analogRead(int pin) { return pin; }
static struct { void begin(long) {} void println(const char *) {} } Serial;
"""


@pytest.mark.parametrize("target", FOLDERS)
def test_targets_in_c_pass_their_test(tmp_path, model, recorded, target):
    out = tmp_path / "node"
    main(["export", *map(str, [model, recorded, "-o", out, "--target", target, "--name", "rooms"])])
    command = ["make", "-C", out / FOLDERS[target], "test"]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "20 of 20 streams are decided as expected" in made.stdout, made.stderr


def test_the_example_for_arduino_compiles(tmp_path, model):
    main(["export", str(model), "-o", str(tmp_path), "--target", "arduino", "--name", "rooms"])
    sketch = (tmp_path / "examples/decide/decide.ino").read_text(encoding="utf-8")
    (tmp_path / "decide.cpp").write_text(STUB + sketch + "\nint main() { setup(); loop(); }\n", encoding="utf-8")
    strict = ["-std=c++11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", tmp_path / "src"]
    subprocess.run(["g++", *strict, tmp_path / "decide.cpp"], check=True)  # noqa: S607
    keys = dict(
        line.split("=") for line in (tmp_path / "library.properties").read_text(encoding="utf-8").split("\n")[:-1]
    )
    assert {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url"} <= {*keys}


@pytest.mark.parametrize("precision", ["double", "float"])
def test_the_test_in_plain_python_passes(tmp_path, model, recorded, precision):
    options = ["-o", tmp_path / "py", "--target", "micropython", "--precision", precision, "--name", "rooms"]
    main(["export", *map(str, [model, recorded, *options])])
    interpreters = filter(None, [sys.executable, shutil.which("micropython")])
    for interpreter in interpreters:
        run = subprocess.run(
            [interpreter, "self_test.py"], cwd=tmp_path / "py", capture_output=True, text=True, check=False
        )
        assert "20 of 20 streams are decided as expected" in run.stdout, run.stderr


@pytest.fixture
def close_call(tmp_path):
    """A model with a threshold of 0.1, and streams of this very reading, which single precision rounds upwards."""
    tree = random_tree(np.random.default_rng(0), 1, n_tests=1).to_json()
    tree |= {"feature": [0, -1, -1], "nominal": [False] * 3, "threshold": [0.1, 0.0, 0.0], "n_children": [2, 0, 0]}
    tree |= {"first_child": [1, 0, 0], "code": [0.0] * 3, "share": [1.0, 0.5, 0.5]}
    tree |= {"counts": [[50.0, 50.0, 0.0], [50.0, 0.0, 0.0], [0.0, 50.0, 0.0]]}
    features, costs = (fx.get("last(a)"),), Costs(np.ones(1))
    path, streams = tmp_path / "close.streamfs", tmp_path / "close.csv"
    Procedure(features, Tree.from_json(tree), tuple("tuv"), costs, 0.5, 9, 0.5).save(path)
    StreamSet(np.full((3, 12, 1), 0.1), ["t"] * 3, ("a",), 0.5).write(streams)
    return path, streams


def test_exact_refuses_other_decisions_and_states_them(tmp_path, close_call, capsys):
    with pytest.raises(SystemExit):
        main(["export", *map(str, close_call), "-o", str(tmp_path / "c"), "--precision", "float", "--exact"])
    said = " ".join(capsys.readouterr().err.split())
    assert (
        "in float precision 0 of 3 streams are decided as expected: stream 0: 1 after 1 ticks, expected 0" in said
    )
    assert not (tmp_path / "c").exists()
    main(["export", *map(str, close_call), "-o", str(tmp_path / "c"), "--exact", "--json"])
    assert json.loads(capsys.readouterr().out)["n_equal"] == 3


def test_resolutions_reach_the_model(tmp_path, model, capsys):
    def said(*options):
        with pytest.raises(SystemExit):
            main(["export", str(model), "-o", str(tmp_path / "c"), *options])
        return " ".join(capsys.readouterr().err.split())

    assert "a tree, but only forests have whole thresholds" in said("--resolution", "a=0.1")
    assert "--resolution is for targets in C" in said("--resolution", "a=0.1", "--target", "micropython")
    assert "'a=0', expected a column and a number above 0" in said("--resolution", "a=0")


def test_a_model_is_sized_before_it_is_built(model, capsys):
    main(["export", str(model), "--estimate", "--precision", "float", "--json"])
    found = {row["processor"]: row for row in json.loads(capsys.readouterr().out)["processors"]}
    assert {*found} == {"cortex-m0plus", "cortex-m4", "riscv32", "avr", "esp32"}
    assert all(500 < row["flash"] < 9000 and 50 < row["stack"] < 800 for row in found.values())
    assert all(1000 < row["cycles a tick"] < 100_000 for row in found.values())
    assert found["esp32"]["+-"] == found["esp32"]["+- of cycles"] == "not measured: as cortex-m4"
    assert found["cortex-m4"]["cycles a tick"] < found["cortex-m0plus"]["cycles a tick"]
    main(["export", str(model), "--estimate", "--precision", "float"])
    said = capsys.readouterr()
    assert "note: esp32 was not measured: as cortex-m4" in said.out + said.err
    assert "cortex-m0plus " in said.out


def test_without_streams_there_is_no_test(tmp_path, model, capsys):
    main(["export", str(model), "-o", str(tmp_path / "c")])
    assert {path.name for path in (tmp_path / "c").iterdir()} == {"model.h", "model.c"}
    assert "bytes a stream" in capsys.readouterr().err


def test_a_name_that_c_does_not_take_is_refused(tmp_path, model, capsys):
    with pytest.raises(SystemExit) as error:
        main(["export", str(model), "-o", str(tmp_path / "c"), "--name", "my-model"])
    assert error.value.code == 2
    assert "name is 'my-model', expected a letter" in capsys.readouterr().err
    assert not (tmp_path / "c").exists()
