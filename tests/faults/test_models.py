"""A model is replaced while streams are open: they finish with it, and others use the new one."""

import dataclasses
import signal

import pytest
from accounts import assert_nothing_lost, assert_published, await_readings, take_account
from gateway_process import GatewayProcess
from helpers.broker import Broker
from survival import SLOW, kill_midway, split
from traffic import LATENESS, START, WAITING, procedure, stamp, traffic
from witness import Publisher, Witness

from streamfs.gateway.storage.state import models_folder

pytestmark = pytest.mark.mqtt

CHANGED_AT = START + 20.0  # event time, seconds
NEW = procedure("humidity@delta:0.5", price=7.0)


def shares():
    """The messages before and after the change."""
    messages = traffic(columns=("light", "temperature", "humidity"))
    first = [sent for sent in messages if stamp(sent) < CHANGED_AT and "humidity" not in sent.topic]
    return first, [sent for sent in messages if stamp(sent) >= CHANGED_AT]


def reload(gateway):
    """Make the gateway reload its model, and wait until it has."""
    gateway.signal(signal.SIGHUP)
    gateway.await_metric("reloads", 1)


def run(folder, broker, replace, finish):
    """Run a gateway on its messages, half of them before its model is replaced."""
    first, second = shares()
    with GatewayProcess(folder, broker.url) as gateway, Publisher(broker) as publisher, Witness(broker) as witness:
        gateway.start(*SLOW)
        gateway.await_ready()
        publisher.send(first)
        await_readings(gateway, first)
        replace(gateway)
        gateway.await_ready()
        publisher.send(second)
        finish(gateway, publisher)
        await_readings(gateway, first + second)
        gateway.stop()
        witness.await_end()
    return take_account(gateway, broker), witness


def replace_running(gateway):
    NEW.save(gateway.model)
    reload(gateway)


def replace_while_down(gateway):
    gateway.kill()
    NEW.save(gateway.model)
    gateway.start(*SLOW)


def nothing(*_):
    pass


def die_midway(gateway, publisher):
    kill_midway(gateway, publisher, 100)
    gateway.start()


@pytest.fixture(scope="module")
def replaced(tmp_path_factory):
    """Return the outcome without faults."""
    with Broker() as broker:
        account, _ = run(tmp_path_factory.mktemp("replaced"), broker, replace_running, nothing)
    return account


def test_open_episodes_end_on_the_old_model_and_later_ones_follow_the_new(replaced, undisturbed):
    old = {
        name: made for name, made in replaced.decisions.items() if made["cost"] == procedure().cost(made["tick"])
    }
    new = {name: made for name, made in replaced.decisions.items() if made["cost"] == NEW.cost(made["tick"])}
    assert old.keys() | new.keys() == replaced.decisions.keys()
    assert min(len(old), len(new)) > 4
    assert old.items() <= undisturbed().decisions.items()
    beginnings = [made["time"] - made["tick"] + 1 for made in old.values()]
    times = [made["time"] for made in new.values() if made["stream"] not in WAITING]
    assert max(beginnings) <= CHANGED_AT - LATENESS < min(times)
    standing = {name: episode["model"] for name, episode in replaced.episodes.items() if name not in WAITING}
    assert set(standing.values()) == {NEW.digest}


@pytest.mark.parametrize("replace", [replace_running, replace_while_down])
def test_a_death_after_the_change_makes_no_difference_nor_one_before(tmp_path, broker, replaced, replace):
    account, witness = run(tmp_path, broker, replace, die_midway)
    assert_nothing_lost(account, replaced)
    assert_published(witness, replaced)


def test_a_model_that_cannot_be_read_changes_nothing(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with GatewayProcess(tmp_path, broker.url) as gateway, Publisher(broker) as publisher:
        gateway.start()
        gateway.await_ready()
        publisher.send(first)
        await_readings(gateway, first)
        whole = tear_model(gateway.model)
        gateway.signal(signal.SIGHUP)
        gateway.await_metric("reload_failures", 1)
        publisher.send(second)
        await_readings(gateway, second)
        gateway.stop()
        gateway.model.write_bytes(whole)
    assert gateway.counters["reloads"] == 0
    assert_nothing_lost(take_account(gateway, broker), undisturbed())


def tear_model(path):
    """Truncate a model file to its half; return the whole."""
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    return whole


def replace_by_slower(path):
    """Replace the model by one of another period; return the previous one."""
    whole = path.read_bytes()
    dataclasses.replace(procedure(), period=2 * procedure().period).save(path)
    return whole


@pytest.mark.parametrize(
    ("spoil", "why"), [(tear_model, "model.streamfs is damaged"), (replace_by_slower, "has a period of 2 s")]
)
def test_a_restart_with_a_model_that_is_no_good_goes_on_with_the_one_before(
    tmp_path, broker, undisturbed, spoil, why
):
    first, second = split(traffic(), 2)
    with GatewayProcess(tmp_path, broker.url) as gateway, Publisher(broker) as publisher:
        gateway.start(*SLOW)
        gateway.await_ready()
        publisher.send(first)
        await_readings(gateway, first)
        gateway.kill()
        whole = spoil(gateway.model)
        gateway.start(*SLOW)
        gateway.await_ready()
        (warning,) = gateway.warnings()
        assert warning.startswith("new model or settings rejected: ")
        assert why in warning
        assert gateway.metrics()["model_refused"] == 1
        assert f"model {procedure().digest} stays in use" in gateway.errors
        gateway.model.write_bytes(whole)
        reload(gateway)
        assert gateway.warnings() == []
        publisher.send(second)
        await_readings(gateway, first + second)
        gateway.stop()
    assert gateway.counters["reload_failures"] == 1
    assert_nothing_lost(take_account(gateway, broker), undisturbed())


def test_a_first_start_with_a_model_that_is_no_good_ends(tmp_path, broker):
    with GatewayProcess(tmp_path, broker.url) as gateway:
        tear_model(gateway.model)
        gateway.start()
        gateway.await_end()
    assert gateway.returncode == 1
    assert "model.streamfs is damaged" in gateway.errors


def test_models_that_nothing_needs_any_more_are_removed(tmp_path, broker):
    models = [procedure(price=float(number)) for number in range(1, 9)]
    often = {"segment_bytes": 4096, "snapshot_seconds": 0.05}
    sent = []
    with (
        GatewayProcess(tmp_path, broker.url, top={"spool": "spool"}, commit=often) as gateway,
        Publisher(broker) as publisher,
    ):
        gateway.start()
        gateway.await_ready()
        for number, (model, messages) in enumerate(zip(models, split(traffic(), len(models)), strict=True), 1):
            model.save(gateway.model)
            gateway.signal(signal.SIGHUP)
            gateway.await_metric("reloads", number)
            publisher.send(messages)
            sent += messages
            await_readings(gateway, sent)
        gateway.kill()
        gateway.start()
        gateway.await_ready()
        gateway.stop()
    left = {path.stem for path in models_folder(gateway.state).iterdir()}
    assert models[-1].digest in left
    assert len(left) < len(models)
