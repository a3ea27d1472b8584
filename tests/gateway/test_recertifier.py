"""A gateway certifies its model anew, in a process of its own."""

from time import monotonic, sleep

import numpy as np
import pytest
from helpers.promised import promised

from streamfs import Procedure
from streamfs.gateway.core.episode_recorder import EpisodeRecorder, LabelledEpisode
from streamfs.gateway.recertifier import OF_RISK, Recertifier

PROMISED = promised()
WAIT = 300.0  # seconds, for a machine under load


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Let other tests not be served before the process, which would then take minutes."""
    monkeypatch.setattr("streamfs.gateway.recertifier._NICE", 0)


def recorder_of(n, tells=1.0, number=1):
    """A recorder with a batch of episodes, whose classes the model tells apart, or not."""
    recorder, rng = EpisodeRecorder(PROMISED, n), np.random.default_rng(number)
    labels = ["on" if i % 2 else "off" for i in range(n)]
    recorder.batch = [
        LabelledEpisode(
            f"s{i}",
            1,
            label,
            [[float(t), *rng.normal(tells * (label == "on"), 0.1, 2).tolist()] for t in range(6)],
        )
        for i, label in enumerate(labels)
    ]
    recorder.number = number
    return recorder


def ended(recertifier, recorder):
    """Whether there is a new model file once the process has ended."""
    end = monotonic() + WAIT
    assert not recertifier.advance(recorder, PROMISED)
    while recertifier.is_running:
        if recertifier.advance(recorder, PROMISED):
            return True
        assert monotonic() < end
        sleep(0.05)
    return False


@pytest.mark.slow
def test_the_model_file_is_replaced_once_the_promise_is_certified(tmp_path, caplog):
    path = tmp_path / "model.streamfs"
    PROMISED.save(path)
    recertifier = Recertifier(path)
    assert not ended(recertifier, recorder_of(60, tells=0.0))
    assert Procedure.load(path).digest == PROMISED.digest
    assert "the model was not certified anew here: streamfs: " in caplog.text
    assert ended(recertifier, recorder_of(150, number=2))
    new = Procedure.load(path)
    assert new.about["promise"]["risk"] == pytest.approx(0.05 * OF_RISK / 4)
    assert new.about["recertified"][-1]["model"] == PROMISED.digest
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_process_ends_when_another_model_is_followed(tmp_path):
    path = tmp_path / "model.streamfs"
    PROMISED.save(path)
    recertifier = Recertifier(path)
    assert not recertifier.advance(None, PROMISED)
    assert not recertifier.advance(recorder_of(60), PROMISED)
    assert recertifier.is_running
    assert not recertifier.advance(None, PROMISED)
    assert not recertifier.is_running
    assert Procedure.load(path).digest == PROMISED.digest
