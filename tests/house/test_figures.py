"""Figures of the documentation are those that were measured."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RESULTS = (ROOT / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
SIZE = "docs/how/size_a_gateway.md"
KEPT = r"\| CPU a message, gateway : bare, QoS 1.*?\| (\S+) : (\S+) µs; (\d+) :"


def flash(what):
    return rf"\| bytes of flash, 10 trees of 31 leaves, {what} \|.*?\| (\S+) \| "


def shown_of(recording):
    """The messages and the accuracy that README has of a recording."""
    return rf"\({recording}\) \| \W*([\d.]+)\W+accuracy ([\d.]+) "


def default_on(recording):
    """The same of the default of `train`, as measured: after a look ahead, since accuracy comes first there."""
    return rf"(?s)\n{recording}, \d+ test.*?\| default \| chosen \|(?=[^|]*\|[^|]*\|[^|]*\| (\S+)) (\S+) "


@pytest.mark.parametrize(
    ("page", "shown", "measured", "unit"),
    [
        ("README.md", r"kept on disk \| \*\*(\S+) µs\*\* \| .*: (\S+) µs", KEPT, 1.0),
        ("README.md", r"real motes \| \*\*(\S+)\*\* and", r"room A: messages, default.*?\| (\S+) : ", 1.0),
        ("README.md", r"\*\* and \*\*(\S+)\*\*, acc", r"room B: messages, default.*?\| (\S+) : ", 1.0),
        ("README.md", shown_of("indoor_movement"), default_on("indoor_movement"), 1.0),
        ("README.md", shown_of("occupancy_detection"), default_on("occupancy_detection"), 1.0),
        ("README.md", shown_of("uncg_wsn"), default_on("uncg_wsn"), 1.0),
        ("README.md", r"nine UCR sets \| \*\*(\S+)\*\*", r"\| streamfs \| \d+ \| (\S+) ±", 1.0),
        ("README.md", r"of 0.05 \| \*\*(\d+)\*\*; (\d+) were", r"of the certified.*?\| (\d+) of (\d+),", 1.0),
        (
            "README.md",
            r"\*\*(\d+) times\*\* in batches",
            r"by rows, in batches.*?\| at least 250 \| (\S+) \|",
            1.0,
        ),
        ("README.md", r"batches, (\d+) times one", r"by name, one at a time.*?\| at least 15 \| (\S+) \|", 1.0),
        ("README.md", r"flash of .* \*\*(\S+) kB\*\*", flash("streamfs"), 1000.0),
        ("README.md", r"m2cgen (\S+), emlearn", flash("m2cgen"), 1000.0),
        ("README.md", r", emlearn (\S+), micromlgen", flash("emlearn"), 1000.0),
        ("README.md", r", micromlgen (\S+) kB", flash("micromlgen"), 1000.0),
        (SIZE, r"log and journal on disk \| (\S+) µs", KEPT, 1.0),
        (SIZE, r"quality of service 0 \| (\S+) µs", r"gateway : bare, QoS 0, no state.*?\| (\S+) : ", 1.0),
        (
            SIZE,
            r"as a binary array \| (\S+) µs",
            r"binary array : one to a message \|.*?\| (\S+) µs a message",
            1.0,
        ),
        (SIZE, r"stream that rests \| (\S+) bytes", r"allocated for an idle stream \|.*?\| (\S+) \| ", 1.0),
        (SIZE, r"median \| (\S+) ms", r"p50 from a message to the arrival.*?\| - \| (\S+) \|", 1.0),
        (SIZE, r"since the snapshot \| (\S+) s", r"30000 messages since the snapshot, s \|.*?\| (\S+) \|", 1.0),
    ],
)
def test_a_figure_is_the_one_that_was_measured(page, shown, measured, unit):
    found = re.search(shown, (ROOT / page).read_text(encoding="utf-8")).groups()
    expected = re.search(measured, RESULTS).groups()
    for text, number in zip(found, expected, strict=False):
        decimals = len(text.partition(".")[2])
        assert float(text) == pytest.approx(float(number) / unit, abs=0.51 * 10.0**-decimals)
