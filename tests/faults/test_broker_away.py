"""A broker that restarts, is away or receives nothing, and a network that fails: nothing is lost or doubled."""

from itertools import islice

import pytest
from accounts import assert_nothing_lost, assert_published, await_readings, read_readings, rows, take_account
from gateway_process import GatewayProcess
from helpers.broker import Broker
from survival import split, watched
from traffic import traffic
from wire import PUBLISH, Wiretap
from witness import Publisher, Witness

from streamfs.gateway.recovery import replay_log
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings_file import load_model
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.state import journal_path, log_folder

pytestmark = pytest.mark.mqtt


def test_the_broker_is_restarted_twice_mid_stream(tmp_path, durable_broker, undisturbed):
    broker, messages = durable_broker, traffic()
    with (
        GatewayProcess(tmp_path / "gateway", broker.url) as gateway,
        Publisher(broker) as publisher,
        Witness(broker) as witness,
    ):
        gateway.start()
        gateway.await_ready()
        for n_restarts, share in enumerate(split(messages, 3)[:2], start=1):
            n_before = publisher.n_taken
            publisher.send(share)
            publisher.await_taken(n_before + len(share) // 2)
            broker.stop()
            broker.start()
            gateway.await_metric("reconnects", n_restarts)
        publisher.send(split(messages, 3)[2])
        publisher.await_taken()
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert gateway.counters["reconnects"] == 2
    assert_nothing_lost(take_account(gateway, broker), undisturbed(), is_in_order=False)
    assert_published(witness, undisturbed())


def test_the_broker_is_killed_five_times_and_what_is_missing_is_what_it_lost(tmp_path):
    """What has crossed the wire and was acknowledged is logged, once; all else the broker has lost."""
    folder = tmp_path / "broker"
    folder.mkdir()
    messages = traffic()
    shares = split(messages, 6)
    with (
        Broker("autosave_interval 1", folder) as broker,
        Wiretap(broker.port) as network,
        GatewayProcess(tmp_path / "gateway", network.url) as gateway,
        Publisher(broker) as publisher,
    ):
        gateway.start()
        gateway.await_ready()
        for n_kills, share in enumerate(shares[:-1], start=1):
            n_before = publisher.n_taken
            publisher.send(share)
            publisher.await_taken(n_before + len(share) // 2)
            broker.kill()
            broker.start()
            gateway.await_metric("reconnects", n_kills)
            gateway.await_ready()
        publisher.send(shares[-1])
        publisher.await_taken()
        await_readings(gateway, shares[-1])
        gateway.stop()
    logged = read_readings(gateway)
    assert set(network.acknowledged) <= set(logged), "the gateway has lost what it acknowledged"
    assert gateway.counters["received"] == len(logged) + gateway.counters["redelivered"], "or what it received"
    assert len(logged) < 1.1 * len(set(logged)), "what comes again is logged again"
    assert set(logged) <= set(messages)
    settings = read_settings(gateway.config)
    model = load_model(settings)
    replayed = replay_log(log_folder(gateway.state), model, settings.bindings(model.channels), settings)
    with JournalReader(journal_path(gateway.state)) as journal:
        made = journal.decisions()
    assert made
    assert made == [decision.to_json() for decision in islice(replayed, len(made))]  # then come those of its end


def test_the_connection_is_cut_mid_stream(tmp_path, broker, undisturbed):
    messages = traffic()
    with watched(tmp_path, broker, "sync", 0.01) as (network, gateway, publisher, witness):
        for share in split(messages, 2):
            cut_at = network.n_to_gateway[PUBLISH] + len(share) // 3
            publisher.send(share)
            gateway.await_that(lambda n=cut_at: network.n_to_gateway[PUBLISH] > n, "nothing comes")
            network.cut()
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert network.n_cut == gateway.counters["lost_connections"] == gateway.counters["reconnects"] == 2
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_a_connection_that_is_dead_without_anybody_saying_so_is_given_up(tmp_path, broker, undisturbed):
    first, second = split(traffic(), 2)
    with watched(tmp_path, broker, broker={"keepalive": 1}) as (network, gateway, publisher, witness):
        publisher.send(first)
        await_readings(gateway, first)
        network.stall()
        publisher.send(second)
        gateway.await_that(lambda: "not connected to the broker" in gateway.health(), "the loss is not noticed")
        network.resume()
        await_readings(gateway, second)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert network.n_swallowed > 0
    assert gateway.counters["lost_connections"] >= 1  # with a keep-alive of a second, a busy machine loses more
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_half_a_second_of_latency(tmp_path, broker, undisturbed):
    messages = traffic()
    sections = {"broker": {"receive_maximum": 1000}, "limits": {"queue": 1000}}
    with watched(tmp_path, broker, **sections) as (network, gateway, publisher, witness):
        network.delay(0.25)
        publisher.send(messages)
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert gateway.counters["lost_connections"] == 0
    account = take_account(gateway, broker)
    assert account.counters["duplicate"] == 0
    assert_nothing_lost(account, undisturbed())
    assert_published(witness, undisturbed())


@pytest.mark.parametrize("numbered", [True, False], ids=["with sequence numbers", "without"])
def test_messages_come_twice_marked_as_such_by_the_broker_or_not(tmp_path, broker, undisturbed, numbered):
    messages = traffic(numbered=numbered)
    first, second = split(messages, 2)
    with watched(tmp_path, broker, "sync", 0.01) as (network, gateway, publisher, witness):
        publisher.send(message for share in split(first, 20) for message in [*share, *share])
        await_readings(gateway, first)
        n_before = network.n_to_gateway[PUBLISH]
        publisher.send(second)
        gateway.await_that(lambda: network.n_to_gateway[PUBLISH] > n_before + len(second) // 2, "nothing comes")
        network.cut()
        await_readings(gateway, messages)
        witness.await_decisions(undisturbed().decisions)
        gateway.stop()
    assert network.n_again > 0, "the broker has marked no message as sent before"
    account = take_account(gateway, broker)
    assert_nothing_lost(account, undisturbed(numbered=numbered))
    assert_published(witness, undisturbed())
    assert account.counters["duplicate"] == len(account.readings) - len(messages)
    assert gateway.counters["redelivered"] > 0
    assert account.counters["duplicate"] + gateway.counters["redelivered"] > len(first)


def test_the_broker_is_not_there_at_the_start(tmp_path, undisturbed):
    messages, broker = traffic(), Broker()
    with GatewayProcess(tmp_path, broker.url) as gateway:
        gateway.start()
        gateway.await_metric("failed_connections", 2)
        assert "not connected to the broker" in gateway.health()
        with broker, Publisher(broker) as publisher, Witness(broker) as witness:
            gateway.await_ready()
            publisher.send(messages)
            await_readings(gateway, messages)
            witness.await_decisions(undisturbed().decisions)
            gateway.stop()
            assert_nothing_lost(take_account(gateway, broker), undisturbed())
            assert_published(witness, undisturbed())


def test_the_broker_receives_nothing_while_decisions_are_made_and_the_gateway_dies_meanwhile(
    tmp_path, broker, undisturbed
):
    """A long outage: decisions wait on disk, across a kill, until the broker is back."""
    messages, decisions = traffic(), undisturbed().decisions
    sections = {"broker": {"receive_maximum": 65535, "keepalive": 600}, "limits": {"queue": 65535}}
    with watched(tmp_path, broker, **sections) as (network, gateway, publisher, witness):
        network.deafen()
        publisher.send(messages)
        await_readings(gateway, messages)
        gateway.await_that(lambda: rows(gateway)["decisions"] == len(decisions), "not all decisions are made")
        network.refuse()
        gateway.kill()
        assert network.n_swallowed > 0
        assert not witness.decisions
        gateway.start()
        gateway.await_metric("failed_connections", 1)
        assert rows(gateway)["outbox"] >= len(decisions)
        network.undeafen()
        network.accept()
        witness.await_decisions(decisions)
        gateway.await_that(lambda: rows(gateway)["outbox"] == 0, "the outbox is not emptied")
        gateway.stop()
    account = take_account(gateway, broker)
    assert_nothing_lost(account, undisturbed())
    assert_published(witness, undisturbed())
    assert account.counters["duplicate"] == len(messages), "the broker has all that was not acknowledged once more"
