"""Messages of streams that other gateways serve."""

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, Share, shard_of
from streamfs.gateway.foreign import Foreign
from streamfs.gateway.messages.message import Message

NODES = [f"n{i}" for i in range(6)]
OWN = [node for node in NODES if shard_of(node, 2) == 1]


def messages(*topics):
    return [Message(topic, b"1", False, 0.0) for topic in topics]


def foreign(bindings):
    return Foreign(bindings, "streamfs")


def test_readings_and_labels_of_other_gateways_are_dropped_and_counted():
    bindings = Bindings.single(("x",), NODES).of_share(Share(Shard(1, 2)))
    filtering, heard = foreign(bindings), []
    for _ in range(2):  # the second time whose a topic is is known
        heard += filtering.drop(messages(*(f"sensors/{node}/x" for node in NODES)))
        heard += filtering.drop(messages(*(f"streamfs/label/{node}" for node in NODES)))
    assert {message.topic.split("/")[-1 if "label" in message.topic else 1] for message in heard} == set(OWN)
    assert filtering.counters["foreign"] == 4 * (len(NODES) - len(OWN))


def test_what_is_of_no_node_is_kept():
    bindings = Bindings.single(("x",), NODES).of_share(Share(Shard(1, 2)))
    others = messages("streamfs/command/gateway", "homeassistant/status", "a/b/c/d")
    assert foreign(bindings).drop(others) == others


def test_a_gateway_without_a_shard_keeps_all():
    filtering, all_of_them = foreign(Bindings.single(("x",), NODES[:1])), messages("sensors/n5/x")
    assert filtering.drop(all_of_them) == all_of_them


def test_other_bindings_hold_at_once():
    bindings = Bindings.single(("x",), NODES)
    filtering = foreign(bindings.of_share(Share(Shard(1, 2))))
    own = messages(f"sensors/{OWN[0]}/x")
    assert filtering.drop(own) == own
    filtering.follow(bindings.of_share(Share(Shard(2, 2))))
    assert filtering.drop(own) == []
