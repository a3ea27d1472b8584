"""The model file: used if valid, otherwise rejected and reported."""

import sys
from dataclasses import replace
from threading import Thread
from time import monotonic

import pytest
from helpers.keys import make_keys
from helpers.procedures import channels_procedure
from helpers.promised import promised
from helpers.records import Models, message, new_core

from streamfs import Procedure
from streamfs.errors import ModelError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import model_record, start_record
from streamfs.gateway.core.replay_configuration import described
from streamfs.gateway.host import hosted
from streamfs.gateway.model_file import ModelFile
from streamfs.gateway.recovery import last_model
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import State
from streamfs.procedure.signature import sign, signature_path

FIRST, SECOND, THIRD = (channels_procedure("x", time_limit=limit) for limit in (4, 5, 6))
MODELS = Models(FIRST, SECOND, THIRD)
ALONE = Bindings.single(["x"])


@pytest.fixture
def state(tmp_path):
    with State(tmp_path / "state") as state:
        yield state


@pytest.fixture
def file(tmp_path):
    """A model file and its path."""
    path = tmp_path / "model.streamfs"
    FIRST.save(path)
    return ModelFile(lambda: Procedure.load(path)), path


def keep(state, core, records, *, snapshot=False):
    """Process records, and store them as a gateway does."""
    for procedure in (FIRST, SECOND, THIRD):
        state.models.keep_model(procedure.packed)
    core.take(records)
    position = state.log.append(records)
    state.log.sync()
    state.journal.commit(Entry(position, snapshot=core.to_state() if snapshot else None))


def test_the_last_model_is_that_of_the_newest_record_that_names_one(state):
    assert last_model(state) is None
    core, _ = new_core(MODELS, ALONE)
    keep(state, core, [message("n1", 0.0, 0.0)])
    assert last_model(state) is None
    keep(state, core, [start_record(FIRST.digest, 0.0), message("n1", 1.0, 0.0)])
    assert last_model(state).digest == FIRST.digest
    keep(state, core, [model_record(SECOND.digest, 0.0), message("n1", 2.0, 0.0)], snapshot=True)
    assert last_model(state).digest == SECOND.digest
    keep(state, core, [message("n1", 3.0, 0.0), model_record(THIRD.digest, 0.0)])
    assert last_model(state).digest == THIRD.digest


def test_the_last_model_of_a_log_that_was_released_is_in_the_snapshot(tmp_path):
    with State(tmp_path, segment_bytes=100) as state:
        core, _ = new_core(MODELS, ALONE)
        keep(state, core, [start_record(SECOND.digest, 0.0)])
        for tick in range(4):
            keep(state, core, [message("n1", float(tick), 0.0)], snapshot=True)
        state.log.release(state.journal.oldest_snapshot_position)
        assert state.log.start > 1
        assert last_model(state).digest == SECOND.digest


def test_a_good_file_is_what_a_run_begins_with(file, state):
    model_file, _ = file
    assert model_file.first(state).digest == FIRST.digest
    assert (model_file.refused, model_file.counters["reload_failures"]) == ("", 0)


def test_a_bad_file_is_replaced_by_the_model_of_the_last_run(file, state, caplog):
    model_file, path = file
    core, _ = new_core(MODELS, ALONE)
    keep(state, core, [start_record(SECOND.digest, 0.0)])
    path.unlink()
    assert model_file.first(state).digest == SECOND.digest
    assert "model.streamfs cannot be read" in model_file.refused
    assert f"rejected; model {SECOND.digest} stays in use" in caplog.text
    assert model_file.counters == {"reloads": 0, "reload_failures": 1}


@pytest.mark.parametrize("is_kept", [True, False])
def test_a_bad_file_is_an_error_where_there_was_no_run(file, state, is_kept):
    model_file, path = file
    path.write_bytes(b"streamfs?")
    with pytest.raises(ModelError, match=r"model\.streamfs is not a streamfs"):
        model_file.first(state if is_kept else None)


