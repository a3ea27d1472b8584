"""The demo, over the broker that pip installs."""

import orjson
import pytest

from streamfs import Procedure
from streamfs.cli.demo import run_demo


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    out = tmp_path_factory.mktemp("demo")
    return run_demo(out, n_pairs=8, profile_name="cc2420", seed=3, n_training_pairs=60), out


def test_the_demo_decides_over_mqtt_as_it_does_offline(result):
    figures, _ = result
    assert figures["same_decisions_offline"] == figures["pairs"] == 8
    assert figures["joules_spent"] < figures["joules_of_all_features_all_the_time"]


def test_the_demo_leaves_a_model_a_log_and_a_plot(result):
    figures, out = result
    assert Procedure.load(out / "model.streamfs").channels
    lines = [orjson.loads(line) for line in (out / "energy.jsonl").read_bytes().splitlines()]
    assert sum(line["kind"] == "decision" for line in lines) == 8
    assert lines[-1]["energy"] == figures["joules_spent"]
    assert (out / "demo.png").read_bytes().startswith(b"\x89PNG")
