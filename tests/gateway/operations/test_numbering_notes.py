"""Nodes that begin to number their messages anew, again and again."""

import logging

import numpy as np
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, message, new_core

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.numbering import Numbering
from streamfs.gateway.operations.numbering_notes import ADVICE, MOST_NAMED, WINDOW, NumberingNotes


def notes_on(*numbers_of):
    """Return the warnings on nodes that send at each look, with these numbers of their channel."""
    notes = NumberingNotes()
    for look, marks in enumerate(zip(*numbers_of, strict=True)):
        readings = np.full(len(marks), look)
        notes.update(Numbering(readings, np.array(marks).reshape(-1, 1)), "node-{}".format, float(look))
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


def test_what_has_ended_is_forgotten_and_nodes_may_become_more_or_less():
    notes = NumberingNotes()
    name = "node-{}".format
    for look, n_nodes in enumerate([1, 3, 3, 2, 2, 2, 2, 2, 2]):
        notes.update(Numbering(np.full(n_nodes, look), np.full((n_nodes, 2), -look + 9)), name, float(look))
    assert notes.warnings == [f"node-{node} {ADVICE}" for node in range(2)]
    for window in (1, 2):
        notes.update(Numbering(np.full(2, 9), np.full((2, 2), 9)), name, window * WINDOW + 9)
    assert notes.warnings == []


def test_the_core_tells_the_newest_numbers():
    core, _ = new_core(Models(channels_procedure("x", "y")), Bindings.single(["x", "y"], ["n0", "n1"]))
    core.take([message("n1", 0.0, 1.0, 7, "y", 1e9), message("n1", 0.0, 1.0, None, "x", 1e9)])
    found = core.numbering()
    assert found.readings[:2].tolist() == [0, 2]
    assert found.marks[:2].tolist() == [[-1, -1], [-1, 7]]
