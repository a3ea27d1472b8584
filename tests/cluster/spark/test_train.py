"""Training with Spark's tasks gives what training in one process gives, to the bit."""

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.procedures import labelled_streams
from numpy.testing import assert_array_equal

import feature_extractors as fx
from streamfs import StreamRelief, tabulate
from streamfs.base.workers import working_with
from streamfs.cli.app import cli
from streamfs.cluster.spark import workers
from streamfs.cluster.spark.tables import tabulate_files
from streamfs.cluster.spark.workers import SparkWorkers
from streamfs.cluster.tables import Tabulation
from streamfs.data import feature_table
from streamfs.relief import neighbours

FEATURES = ("mean(a.level)", "slope(a.level)", "variance(b.level)", "count()")


def test_tables_and_weights_are_those_of_one_process(spark, monkeypatch):
    monkeypatch.setattr(neighbours, "FEW_PAIRS", 0)
    monkeypatch.setattr(feature_table, "PART_BYTES", 5000)
    streams = labelled_streams(200, 12, gaps=0.1)
    features = [*map(fx.get, FEATURES)]
    whole = tabulate(streams, features)
    weighed = StreamRelief().fit(whole)
    with working_with(SparkWorkers(spark)):
        found = tabulate(streams, features)
        assert_array_equal(found.values, whole.values)
        assert_array_equal(StreamRelief().fit(found).weights_, weighed.weights_)


def test_files_are_tabulated_as_in_one_process(spark, tmp_path):
    streams = labelled_streams(60, 12, gaps=0.1)
    features = tuple(map(fx.get, FEATURES))
    whole = tabulate(streams, features)
    rows = streams.to_frame()
    for number in range(4):  # each file has a part of every stream
        rows[number::4].write_parquet(tmp_path / f"{number}.parquet")
    names, table = tabulate_files(spark, tmp_path, Tabulation(features, 1.0))
    assert names == list(streams.names)
    assert_array_equal(table.values, whole.values)


def test_a_function_is_sent_once_and_parts_stay_in_order(spark, monkeypatch):
    monkeypatch.setattr(workers, "AT_ONCE", 1)
    hosts, table = SparkWorkers(spark), np.arange(9.0)
    function = table.__getitem__
    assert [*hosts.map(function, range(9))] == table.tolist()
    sent = hosts._sent[1]
    assert [*hosts.map(function, [])] == []
    assert [*hosts.map(function, [4, 2])] == [4.0, 2.0]
    assert hosts._sent[1] is sent
    with pytest.raises(Exception, match="index 9 is out of bounds"):
        [*hosts.map(function, [9])]


@pytest.mark.usefixtures("spark")
def test_the_command_writes_the_model_that_training_here_writes(tmp_path):
    labelled_streams(160, 8).write(tmp_path / "pairs.parquet")
    options = ["--promise", "0.8", "--classifier", "extra-trees", "--as-offered"]
    options += [word for name in FEATURES for word in ("--feature", name)]
    for command in (["train"], ["cluster", "train"]):
        out = tmp_path / f"{len(command)}.streamfs"
        words = [*command, str(tmp_path / "pairs.parquet"), "-o", str(out), *options]
        result = CliRunner().invoke(cli, words, catch_exceptions=False)
        assert result.exit_code == 0, result.output
    assert (tmp_path / "1.streamfs").read_bytes() == (tmp_path / "2.streamfs").read_bytes()
