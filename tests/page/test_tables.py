"""Streams and nodes: found, sorted and counted as by a naive reader."""

import numpy as np
import pytest
from helpers.views import rows_of
from hypothesis import given
from hypothesis import strategies as st

from streamfs.engine.engine import DECIDED, OPEN, WAITING
from streamfs.gateway.operations.courses import key_of
from streamfs.gateway.operations.view_file import Seen
from streamfs.page import tables
from streamfs.page.stream_list import page_of
from streamfs.page.tables import CONDUCTS, NamedRows, SeenNodes, SeenStreams


def test_the_numbers_of_statuses_are_the_engines():
    assert (tables.WAITING, tables.OPEN, tables.DECIDED) == (WAITING, OPEN, DECIDED)


@given(
    st.lists(
        st.tuples(st.text("abAB1", max_size=3), st.floats(-5, 5) | st.just(float("nan"))), unique_by=lambda x: x[0]
    ),
    st.text("ab", max_size=2),
    st.booleans(),
)
def test_rows_are_chosen_as_a_naive_reader_would(rows, text, falls):
    names, ages = [name for name, _ in rows], [age for _, age in rows]
    table = NamedRows(names, {"age": np.array(ages)})
    found = [names[row] for row in table.chosen(text, sort="-age" if falls else "age").tolist()]
    sign = -1 if falls else 1
    wanted = [row for row in rows if text.lower() in row[0].lower()]
    wanted.sort(key=lambda row: (row[1] != row[1], sign * row[1] if row[1] == row[1] else 0, row[0]))
    assert found == [name for name, _ in wanted]


def test_a_stream_is_found_by_its_name_or_the_number_of_it():
    table = SeenStreams(Seen(*rows_of(["a", "b/c"], ["n"])))
    assert table.row("b/c") == table.row(f"{key_of('b/c'):016x}") == 1
    assert table.row("nobody") is None


def test_streams_know_their_readings_and_their_status():
    table = SeenStreams(Seen(*rows_of(["s0", "s1", "s2", "s3"], ["n0", "n1"])))
    assert table.counts() == {"waiting": 2, "open": 1, "decided": 1}
    assert table.with_status("open").tolist() == [False, True, False, False]
    first, second = table.readings(3)
    assert (first.channel, first.node, first.state) == ("x", "n1", "missing")
    assert (second.state, second.age, second.most) == ("too old", 40, 30)
    assert table.n_slots == 4


@pytest.mark.parametrize(
    ("told", "told_at", "heard", "does"),
    [
        (True, 50.0, 99.0, "sending as told"),
        (True, 50.0, 60.0, "asked, but silent"),
        (True, 99.0, np.nan, "sending as told"),  # it may have had no time yet
        (True, 50.0, np.nan, "asked, but silent"),
        (False, 50.0, 51.0, "silent as told"),
        (False, 50.0, 99.0, "still sending"),
        (False, np.nan, 99.0, "not known yet"),
        (False, -np.inf, 99.0, "not known yet"),
        (False, 50.0, np.nan, "never heard"),
    ],
)
def test_what_a_node_does_is_compared_with_what_it_was_asked(told, told_at, heard, does):
    facts, arrays = rows_of(["s"], ["n"], written=100.0)
    arrays["nodes.told"][:] = [told, False]
    arrays["nodes.told_at"][:] = told_at
    arrays["nodes.heard"][:] = heard
    table = SeenNodes(Seen(facts, arrays))
    assert CONDUCTS[table.columns["conduct"][0]] == does
    assert table.counts() == {does: 1}
    assert table.with_conduct(does).tolist() == [True]
    assert table.asked(0) == (["x"] if told else [])


def test_nodes_without_a_name_have_gone():
    table = SeenNodes(Seen(*rows_of(["s"], ["n0", "", "n2"])))
    assert table.names == ["n0", "n2"]
    assert len(table.columns["heard"]) == len(table.told) == 2


def test_nothing_is_known_before_the_first_view():
    empty = Seen({}, {})
    assert len(SeenStreams(empty)) == len(SeenNodes(empty)) == SeenStreams(empty).n_slots == 0
    assert SeenStreams(empty).chosen("a", sort="-tick").tolist() == []
    assert SeenNodes(empty).counts() == {}


@given(st.integers(0, 30), st.integers(0, 40), st.integers(1, 7))
def test_pages_together_are_all_rows(n_rows, start, size):
    rows = np.arange(n_rows)[::-1]
    seen, link, n_pages = [], "?", 0
    while link is not None:
        query = dict(part.split("=") for part in link.removeprefix("?").split("&") if part)
        page = page_of(query, rows, size)
        seen += page.rows
        link, n_pages = page.links.get("next"), n_pages + 1
    assert seen == rows.tolist()
    assert n_pages == max(1, -(-n_rows // size))
    assert page_of({"from": str(start)}, rows, size).first <= max(0, n_rows - 1)
    assert page_of({"from": "-3"}, rows, size).first == page_of({"from": "x"}, rows, size).first == 0
