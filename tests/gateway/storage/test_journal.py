"""The journal: entries are committed whole or not at all, and what was committed is found again."""

import errno
import logging
import os
import shutil
import sqlite3
import subprocess
from contextlib import nullcontext
from math import nan
from threading import Event, Thread

import orjson
import pytest
from helpers.patience import refusal
from hypothesis import given
from hypothesis import strategies as st
from logs import file_limit

from streamfs.base import container
from streamfs.cli.app import main
from streamfs.errors import StateError, StorageError
from streamfs.gateway.core.records import MESSAGE, Record
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.storage import journal_schema
from streamfs.gateway.storage.journal import Entry, Journal
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.models import Models
from streamfs.gateway.storage.state import State, journal_path, models_folder
from streamfs.procedure.procedure import Decision


def decision(number, **changes):
    fields = {
        "stream": f"mote-{number}",
        "episode": 1,
        "label": "walk",
        "confidence": 0.95,
        "tick": 12,
        "cost": 12.5,
        "reason": "confident",
        "time": 1.7e9 + number,
    }
    return Decision(**(fields | changes))


def publication(number, n_bytes=10):
    return Publication(f"streamfs/decision/mote-{number}", b"x" * n_bytes, bool(number % 2), number % 3)


def line(number):
    return {"kind": "decision", "stream": f"mote-{number}", "messages": number, "energy": 0.5, "unit": "J"}


def entry(number, **changes):
    """Return an entry with one of each."""
    whole = Entry(number, [decision(number)], [publication(number)], [line(number)])
    for name, value in changes.items():
        setattr(whole, name, value)
    return whole


@pytest.fixture
def path(tmp_path):
    return tmp_path / "journal.sqlite"


def everything(journal):
    return journal.position, journal.decisions(), journal.energy(), journal.outbox(), list(journal.snapshots())


def test_what_was_committed_is_there_when_it_is_opened_again(path):
    with Journal(path) as journal:
        assert everything(journal) == (0, [], [], [], [])
        assert [journal.commit(entry(number)) for number in (1, 2)] == [[1], [2]]
        before = everything(journal)
    assert before == (
        2,
        [decision(1).to_json(), decision(2).to_json()],
        [line(1), line(2)],
        [(1, publication(1)), (2, publication(2))],
        [],
    )
    with Journal(path) as journal:
        assert everything(journal) == before
        assert journal.count("outbox") == 2


def test_unknown_numbers_of_a_decision_are_null(path):
    unknown = decision(1, label=None, confidence=nan, time=nan, reason="closed")
    with Journal(path) as journal:
        journal.commit(Entry(1, [unknown]))
        assert journal.decisions() == [unknown.to_json()]


def test_the_newest_rows_are_shown_oldest_first(path):
    with Journal(path) as journal:
        for number in range(1, 6):
            journal.commit(entry(number))
        assert [row["stream"] for row in journal.decisions(2)] == ["mote-4", "mote-5"]
        assert journal.energy(2) == [line(4), line(5)]
        assert [number for number, _ in journal.outbox(after=1, limit=3)] == [2, 3, 4]


def test_a_repeated_decision_is_left_out_and_counted_and_the_rest_is_committed(path):
    with Journal(path) as journal:
        journal.commit(entry(1))
        again = [decision(1, label="run"), decision(1, episode=2), decision(2)]
        assert journal.commit(entry(2, decisions=again)) == [2]
        assert [(row["id"], row["label"]) for row in journal.decisions()] == [
            ("mote-1/1", "walk"),
            ("mote-1/2", "walk"),
            ("mote-2/1", "walk"),
        ]
        assert journal.repeated_decisions == 1


def test_what_is_confirmed_leaves_the_outbox_and_its_number_is_never_given_again(path):
    with Journal(path) as journal:
        assert journal.commit(Entry(1, publications=[publication(i) for i in range(3)])) == [1, 2, 3]
        assert journal.commit(Entry(1, confirmed=[3, 1, 99])) == []
        assert journal.outbox() == [(2, publication(1))]
        assert journal.count("outbox") == 1
        journal.commit(Entry(1, confirmed=[2]))
    with Journal(path) as journal:
        assert journal.count("outbox") == 0
        assert journal.commit(Entry(1, publications=[publication(7)])) == [4]


