"""A start that is refused leaves the state as it was, to the byte: whoever wrote it can go on with it."""

import os
import shutil
import socket
import sqlite3
from contextlib import closing, nullcontext
from hashlib import sha256
from threading import Event

import pytest
from helpers.keys import make_keys
from helpers.procedures import channels_procedure
from helpers.records import Models, message
from helpers.runs import Run

from streamfs.base import container
from streamfs.errors import StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import KIND, VERSION
from streamfs.gateway.core.records import start_record
from streamfs.gateway.host import hosted
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.storage import journal_schema
from streamfs.gateway.storage.state import journal_path, log_folder, models_folder, view_folder

MODELS = Models(channels_procedure("x", time_limit=5))
SETTINGS = 'model = "model.streamfs"\nstate = "state"\n{}\n[broker]\nurl = "mqtt://localhost:1"\n'


@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    """A folder with settings and a state whose first records are released, and whose log has a torn end."""
    folder = tmp_path_factory.mktemp("lived")
    with Run(folder / "state", MODELS, Bindings.single(["x"])) as run:
        run.take([start_record(MODELS.first.digest, 0.0)])
        for second in range(24):
            run.take([message(f"n{second % 5}", float(second), 0.0, second)], snapshot=second in (8, 16))
        assert run.state.log.start > 0
    with max(log_folder(folder / "state").glob("*.log")).open("ab") as file:
        file.write(bytes(100))
    MODELS.first.save(folder / "model.streamfs")
    configure(folder)
    return folder


@pytest.fixture
def folder(lived, tmp_path):
    return shutil.copytree(lived, tmp_path / "gateway")


def configure(folder, lines=""):
    (folder / "gateway.toml").write_text(SETTINGS.format(lines), encoding="utf-8")


def contents(folder):
    """Return what is in the files of a state by their names, but for the lock and what the page shows."""
    files = [path for path in (folder / "state").rglob("*") if path.is_file() and path.name != "lock"]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in files
        if path.parent != view_folder(folder / "state")
    }


def start(folder):
    """Start a gateway that has no time to wait for its broker; raise what refuses it."""
    with hosted(read_settings(folder / "gateway.toml")) as gateway:
        gateway.run(Event(), patience=0.1)


def run_sql(folder, script):
    with closing(sqlite3.connect(journal_path(folder / "state"))) as database:
        database.executescript(script)


def newest(folder):
    """Return the newest segment of the log."""
    return max(log_folder(folder / "state").glob("*.log"))


def write_version_2(folder):
    """Replace the journal by one that 0.2.0 has written, with a snapshot of its format."""
    path = journal_path(folder / "state")
    path.unlink()
    marks = f"PRAGMA application_id = {journal_schema.APPLICATION}; PRAGMA user_version = 2;"
    for script in (*journal_schema.MIGRATIONS[:2], "UPDATE progress SET position = 20;", marks):
        run_sql(folder, script)
    run_sql(folder, "PRAGMA journal_mode = WAL;")
    with closing(sqlite3.connect(path)) as database, database:
        snapshot = container.pack(KIND, 3, {}, {})
        database.execute("INSERT INTO snapshots VALUES (1, 20, ?, ?)", (sha256(snapshot).digest(), snapshot))


def write_newer_snapshots(folder):
    newer = container.pack(KIND, VERSION + 1, {}, {})
    with closing(sqlite3.connect(journal_path(folder / "state"))) as database, database:
        database.execute("UPDATE snapshots SET state = ?", (newer,))


def write_to(path, at, data):
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def remove_models(folder):
    shutil.rmtree(models_folder(folder / "state"))
    channels_procedure("x", time_limit=6).save(folder / "model.streamfs")


def require_signature(folder):
    make_keys(folder)
    configure(folder, 'require_signature = "models.pub"')
    shutil.rmtree(folder / "state")


def occupy(folder):
    """Let the port of the gateway be in use until it has started."""
    other = socket.create_server(("127.0.0.1", 0))
    add(folder, f"[http]\nport = {other.getsockname()[1]}")
    return other


def add(folder, lines):
    configure(folder)
    with (folder / "gateway.toml").open("a", encoding="utf-8") as file:
        file.write(f"{lines}\n")


def make_mirror_elsewhere(folder):
    configure(folder, 'mirror = "mirror"')
    (folder / "mirror").mkdir()
    (folder / "mirror" / "file").touch()


def sql(script):
    return lambda folder: run_sql(folder, script)


REFUSALS = {
    write_version_2: "has no snapshot that can be used",
    write_newer_snapshots: "has no snapshot that can be used",
    sql("PRAGMA user_version = 99"): "has version 99 of the journal",
    sql("PRAGMA application_id = 1"): "not a streamfs journal",
    sql("UPDATE totals SET position = 1"): "row of the table totals",
    sql("DELETE FROM decisions"): "rows of decisions are missing",
    sql("UPDATE outbox SET topic = 'other'"): "row .* of the table outbox",
    lambda folder: write_to(journal_path(folder / "state"), 0, b"other"): "or is damaged",
    lambda folder: write_to(newest(folder), 0, b"other"): "its header is damaged",
    lambda folder: write_to(newest(folder), 13, b"2"): "has version 2 of the log",
    lambda folder: newest(folder).unlink(): "it is whole up to",
    lambda folder: os.truncate(newest(folder), 60): "it is whole up to",
    remove_models: "has no snapshot that can be used",
    require_signature: "is not signed",
    lambda folder: add(folder, '[http]\ntoken = "token"'): "token cannot be read",
    occupy: "port",
    make_mirror_elsewhere: "is no mirror and not empty",
    configure: "cannot be reached",
}


@pytest.mark.parametrize(("damage", "reason"), REFUSALS.items(), ids=REFUSALS.values())
def test_a_refused_start_changes_nothing(folder, damage, reason):
    with damage(folder) or nullcontext():
        before = contents(folder)
        with pytest.raises(StreamfsError, match=reason):
            start(folder)
        assert contents(folder) == before