def test_if_the_last_model_is_gone_too_both_are_named(file, state):
    model_file, path = file
    core, _ = new_core(MODELS, ALONE)
    keep(state, core, [start_record(SECOND.digest, 0.0)])
    state.models.model_path(SECOND.digest).unlink()
    path.unlink()
    with pytest.raises(
        ModelError, match=rf"model\.streamfs cannot be read.*{SECOND.digest}\.streamfs cannot be read"
    ):
        model_file.first(state)


def test_a_refusal_lasts_until_a_good_file_is_read(file):
    model_file, path = file
    kept = []
    core, _ = new_core(MODELS, ALONE)
    replace(FIRST, period=2.0).save(path)
    assert model_file.newest(core.roster, kept.append) is None
    assert "has a period of 2 s" in model_file.refused
    SECOND.save(path)
    assert model_file.newest(core.roster, kept.append).procedure.digest == SECOND.digest
    assert [procedure.digest for procedure in kept] == [SECOND.digest]
    assert model_file.refused == ""
    assert model_file.counters == {"reloads": 1, "reload_failures": 1}


def test_a_model_that_cannot_be_kept_is_refused(file):
    model_file, _ = file
    core, _ = new_core(MODELS, ALONE)

    def keep_nothing(_):
        raise OSError("the disk is full")

    assert model_file.newest(core.roster, keep_nothing) is None
    assert model_file.refused == "the disk is full"


def test_a_model_that_previous_streams_cannot_follow_is_rejected_at_the_start(file):
    model_file, _ = file
    core, _ = new_core(MODELS, ALONE)
    assert model_file.accepted(SECOND, core.roster) is SECOND
    assert model_file.accepted(replace(SECOND, period=2.0), core.roster) is core.procedure
    assert "has a period of 2 s" in model_file.refused


def test_a_request_may_interrupt_whatever_takes_one(file):
    """As a signal does, at any line of it, and nothing waits for what it has interrupted."""
    model_file, _ = file

    def interrupt(*_):
        model_file.request()
        return interrupt

    def take():
        sys.settrace(interrupt)
        model_file.take_request()
        sys.settrace(None)

    thread = Thread(target=take, daemon=True)
    thread.start()
    thread.join(5.0)
    assert not thread.is_alive()
    assert model_file.take_request()


def test_a_request_is_taken_once(file):
    model_file, _ = file
    assert not model_file.take_request()
    model_file.request()
    assert model_file.take_request()
    assert not model_file.take_request()


def test_a_restart_with_a_model_that_cannot_be_bound_keeps_using_the_previous_one(tmp_path):
    good = channels_procedure("a.x", "b.x")
    lines = ['model = "model.streamfs"', 'state = "state"', "[broker]", 'url = "mqtt://localhost:1"']
    path = tmp_path / "gateway.toml"
    path.write_text("\n".join([*lines, "[streams.pairs.p]", 'a = "n0"', 'b = "n1"']), encoding="utf-8")
    settings = read_settings(path)
    with State(tmp_path / "state") as state:
        state.models.keep_model(good.packed)
        bound = described(settings.bindings(good.channels), settings)
        state.log.append([start_record(good.digest, 0.0, bound)])
        state.log.sync()
    for other in (channels_procedure("a.x", "c.x"), channels_procedure("x")):
        other.save(tmp_path / "model.streamfs")
        with hosted(settings) as gateway:
            assert gateway.core.procedure.digest == good.digest