def test_an_entry_that_fails_leaves_nothing(path):
    with Journal(path) as journal:
        journal.commit(entry(1))
        before = everything(journal)
        with pytest.raises(TypeError, match="serializable"):
            journal.commit(entry(2, energy=[line(2), {"what": object()}], confirmed=[1], snapshot=b"state"))
        assert everything(journal) == before
        assert journal.count("outbox") == 1
        assert journal.commit(entry(2)) == [2]


def test_a_position_that_runs_back_is_refused(path):
    with Journal(path) as journal:
        journal.commit(entry(5))
        with pytest.raises(ValueError, match="position is 4, expected at least 5"):
            journal.commit(entry(4))


@given(
    kept=st.integers(1, 40), sizes=st.lists(st.integers(0, 12), max_size=12), repeats=st.lists(st.integers(0, 9))
)
def test_at_least_the_newest_decisions_are_kept_and_few_more(tmp_path_factory, kept, sizes, repeats):
    with Journal(tmp_path_factory.mktemp("journal") / "journal.sqlite", decisions_kept=kept) as journal:
        made = 0
        for size in sizes:
            decisions = [decision(made + i) for i in range(size)]
            made += size
            lines = [line(each) for each in range(made - size, made)]
            journal.commit(Entry(made, decisions + [decision(made - 1)] * (made in repeats), energy=lines))
            rows = journal.decisions()
            assert [row["stream"] for row in rows] == [f"mote-{i}" for i in range(made - len(rows), made)]
            assert min(made, kept) <= len(rows) <= kept + kept // 10 + 12
            assert min(made, kept) <= len(journal.energy()) <= kept + kept // 10 + 12


def test_two_snapshots_are_kept_and_say_what_the_log_may_release(path):
    with Journal(path) as journal:
        for position, oldest in ((10, 0), (20, 10), (30, 20)):
            journal.commit(Entry(position, snapshot=b"state %d" % position))
            assert journal.oldest_snapshot_position == oldest
        assert list(journal.snapshots()) == [(30, b"state 30"), (20, b"state 20")]
    with Journal(path) as journal:
        assert journal.oldest_snapshot_position == 20
        assert journal.snapshot_sizes() == [{"position": 20, "bytes": 8}, {"position": 30, "bytes": 8}]


def test_a_snapshot_may_be_made_when_it_is_committed(path):
    with Journal(path) as journal:
        journal.commit(Entry(1, snapshot=lambda: b"made now"))
        assert list(journal.snapshots()) == [(1, b"made now")]


def damage_newest_snapshot(path):
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE snapshots SET state = x'00' WHERE number = (SELECT max(number) FROM snapshots)")
    connection.close()


def test_a_damaged_snapshot_is_skipped_for_a_good_one(path, caplog):
    with Journal(path) as journal:
        journal.commit(Entry(10, snapshot=b"old"))
        journal.commit(Entry(20, snapshot=b"new"))
    damage_newest_snapshot(path)
    with Journal(path) as journal:
        with caplog.at_level(logging.WARNING, "streamfs"):
            assert list(journal.snapshots()) == [(10, b"old")]
        assert "the snapshot at record 20 is damaged" in caplog.text
        assert journal.torn_snapshots == 1
        journal.commit(Entry(30, snapshot=b"newest"))
        assert list(journal.snapshots()) == [(30, b"newest"), (10, b"old")]
        assert journal.oldest_snapshot_position == 10
        assert journal.torn_snapshots == 1


def test_marks_are_replaced_whole_with_a_snapshot(path):
    marks = [("n1", "light", 2**70, 5.0), ("n2", "light", 0, 6.5)]
    with Journal(path) as journal:
        journal.commit(Entry(1, snapshot=b"", marks=marks))
        journal.commit(Entry(2, publications=[publication(1)], marks=[("n3", "light", 1, 1.0)]))
        assert journal.marks() == marks
        journal.commit(Entry(3, snapshot=b"", marks=marks[1:]))
        assert journal.marks() == marks[1:]
        journal.commit(Entry(4, snapshot=b"", marks=[("n1", "light", 1, nan)]))
        assert str(journal.marks()) == "[('n1', 'light', 1, nan)]"


def test_an_entry_is_empty_if_there_is_nothing_but_a_position():
    assert Entry(7, marks=[("n1", "light", 1, 1.0)]).is_empty
    for changes in ({"confirmed": [1]}, {"energy": [line(1)]}, {"snapshot": b""}, {"decisions": [decision(1)]}):
        assert not Entry(7, **changes).is_empty


