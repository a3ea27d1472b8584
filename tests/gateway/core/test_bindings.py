"""Bindings: who feeds what, on which topics, in which format; and templates of topics."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamfs.errors import DataError
from streamfs.gateway.core.bindings import STANDARD, Bindings, NodeChannel, Route
from streamfs.gateway.core.pairs import group_pairs
from streamfs.gateway.messages.codecs import codec_for
from streamfs.gateway.messages.topics import Template, check_topic
from streamfs.gateway.settings.pairs_file import read_pairs

PAIRS = {"p1": {"a": "n1", "b": "n2"}, "p2": {"a": "n2", "b": "n3"}}
CHANNELS = ("a.light@flag:300", "b.light@flag:300", "b.temperature")
PLAIN, ARRAY = codec_for("json"), codec_for("array")
ZIGBEE = Route(Template("zigbee2mqtt/{node}"), codec_for("json", fields={"t": "temperature"}))
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="/+#\0"), min_size=1, max_size=8)
WORDS = st.text("abc.-_ *?$()[]^\n", min_size=1, max_size=4)


# Templates


@st.composite
def templates(draw):
    """Templates with the levels that they are made of."""
    levels = draw(st.lists(WORDS | st.just("+"), max_size=3))
    node = draw(WORDS | st.just("")) + "{node}" + draw(WORDS | st.just(""))
    levels.insert(draw(st.integers(0, len(levels))), node)
    if draw(st.booleans()):
        levels.insert(draw(st.integers(0, len(levels))), "{channel}")
    assume(not levels[0].startswith("$"))
    return Template("/".join(levels))


def topic_of(template, node, channel, other):
    levels = [other if level == "+" else level for level in template.text.split("/")]
    return "/".join(levels).replace("{channel}", channel or "").replace("{node}", node)


def fits(topic, subscription):
    """Whether a broker would deliver a topic to a subscription."""
    levels, wanted = topic.split("/"), subscription.split("/")
    return len(levels) == len(wanted) and all(two in ("+", one) for one, two in zip(levels, wanted, strict=True))


@given(template=templates(), node=NAMES, channel=NAMES, other=NAMES | st.just(""))
def test_a_topic_made_from_a_template_is_subscribed_to_and_gives_node_and_channel_back(
    template, node, channel, other
):
    assume("{" not in node + channel + other)
    channel = channel if template.has_channel else None
    topic = topic_of(template, node, channel, other)
    (subscription,) = template.filters([channel])
    assert fits(topic, subscription)
    found = template.match(topic)
    assert found is not None
    assert topic_of(template, *found, other) == topic
    if template.text.count("{node}/") or template.text.endswith("/{node}"):
        assert found == (node, channel)


@pytest.mark.parametrize(
    ("text", "topic", "found"),
    [
        ("sensors/{node}/{channel}", "sensors/n1/light@flag:300", ("n1", "light@flag:300")),
        ("sensors/{node}/{channel}", "sensors/n1", None),
        ("sensors/{node}/{channel}", "sensors/n1/light/more", None),
        ("sensors/{node}/{channel}", "sensors//light", None),
        ("sensors/{node}/{channel}", "Sensors/n1/light", None),
        ("sensors/{node}/{channel}", "sensors/n1/light\n", ("n1", "light\n")),
        ("{channel}/{node}", "light/n1", ("n1", "light")),
        ("attic/light", "attic/light", ("", None)),
        ("attic/{channel}", "attic/light", ("", "light")),
        ("zigbee2mqtt/{node...}", "zigbee2mqtt/kitchen/window", ("kitchen/window", None)),
        ("zigbee2mqtt/{node...}", "zigbee2mqtt/kitchen", ("kitchen", None)),
        ("zigbee2mqtt/{node...}", "zigbee2mqtt/kitchen//window", None),
        ("zigbee2mqtt/{node...}/set", "zigbee2mqtt/kitchen/window/set", ("kitchen/window", None)),
        ("tele/tasmota_{node}/SENSOR", "tele/tasmota_kitchen/SENSOR", ("kitchen", None)),
        ("tele/tasmota_{node}/SENSOR", "tele/kitchen/SENSOR", None),
        ("a.b/{node}", "axb/n1", None),
        ("+/{node}/up", "/n1/up", ("n1", None)),
        ("+/{node}/up", "a/b/n1/up", None),
    ],
)
def test_a_template_fits_its_topics_alone(text, topic, found):
    assert Template(text).match(topic) == found


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "{node}/{node}",
            "{node}/{node...}",
            "a-{node...}",
            "{node}/{channel}/{channel}",
            "/{node}",
            "{node}/",
            "a//{node}",
        ),
        *("{node}/#", "#", "{node}-{channel}", "{node}+", "a+/{node}", "{node}/{other}", "{node}/{", "{node}/a\0"),
        *("$share/group/{node}", "$SYS/{node}"),
    ],
)
def test_a_template_that_is_none_is_refused_by_name(text):
    with pytest.raises(ValueError, match=f"topic is {re.escape(repr(text))}"):
        Template(text)


@pytest.mark.parametrize("topic", ["", "/", "a/", "a//b", "a+", "a/#", "$SYS", "a\0"])
def test_what_is_no_topic_to_publish_to_is_refused_by_name(topic):
    check_topic("prefix", "house/upstairs")
    with pytest.raises(ValueError, match=f"prefix is {re.escape(repr(topic))}"):
        check_topic("prefix", topic)


# Routes


def test_the_standard_route_names_node_and_channel_and_reads_any_format():
    bindings = Bindings.pairs(CHANNELS, PAIRS)
    assert bindings.routes == (STANDARD,)
    assert bindings.route("sensors/n2/temperature")[:3] == ("n2", "temperature", STANDARD.codec)


@pytest.mark.parametrize(
    "topic",
    [
        "sensors/n4/light@flag:300",  # a node of no stream
        "sensors/n1/temperature",  # a channel of the other role
        "sensors/n1/humidity",  # a channel of none
        "sensors/n1",
        "streamfs/n1/light@flag:300",
    ],
)
def test_what_feeds_no_stream_has_no_route(topic):
    assert Bindings.pairs(CHANNELS, PAIRS).route(topic) is None


def test_where_any_node_is_a_stream_only_wanted_channels_have_a_route():
    bindings = Bindings.single(["light"], routes=(STANDARD, ZIGBEE))
    assert bindings.route("sensors/n9/light")[:3] == ("n9", "light", STANDARD.codec)
    assert bindings.route("sensors/n9/humidity") is None
    assert bindings.route("zigbee2mqtt/n9")[:3] == ("n9", None, ZIGBEE.codec)


def test_the_first_route_that_fits_counts():
    special = Route(Template("sensors/{node}/acc"), ARRAY, "acc@every:5")
    bindings = Bindings.single(["acc@every:5", "light"], ["n1"], (special, Route(STANDARD.template, PLAIN)))
    assert bindings.route("sensors/n1/acc")[:3] == ("n1", "acc@every:5", ARRAY)
    assert bindings.route("sensors/n1/light")[:3] == ("n1", "light", PLAIN)
    assert bindings.topics == ("sensors/+/acc", "sensors/+/acc@every:5", "sensors/+/light")


def test_a_routes_own_channel_comes_before_that_of_the_topic():
    bindings = Bindings.single(["light"], routes=(Route(STANDARD.template, PLAIN, "light"),))
    assert bindings.route("sensors/n1/lumen")[:3] == ("n1", "light", PLAIN)


def test_a_route_whose_topic_and_source_name_no_channel_leaves_it_to_the_payload():
    bindings = Bindings.pairs(CHANNELS, PAIRS, (ZIGBEE,))
    assert bindings.topics == ("zigbee2mqtt/+",)
    assert bindings.route("zigbee2mqtt/n1")[:3] == ("n1", None, ZIGBEE.codec)
    assert bindings.route("zigbee2mqtt/n4") is None


@given(
    node=st.sampled_from(["n1", "n2", "n3", "n4"]), channel=st.sampled_from(["light@flag:300", "temperature", "x"])
)
def test_exactly_what_nodes_shall_send_has_a_route_and_a_subscription(node, channel):
    bindings = Bindings.pairs(CHANNELS, PAIRS)
    topic = f"sensors/{node}/{channel}"
    is_wanted = channel in bindings.channels_of(node)
    assert (bindings.route(topic) is not None) == is_wanted
    if is_wanted:
        assert any(fits(topic, subscription) for subscription in bindings.topics)


def test_bindings_without_routes_are_refused():
    with pytest.raises(ValueError, match=r"routes are \(\)"):
        Bindings.single(["light"], routes=())


# Other channels


def test_the_same_nodes_are_bound_for_another_models_channels():
    bindings = Bindings.pairs(CHANNELS, PAIRS, (STANDARD, ZIGBEE))
    changed = bindings.with_channels(["b.humidity"])
    assert changed.channels == ("b.humidity",)
    assert changed.nodes_of == bindings.nodes_of
    assert changed.routes == bindings.routes
    assert changed.sources("p1") == (NodeChannel("n2", "humidity"),)
    assert changed.route("sensors/n2/light@flag:300") is None
    assert bindings.route("sensors/n2/light@flag:300") is not None
    assert Bindings.single(["light"]).with_channels(["door"]).discovers


def test_channels_for_which_no_node_has_the_role_are_refused():
    with pytest.raises(ValueError, match="role 'c'"):
        Bindings.pairs(CHANNELS, PAIRS).with_channels(["c.light"])


def test_the_channels_that_nodes_know_have_no_role():
    assert Bindings.pairs(CHANNELS, PAIRS).node_channels == ("light@flag:300", "temperature")
    assert Bindings.single(["light", "acc.x"]).node_channels == ("light", "acc.x")


# Groups


@given(st.lists(st.integers(0, 99).map("n{}".format), min_size=2, max_size=12, unique=True))
def test_a_group_has_each_pair_of_nodes_once(nodes):
    bindings = Bindings.group(["a.light", "b.light"], nodes)
    found = [frozenset(bindings.nodes_of[stream].values()) for stream in bindings.streams]
    assert len(found) == len(set(found)) == len(nodes) * (len(nodes) - 1) // 2
    assert bindings.streams[0] == f"{nodes[0]}--{nodes[1]}"
    assert set(bindings.nodes) == set(nodes)
    assert all(len(bindings.streams_of(node)) == len(nodes) - 1 for node in nodes)


def test_the_roles_of_a_group_can_be_named():
    assert group_pairs(["n1", "n2"], ("left", "right")) == {"n1--n2": {"left": "n1", "right": "n2"}}


@pytest.mark.parametrize(
    ("nodes", "options", "message"),
    [
        (["n1"], {}, "group has 1 nodes"),
        (["n1", "n2", "n1"], {}, "group has node 'n1' twice"),
        (["n1", "n2"], {"roles": ("a",)}, "roles are 'a'"),
        (["n1", "n2"], {"roles": ("a", "a")}, "roles are 'a', 'a'"),
        (["n1", "n2", "n3"], {"limit": 2}, "group of 3 nodes makes 3 streams, expected at most 2"),
        ([f"n{n}" for n in range(142)], {}, "group of 142 nodes makes 10011 streams, expected at most 10000"),
        (["a", "b--c", "a--b", "c"], {}, "one name"),
        (["n/1", "n2"], {}, "stream is 'n/1--n2'"),
    ],
)
def test_a_group_that_cannot_be_is_refused(nodes, options, message):
    with pytest.raises(ValueError, match=message):
        Bindings.group(["a.light", "b.light"], nodes, **options)


def test_the_largest_group_is_not_too_large():
    assert len(group_pairs([f"n{n}" for n in range(141)])) == 9870


# Pairs from a file


def test_pairs_from_a_file_and_a_group_make_bindings_together(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("stream,a,b\ndesk,n1,n2\n", encoding="utf-8")
    bindings = Bindings.pairs(["a.light", "b.light"], read_pairs(path) | group_pairs(["n3", "n4"]))
    assert bindings.streams == ("desk", "n3--n4")


def test_a_header_alone_names_no_stream(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("stream,a,b\n", encoding="utf-8")
    assert read_pairs(path) == {}


def test_a_node_that_cannot_stand_in_a_topic_is_refused_by_line(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("stream,a,b\np1,n1,n2\np2,n#,n2\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"line 3: node is 'n#'"):
        read_pairs(path)


@pytest.mark.parametrize("nodes", [(), ("n1",)])
def test_a_model_of_pairs_does_not_fit_single_nodes(nodes):
    with pytest.raises(ValueError, match="the model follows pairs of nodes"):
        Bindings.single(["a.x", "b.x"], nodes)
    assert Bindings.single(["acc.x", "acc.y"], nodes).node_channels == ("acc.x", "acc.y")
