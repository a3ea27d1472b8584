"""What gateways that share streams say of themselves, and what is wrong between them."""

import pytest

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, Share, shard_of
from streamfs.gateway.statuses import Status, troubles

ZONE = "n3"
HOME = shard_of(ZONE, 2)


def of_both(**others):
    """Statuses of two gateways that serve two shards; `others` by name."""
    whole = {"g1": Status("g1", shard="1/2"), "g2": Status("g2", shard="2/2")}
    return list((whole | others).values())


def at_home(**values):
    return {f"g{HOME}": Status(f"g{HOME}", shard=f"{HOME}/2", **values)}


def away(**values):
    return {f"g{3 - HOME}": Status(f"g{3 - HOME}", shard=f"{3 - HOME}/2", **values)}


@pytest.mark.parametrize(
    ("others", "wrong"),
    [
        ({}, []),
        ({"g3": Status("g3")}, []),
        ({"g2": Status("g2", "offline", "2/2")}, ["shard 2/2 is served by nobody; g2 is offline"]),
        ({"g3": Status("g3", shard="2/2")}, ["shard 2/2 is served 2 times: by g2 and g3"]),
        ({"g3": Status("g3", "offline", "2/2")}, []),
        ({"g3": Status("g3", "offline", "3/3")}, []),
        (
            {"g2": Status("g2", shard="2/2", digest="x")},
            ["the settings of g1 and g2 name different streams or nodes"],
        ),
        (at_home(left=(ZONE,)), [f"zone {ZONE} has left g{HOME} and is served by nobody"]),
        (away(came=(ZONE,)), [f"zone {ZONE} is served by g1 and g2"]),
        (at_home(left=(ZONE,)) | away(came=(ZONE,)), []),
        ({"g2": Status("g2", shard="2/3")}, ["streams are divided in several ways: by 2 and by 3"]),
    ],
)
def test_what_nobody_serves_and_what_two_serve_is_found(others, wrong):
    found = troubles(of_both(**others))
    assert found[: len(wrong)] == wrong
    assert found == wrong or "several ways" in found[0]


def test_a_status_that_is_published_can_be_read():
    bindings = Bindings.single(("x",), ["n1", "n2", "n3"]).of_share(Share(Shard(1, 2), came=frozenset(["n9"])))
    status = Status("attic", shard="1/2", run="r", since=1.5, epoch=2).of_bindings(bindings)
    assert Status.read(status.publication("streamfs").payload) == status
    assert status.zones == len(bindings.streams)


@pytest.mark.parametrize(
    "payload",
    [
        b"",
        b"\xff",
        b"[]",
        b"{}",
        b'{"gateway": 3}',
        b'{"gateway": "g1", "shard": 5}',
        b'{"gateway": "g1", "shard": "9/8"}',
        b'{"gateway": "g1", "since": "now"}',
        b'{"gateway": "g1", "epoch": "x"}',
        b'{"gateway": "g1", "epoch": true}',
        b'{"gateway": "g1", "came": 3}',
        b'{"gateway": "g1", "left": [["n1"]]}',
    ],
)
def test_what_is_no_status_is_not_taken_for_one(payload):
    assert Status.read(payload) is None


def test_all_shards_of_the_same_streams_have_the_same_digest():
    bindings = Bindings.pairs(("a.x", "b.x"), {f"p{i}": {"a": f"n{i}", "b": f"m{i}"} for i in range(9)})
    shares = [Share(Shard(number, 3)) for number in (1, 2, 3)]
    assert len({Status("g").of_bindings(bindings.of_share(share)).digest for share in shares}) == 1


@pytest.mark.parametrize("payload", [b"", b"{", b"[]", b"1", b'{"status": "online"}'])
def test_what_is_no_status_is_none(payload):
    assert Status.read(payload) is None


def test_a_status_of_a_gateway_alone_is_one():
    assert Status.read(b'{"status":"online","gateway":"attic"}') == Status("attic")
