"""Gateways that share streams: together they have the outcome of one."""

import orjson
import pytest
from accounts import await_readings, take_account
from click.testing import CliRunner
from gateway_process import GatewayProcess
from survival import begin_session
from traffic import pairs, traffic
from witness import Publisher, Witness

from streamfs.cli.app import cli
from streamfs.gateway.core.shards import shard_of, zone_by_node

pytestmark = pytest.mark.mqtt

ZONES = sorted(set(zone_by_node(pairs()).values()))


def sharing(folder, broker, shard, name=None):
    name = name or f"gateway{shard[0]}"
    return GatewayProcess(
        folder / name, broker.url, top={"name": name, "shard": shard}, broker={"client_id": name}
    )


def own_messages(messages, number, of=2):
    """Those of the nodes of a shard."""
    zones = zone_by_node(pairs())
    return [sent for sent in messages if shard_of(zones[sent.topic.split("/")[1]], of) == number]


def assert_as_one(accounts, whole):
    """The accounts of gateways that share streams are together that of one which has them all."""
    for what in ("decisions", "spent", "marks", "episodes"):
        parts = [getattr(account, what) for account in accounts]
        together = {key: value for part in parts for key, value in part.items()}
        assert sum(map(len, parts)) == len(together), what
        assert together == getattr(whole, what), what
    for kind in ("decision", "control"):
        found, expected = (
            {topic: payload for topic, payload in retained.items() if topic.startswith(f"streamfs/{kind}/")}
            for retained in (accounts[-1].retained, whole.retained)
        )
        assert found == expected


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
