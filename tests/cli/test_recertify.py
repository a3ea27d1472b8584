"""The command that certifies a model anew."""

import numpy as np
import orjson
import pytest
from click.testing import CliRunner

from streamfs import Procedure, Promise, StreamSet, train_promised
from streamfs.cli.app import cli


def recorded(seed, level=0.0, n=120):
    labels = np.resize(["calm", "busy"], n)
    levels = level + 2.0 * (labels == "busy")
    values = np.random.default_rng(seed).normal(levels[:, None, None], 1.0, (n, 6, 1))
    return StreamSet(values, labels, ["noise"])


@pytest.fixture
def folder(tmp_path):
    train_promised(recorded(0), Promise(0.8), features=["mean(noise)"], n_jobs=1).save(tmp_path / "old.streamfs")
    recorded(1, level=3.0).write(tmp_path / "there.csv")
    recorded(1, level=3.0, n=20).write(tmp_path / "few.csv")
    return tmp_path


def recertify(folder, streams, *options):
    words = ["recertify", str(folder / "old.streamfs"), str(folder / streams), "-o", str(folder / "new.streamfs")]
    return CliRunner().invoke(cli, [*words, *options])


def test_a_model_is_certified_anew_and_says_how_many_streams_that_takes(folder):
    result = recertify(folder, "there.csv", "--json")
    assert result.exit_code == 0, result.stderr
    assert "an accuracy of 0.8 takes at least 35 labelled streams, and about 205 if 0.9 of the" in result.stderr
    assert "new.streamfs, with another classifier" in result.stderr
    assert orjson.loads(result.stdout)["promise"]["accuracy"] == 0.8
    assert len(Procedure.load(folder / "new.streamfs").about["recertified"]) == 1


def test_it_is_refused_with_the_figures(folder):
    result = recertify(folder, "there.csv", "--no-retrain")
    assert result.exit_code == 1
    assert "cannot be promised" in str(result.exception)
    assert "thresholds on the test streams" in result.output
    assert "of 20 streams 8 are left for the test" in str(recertify(folder, "few.csv").exception)
    (folder / "days.csv").write_text("stream,group\n" + "".join(f"stream-{i},day {i // 30}\n" for i in range(120)))
    assert "there are 4 groups, expected at least 10" in str(
        recertify(folder, "there.csv", "--groups", str(folder / "days.csv")).exception
    )
    assert not (folder / "new.streamfs").exists()


def test_options_of_a_promise_need_one(folder):
    assert "--completeness needs --promise" in recertify(folder, "there.csv", "--completeness", "0.9").stderr
