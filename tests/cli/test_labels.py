"""The command that lists the labels that a gateway asks for."""

import orjson
from click.testing import CliRunner
from helpers.promised import promised
from helpers.records import Models, message, new_core

from streamfs.cli.app import cli
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import State

MODELS = Models(promised())


def keep(folder, n, **options):
    """Write the state of a gateway that has decided some streams; return those whose label it wants."""
    core, _ = new_core(MODELS, Bindings.single(["x", "y"]), lateness=0.0, **options)
    sent = [message(f"n{i}", float(tick), 1.0, tick, c) for i in range(n) for tick in range(7) for c in "xy"]
    with State(folder) as state:
        effects = core.take(sent)
        state.journal.commit(Entry(0, effects.decisions, snapshot=core.to_state()))
    return core.feedback.monitor.wanted


def test_wanted_labels_are_listed_with_their_decisions_and_topics(tmp_path):
    wanted = keep(tmp_path / "state", 12, labels_wanted=0.5)
    result = CliRunner().invoke(cli, ["labels", str(tmp_path / "state"), "--json"])
    rows = [orjson.loads(line) for line in result.stdout.splitlines()]
    assert [row["stream"] for row in rows] == list(wanted) != []
    assert rows[0] | {"confidence": 1.0, "time": 0.0} == {
        "stream": wanted[0],
        "episode": 1,
        "label": "on",
        "confidence": 1.0,
        "time": 0.0,
        "topic": f"streamfs/label/{wanted[0]}",
    }


def test_where_none_is_asked_for_there_is_none(tmp_path):
    assert keep(tmp_path / "state", 3) == ()
    result = CliRunner().invoke(cli, ["labels", str(tmp_path / "state")])
    assert (result.exit_code, result.stdout) == (0, "")
    assert "no label is wanted" in result.stderr
