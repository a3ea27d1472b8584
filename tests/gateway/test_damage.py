"""Damage of any file of a state: a start refuses it, heals it, or is not affected; never another decision."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, command, message
from helpers.runs import Run, kept
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.cli.app import main
from streamfs.errors import ModelError, StateError, StorageError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import model_record, start_record
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import journal_path, log_folder, models_folder

MODELS = Models(channels_procedure("x", time_limit=8), channels_procedure("x", time_limit=5))
ALONE = Bindings.single(["x"])
REFUSALS = (StateError, StorageError, ModelError)
SECTOR, PAGE = 512, 4096
MORE = [message(f"n{node}", 60.0 + tick, 1.0, tick) for tick in range(9) for node in range(6)]


def episode(start):
    """Five nodes that end by confidence or time."""
    return [message(f"n{node}", start + tick, float(node % 2), tick) for tick in range(9) for node in range(5)]


def live(folder, folded):
    """Run a gateway that is killed, or stopped so that its write-ahead log is folded; return all publications."""
    first, second = MODELS
    made = []
    with Run(folder / "run", MODELS, ALONE) as run:
        steps = ([start_record(first, 0.0)], episode(0.0), [model_record(second, 9.0), command({"reopen": "*"})])
        for count, records in enumerate((*steps, episode(20.0), [command({"reopen": "*"})], episode(40.0)[:20])):
            made += run.take(records, snapshot=0 < count < 3).publications
            run.state.journal.commit(Entry(run.state.journal.position, confirmed=[2 * count + 1]))
        run.take(episode(40.0)[20:22])  # without effects
        if not folded:
            shutil.copytree(folder / "run", folder / "state")
    if folded:
        shutil.copytree(folder / "run", folder / "state")
    return folder / "state", made


@pytest.fixture(scope="module", params=[True, False], ids=["folded", "killed"])
def lived(request, tmp_path_factory):
    """A state, what it has in the end when nothing is damaged, and every publication there ever was."""
    state, made = live(tmp_path_factory.mktemp("state"), request.param)
    assert journal_path(state).with_name("journal.sqlite-wal").exists() != request.param
    assert len(list(models_folder(state).iterdir())) == 2
    assert len(list(log_folder(state).glob("*.log"))) > 1
    with TemporaryDirectory() as folder:
        shutil.copytree(state, f"{folder}/state")
        with Run(f"{folder}/state", MODELS, ALONE) as run:
            made += run.take(MORE).publications
            whole = kept(run.state.journal)
    return state, whole, set(made)


def flip(content, data):
    at = data.draw(st.integers(0, 8 * len(content) - 1))
    content[at // 8] ^= 1 << at % 8


def blank(content, data):
    at = data.draw(st.integers(0, (len(content) - 1) // SECTOR)) * SECTOR
    content[at : at + SECTOR] = bytes(len(content[at : at + SECTOR]))


def cut(content, data):
    del content[data.draw(st.integers(0, len(content) - 1)) :]


def exchange(content, data):
    size = min(PAGE, len(content) // 2)
    one, other = (data.draw(st.integers(0, len(content) // size - 1)) * size for _ in range(2))
    content[one : one + size], content[other : other + size] = (
        content[other : other + size],
        content[one : one + size],
    )


def files_of(state):
    """Every file but those in the spool, which no gateway reads."""
    files = [path.relative_to(state) for path in state.rglob("*") if path.is_file() and path.stat().st_size > 1]
    return sorted(path for path in files if path.parts[0] != "spool")


def start(folder):
    """Start a gateway, and let it decide; return what is kept."""
    with Run(folder, MODELS, ALONE) as run:
        run.state.journal.outbox()
        run.take(MORE)
        return kept(run.state.journal)


def check_start(folder, whole, ever):
    """Start a gateway: it refuses and names a file, or decides and publishes nothing else."""
    try:
        found, refusal = start(folder), ""
    except REFUSALS as error:
        found, refusal = None, str(error)
    if found is None:
        assert str(folder) in refusal
        return "refused"
    assert set(whole["publications"]) <= set(found["publications"]) <= ever
    assert (found["decisions"], found["energy"]) == (whole["decisions"], whole["energy"])
    return "same"


@pytest.mark.parametrize("damage", [flip, blank, cut, exchange])
@given(data=st.data())
@settings(max_examples=25)
def test_no_damage_of_any_file_changes_a_decision(lived, damage, data):
    state, *expected = lived
    name = data.draw(st.sampled_from(files_of(state)))
    with TemporaryDirectory() as folder:
        copy = shutil.copytree(state, Path(folder, "state"))
        content = bytearray((copy / name).read_bytes())
        damage(content, data)
        (copy / name).write_bytes(content)
        check_start(copy, *expected)


@pytest.fixture
def copy(lived, tmp_path):
    """A copy of the state, its write-ahead log folded."""
    folder = shutil.copytree(lived[0], tmp_path / "state")
    with closing(sqlite3.connect(journal_path(folder))) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


def verified(folder, capfd):
    """Verify a state by the command; return the files with problems."""
    code = 0
    try:
        main(["journal", str(folder), "--verify", "--json"])
    except SystemExit as ended:
        code = ended.code
    rows = [orjson.loads(row) for row in capfd.readouterr().out.splitlines()]
    assert {Path(row["file"]).relative_to(folder) for row in rows} == {
        path for path in files_of(folder) if path.suffix in (".log", ".sqlite", ".streamfs")
    }
    found = {row["file"]: row["problem"] for row in rows if row["problem"]}
    assert code == bool(found)
    return found


def test_a_bit_of_a_waiting_publication_is_refused_by_row(copy, capfd):
    path = journal_path(copy)
    with closing(sqlite3.connect(path)) as database:
        query = "SELECT number, topic, payload FROM outbox WHERE topic LIKE '%/decision/%' LIMIT 1"
        ((number, topic, payload),) = database.execute(query)
    stored, label = topic.encode() + payload, b'"label":"o'
    assert label in stored
    path.write_bytes(path.read_bytes().replace(stored, stored.replace(label, b'"label":"n')))
    problem = f"{path} is damaged: row {number} of the table outbox; put back a copy of the state folder"
    with pytest.raises(StateError, match=problem):
        start(copy)
    assert verified(copy, capfd)[str(path)].startswith(problem)


DAMAGES = {
    "UPDATE outbox SET topic = topic || 's' WHERE number = 6": "row 6 of the table outbox",
    "UPDATE outbox SET number = 1000 WHERE number = 6": "row 1000 of the table outbox",
    "UPDATE outbox SET retain = NOT retain WHERE number = 6": "row 6 of the table outbox",
    "UPDATE outbox SET payload = (SELECT payload FROM outbox WHERE number = 8) WHERE number = 6": "row 6 of the",
    "DELETE FROM outbox WHERE number = 6": "rows of outbox are missing or are old ones",
    "INSERT INTO outbox SELECT 1000, topic, payload, retain, checksum, 0 FROM outbox LIMIT 1": "rows of outbox",
    "UPDATE decisions SET label = 'x' WHERE number = 2": "row 2 of the table decisions",
    "UPDATE decisions SET reason = CAST(x'ff' AS TEXT) WHERE number = 2": "row 2 of the table decisions",
    "DELETE FROM decisions WHERE number = 2": "rows of decisions are missing",
    "UPDATE energy SET line = '{}' WHERE number = 2": "row 2 of the table energy",
    "UPDATE snapshots SET position = position - 1": "row 1 of the table snapshots",
    "UPDATE marks SET sequence = '0' WHERE node = 'n1'": "row 'n1' of the table marks",
    "DELETE FROM marks": "rows of marks are missing",
    "UPDATE totals SET position = position - 1": "the row of the table totals",
    "UPDATE totals SET outbox = 0": "the row of the table totals",
    "DELETE FROM totals": "the row of the table totals",
}


@pytest.mark.parametrize("lived", [True], indirect=True, ids=["folded"])
def test_each_change_of_a_row_is_named(lived, tmp_path, capfd):
    assert verified(lived[0], capfd) == {}
    for count, (sql, problem) in enumerate(DAMAGES.items()):
        folder = shutil.copytree(lived[0], tmp_path / str(count))
        with closing(sqlite3.connect(journal_path(folder))) as database, database:
            assert database.execute(sql).rowcount > 0, sql
        assert problem in verified(folder, capfd)[str(journal_path(folder))], sql


@pytest.mark.parametrize("lived", [False], indirect=True, ids=["killed"])
def test_what_a_log_and_models_lack_is_reported(lived, tmp_path, capfd):
    folder = shutil.copytree(lived[0], tmp_path / "state")
    one, other = models_folder(folder).iterdir()
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    first, *_, newest, last = sorted(log_folder(folder).glob("*.log"))
    with first.open("r+b") as file:
        file.truncate(first.stat().st_size - 1)
    last.unlink()
    found = verified(folder, capfd)
    assert [*found] == [str(path) for path in (first, newest, *sorted((one, other)))]
    assert "which was durable" in found[str(newest)]
    with pytest.raises(REFUSALS, match=str(folder)):
        Run(folder, MODELS, ALONE)


def test_a_state_is_its_owners_alone(tmp_path):
    live(tmp_path, folded=False)
    shutil.rmtree(tmp_path / "run" / "spool")
    modes = {path: path.stat().st_mode & 0o777 for path in (tmp_path / "run", *(tmp_path / "run").rglob("*"))}
    assert {path for path, mode in modes.items() if mode != (0o700 if path.is_dir() else 0o600)} == set()
