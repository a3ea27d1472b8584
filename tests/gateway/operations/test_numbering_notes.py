"""Nodes that begin to number their messages anew, again and again."""

import logging

import numpy as np
import pytest
from helpers.procedures import channels_procedure
from helpers.records import EVICTING, Models, message, new_core

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.numbering import Numbering
from streamfs.gateway.operations.numbering_notes import ADVICE, EVERY, MOST_NAMED, WINDOW, NumberingNotes


def look(*marks, seen=None):
    """Return the numbers of nodes with one channel; by default their newest alone have come."""
    seen = [2**64 - 1] * len(marks) if seen is None else seen
    return Numbering(np.array(marks).reshape(-1, 1), np.array(seen, dtype=np.uint64).reshape(-1, 1))


def names(n_nodes):
    return [f"node-{node}" for node in range(n_nodes)]


def notes_on(*numbers_of):
    """Return the warnings on nodes that have these numbers at each look, if all up to them have come."""
    notes = NumberingNotes()
    for now, marks in enumerate(zip(*numbers_of, strict=True)):
        notes.update(look(*marks), names(len(marks)), float(now))
    return notes.warnings


TWINS = [number for pair in zip(range(50), range(1000, 1050), strict=True) for number in pair]


@pytest.mark.parametrize(
    ("numbers", "is_noted"),
    [
        (TWINS, True),
        ([*range(5), *range(3), *range(4), *range(2), *range(86)], False),
        ([*range(5)] * 20, True),  # starts again and again
        ([*range(100)], False),
        ([*range(200, 256), *range(44)], False),  # counts in a byte
        ([*range(50), *range(50)], False),
        ([-1] * 100, False),  # has no numbers
        ([*range(50), *[-1] * 50], False),  # and another node in its place
    ],
)
def test_a_node_that_begins_anew_at_a_tenth_of_the_looks_is_named(numbers, is_noted):
    assert notes_on(range(100), numbers) == ([f"node-1 {ADVICE}"] if is_noted else [])


def test_of_many_nodes_some_are_named_and_logged_once(caplog):
    with caplog.at_level(logging.WARNING):
        warnings = notes_on(*[TWINS] * (MOST_NAMED + 2))
    assert len(warnings) == MOST_NAMED + 1
    assert warnings[-1] == f"each of 2 further nodes {ADVICE}"
    assert len(caplog.messages) == MOST_NAMED


@pytest.mark.parametrize(
    ("before", "now", "seen", "is_anew"),
    [
        (1000, 1002, 0b111, False),
        (1000, 1002, 0b001, True),  # 2, 1001, 3, 1002
        (1000, 1002, 0b101, False),  # one was lost
        (1000, 1000, 0b001, False),
        (1000, 999, 0b111, True),
        (1000, 1064, 0b001, False),  # too far to know
        (1000, 1063, 0b001, True),
        (1000, 1063, 1 << 63 | 1, False),
        (-1, 5, 0b001, False),
        (5, -1, 0b001, False),
    ],
)
def test_a_node_goes_on_if_its_number_before_is_among_those_that_have_come(before, now, seen, is_anew):
    assert look(now, seen=[seen]).begun_anew(look(before)).tolist() == [is_anew]


def test_what_has_ended_is_forgotten_and_nodes_may_become_more_or_less():
    notes = NumberingNotes()
    for now, n_nodes in enumerate([1, 3, 3, 2, 2, 2, 2, 2, 2]):
        notes.update(look(*[9 - now] * n_nodes), names(n_nodes), float(now))
    assert notes.warnings == [f"node-{node} {ADVICE}" for node in range(2)]
    for window in (1, 2):
        notes.update(look(9, 9), names(2), window * WINDOW + 9)
    assert notes.warnings == []


def test_nodes_that_have_one_number_after_another_are_not_taken_for_one():
    core, _ = new_core(Models(channels_procedure("x")), Bindings.single(["x"]), streams=1, **EVICTING)
    notes = NumberingNotes()
    for tick in range(20):
        core.take([message(f"n{tick}", 0.0, 1.0, 50 - tick, "x", 1e9 + tick)])
        notes.update(core.numbering(), core.roster.names, float(tick))
    assert core.counters["evicted"] == 19
    assert notes.warnings == []


def test_a_node_that_is_forgotten_is_named_no_more():
    notes = NumberingNotes()
    for now, number in enumerate(TWINS):
        notes.update(look(number), ["n0"], float(now))
    assert notes.warnings == [f"n0 {ADVICE}"]
    notes.update(look(-1), [""], 100.0)
    assert notes.warnings == []


def test_a_look_is_due_every_few_seconds():
    notes = NumberingNotes()
    assert notes.is_due(100.0)
    notes.update(look(1), names(1), 100.0)
    assert [notes.is_due(100.0 + EVERY / 2), notes.is_due(100.0 + EVERY)] == [False, True]


def test_two_devices_of_one_name_are_named_however_their_messages_meet():
    core, _ = new_core(Models(channels_procedure("x", "y")), Bindings.single(["x", "y"]))
    notes = NumberingNotes()
    notes.update(core.numbering(), core.roster.names, 0.0)  # while there is no node
    for tick in range(10):
        at = 1e9 + tick
        sent = [("n0", tick), ("n0", 1000 + tick), ("n1", tick)]
        core.take([message(node, float(tick), 1.0, number, "x", at) for node, number in sent])
        core.take([message("n2", float(tick), 1.0, None, "x", at)])
        notes.update(core.numbering(), core.roster.names, float(tick))
    assert notes.warnings == [f"n0 {ADVICE}"]