VERSION_1 = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE progress (position INTEGER NOT NULL);
    INSERT INTO progress VALUES (42);
    CREATE TABLE decisions (
        number INTEGER PRIMARY KEY AUTOINCREMENT, stream TEXT NOT NULL, episode INTEGER NOT NULL,
        label TEXT, confidence REAL, tick INTEGER NOT NULL, cost REAL, reason TEXT NOT NULL, time REAL,
        UNIQUE (stream, episode)
    );
    INSERT INTO decisions VALUES (1, 'mote-1', 1, 'walk', 0.95, 12, 12.5, 'confident', 1.7e9 + 1);
    CREATE TABLE outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT, topic TEXT NOT NULL, payload BLOB NOT NULL,
        retain INTEGER NOT NULL
    );
    INSERT INTO outbox VALUES (7, 'streamfs/decision/mote-7', x'78787878787878787878', 1);
    CREATE TABLE energy (number INTEGER PRIMARY KEY AUTOINCREMENT, line TEXT NOT NULL);
    CREATE TABLE snapshots (
        number INTEGER PRIMARY KEY AUTOINCREMENT, position INTEGER NOT NULL, checksum BLOB NOT NULL,
        state BLOB NOT NULL
    );
    PRAGMA application_id = 1937008243;
    PRAGMA user_version = 1;
"""


def run_sql(path, script):
    connection = sqlite3.connect(path)
    connection.executescript(script)
    connection.close()


def test_a_journal_of_version_1_becomes_one_of_today(path):
    run_sql(path, VERSION_1)
    with pytest.raises(StateError, match="has version 1 of the journal, expected 4"):
        JournalReader(path)
    for _ in range(2):
        with Journal(path) as journal:
            assert journal.position == 42
            assert journal.decisions() == [decision(1).to_json()]
            assert journal.outbox() == [(7, publication(7)._replace(expiry=0))]
            assert journal.marks() == []
            journal.check()
    with Journal(path) as journal:
        assert journal.commit(entry(43, snapshot=b"state", marks=[("n1", "light", 1, 2.0)])) == [8]
        assert journal.marks() == [("n1", "light", 1, 2.0)]
        journal.check()


VERSION_3 = (
    journal_schema.MIGRATIONS[:3],
    """
    INSERT INTO outbox VALUES (1, 't', x'31', 1, checksum(1, 't', x'31', 1));
    UPDATE totals SET published = 1, outbox = (SELECT checksum FROM outbox);
    UPDATE totals SET checksum = checksum(position, published, decisions, energy, outbox, snapshots, marks);
