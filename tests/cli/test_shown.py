"""Tables and messages on a terminal."""

import sys
from io import TextIOWrapper
from pathlib import Path

import pytest

from streamfs.cli import console

SHARES = dict.fromkeys(("confidence", "completeness", "accuracy"), 0.98765)
COSTS = dict.fromkeys(("cost", "offered_cost"), 1.2345e-10)


@pytest.mark.parametrize(
    "row",
    [
        {"streams": 100_000, **SHARES, "ticks": 98765.4, "cost": 1.2345e-10, "offered_cost": 1.2e100},
        {"streams": 1_000, **SHARES, "ticks": 119.81, **COSTS, "sent": 64.031},
    ],
)
def test_a_table_fits_a_terminal_and_breaks_its_headings_at_words_only(capfd, row):
    console.print_table([row])
    out = capfd.readouterr().out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert sorted(out[: out.index("─")].split()) == sorted(word for name in row for word in name.split("_"))


def test_a_table_shows_names_as_they_are(capfd):
    console.print_table([{"stream": "[red]x"}, {"stream": ":smile: [/] [bold]y[/bold]"}])
    out = capfd.readouterr().out
    assert "[red]x" in out
    assert ":smile: [/] [bold]y[/bold]" in out


def test_messages_are_neither_wrapped_nor_read_as_markup(capfd):
    text = "mean_absolute_difference(a.light@delta:40, b.light@delta:40) [bold] :smile: " * 5
    console.say(text)
    assert capfd.readouterr() == ("", text + "\n")


def test_a_message_that_a_full_disk_cannot_take_ends_nothing(monkeypatch):
    """A gateway whose standard error goes to a file there would not start."""
    with Path("/dev/full").open("wb", buffering=0) as full:
        monkeypatch.setattr(sys, "stderr", TextIOWrapper(full, write_through=True))
        console.say("listening")


def test_long_steps_are_shown(first_steps):
    _, results = first_steps
    for what in ("reading the streams", "computing the features", "ranking the features", "building the classif"):
        assert what in results["train"].err
    assert "reading the streams" in results["evaluate"].err


def test_words_of_a_table_are_not_cut_in_a_narrow_terminal(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "30")
    console.print_table(
        [{"completeness": 0.5, "accuracy": 0.25, "transmissions": 12.5, "processor": "cortex-m0plus"}]
    )
    head, _, row = capsys.readouterr().out.splitlines()[-3:]
    assert head.split() == ["completeness", "accuracy", "transmissions", "processor"]
    assert row.split() == ["0.5", "0.25", "12.5", "cortex-m0plus"]
