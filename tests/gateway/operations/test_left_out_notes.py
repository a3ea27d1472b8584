"""Readings that are left out: which nodes' they are, why, and how many."""

import logging

import numpy as np
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, message, new_core

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.left_out import CAUSES
from streamfs.gateway.operations.left_out_notes import LEAST, MOST_COUNTED, MOST_NAMED, WINDOW, LeftOutNotes


def counts_of(n_nodes, n_readings=100, **left_out):
    """Return the counts of nodes, all alike."""
    return np.tile([n_readings, *(left_out.get(cause, 0) for cause in CAUSES)], (n_nodes, 1))


def test_readings_that_are_left_out_are_counted_by_node_and_cause():
    models, stamps = Models(channels_procedure("x")), [*range(20), 2, 9e6]
    core, _ = new_core(models, Bindings.single(["x"], ["n0", "n1"]))
    sent = [message("n1", float(stamp), 0.0, i, arrival=1e9 + i) for i, stamp in enumerate(stamps)]
    core.take([*sent, sent[19]])
    assert core.left_out()[:2].tolist() == [[0, 0, 0, 0, 0], [23, 1, 1, 1, 0]]
    assert [core.counters[cause] for cause in CAUSES] == [1, 1, 1, 0]
    core, _ = new_core(models, Bindings.single(["x"], ["n1"]), lateness=1e3, pending=10)
    core.take(sent[:20])
    assert core.left_out()[:1].tolist() == [[20, 0, 0, 0, 10]]


@pytest.mark.parametrize(("n_messages", "n_duplicates"), [(64, 64), (65, 0)])
def test_a_node_without_a_clock_that_numbers_anew_after_few_messages_is_named(n_messages, n_duplicates):
    core, _ = new_core(Models(channels_procedure("x")), Bindings.single(["x"], ["n0"]))
    sent = [message("n0", None, 0.0, i % n_messages, arrival=1e9 + i) for i in range(2 * n_messages)]
    core.take(sent)
    notes = LeftOutNotes(counts_of(0))
    notes.update(core.left_out(), ["n0"].__getitem__, 0.0)
    assert core.left_out()[0, 1 + CAUSES.index("duplicate")] == n_duplicates
    assert ["numbers its messages anew" in warning for warning in notes.warnings] == [True] * (n_duplicates > 0)


@pytest.mark.parametrize("cause", ["late", "duplicate", "overflow"])
def test_a_warning_names_the_node_and_what_to_do(cause, caplog):
    notes, counts = LeftOutNotes(counts_of(0)), counts_of(3)
    counts[1, 1 + CAUSES.index(cause)] = 40
    with caplog.at_level(logging.WARNING):
        for now in (0.0, 1.0):
            notes.update(counts, "abc".__getitem__, now)
    assert len(notes.warnings) == 1
    assert notes.warnings[0].startswith("40 % of the readings of b ")
    assert [record.getMessage() for record in caplog.records] == notes.warnings, "once"
    assert notes.counts == {("b", cause): 40}


def test_a_few_readings_or_a_small_share_are_no_warning():
    notes = LeftOutNotes(counts_of(0))
    notes.update(
        np.concatenate([counts_of(1, 10, late=LEAST - 1), counts_of(1, 1000, late=99)]), "ab".__getitem__, 0.0
    )
    assert notes.warnings == []


def test_a_warning_ends_once_its_readings_are_no_longer_recent():
    notes, before = LeftOutNotes(counts_of(0)), counts_of(1, 100, late=50)
    n_warnings = []
    for now, n_more in ((0.0, 0), (WINDOW, 100), (2 * WINDOW, 200)):
        notes.update(before + np.array([n_more, 0, 0, 0, 0]), "a".__getitem__, now)
        n_warnings.append(len(notes.warnings))
    assert n_warnings == [1, 1, 0]
    notes.update(counts_of(1, 50, late=20), "b".__getitem__, 2 * WINDOW + 1.0)
    assert notes.warnings[0].startswith("40 % of the readings of b "), "another node has its number"


def test_most_nodes_are_counted_together():
    notes, n_nodes = LeftOutNotes(counts_of(0)), MOST_COUNTED + 20
    notes.update(counts_of(n_nodes, late=50, future=1), str, 0.0)
    assert len(notes.warnings) == MOST_NAMED + 1
    assert notes.warnings[-1].startswith(f"readings of {n_nodes - MOST_NAMED} further nodes were late")
    assert len(notes.counts) == 2 * (MOST_COUNTED + 1)
    assert notes.counts["", "late"] == 20 * 50
    assert sum(notes.counts.values()) == n_nodes * 51