""",
)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("", ""),
        ("UPDATE outbox SET payload = x'32'", "row 1 of the table outbox"),
        ("DELETE FROM outbox", "rows of outbox are missing"),
        ("UPDATE totals SET position = 1", "the row of the table totals"),
    ],
)
def test_damage_from_before_messages_expired_is_still_noticed(path, monkeypatch, damage, error):
    connection = journal_schema.connect(path)
    with monkeypatch.context() as older:
        older.setattr(journal_schema, "MIGRATIONS", VERSION_3[0])
        journal_schema.migrate(connection, path)
    connection.executescript(f"{VERSION_3[1]} {damage}")
    connection.close()
    with pytest.raises(StateError, match=error) if error else nullcontext(), Journal(path) as journal:
        assert journal.outbox() == [(1, Publication("t", b"1"))]


def test_a_migration_that_fails_leaves_the_older_version(path, monkeypatch):
    run_sql(path, VERSION_1)
    with monkeypatch.context() as broken:
        tables, *_ = journal_schema.MIGRATIONS
        script = "CREATE TABLE marks (a); INSERT INTO nowhere VALUES (1);"
        broken.setattr(journal_schema, "MIGRATIONS", (tables, script))
        with pytest.raises(StateError, match="no such table: nowhere"):
            Journal(path)
    with Journal(path) as journal:
        assert (journal.position, journal.marks()) == (42, [])


def test_a_newer_version_is_refused(path):
    with Journal(path) as journal:
        journal.begin()
    run_sql(path, "PRAGMA user_version = 99;")
    for kind in (Journal, JournalReader):
        with pytest.raises(StateError, match="has version 99 of the journal, expected 4: a newer streamfs"):
            kind(path)


def test_another_database_is_refused_and_left_as_it_is(path):
    run_sql(path, "CREATE TABLE theirs (a);")
    before = path.read_bytes()
    with pytest.raises(StateError, match=r"journal\.sqlite is a database, but not a streamfs journal"):
        Journal(path)
    assert path.read_bytes() == before


def test_a_file_that_is_no_database_is_refused(path):
    path.write_bytes(b"something else" * 100)
    for kind in (Journal, JournalReader):
        with pytest.raises(StateError, match=r"journal\.sqlite is not a streamfs journal, or is damaged"):
            kind(path)


def test_a_damaged_file_is_noticed_when_it_is_opened(path):
    with Journal(path) as journal:
        journal.commit(Entry(1, energy=[line(i) for i in range(1000)]))
    content = bytearray(path.read_bytes())
    page = content.index(b"mote-777") // 4096 * 4096
    content[page : page + 8] = b"\xff" * 8
    path.write_bytes(content)
    with pytest.raises(StateError, match=r"journal\.sqlite is damaged"):
        Journal(path)


def test_a_file_that_cannot_be_made_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"nowhere/journal\.sqlite cannot be used: unable to open"):
        Journal(tmp_path / "nowhere" / "journal.sqlite")
    with pytest.raises(StateError, match=r"nowhere/journal\.sqlite does not exist"):
        JournalReader(tmp_path / "nowhere" / "journal.sqlite")
    with pytest.raises(ValueError, match="decisions_kept is 0, expected at least 1"):
        Journal(tmp_path / "journal.sqlite", decisions_kept=0)


def test_a_reader_sees_what_is_committed_while_the_journal_is_open(path):
    with Journal(path) as journal:
        journal.begin()
        with JournalReader(path) as reader:
            journal.commit(entry(1))
            assert reader.committed_position() == 1
            assert reader.decisions() == journal.decisions()
            assert reader.counts() == {"decisions": 1, "energy": 1, "outbox": 1, "snapshots": 0, "marks": 0}


def test_a_file_that_may_not_grow_loses_nothing_and_takes_the_entry_later(path):
    large = entry(2, publications=[publication(i, 5000) for i in range(100)], snapshot=b"state", confirmed=[1])
    with Journal(path) as journal:
        journal.commit(entry(1))
        before = everything(journal)
        with file_limit(200_000):
            for _ in range(2):
                with pytest.raises(
                    StorageError, match=r"journal\.sqlite cannot be used: (disk I/O error|.* full)"
                ):
                    journal.commit(large)
        assert everything(journal) == before
        assert (journal.count("outbox"), journal.oldest_snapshot_position) == (1, 0)
        assert len(journal.commit(large)) == 100
        assert (journal.position, journal.count("outbox")) == (2, 100)


def test_a_full_disk_loses_nothing_and_takes_the_entry_later(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    words = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", small]
    if None in (mount, umount) or subprocess.run(words, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    ballast = small / "ballast"
    large = entry(2, publications=[publication(i, 5000) for i in range(60)])
    try:
        with Journal(small / "journal.sqlite") as journal:
            journal.commit(entry(1))
            ballast.write_bytes(bytes(800_000))
            with pytest.raises(StorageError, match=r"cannot be used: .*(full|I/O error)"):
                journal.commit(large)
            assert (journal.position, len(journal.decisions())) == (1, 1)
            ballast.unlink()
            assert len(journal.commit(large)) == 60
    finally:
        subprocess.run([umount, small], check=True)


def test_models_are_kept_whole_and_forgotten_when_nothing_names_them(tmp_path):
    models = Models(tmp_path / "models")
    models.forget_models((), 0, 0)
    first, second = models.keep_model(b"first"), models.keep_model(b"second")
    assert first == container.digest(b"first")
    assert models.model_path(second).read_bytes() == b"second"
    models.model_path(first).write_bytes(b"torn")
    assert models.keep_model(b"first") == first
    assert models.model_path(first).read_bytes() == b"first"
    torn = tmp_path / "models" / f"{second}.streamfs.partial"
    torn.touch()
    models.forget_models({second}, 0, 10)
    assert {path.stem for path in (tmp_path / "models").iterdir()} == {first, second}
    models.forget_models({second}, 11, 20)  # what was not stored at record 10 may name the first, up to record 20
    models.forget_models({second}, 20, 30)
    assert models.model_path(first).exists()
    models.forget_models({second}, 21, 40)
    assert list((tmp_path / "models").iterdir()) == [models.model_path(second)]


def test_a_pipe_in_the_place_of_a_model_is_refused(tmp_path):
    models = Models(tmp_path)
    path = models.model_path(container.digest(b"model"))
    os.mkfifo(path)
    assert refusal(models.keep_model, b"model") == f"{path} cannot be written: it is a pipe, expected a file"


def test_models_of_the_run_before_are_not_forgotten_at_once(tmp_path):
    digest = Models(tmp_path).keep_model(b"model")
    models = Models(tmp_path)
    for start, end in ((5, 10), (11, 20)):
        models.forget_models((), start, end)
        assert models.model_path(digest).exists()
    models.forget_models((), 21, 30)
    assert not models.model_path(digest).exists()


def test_a_model_that_cannot_be_removed_is_named(tmp_path):
    (tmp_path / "models" / "cafe.streamfs").mkdir(parents=True)
    models = Models(tmp_path / "models")
    with pytest.raises(StorageError, match=r"cafe\.streamfs cannot be written"):
        models.forget_models((), 1, 0)


def test_a_model_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "models").touch()
    with pytest.raises(StorageError, match=rf"\.streamfs cannot be written: {os.strerror(errno.ENOTDIR)}"):
        Models(tmp_path / "models").keep_model(b"model")


def test_a_state_folder_holds_log_journal_and_models(tmp_path):
    with State(tmp_path / "state", segment_bytes=100, spool=tmp_path / "spool", decisions_kept=5) as state:
        state.log.append([Record(MESSAGE, 0.0, "a", bytes(200))])
        state.log.append([Record(MESSAGE, 1.0, "b", bytes(200))])
        state.log.sync()
        state.log.release(1)
        state.models.keep_model(b"model")
        state.journal.commit(Entry(2))
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == [
        "journal.sqlite",
        "log",
        "models",
    ]
    assert [path.name for path in (tmp_path / "spool").iterdir()] == [f"{0:020d}.log"]
    assert models_folder(tmp_path / "state").is_dir()
    with State(tmp_path / "state") as state:
        assert (state.log.start, state.log.end, state.journal.position) == (1, 2, 2)


def test_a_second_gateway_on_the_same_folder_is_refused_and_harms_nothing(tmp_path):
    with State(tmp_path) as state:
        with pytest.raises(StateError, match="is in use by another gateway, process"):
            State(tmp_path)
        state.journal.commit(entry(0))
        assert state.log.append([Record(MESSAGE, 0.0, "a", b"")]) == 1


def test_a_journal_that_is_ahead_of_its_log_is_refused(tmp_path):
    with State(tmp_path) as state:
        state.log.append([Record(MESSAGE, 0.0, "a", b"")] * 3)
        state.log.sync()
        state.journal.commit(Entry(3))
    shutil.rmtree(tmp_path / "log")
    with pytest.raises(StateError, match="the journal is at record 3, but the log ends at record 0"):
        State(tmp_path)


@pytest.fixture
def look(tmp_path, capfd):
    """Return a function that looks into a state folder that a gateway has open."""

    def run(*args, code=0):
        exit_code = 0
        try:
            main(["journal", str(tmp_path), *args])
        except SystemExit as ended:
            exit_code = ended.code
        assert exit_code == code
        return capfd.readouterr()

    with State(tmp_path) as state:
        records = [Record(MESSAGE, 1.7e9 + i, f"sensors/n{i}/[bold]", b"\xff\x1b[31m[/]%d" % i) for i in range(5)]
        state.log.append(records)
        state.log.sync()
        state.journal.commit(entry(1))
        state.journal.commit(entry(5, snapshot=b"state"))
        yield run


def test_the_command_sums_up_what_is_kept(look, tmp_path):
    assert orjson.loads(look("--json").out) == {
        "position": 5,
        "decisions": 2,
        "energy": 2,
        "outbox": 2,
        "snapshots": 1,
        "marks": 0,
        "log_start": 0,
        "log_end": 5,
        "log_segments": 1,
        "log_bytes": (tmp_path / "log" / f"{0:020d}.log").stat().st_size,
    }
    assert "log end" in look().out


@pytest.mark.parametrize("part", ["summary", "decisions", "energy", "outbox", "snapshots", "log"])
def test_the_command_shows_each_part_within_80_columns(look, part):
    told = look(part)
    assert told.err == ""
    assert max(len(row) for row in told.out.splitlines()) <= 80
    assert "\x1b" not in told.out
    rows = [orjson.loads(row) for row in look(part, "--last", "1", "--json").out.splitlines()]
    assert len(rows) == 1


def test_the_command_shows_the_newest_rows(look):
    def rows(part):
        return [orjson.loads(row) for row in look(part, "--last", "1", "--json").out.splitlines()]

    assert rows("decisions") == [decision(5).to_json()]
    assert rows("energy") == [line(5)]
    assert rows("snapshots") == [{"position": 5, "bytes": 5}]
    assert rows("outbox")[0]["topic"] == publication(1).topic
    assert rows("log") == [
        {
            "position": 5,
            "kind": "message",
            "arrival": 1.7e9 + 4,
            "topic": "sensors/n4/[bold]",
            "payload": "\\xff\x1b[31m[/]4",
            "content_type": "",
        }
    ]
    assert "[bold]" in look("log").out


def test_the_command_says_where_there_is_nothing(tmp_path, capfd):
    with pytest.raises(SystemExit):
        main(["journal", str(tmp_path)])
    assert "journal.sqlite does not exist, expected a gateway's journal" in capfd.readouterr().err
    assert not journal_path(tmp_path).exists()
    with State(tmp_path) as state:
        state.begin()
    main(["journal", str(tmp_path), "log"])
    assert capfd.readouterr().err == "log: nothing\n"


def test_decisions_of_a_stream_and_since_a_time_are_chosen(tmp_path, capsys):
    with State(tmp_path) as state:
        state.journal.commit(
            Entry(0, [decision(number) for number in range(5)] + [decision(1, episode=2, time=nan)])
        )

    def shown(*words):
        main(["journal", str(tmp_path), "decisions", "--json", *words])
        return [orjson.loads(line)["id"] for line in capsys.readouterr().out.splitlines()]

    assert shown("--stream", "mote-1") == ["mote-1/1", "mote-1/2"]
    assert shown("--stream", "mote-1", "--last", "1") == ["mote-1/2"]
    assert shown("--since", "2023-11-14T22:13:23") == ["mote-3/1", "mote-4/1"]
    assert shown("--since", "2023-11-14T23:13:23+01:00", "--stream", "mote-4") == ["mote-4/1"]
    assert shown("--since", "1s") == []
    for words in (["energy", "--stream", "x"], ["decisions", "--since", "soon"]):
        with pytest.raises(SystemExit, match="2"):
            main(["journal", str(tmp_path), *words])


def test_decisions_are_followed_as_they_fall(tmp_path, monkeypatch, capsys):
    with State(tmp_path) as state:
        state.journal.commit(Entry(0, [decision(number) for number in range(3)]))
        looks = iter([[decision(3), decision(4)], [], [decision(5)]])

        def wait(_seconds):
            more = next(looks, None)
            if more is None:
                raise KeyboardInterrupt
            state.journal.commit(Entry(0, more))

        monkeypatch.setattr("streamfs.cli.commands.journal.sleep", wait)
        with pytest.raises(SystemExit, match="130"):
            main(["journal", str(tmp_path), "decisions", "--follow", "--last", "2", "--json"])
    lines = capsys.readouterr().out.splitlines()
    assert [orjson.loads(line)["stream"] for line in lines] == [f"mote-{number}" for number in range(1, 6)]


@pytest.mark.parametrize("is_late", [False, True], ids=["soon", "later than closing waits"])
def test_closing_leaves_a_commit_under_way_its_file(tmp_path, is_late):
    journal, begun, may_end = Journal(tmp_path / "journal"), Event(), Event()
    numbers = []

    def state():
        begun.set()
        may_end.wait()
        return b"state"

    committing = Thread(target=lambda: numbers.extend(journal.commit(entry(1, snapshot=state))))
    committing.start()
    begun.wait()
    closing = Thread(target=journal.close)
    closing.start()
    closing.join(30.0 if is_late else 0.1)
    may_end.set()
    committing.join()
    closing.join()
    assert numbers == [1]
    with Journal(tmp_path / "journal") as again:
        assert [made["id"] for made in again.decisions()] == ["mote-1/1"]
