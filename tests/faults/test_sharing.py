"""Gateways that share streams: together they have the outcome of one."""

import time

import orjson
import pytest
from accounts import assert_published, await_readings, take_account
from click.testing import CliRunner
from gateway_process import GatewayProcess
from sharing import ZONES, assert_as_one, own_messages
from survival import begin_session, split
from traffic import traffic
from witness import Publisher, Witness

from streamfs.cli.app import cli
from streamfs.gateway.core.shards import shard_of

pytestmark = pytest.mark.mqtt


def sharing(folder, broker, shard, name=None):
    name = name or f"gateway{shard[0]}"
    return GatewayProcess(
        folder / name, broker.url, top={"name": name, "shard": shard}, broker={"client_id": name}
    )


def shown(gateway):
    result = CliRunner().invoke(cli, ["shards", str(gateway.config), "--json"])
    return orjson.loads(result.stdout) | {"code": result.exit_code}


def test_two_gateways_decide_together_as_one_does(tmp_path, broker, undisturbed):
    assert {shard_of(zone, 2) for zone in ZONES} == {1, 2}
    messages = traffic()
    with sharing(tmp_path, broker, "1/2") as first, sharing(tmp_path, broker, "2/2") as second:
        for gateway in (first, second):
            begin_session(gateway)
        with Publisher(broker) as publisher, Witness(broker) as witness:
            first.start()
            first.await_ready()
            assert shown(second)["troubles"] == ["shard 2/2 is served by nobody"]
            with sharing(tmp_path, broker, "1/2", "another") as another:
                another.start()
                another.await_end()
                assert "shard 1/2 is served by gateway1" in another.errors
            publisher.send(messages[:500])
            second.start()
            publisher.send(messages[500:])
            for number, gateway in enumerate((first, second), 1):
                await_readings(gateway, own_messages(messages, number))
                gateway.await_metric("foreign", len(own_messages(messages, 3 - number)))
            second.await_ready()
            now = shown(first)
            assert (now["code"], now["troubles"]) == (0, [])
            assert [gateway["shard"] for gateway in now["gateways"]] == ["1/2", "2/2"]
            assert sum(gateway["zones"] for gateway in now["gateways"]) == len(ZONES)
            second.stop()
            first.await_that(lambda: "shard 2/2 is served by nobody; gateway2 is offline" in first.warnings(), "-")
            first.stop()
            witness.await_end()
        n_foreign = [gateway.counters["foreign"] for gateway in (first, second)]
        assert n_foreign == [len(own_messages(messages, number)) for number in (2, 1)]
        assert_as_one([take_account(gateway, broker) for gateway in (first, second)], undisturbed())


def moved(zone, giving, taking):
    return CliRunner().invoke(cli, ["move", zone, str(giving.state), str(taking.state)])


def move_there(zone, giving, taking, publisher, shares):
    """Let a zone move while messages arrive: before, between the stops, and while both are stopped."""
    for gateway in (giving, taking):
        gateway.start()
        gateway.await_ready()
    publisher.send(shares[0])
    taking.stop()
    publisher.send(shares[1])
    publisher.await_taken()
    time.sleep(1.7)  # a second from one proof of silence to the next, and half a one for clocks that differ
    in_use = moved(zone, giving, taking)
    assert "is in use by another gateway" in str(in_use.exception)
    giving.stop()
    wrong = moved(zone, taking, giving)
    assert "has not heard all that there was" in str(wrong.exception)
    publisher.send(shares[2])
    done = moved(zone, giving, taking)
    assert done.exit_code == 0, done.exception


def test_a_zone_moves_and_comes_back_while_messages_arrive(tmp_path, broker, undisturbed):
    home = max((1, 2), key=lambda number: sum(shard_of(zone, 2) == number for zone in ZONES))
    zone = next(zone for zone in ZONES if shard_of(zone, 2) == home)
    messages = traffic()
    shares = split(messages, 6)
    with sharing(tmp_path, broker, "1/2") as first, sharing(tmp_path, broker, "2/2") as second:
        gateways = first, second
        giving, taking = gateways[home - 1], gateways[2 - home]
        for gateway in gateways:
            begin_session(gateway)
        with Publisher(broker) as publisher, Witness(broker) as witness:
            move_there(zone, giving, taking, publisher, shares[:3])
            move_there(zone, taking, giving, publisher, shares[3:])
            for number, gateway in enumerate(gateways, 1):
                gateway.start()
                await_readings(gateway, own_messages(shares[5], number))
                gateway.await_ready()
            assert (shown(first)["troubles"], shown(first)["gateways"][home - 1]["came"]) == ([], [])
            for gateway in gateways:
                gateway.stop()
            witness.await_end()
    assert_as_one_that_moved([take_account(gateway, broker) for gateway in gateways], undisturbed())
    assert_published(witness, undisturbed())


def assert_as_one_that_moved(accounts, whole):
    """The same as `assert_as_one`, where decisions of one stream may have been made by both."""
    first, second = accounts
    assert not first.decisions.keys() & second.decisions.keys()
    assert first.decisions | second.decisions == whole.decisions
    for what in ("marks", "episodes", "spent"):
        assert getattr(first, what) | getattr(second, what) == getattr(whole, what), what
