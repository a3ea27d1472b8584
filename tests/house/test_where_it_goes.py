"""CONTRIBUTING's table of where a new thing goes: what is there of a kind is in those files, and in that test."""

import inspect
import re
from pathlib import Path

import click
import pytest

from feature_extractors import report
from feature_extractors.catalogue import KINDS
from streamfs.classifiers import kinds
from streamfs.cli.app import COMMANDS, cli
from streamfs.costs import radio_profiles
from streamfs.data import datasets
from streamfs.gateway.core import options
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.messages.codecs import named
from streamfs.procedure import stopping
from streamfs.selection import by_name

ROOT = Path(__file__).parents[2]
SECTIONS = (options.Time, options.StreamTimes, options.Limits, options.Commits, options.Drift)

THERE = {
    "feature": {kind.name: kind.step.function for kind in KINDS},
    "report policy": dict.fromkeys(report._IN_TICKS + report._ON_CHANGE, report.Policy),
    "radio profile": dict.fromkeys(radio_profiles.PROFILES, radio_profiles.profile),
    "selector": dict.fromkeys(by_name.SELECTORS, by_name.OnRows),
    "classifier": {word: kinds.kind_of(word) for word in kinds.words()},
    "stopping rule": {"TickThresholds": stopping.TickThresholds},
    "codec": {name: type(named.codec_for(name)) for name in named.FORMATS},
    "option of the gateway": {key: section for section in SECTIONS for key in declared(section)},
    "command": {name: cli.get_command(click.Context(cli), name).callback for name in COMMANDS},
    "data set": dict.fromkeys(datasets.NAMES, datasets.load),
}
"""What defines each thing that is there, by its name."""

EACH = {"radio profile": "PROFILES", "selector": "SELECTIONS", "command": "COMMANDS", "data set": "NAMES"}
"""What tests go through that take every one there is, whatever its name."""


def row(what: str) -> list[str]:
    """Return what CONTRIBUTING's row names: where it goes, where else it is listed, and its test."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    return re.findall(r"`([\w/.]+)`", re.search(rf"^\| {what} \|.*$", text, re.MULTILINE)[0])


@pytest.mark.parametrize("what", THERE)
def test_what_is_there_is_where_new_ones_go(what):
    place, *lists, _ = row(what)
    homes = {
        name: Path(inspect.getfile(inspect.unwrap(thing))).relative_to(ROOT).as_posix()
        for name, thing in THERE[what].items()
    }
    assert {name: home for name, home in homes.items() if not home.startswith(place)} == {}
    for listed in lists:
        [path] = (ROOT / "streamfs").rglob(listed)
        assert [name for name in homes if f'"{name}"' not in path.read_text(encoding="utf-8")] == []


@pytest.mark.parametrize("what", THERE)
def test_the_test_that_is_named_has_every_one(what):
    text = (ROOT / row(what)[-1]).read_text(encoding="utf-8")
    if what in ("classifier", "stopping rule"):
        assert re.search(r"\bregister(?:_rule)?\(", text)
    elif what in EACH:
        assert re.search(rf"\b{EACH[what]}\b", text)
    else:
        assert [name for name in THERE[what] if not re.search(rf"\b{re.escape(name)}\b", text)] == []


def test_what_the_makefile_runs_is_there():
    named = re.findall(r"[\w./]+\.(?:py|sh)\b", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert len(named) > 10
    assert [path for path in named if not (ROOT / path).exists()] == []
