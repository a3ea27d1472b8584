"""Recovery: a killed gateway continues as if nothing had happened."""

import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, command, content, control_messages, ids, make_options, message, new_core
from helpers.runs import SEGMENT_BYTES, Run, come_of, kept
from helpers.stories import BINDINGS, CASES, story_of
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.base import container
from streamfs.errors import LogError, ModelError, StateError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import KIND, VERSION, Core
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.records import clock_record, model_record, start_record
from streamfs.gateway.recovery import replay_log
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import State, journal_path, log_folder, models_folder

STEPS = ("appended", "synced", "committed", "released")
MODELS = Models(channels_procedure("x", time_limit=50))
ALONE = Bindings.single(["x"])
ROLES = ["a.x", "b.x"]
PAIR = Models(channels_procedure(*ROLES, time_limit=50), channels_procedure("b.x", "a.x", time_limit=50))


def tear(folder, random):
    """Truncate the last frame, as a power failure does."""
    newest = max(log_folder(folder).glob("*.log"))
    with newest.open("r+b") as file:
        file.truncate(newest.stat().st_size - random.randint(1, 20))


def snapshots_of(folder):
    with closing(sqlite3.connect(journal_path(folder))) as database:
        return database.execute("SELECT number, position, state FROM snapshots ORDER BY number DESC").fetchall()


def damage(folder, n):
    """Flip a byte in each of the newest snapshots."""
    with closing(sqlite3.connect(journal_path(folder))) as database, database:
        for number, _, state in snapshots_of(folder)[:n]:
            middle = len(state) // 2
            flipped = state[:middle] + bytes([state[middle] ^ 1]) + state[middle + 1 :]
            database.execute("UPDATE snapshots SET state = ? WHERE number = ?", (flipped, number))


def readings(nodes, values, start=0, channel="x"):
    """Each of the nodes sends each of the values, a second apart."""
    return [
        message(node, float(second), value, second, channel)
        for second, value in enumerate(values, start)
        for node in nodes.split()
    ]


def killed_often(folder, records, random, models, bindings, options):
    """Process records in runs killed at random; return what is stored, the last core, and all records."""
    n_taken, n_runs = {0: 0}, 0  # records of the story, by the position in the log
    starts = {}  # of runs, likewise, each with the number of records before it
    while True:
        with Run(f"{folder}/{n_runs}", models, bindings, **options) as run:
            now = max(0.0, run.core.joiner.latest)
            first = [start_record(run.core.procedure.digest, now)]
            starts = {end: start for end, start in starts.items() if end < run.state.log.end}
            starts[run.state.log.end] = n_taken[run.state.log.end], first[0]
            while (at := n_taken[run.state.log.end]) < len(records) or first:
                n = random.randint(1, 20)
                n_taken[run.state.log.end + len(first) + len(records[at : at + n])] = min(at + n, len(records))
                steps = run.steps(first + records[at : at + n], snapshot=random.random() < 0.3)
                first = []
                last = random.choice(STEPS) if random.random() < 0.2 else None
                if any(step == last for step in steps):
                    break
            else:
                return kept(run.state.journal), run.core, with_starts(records, starts.values())
            shutil.copytree(f"{folder}/{n_runs}", f"{folder}/{n_runs + 1}")
        n_runs += 1
        if last == "appended" and random.random() < 0.5:
            tear(f"{folder}/{n_runs}", random)


def with_starts(records, starts):
    """Return records with those of the begins of runs, each after a number of them."""
    all_records, n_before = [], 0
    for n, start in starts:
        all_records += [*records[n_before:n], start]
        n_before = n
    return [*all_records, *records[n_before:]]


