"""Nodes that payloads name."""

import pytest

from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.routes import addressed
from streamfs.gateway.messages.senders import Sender


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
    routed = bindings.route(bindings.addressed("hub/7/up", payload))
    assert (None if routed is None else routed.node) == node
    assert bindings.topics == ("hub/+/up",)


def test_no_topic_that_is_published_to_passes_for_another_node():
    assert SHARED.find("hub/7/up") is None
    assert ALONE.find("hub/7/up#n1") is None
    assert addressed([SHARED], "other/7/up", b'{"id": "n1"}') == "other/7/up"


def test_only_json_can_name_a_node():
    with pytest.raises(ValueError, match="only JSON payloads name nodes"):
        Route.of("hub/up", "senml+json", node="{id}")
    with pytest.raises(ValueError, match="node is set"):
        Route.of("hub/{node}", "json", node="{id}", fields=FIELDS)
