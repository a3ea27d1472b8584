"""Messages that come again: dropped before they are logged, if they are known, and nothing else is."""

import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, message, new_core, raw, restored
from helpers.stories import BINDINGS, CASES, story_of
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.records import MESSAGE
from streamfs.gateway.redeliveries import LONGEST, N_NEW, Redeliveries

MODELS = Models(channels_procedure("x", "y"))
ANY = Bindings.single(["x", "y"])


def begun(bindings=ANY, **options):
    core, _ = new_core(MODELS, bindings, lateness=0.0, **options)
    return core


@pytest.mark.parametrize("case", CASES)
@given(seed=st.integers(0, 2**32))
@example(seed=36734)  # what is too long to be read has a value that has come
@settings(max_examples=10)
def test_what_is_said_to_have_come_changes_no_stream(case, seed):
    models, options = CASES[case]
    core, _ = new_core(models, BINDINGS[models], **options)
    records = [*story_of(models, seed)]
    for end in range(0, len(records), 20):
        core.take(records[end : end + 20])
        before = content(core)
        again = [each for each in records[: end + 20] if each.kind == MESSAGE and core.has_come(each)]
        assert content(core) == before, "asking changes something"
        for each in again[:: 1 + len(again) // 5]:
            copy = restored(core, models)
            assert copy.has_come(each)
            assert copy.take([each]).is_empty
            assert copy.spent == core.spent
            assert copy.counters["duplicate"] > core.counters["duplicate"]


@pytest.mark.parametrize("sequence", [7, None])
def test_numbers_and_stamps_show_that_a_message_has_come(sequence):
    core = begun()
    first = message("n1", 5.0, 1.0, sequence, channel="x")
    assert not core.has_come(first)
    core.take([first])
    assert core.has_come(first)
    assert restored(core, MODELS).has_come(first)
    assert not core.has_come(message("n1", 6.0, 1.0, None if sequence is None else 8, channel="x"))
    assert not core.has_come(message("n1", 5.0, 1.0, sequence, channel="y"))
    assert not core.has_come(message("n2", 5.0, 1.0, sequence, channel="x"))
    assert not core.has_come(raw("sensors/n1/x", b"?"))
    assert not core.has_come(raw("streamfs/decision/n1", b"1"))
    assert not core.has_come(raw("other", b"1"))


def test_a_number_alone_shows_it_and_a_value_alone_does_not():
    core = begun()
    numbered, bare = raw("sensors/n1/x", b'{"v":1,"seq":3}', arrival=10.0), raw("sensors/n1/y", b"1", arrival=10.0)
    core.take([numbered, bare])
    assert core.has_come(numbered._replace(arrival=99.0))
    assert not core.has_come(bare._replace(arrival=99.0))


def test_a_message_of_several_channels_has_come_if_all_of_them_have():
    fields = Route.of("multi/{node}", fields={"a": "x", "b": "y"}, time="t")
    core = begun(Bindings.single(["x", "y"], routes=(fields, Route.of("bare/{node}"))))
    core.take([raw("multi/n1", b'{"a":1,"t":5}')])
    assert not core.has_come(raw("bare/n1", b"1"))  # of no channel: refused
    assert core.has_come(raw("multi/n1", b'{"a":1,"t":5}'))
    assert not core.has_come(raw("multi/n1", b'{"a":1,"b":2,"t":5}'))
    assert not core.has_come(raw("multi/n1", b'{"t":5}'))


def test_messages_are_asked_for_after_a_connection_until_enough_are_new():
    core = begun()
    redeliveries = Redeliveries(core, core.roster.bindings)
    first = [message("n1", float(tick), 0.0, tick, channel="x") for tick in range(10)]
    assert redeliveries.drop(first, 1) == first
    core.take(first)
    assert redeliveries.drop(first, 1) == first
    other = message("n1", 3.0, 5.0, 3, channel="x")
    assert core.has_come(other)
    assert redeliveries.drop([*first[:4], other], 2) == [other]
    later = [message("n1", 10.0 + tick, 0.0, 10 + tick, channel="x") for tick in range(N_NEW)]
    assert redeliveries.drop(later, 2) == later
    core.take(later)
    assert redeliveries.drop(later[-2:], 2) == later[-2:]
    assert redeliveries.drop(later[-2:], 3) == []
    assert redeliveries.counters["redelivered"] == 6


def test_a_minute_after_a_connection_nothing_is_dropped(monkeypatch):
    core, now = begun(), 100.0
    monkeypatch.setattr("streamfs.gateway.redeliveries.monotonic", lambda: now)
    redeliveries = Redeliveries(core, core.roster.bindings)
    again = [message("n1", 5.0, 1.0, 7, channel="x")]
    core.take(redeliveries.drop(again, 2))
    assert redeliveries.drop(again, 2) == []
    now += LONGEST
    assert redeliveries.drop(again, 2) == again


def test_older_messages_are_not_remembered(monkeypatch):
    monkeypatch.setattr("streamfs.gateway.redeliveries.N_REMEMBERED", 10)
    core = begun()
    redeliveries = Redeliveries(core, core.roster.bindings)
    heard = [message("n1", float(tick), 0.0, tick, channel="x") for tick in range(40)]
    for start in range(0, 40, 5):
        core.take(redeliveries.drop(heard[start : start + 5], 2))
    assert len(redeliveries._remembered) + len(redeliveries._older) <= 20
    assert redeliveries.drop(heard[25:], 2) == []
    assert redeliveries.drop(heard[:5], 2) == heard[:5]