@pytest.mark.parametrize("case", CASES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_a_gateway_that_is_killed_anywhere_goes_on_as_if_nothing_had_happened(case, seed):
    models, options = CASES[case]
    records = list(story_of(models, seed))
    with TemporaryDirectory() as folder:
        found, core, taken = killed_often(folder, records, Random(seed), models, BINDINGS[models], options)  # noqa: S311 - the same for a seed
    whole = Core(models.first, BINDINGS[models], make_options(**options), models)
    assert found == come_of(whole.take(taken))
    names = [decision["id"] for decision in found["decisions"]]
    assert len(set(names)) == len(names)
    assert content(core) == content(whole)


def long_run(folder, *, releases):
    """Run a gateway with three snapshots, and return an undisturbed core and its effects."""
    records = [
        record for i in range(12) for record in (message("n1", float(i), 0.0, i), message(f"m{i}", float(i), 1.0))
    ]
    whole, expected = new_core(MODELS, ALONE)
    expected.add(whole.take(records))
    with Run(folder, MODELS, ALONE) as run:
        run.releases = releases
        run.take([start_record(MODELS.first.digest, 0.0)])
        for i in range(0, 24, 2):
            run.take(records[i : i + 2], snapshot=i in (6, 12, 18))
        assert kept(run.state.journal) == come_of(expected)
    assert [position for _, position, _ in snapshots_of(folder)] == [21, 15]
    return whole, expected


@pytest.mark.parametrize(("n_damaged", "n_replayed"), [(0, 4), (1, 10), (2, 25)])
def test_a_damaged_snapshot_is_replaced_by_the_previous_one_and_a_longer_replay(tmp_path, n_damaged, n_replayed):
    whole, expected = long_run(tmp_path, releases=n_damaged < 2)
    damage(tmp_path, n_damaged)
    with Run(tmp_path, MODELS, ALONE) as run:
        assert (run.n_replayed, run.state.journal.torn_snapshots) == (n_replayed, n_damaged)
        assert run.effects.is_empty
        assert content(run.core) == content(whole)
        more = readings("n1", [1.0] * 30, 12)
        expected.add(whole.take(more))
        run.take(more)
        assert kept(run.state.journal) == come_of(expected)


def test_without_a_good_snapshot_a_log_that_was_released_is_refused(tmp_path):
    long_run(tmp_path, releases=True)
    damage(tmp_path, 2)
    with pytest.raises(
        LogError, match=r"no snapshot that can be used.*at record \d+, expected 0.*move the folder away"
    ):
        Run(tmp_path, MODELS, ALONE)


def with_state_versions(snapshot, change):
    header, arrays, sealed = container.unpack(snapshot, KIND, VERSION, "the snapshot")
    for model in header["models"]:
        model["state_versions"] = [version + change for version in model["state_versions"]]
    return container.pack(KIND, VERSION, header, arrays, **sealed)


def of_other_format(snapshot, change):
    header, arrays, sealed = container.unpack(snapshot, KIND, VERSION, "the snapshot")
    return container.pack(KIND, VERSION + change, header, arrays, **sealed)


@pytest.mark.parametrize("change", [-1, 1], ids=["older", "newer"])
@pytest.mark.parametrize(
    ("changed", "version", "reason"),
    [
        (with_state_versions, 1, "has state versions [{}], expected [1]"),
        (of_other_format, VERSION, "has version {} of the gateway"),
    ],
)
def test_snapshots_of_another_version_are_noted_and_not_used(tmp_path, caplog, change, changed, version, reason):
    whole, _ = long_run(tmp_path, releases=False)
    with State(tmp_path, segment_bytes=SEGMENT_BYTES) as state:
        for position, snapshot in [*state.journal.snapshots()][::-1]:
            state.journal.commit(Entry(25, snapshot=changed(snapshot, change)))
            assert position < 25
    with caplog.at_level(logging.WARNING), Run(tmp_path, MODELS, ALONE) as run:
        assert run.n_replayed == 25
        assert content(run.core) == content(whole)
        assert caplog.text.count(reason.format(version + change)) == 2
        run.state.log.release(20)
    with pytest.raises(LogError, match="no snapshot that can be used"):
        Run(tmp_path, MODELS, ALONE)


def test_a_model_that_the_log_names_and_nobody_has_is_missed(tmp_path):
    with Run(tmp_path, PAIR, Bindings.pairs(ROLES, {"p": {"a": "n0", "b": "n1"}})) as run:
        run.take([start_record(digest, 0.0) for digest in PAIR])
    for path in (tmp_path / "models").iterdir():
        path.unlink()
    with pytest.raises(ModelError, match=r"\.streamfs"):
        Run(tmp_path, MODELS, ALONE)


def test_models_go_once_nothing_names_them_and_not_before(tmp_path):
    models = Models(*(channels_procedure("x", time_limit=limit) for limit in range(10, 26)))
    with Run(tmp_path / "state", models, ALONE) as run:
        run.take([start_record(models.first.digest, 0.0)])
        for i, digest in enumerate(models):
            run.take([model_record(digest, 0.0), *readings("n1", [0.0] * 3, 3 * i)], snapshot=i % 3 == 2)
            copy = tmp_path / str(i)
            shutil.copytree(tmp_path / "state", copy)
            damage(copy, i % 2)
            with Run(copy, models, ALONE) as recovered:
                assert content(recovered.core) == content(run.core)
        left = {path.stem for path in models_folder(tmp_path / "state").iterdir()}
    assert {model.procedure.digest for model in run.core.roster.models} <= left < set(models)


def test_bindings_without_a_role_that_open_streams_still_need_are_refused_with_what_to_do(tmp_path):
    with Run(tmp_path, PAIR, Bindings.pairs(ROLES, {"p": {"a": "n0", "b": "n1"}})) as run:
        start = start_record(PAIR.first.digest, 0.0, run.core.configuration)
        run.take([start, *readings("n0 n1", [0.0] * 5)])
    alone = Models(channels_procedure("a.x"))
    said = r"another model, which the bindings do not fit: channel 'b\.x'.*or move the folder away to start afresh"
    with pytest.raises(StateError, match=said) as caught:
        Run(tmp_path, alone, Bindings.pairs(["a.x"], {"p": {"a": "n0"}}))
    assert str(tmp_path) in str(caught.value)


def test_streams_that_are_bound_otherwise_at_a_restart_begin_anew_and_the_others_go_on(tmp_path):
    digest = PAIR.first.digest
    before = {"p": {"a": "n0", "b": "n1"}, "q": {"a": "n1", "b": "n2"}, "r": {"a": "n2", "b": "n3"}}
    after = {"p": before["p"], "q": {"a": "n1", "b": "n3"}, "s": {"a": "n4", "b": "n0"}}
    with Run(tmp_path, PAIR, Bindings.pairs(ROLES, before)) as run:
        run.take([start_record(digest, 0.0)])
        run.take(readings("n0 n1 n2 n3", [0.0] * 5), snapshot=True)
    with Run(tmp_path, PAIR, Bindings.pairs(ROLES, after)) as run:
        started = run.take([start_record(digest, 5.0)])
        channels = {node: message["channels"] for node, message in control_messages(started.publications).items()}
        assert channels == {"n2": [], "n4": ["x"]}
        assert run.core.counters["unbound_streams"] == 2
        made = run.take(readings("n0 n1 n3 n4", [9.0] * 9, 5), snapshot=True)
        assert sorted(ids(made.decisions)) == ["p/1", "q/2", "s/1"]
        assert {made.stream: made.tick for made in made.decisions} == {"p": 6, "q": 1, "s": 1}
    with Run(tmp_path, PAIR, Bindings.pairs(ROLES, before)) as run:
        run.take([start_record(digest, 20.0)])
        made = run.take(readings("n0 n1 n2 n3", [9.0] * 9, 20))
        assert sorted(ids(made.decisions)) == ["q/3", "r/2"]


@given(seed=st.integers(0, 2**32))
@settings(max_examples=30)
def test_ids_stay_unique_whatever_is_bound_at_each_restart(seed):
    random, models = Random(seed), CASES["paired"][0]  # noqa: S311
    made, told_of, records = [], [], list(story_of(models, seed))
    with TemporaryDirectory() as folder:
        while records:
            streams = random.sample("pqrs", random.randint(1, 4))
            pairs = {
                name: dict(zip("ab", random.sample(["n0", "n1", "n2", "n3"], 2), strict=True)) for name in streams
            }
            with Run(folder, models, Bindings.pairs(ROLES, pairs), reopen_after=2.0) as run:
                first = [start_record(run.core.procedure.digest, 0.0, run.core.configuration)]
                for _ in range(random.randint(1, 4)):
                    n = random.randint(1, 20)
                    run.take(first + records[:n], snapshot=random.random() < 0.3)
                    first, records = [], records[n:]
                made, told_of = run.state.journal.decisions(), kept(run.state.journal)["publications"]
                n_repeated = run.state.journal.repeated_decisions
            assert n_repeated == 0
    published = [orjson.loads(p.payload)["id"] for p in told_of if "/decision/" in p.topic and p.payload]
    assert published == [decision["id"] for decision in made]


@pytest.mark.parametrize("snapshot", [False, True], ids=["replayed", "snapshot"])
def test_with_another_model_at_a_restart_open_episodes_end_on_the_old_one(tmp_path, snapshot):
    old, new = channels_procedure("x", time_limit=8), channels_procedure("x", time_limit=4)
    bindings = Bindings.single(["x"], ["n1", "n2"])
    with Run(tmp_path, Models(old), bindings) as run:
        run.take([start_record(old.digest, 0.0)])
        run.take(readings("n1", [0.0] * 5), snapshot=snapshot)
    with Run(tmp_path, Models(new), bindings) as run:
        run.take([start_record(new.digest, 5.0)])
        made = run.take([clock_record(21.0)])
        assert [(d.stream, d.tick, d.reason) for d in made.decisions] == [("n1", 8, "timeout")]
        assert run.core.counters["models"] == 1
        run.take([command({"reopen": "*"})])
    with Run(tmp_path, Models(new), bindings) as run:
        assert run.core.procedure.digest == new.digest
        made = run.take(readings("n1 n2", [0.0], 20))
        made.add(run.take([clock_record(40.0)]))
        assert sorted(ids(made.decisions)) == ["n1/2", "n2/1"]
        assert {decision.tick for decision in made.decisions} == {4}


@given(seed=st.integers(0, 2**32))
@settings(max_examples=10)
def test_what_a_gateway_has_received_replays_to_its_decisions(seed):
    models, options = Models(CASES["evicting"][0].first), CASES["evicting"][1]
    bindings = BINDINGS[CASES["evicting"][0]]
    records = list(story_of(models, seed))
    whole, expected = new_core(models, bindings, **options)
    expected.add(whole.take(records))
    expected.add(whole.finish())
    with TemporaryDirectory() as folder, Run(folder, models, bindings, **options) as run:
        run.take([start_record(models.first.digest, 0.0)])
        for i in range(0, len(records), 10):
            run.take(records[i : i + 10], snapshot=i > 0)
        log, spool = log_folder(folder), Path(folder, "spool")
        for segment in spool.iterdir():
            shutil.copy(segment, log)
        found = list(replay_log(log, models.first, bindings, make_options(**options)))
    assert [decision.to_json() for decision in found] == [d.to_json() for d in expected.decisions]


def test_a_replay_follows_the_model_that_it_is_given(tmp_path):
    old, new = channels_procedure("x", time_limit=8), channels_procedure("x", time_limit=4)
    bindings = Bindings.single(["x"], ["n1"])
    with Run(tmp_path, Models(old), bindings) as run:
        run.take([start_record(old.digest, 0.0), *readings("n1", [0.0] * 12)])
        (decision,) = replay_log(log_folder(tmp_path), new, bindings, Options())
    assert (decision.tick, decision.reason) == (4, "timeout")


def test_a_replay_of_a_log_with_a_gap_or_of_none_is_refused(tmp_path):
    long_run(tmp_path, releases=False)
    sorted(log_folder(tmp_path).glob("*.log"))[1].unlink()
    with pytest.raises(LogError, match="records are missing"):
        list(replay_log(log_folder(tmp_path), MODELS.first, ALONE, Options()))
    with pytest.raises(LogError, match="has no segment of a log"):
        list(replay_log(tmp_path / "models", MODELS.first, ALONE, Options()))


def test_roles_that_come_later_bind_the_streams_anew_and_leave_no_node_behind(tmp_path):
    procedure = channels_procedure("a.x", time_limit=8)
    alone, pair = Bindings.single(["a.x"], ["desk", "door"]), Bindings.pairs(["a.x"], {"desk": {"a": "n2"}})
    with Run(tmp_path, Models(procedure), alone) as run:
        run.take([start_record(procedure.digest, 0.0, run.core.configuration)])
        run.take(readings("desk", [0.0] * 3, channel="a.x"))
    with Run(tmp_path, Models(procedure), pair) as run:
        started = run.take([start_record(procedure.digest, 5.0, run.core.configuration)])
        channels = {node: message["channels"] for node, message in control_messages(started.publications).items()}
        assert channels == {"desk": [], "door": [], "n2": ["x"]}
        assert list(run.core.roster.nodes) == ["n2"]
        made = run.take(readings("n2", [9.0] * 9, 5))
        assert ids(made.decisions) == ["desk/2"]


def test_other_settings_are_taken_before_anyone_sends_however_many_features_a_model_has(tmp_path):
    procedure = channels_procedure(*(f"x{number}" for number in range(200)))
    for lateness in (1.0, 2.0):
        with Run(tmp_path, Models(procedure), Bindings.single(procedure.channels), lateness=lateness) as run:
            assert run.core.joiner.timing.lateness == lateness
            run.take([start_record(procedure.digest, 0.0, run.core.configuration)], snapshot=True)
