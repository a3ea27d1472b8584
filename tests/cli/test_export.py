"""`streamfs export`: files that compile, and a test that decides as streamfs does."""

import json
import subprocess

import numpy as np
import pytest
from helpers.random_models import random_procedure

from streamfs import StreamSet
from streamfs.cli.app import main


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
