"""Nodes that payloads name."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.routes import addressed
from streamfs.gateway.messages.senders import LARGEST, MOST, Sender


@pytest.mark.parametrize(
    ("text", "payload", "node"),
    [
        ("{id}", b'{"id": 11}', "11"),
        ("{model}-{id}", b'{"model": "Nexus", "id": "a/b"}', "Nexus-a/b"),
        ("{end.id|id}", b'{"id": "x"}', "x"),
        ("{Zb.*.Name|Zb.*.Device}", b'{"Zb": {"0x29": {"Device": "0x29"}}}', "0x29"),
        ("{id}", b'{"ID": 11}', ""),
        ("{id}", b'{"id": null}', ""),
        ("{id}", b'{"id": true}', ""),
        ("{id}", b'{"id": 1.5}', ""),
        ("{id}", b'{"id": ""}', ""),
        ("{id}", b'{"id": "a+b"}', ""),
        ("{id}", b'{"id": "a#b"}', ""),
        ("{id}", rb'{"id": "a\n"}', ""),
        ("{id}", rb'{"id": "a\u0000"}', ""),
        ("{id}", rb'{"id": "a\u007f"}', ""),
        ("{id}", rb'{"id": "a\uffff"}', ""),
        ("{id}", '{"id": "Küche 2"}'.encode(), "Küche 2"),
        ("{id}", b'{"id": "%s"}' % (b"n" * 128), "n" * 128),
        ("{id}", b'{"id": "%s"}' % (b"n" * 129), ""),
        ("{id.x}", b'{"id": 5}', ""),
        ("{id}", b"[1]", ""),
        ("{id}", b"{", ""),
    ],
)
def test_a_payload_names_its_node(text, payload, node):
    assert Sender(text).of(payload) == node


SEVERAL = [
    # an array that is the payload: a batch of each device
    (
        "{*.id}",
        '[{"id":1,"x":1},{"id":2,"x":2},{"id":1,"x":3}]',
        {"1": '[{"id":1,"x":1},{"id":1,"x":3}]', "2": '[{"id":2,"x":2}]'},
    ),
    # within an object: what is common is in each
    (
        "{g}-{s.*.id}",
        '{"g":7,"ts":5,"s":[{"id":1},{"id":2}]}',
        {"7-1": '{"g":7,"ts":5,"s":[{"id":1}]}', "7-2": '{"g":7,"ts":5,"s":[{"id":2}]}'},
    ),
    # names of objects and arrays, and what is common besides
    (
        "{*}",
        '{"ts":1,"A b":[{"t":2}],"C":{"t":3}}',
        {"A b": '{"A b":[{"t":2}],"ts":1}', "C": '{"C":{"t":3},"ts":1}'},
    ),
    ("{d.*}", '{"d":{"A":{"t":2},"B":{"t":3}}}', {"A": '{"d":{"A":{"t":2}}}', "B": '{"d":{"B":{"t":3}}}'}),
    (
        "{z.*!E.N|z.*!E.D}",
        '{"z":{"E":{"D":"e"},"0":{"D":"0"},"1":{"D":"1","N":"k"}}}',
        {"0": '{"z":{"0":{"D":"0"}}}', "k": '{"z":{"1":{"D":"1","N":"k"}}}'},
    ),
    # one device alone has sent the payload as it is
    ("{*.id}", '[ {"id":1} ]', {"1": '[ {"id":1} ]'}),
    ("{*}", '{ "A": [] }', {"A": '{ "A": [] }'}),
    # what names no device
    ("{*.id}", '[{"id":1},{"x":4},7]', {"1": '[{"id":1}]', "": '[{"x":4},7]'}),
    ("{*.id}", '{"a":{"id":1},"b":{"x":4},"c":{"id":2}}', {"1": '{"a":{"id":1}}', "2": '{"c":{"id":2}}'}),
    ("{*.id}", '{"a":{"x":4},"b":{"id":1},"ts":5}', {"1": '{"b":{"id":1},"ts":5}'}),
    ("{*.id}", '{"a":{"x":4},"b":[]}', {}),
    ("{*.id}", '[{"x":4}]', {}),
    ("{*.id}", "[]", {}),
    ("{*.id}", "7", {}),
    ("{*}", "[[1],[2]]", {}),
    ("{*.*}", '{"a":{"b":[]}}', {}),
]


@pytest.mark.parametrize(("text", "payload", "sent"), SEVERAL)
def test_a_payload_of_several_nodes_is_divided(text, payload, sent):
    found = [(node, part.decode()) for node, part in Sender(text).sent(payload.encode())]
    assert found == list(sent.items())


def test_a_node_that_is_twice_in_an_array_is_a_batch_only_where_it_is_read_as_one():
    payload = b'{"s":[{"id":"a","x":1},{"id":"a","x":2}]}'
    assert Sender("{s.*.id}", read_together=True).sent(payload) == [("a", payload)]
    alone = [("a", b'{"s":[{"id":"a","x":%d}]}' % x) for x in (1, 2)]
    assert Sender("{s.*.id}").sent(payload) == alone


def test_a_payload_of_too_many_nodes_or_that_grows_too_large_names_none():
    nodes = [{"id": number} for number in range(MOST + 1)]
    assert len(Sender("{s.*.id}").sent(orjson.dumps({"s": nodes[1:]}))) == MOST
    assert Sender("{s.*.id}").sent(orjson.dumps({"s": nodes})) == []
    assert Sender("{*.id}").sent(orjson.dumps(nodes)) == []
    assert Sender("{*}").sent(orjson.dumps({f"n{number}": {} for number in range(MOST + 1)})) == []
    assert Sender("{s.*.id}").sent(orjson.dumps({"s": nodes[:100], "common": "x" * (LARGEST // 90)})) == []


def test_a_payload_that_is_nested_too_deeply_to_be_divided_names_no_node():
    deep = b"[" * 300 + b"]" * 300
    assert Sender("{s.*.id}").sent(b'{"s":[{"id":1,"x":%b},{"id":2}]}' % deep) == []
    assert [sent.node for sent in Sender("{s.*.id}").sent(b'{"s":[{"id":1,"x":%b}]}' % deep)] == ["1"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text("ab#", max_size=2),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["id", "s", "a", "0", ""]), inner, max_size=4)
    ),
)


@given(
    JSON,
    st.sampled_from(["{*.id}", "{s.*.id}", "{*}", "{id}-{s.*}", "{*!a.id|*!a.s}", "{a.*.s.*.id}"]),
    st.booleans(),
)
def test_whatever_a_payload_is_each_part_is_json_of_a_node_that_can_be_in_topics(document, text, read_together):
    payload = orjson.dumps(document)
    sent = Sender(text, read_together=read_together).sent(payload)
    for node, part in sent:
        assert not set(node) & set("+#\0")
        orjson.loads(part)
    assert all(node for node, _ in sent[:-1])
    assert sum(len(part) for _, part in sent) <= LARGEST
    assert len(sent) == len({(node, part) for node, part in sent}) or not read_together


def readings_of(route, topic, payload):
    """Return node, channel, time and value of each reading of a message."""
    bindings = Bindings.single(["temperature"], routes=(route,))
    found = []
    for part in bindings.addressed(topic, payload):
        routed = bindings.route(part.topic)
        parts = () if routed is None else routed.codec.decode(part.payload, 9.0, "").parts
        found += [(routed.node, name, each.time, each.value) for name, each in parts]
    return found


def test_several_devices_of_a_message_are_read():
    board = Route.of("up", "json", node="{*}", records="*", fields={"values.t": "temperature"}, time="ts")
    said = b'{"A":[{"ts":1,"values":{"t":4}},{"ts":2,"values":{"t":5}}],"B":[{"ts":1,"values":{"t":6}}]}'
    expected = [("A", "temperature", 1.0, 4.0), ("A", "temperature", 2.0, 5.0), ("B", "temperature", 1.0, 6.0)]
    assert readings_of(board, "up", said) == expected
    common = Route.of("up", "json", node="{s.*.id}", fields={"s.*.t": "temperature"}, time="ts")
    said = b'{"ts":1,"s":[{"id":"A","t":4},{"id":"B","t":5},{"id":"A","t":6}]}'
    expected = [("A", "temperature", 1.0, 4.0), ("B", "temperature", 1.0, 5.0), ("A", "temperature", 1.0, 6.0)]
    assert readings_of(common, "up", said) == expected


@pytest.mark.parametrize("text", ["{id", "id}", "{}", "{a..b}", "{a}{", "{{a}}"])
def test_a_node_with_braces_but_no_paths_in_them_is_refused(text):
    with pytest.raises(ValueError, match="expected"):
        Sender(text)


FIELDS = {"t": "temperature"}
SHARED = Route.of("hub/+/up", "json", node="{id}", fields=FIELDS)
ALONE = Route.of("hub/{node}/up", "json", fields=FIELDS)


@pytest.mark.parametrize(
    ("routes", "payload", "node"),
    [
        ((SHARED,), b'{"id": "n1", "t": 4}', "n1"),
        ((SHARED, ALONE), b'{"id": "n1", "t": 4}', "n1"),
        ((SHARED, ALONE), b'{"t": 4}', "7"),
        ((ALONE, SHARED), b'{"id": "n1", "t": 4}', "7"),
        ((SHARED,), b'{"t": 4}', None),
    ],
)
def test_the_first_source_that_finds_a_node_counts(routes, payload, node):
    bindings = Bindings.single(["temperature"], routes=routes)
    routed = bindings.route(bindings.addressed("hub/7/up", payload)[0].topic)
    assert (None if routed is None else routed.node) == node
    assert bindings.topics == ("hub/+/up",)


def test_no_topic_that_is_published_to_passes_for_another_node():
    assert SHARED.find("hub/7/up") is None
    assert ALONE.find("hub/7/up#n1") is None
    assert addressed([SHARED], "other/7/up", b'{"id": "n1"}') == [("other/7/up", b'{"id": "n1"}')]


def test_what_has_its_node_in_its_topic_is_not_addressed_again():
    route = Route.of("ble/+", "json", node="{s.*.id}", fields={"s.*.t": "temperature"})
    bindings = Bindings.single(["temperature"], routes=(route,))
    for part in bindings.addressed("ble/7", b'{"s":[{"id":1,"t":1},{"id":2,"t":2}]}'):
        assert bindings.addressed(*part) == addressed([route], *part) == [part]


def test_only_json_can_name_a_node():
    with pytest.raises(ValueError, match="only JSON payloads name nodes"):
        Route.of("hub/up", "senml+json", node="{id}")
    with pytest.raises(ValueError, match="node is set"):
        Route.of("hub/{node}", "json", node="{id}", fields=FIELDS)