def test_a_model_that_is_not_signed_is_refused_and_the_last_one_goes_on(tmp_path):
    private, _ = make_keys(tmp_path)
    model = tmp_path / "model.streamfs"
    lines = ['model = "model.streamfs"', 'require_signature = "models.pub"', 'state = "state"']
    path = tmp_path / "gateway.toml"
    path.write_text("\n".join([*lines, "[broker]", 'url = "mqtt://localhost:1"']), encoding="utf-8")
    FIRST.save(model)
    with pytest.raises(ModelError, match="is not signed"), hosted(read_settings(path)):
        pass
    sign(model, private)
    with hosted(read_settings(path)) as gateway:
        gateway._begin_state()
        SECOND.save(model)
        gateway.request_reload()
        gateway._turn()
        assert "is not the signature of" in gateway.health().refused_model
        assert gateway.core.procedure.digest == FIRST.digest
        sign(model, private)
        gateway.request_reload()
        gateway._turn()
        assert (gateway.health().refused_model, gateway.core.procedure.digest) == ("", SECOND.digest)
        gateway._cycle.flush(monotonic() + 5.0)
    signature_path(model).unlink()
    with hosted(read_settings(path)) as gateway:
        assert "is not signed" in gateway.health().refused_model
        assert gateway.core.procedure.digest == SECOND.digest


SETTINGS = """
model = "model.streamfs"
[broker]
url = "mqtt://localhost:1"
[[source]]
topic = "home/{node}"
fields = { temp = "x" }
"""


def test_settings_are_read_again_and_hold_all_or_not_at_all(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(SETTINGS, encoding="utf-8")
    FIRST.save(tmp_path / "model.streamfs")
    with hosted(read_settings(path)) as gateway:
        for text, refused in [
            (SETTINGS.replace("temp", "humidity").replace('"x"', '"y"'), "no source has channel x"),
            (SETTINGS.replace("home/{node}", "home/#"), "line 6: source.topic"),
            (SETTINGS.replace("localhost:1", "localhost:2"), "broker cannot change while the gateway runs"),
            (SETTINGS.replace("temp", "warmth") + "[time]\nlateness = 3.0", ""),
        ]:
            path.write_text(text, encoding="utf-8")
            SECOND.save(tmp_path / "model.streamfs")
            gateway.request_reload()
            gateway._turn()
            assert refused in gateway.health().refused_model
            assert bool(refused) == bool(gateway.health().refused_model)
            assert gateway.core.procedure.digest == (FIRST if refused else SECOND).digest
        assert gateway.core.joiner.timing.lateness == 3.0
        assert gateway.core.roster.routes.routes[0].described.count("warmth") == 1


def test_an_earlier_model_is_followed_again_if_it_is_kept_and_fits(tmp_path):
    path = tmp_path / "gateway.toml"
    path.write_text(SETTINGS.replace("[broker]", 'state = "state"\n[broker]', 1), encoding="utf-8")
    FIRST.save(tmp_path / "model.streamfs")
    with hosted(read_settings(path)) as gateway:

        def following(*digest):
            gateway.request_reload(*digest)
            gateway._turn()
            return gateway.core.procedure.digest

        gateway._begin_state()
        SECOND.save(tmp_path / "model.streamfs")
        assert following() == SECOND.digest
        assert following(FIRST.digest) == FIRST.digest
        assert following("0" * 16) == FIRST.digest
        assert "cannot be read" in gateway.health().refused_model
        assert following() == SECOND.digest, "the file's"
        assert gateway.health().refused_model == ""


def test_a_withdrawn_promise_raises_the_threshold_if_it_is_to(tmp_path):
    path, procedure = tmp_path / "gateway.toml", promised()
    lines = ['model = "model.streamfs"', 'state = "state"', "[broker]", 'url = "mqtt://localhost:1"']
    path.write_text("\n".join([*lines, "[promise]", 'on_withdrawal = "raise"']), encoding="utf-8")
    procedure.save(tmp_path / "model.streamfs")
    with hosted(read_settings(path)) as gateway:
        gateway._begin_state()
        gateway._turn()
        assert gateway.core.procedure.digest == procedure.digest
        for _ in range(30):
            gateway.core.feedback.monitor.labelled(False, 0.0)
        gateway._turn()
        assert gateway.core.procedure.confidence == 0.99
        gateway._cycle.want_snapshot()  # it has no records of the labels
        gateway._cycle.flush(monotonic() + 5.0)
    with hosted(read_settings(path)) as gateway:
        gateway._begin_state()
        gateway._turn()
        assert gateway.core.procedure.confidence == 0.99
