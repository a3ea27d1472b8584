"""Whether what is learned of earlier streams holds of later ones."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs import StreamSet, train
from streamfs.cli.commands.held_out_text import held_out_warnings
from streamfs.errors import DataError
from streamfs.evaluation.model_card import markdown
from streamfs.training.later import division_at
from streamfs.training.promises import Promise
from streamfs.training.promises.promised import train_promised

FEATURES = ["count()", "mean(warm)", "last(warm)"]


def rooms(drift, n_streams=120):
    """An hour a stream, one after the other: a busy room is warmer, and the season drifts by so much in all."""
    rng = np.random.default_rng(0)
    is_busy = rng.permutation(n_streams) % 2
    levels = 20.0 + 2.0 * is_busy + np.linspace(0.0, drift, n_streams)
    values = rng.normal(levels[:, np.newaxis], 0.5, (n_streams, 20))
    streams = StreamSet(values[:, :, np.newaxis], np.where(is_busy, "busy", "calm"), ["warm"])
    return streams.starting(3600.0 * np.arange(n_streams))


def later_of(streams):
    return train(streams, features=FEATURES).about["held_out"].get("later")


def test_a_season_that_drifts_is_said():
    streams = rooms(drift=6.0)
    procedure = train(streams, features=FEATURES)
    later = procedure.about["held_out"]["later"]
    assert later["streams"] == 48
    assert later["right"] < 0.7 * 48 < 0.75 * 48 < later["mixed"]
    said = f"of the 48 latest streams {later['right'] / 48:.3f} are right if only earlier ones are learned"
    assert any(said in warning for warning in held_out_warnings(procedure.about["held_out"], None))
    assert said in markdown(procedure)
    assert later_of(streams.starting(None)) is None


def test_nothing_is_said_where_nothing_drifts_or_all_began_at_once():
    assert later_of(rooms(drift=0.0)) is None
    assert later_of(rooms(drift=6.0).starting(np.zeros(120))) is None


@given(st.lists(st.integers(0, 20), min_size=20, max_size=60), st.integers(0, 2**32 - 1))
def test_streams_of_one_time_are_on_one_side_and_each_class_on_both(times, seed):
    starts, labels = np.array(times, dtype=float), np.random.default_rng(seed).permutation(len(times)) % 2
    fold = division_at(starts, labels)
    if fold is not None:
        assert sorted([*fold.training, *fold.test]) == list(range(len(times)))
        assert starts[fold.training].max() < starts[fold.test].min()
        assert min(np.bincount(labels[side], minlength=2).min() for side in fold) >= 5
        assert len(fold.test) >= 0.4 * len(times) - 1
    starts[seed % len(starts)] = np.nan
    assert division_at(starts, labels) is None


def test_the_times_of_files_are_known_and_stay_with_streams(tmp_path):
    frame = pl.DataFrame(
        {
            "stream": np.repeat(["s0", "s1", "s2"], 2),
            "time": [100.0, 110.0, 500.0, 510.0, 300.0, 310.0],
            "label": np.repeat(["on", "off", "on"], 2),
            "x": np.arange(6.0),
        }
    )
    frame.write_csv(tmp_path / "streams.csv")
    for streams in (StreamSet.read(tmp_path / "streams.csv"), StreamSet.from_frame(frame)):
        assert streams.starts.tolist() == [100.0, 500.0, 300.0]
        assert streams.take([2, 0]).until(1).starts.tolist() == [300.0, 100.0]
    with pytest.raises(DataError, match="the start of stream s1 is inf"):
        streams.starting([0.0, np.inf, 1.0])


def test_a_promise_says_that_a_season_drifts():
    procedure = train_promised(rooms(2.0, n_streams=300), Promise(0.7), features=FEATURES, seed=1)
    later = procedure.about["promise"]["later"]
    assert later["right"] / later["streams"] < later["mixed"] / later["streams"] - 0.05
    assert f"of the {later['streams']} latest streams" in markdown(procedure)
