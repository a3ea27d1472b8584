"""A gateway's model has a promise: what it publishes of it, and when."""

from dataclasses import replace

import orjson
import pytest
from helpers.promised import PLAIN, promised
from helpers.records import Models, command, content, label, message, new_core, restored

from streamfs.gateway.core import feedback
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import model_record

PROMISED = promised()
OTHER = replace(PROMISED, time_limit=5)
MODELS = Models(PROMISED, PLAIN, OTHER)
TOPIC = "streamfs/promise/gateway"


def promises(effects):
    """Return what is published of the promise, in order; None where it is cleared."""
    found = [each for each in effects.publications if each.topic == TOPIC]
    assert all(each.retain for each in found)
    return [orjson.loads(each.payload) if each.payload else None for each in found]


@pytest.fixture
def core():
    core, effects = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0)
    assert promises(effects) == []
    return core


def decide(core, number):
    """Let a stream be decided, and return the effects."""
    ticks = range(10 * number, 10 * number + 7)
    sent = [message(f"n{number}", float(tick), 1.0, tick, channel) for tick in ticks for channel in "xy"]
    return core.take(sent)


def test_it_is_published_with_the_first_decision_and_when_it_changes(core):
    (first,) = promises(decide(core, 0))
    assert (first["status"], first["decisions"], first["model"]) == ("kept so far", 1, PROMISED.digest)
    found = [each for number in range(1, 40) for each in promises(decide(core, number))]
    assert [each["status"] for each in found[:1]] == ["in doubt"]
    n_findings = [len(each["findings"]) for each in found]
    assert n_findings == sorted(set(n_findings))
    assert n_findings[0] > 0
    withdrawn = [each for number in range(40) for each in promises(core.take([label(f"n{number}", "off")]))]
    assert [each["status"] for each in withdrawn] == ["in doubt", "withdrawn"]
    assert withdrawn[-1]["right"] == 0


def test_a_label_that_comes_twice_counts_once(core):
    decide(core, 0)
    for _ in range(3):
        core.take([label("n0", "off"), label("n0", b'{"label": "off", "episode": 1}'.decode())])
    assert core.feedback.monitor.n_labels == 1
    core = restored(core, MODELS)
    core.take([label("n0", "off")])
    assert core.feedback.monitor.n_labels == 1


def test_labels_of_many_streams_fill_no_snapshot(core, monkeypatch):
    monkeypatch.setattr(feedback, "MOST_LABELLED", 3)
    for number in range(6):
        decide(core, number)
        core.take([label(f"n{number}", "off")])
    (_, labelled, _), *_ = orjson.loads(core.feedback.to_state()["promise"])
    assert [*labelled] == ["n3", "n4", "n5"]


def test_it_goes_on_after_a_restart(core):
    for number in range(30):
        decide(core, number)
        core.take([label(f"n{number}", "on" if number % 2 else "off")])
        core = restored(core, MODELS)
    whole, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0)
    for number in range(30):
        decide(whole, number)
        whole.take([label(f"n{number}", "on" if number % 2 else "off")])
    assert content(core) == content(whole)


def withdraw(core):
    """Label what is decided, until the promise is withdrawn; return what is published of the next decision."""
    for number in range(30):
        decide(core, number)
        core.take([label(f"n{number}", "off")])
    assert core.feedback.is_withdrawn
    core = restored(core, MODELS)
    return core, next(
        orjson.loads(each.payload)
        for each in decide(core, 30).publications
        if each.topic == "streamfs/decision/n30"
    )


@pytest.mark.parametrize(("what", "given"), [("mark", ("on", "confident")), ("no_label", (None, "withdrawn"))])
def test_decisions_are_marked_after_a_withdrawal_and_may_have_no_label(what, given):
    core, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0, on_withdrawal=what)
    core, decision = withdraw(core)
    assert (decision["label"], decision["reason"]) == given
    assert decision["promise"] == "withdrawn"
    assert core.successor() is None
    assert core.feedback.monitor.to_json()["decisions"] == 31


