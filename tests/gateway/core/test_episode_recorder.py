"""A withdrawn promise, and the labelled episodes by which the model may be certified anew."""

from dataclasses import replace

import numpy as np
from helpers.promised import PROMISE, promised
from helpers.records import Models, content, label, message, new_core, restored

from streamfs import StreamSet
from streamfs.evaluation.evaluation import replay
from streamfs.gateway.core import episode_recorder
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import model_record, start_record
from streamfs.gateway.recertifier import write_episodes
from streamfs.procedure.stopping import TickThresholds

PROMISED = promised()
N = 35


def streams_of(number, n_ticks=6):
    """The readings of a stream of its own."""
    return np.random.default_rng(number).normal(number % 2, 0.2, (n_ticks, 2))


def follow(core, number, n_ticks=6):
    """Let a stream be followed, and return the effects."""
    values = streams_of(number, n_ticks)
    ticks = range(10 * number, 10 * number + n_ticks)
    sent = [
        message(f"n{number}", float(tick), value, tick, channel)
        for tick, both in zip(ticks, values.tolist(), strict=True)
        for channel, value in zip("xy", both, strict=True)
    ]
    return core.take([*sent, message(f"n{number}", 10.0 * number + n_ticks, 0.0, None, "x")])


def withdrawn(procedure=PROMISED, **options):
    """A core whose promise was withdrawn, and that follows the successor; and the models."""
    options = {"on_withdrawal": "recertify", "recertify_after": N, **options}
    core, _ = new_core(Models(procedure), Bindings.single(["x", "y"]), lateness=0.0, **options)
    for number in range(1, 60, 2):
        follow(core, number)
        core.take([label(f"n{number}", "off")])
    assert core.feedback.recorder is None
    successor = core.successor()
    models = Models(procedure, successor)
    core = restored(core, models)
    core.take([model_record(successor.digest, 999.0)])
    return core, models


def test_episodes_are_recorded_whole_as_the_model_saw_them(tmp_path):
    core, _ = withdrawn()
    for number in range(100, 100 + N):
        follow(core, number)
        core.take([label(f"n{number}", "on" if number % 2 else "off")])
    recorder = core.feedback.recorder
    assert (recorder.number, len(recorder.batch)) == (1, N)
    write_episodes(recorder.batch, core.procedure, tmp_path / "episodes.csv")
    streams = StreamSet.read(tmp_path / "episodes.csv")
    assert streams.columns == ("x", "y")
    for name, values, found in zip(streams.names, streams.values, streams.labels, strict=True):
        number = int(name[1:].partition("/")[0])
        np.testing.assert_array_equal(values, streams_of(number))
        assert found == ("on" if number % 2 else "off")
    assert {decision.label for decision in replay(PROMISED, streams)} == {"on", None}


def test_what_is_recorded_survives_restarts():
    core, models = withdrawn()
    whole, _ = withdrawn()
    for number in range(100, 120):
        for each in (core, whole):
            follow(each, number)
        core = restored(core, models)
        for each in (core, whole):
            each.take([label(f"n{number}", "on")])
    assert content(core) == content(whole)
    core.take([start_record(PROMISED.digest, 2000.0)])  # the model file is still the same
    assert core.feedback.recorder is None
    core.take([model_record(core.successor().digest, 2000.0)])
    for number in range(200, 200 + N - 20):
        follow(core, number)
        core.take([label(f"n{number}", "on")])
    assert core.feedback.recorder.number == 1


def test_of_an_episode_that_had_begun_and_of_one_that_is_labelled_twice_nothing_more_is_kept(monkeypatch):
    core, _ = withdrawn()
    follow(core, 100)
    for text in ("on", "off"):
        core.take([label("n100", text)])
    state = core.feedback.recorder.to_state()
    assert [each[2] for each in state["labelled"]] == ["on"]
    monkeypatch.setattr(episode_recorder, "MOST", 3)
    for number in range(101, 110):
        follow(core, number)
    assert list(core.feedback.recorder.to_state()["decided"]) == ["n107", "n108", "n109"]


def test_models_that_give_up_and_other_withdrawals_are_not_recorded():
    rule = TickThresholds.since(1, 0.9, 5, 0.3)
    facts = {**PROMISE, "start": 1, "patience": 5, "floor": 0.3}
    core, _ = withdrawn(replace(promised(facts), stopping=rule))
    assert core.feedback.recorder is None
    core, _ = withdrawn(on_withdrawal="raise")
    assert core.feedback.recorder is None
