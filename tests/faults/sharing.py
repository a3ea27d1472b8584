"""What tests of gateways that share streams have in common."""

from traffic import pairs

from streamfs.gateway.core.shards import shard_of, zone_by_node

ZONES = sorted(set(zone_by_node(pairs()).values()))
KEPT = ("decisions", "spent", "marks", "episodes")
"""What each stream or node has in one account alone."""


def own_messages(messages, number, of=2):
    """Those of the nodes of a shard."""
    zones = zone_by_node(pairs())
    return [sent for sent in messages if shard_of(zones[sent.topic.split("/")[1]], of) == number]


def assert_as_one(accounts, whole):
    """The accounts of gateways that share streams are together that of one which has them all."""
    for what in KEPT:
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