def test_the_threshold_is_raised_after_a_withdrawal_and_labels_are_tested_anew():
    core, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0, on_withdrawal="raise", raised_to=0.95)
    assert core.successor() is None
    core, _ = withdraw(core)
    successor = core.successor()
    assert (successor.confidence, successor.rule.levels) == (0.95, (0.95,))
    both = Models(PROMISED, successor)
    core = restored(core, both)
    (published,) = promises(core.take([model_record(successor.digest, 999.0)]))
    assert (published["status"], published["promised"]) == ("kept so far", {"accuracy": 0.8})
    for number in range(31, 70):
        decide(core, number)
        core.take([label(f"n{number}", "off")])
    assert core.feedback.is_withdrawn
    assert core.successor() is None  # there is nothing higher


def test_the_previous_model_is_gone_back_to_and_a_promise_stays_withdrawn():
    core, _ = new_core(
        Models(OTHER, PROMISED), Bindings.single(["x", "y"]), lateness=0.0, on_withdrawal="previous"
    )
    core.take([model_record(PROMISED.digest, 0.0)])
    assert set(core.models_in_use) == {PROMISED.digest, OTHER.digest}
    core, _ = withdraw(core)
    assert core.successor() is OTHER
    core.take([model_record(OTHER.digest, 999.0)])
    core = restored(core, MODELS)
    assert (core.procedure, core.successor()) == (OTHER, None)
    (again,) = promises(core.take([model_record(PROMISED.digest, 999.0)]))
    assert again["status"] == "withdrawn"


def wanted(effects):
    """Return what is published of labels that are wanted: streams, and whether they are."""
    found = [each for each in effects.publications if each.topic.startswith("streamfs/label-wanted/")]
    return [(each.topic.removeprefix("streamfs/label-wanted/"), bool(each.payload)) for each in found]


@pytest.mark.parametrize("next_has_begun", [False, True])
def test_labels_are_asked_for_and_no_others_count(next_has_begun):
    """They may be answered when the next episode of the stream has begun."""
    core, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0, labels_wanted=0.5)
    asked = [each for number in range(20) for each in wanted(decide(core, number))]
    assert 0 < len(asked) < 20
    if next_has_begun:
        core.take([command({"reopen": "*"})])
    core = restored(core, MODELS)
    for number in range(20):
        answered = wanted(core.take([label(f"n{number}", "off")]))
        assert answered == ([(f"n{number}", False)] if (f"n{number}", True) in asked else [])
    monitor = core.feedback.monitor
    assert (monitor.n_labels, monitor.wanted) == (len(asked), ())
    assert monitor.to_json()["accuracy"] < 0.5
    assert core.feedback.is_withdrawn
    request = next(each for number in range(30, 60) for each in wanted(decide(core, number)))
    cleared = wanted(core.take([model_record(OTHER.digest, 999.0)]))
    assert (request[0], False) in cleared


def test_a_room_has_its_promise_withdrawn_alone():
    core, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0, groups="^n[0-9]")
    for number in range(20):
        for stream, is_on in ((100 + number, False), *((200 + 4 * number + i, True) for i in range(4))):
            decide(core, stream)
            core.take([label(f"n{stream}", "on" if is_on else "off")])
        core = restored(core, MODELS)
    effects = [each for number in (150, 350) for each in decide(core, number).publications]
    made = [orjson.loads(each.payload) for each in effects if "/decision/" in each.topic]
    assert [each.get("promise") for each in made] == ["withdrawn", None]
    assert not core.feedback.is_withdrawn


def test_another_model_has_its_own_and_one_without_clears_it(core):
    decide(core, 0)
    (other,) = promises(core.take([model_record(OTHER.digest, 9.0)]))
    assert (other["model"], other["decisions"]) == (OTHER.digest, 0)
    assert promises(core.take([model_record(PLAIN.digest, 9.0)])) == [None]
    assert promises(decide(core, 1)) == []
    assert core.feedback.monitor is None
