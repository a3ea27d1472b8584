"""The gateway's other parts: bindings, control, ledger, the connection to the broker, and the loop itself."""

import gc
import logging
import math
import socket
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import orjson
import pytest
from broker import Broker

import feature_extractors as fx
from streamfs.classifiers.tree import Tree
from streamfs.costs import Costs
from streamfs.errors import DataError, StreamfsError, TransportError
from streamfs.gateway.bindings import Bindings, Source, read_pairs
from streamfs.gateway.control import Control
from streamfs.gateway.ledger import Ledger
from streamfs.gateway.service import Gateway
from streamfs.gateway.transport import Address, Transport, parse_url
from streamfs.procedure import Decision, Procedure

PAIRS = {"p1": {"a": "n1", "b": "n2"}, "p2": {"a": "n2", "b": "n3"}}
PAIR_CHANNELS = ("a.light@flag:300", "b.light@flag:300", "b.temperature")


# Bindings


def test_a_nodes_channels_are_those_of_its_roles():
    bindings = Bindings.pairs(PAIR_CHANNELS, PAIRS)
    assert bindings.streams == ("p1", "p2")
    assert bindings.nodes == ("n1", "n2", "n3")
    assert bindings.channels_of("n1") == ("light@flag:300",)
    assert bindings.channels_of("n2") == ("light@flag:300", "temperature")
    assert bindings.streams_of("n2") == ("p1", "p2")
    assert bindings.topics == ("sensors/+/light@flag:300", "sensors/+/temperature")
    assert bindings.sources("p1")[2] == Source("n2", "temperature")


def test_a_node_alone_is_a_stream_and_dots_in_its_columns_are_its_own():
    bindings = Bindings.single(["acc.x@delta:0.5", "light"], ["n1", "n2"])
    assert bindings.streams == bindings.nodes == ("n1", "n2")
    assert bindings.sources("n2") == (Source("n2", "acc.x@delta:0.5"), Source("n2", "light"))
    assert bindings.streams_of("n3") == bindings.sources("n3") == bindings.channels_of("n3") == ()


def test_without_names_any_node_is_a_stream():
    bindings = Bindings.single(["light"])
    assert bindings.streams == ()
    assert bindings.streams_of("n9") == ("n9",)
    assert bindings.channels_of("n9") == ("light",)
    assert bindings.topics == ("sensors/+/light",)


def test_a_quoted_channel_keeps_its_quotes():
    bindings = Bindings.pairs(['"a.inlet @ north"@every:5'], {"p": {"a": "n1"}})
    assert bindings.channels_of("n1") == ('"inlet @ north"@every:5',)


@pytest.mark.parametrize(
    ("topic", "source"),
    [
        ("sensors/n1/light@flag:300", Source("n1", "light@flag:300")),
        ("sensors/n4/light@flag:300", None),
        ("sensors//light@flag:300", None),
        ("sensors/n1", None),
        ("sensors/n1/light/more", None),
        ("streamfs/n1/light", None),
    ],
)
def test_a_topic_names_a_node_and_a_channel(topic, source):
    assert Bindings.pairs(PAIR_CHANNELS, PAIRS).parse(topic) == source


@pytest.mark.parametrize(
    ("channels", "pairs", "named"),
    [
        ((), PAIRS, "channels"),
        (("a.in/out",), PAIRS, "a.in/out"),
        (("a.light+",), PAIRS, r"a.light\+"),
        (("a.light#",), PAIRS, "a.light#"),
        (("a.light@often:3",), PAIRS, "often:3"),
        (("c.light",), PAIRS, "role 'c'"),
        (("light",), PAIRS, "light has no role"),
        (("a.light",), {"p/1": {"a": "n1"}}, "p/1"),
        (("a.light",), {"": {"a": "n1"}}, "stream is ''"),
        (("a.light",), {"p1": {"a": "n+1"}}, r"n\+1"),
        (("a.light",), {"p1": {"a.b": "n1"}}, "role is 'a.b'"),
    ],
)
def test_bindings_that_cannot_be_are_refused_by_name(channels, pairs, named):
    with pytest.raises(ValueError, match=named):
        Bindings.pairs(channels, pairs)


def test_pairs_are_read_from_a_file(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text('stream,a,b\np1,n1,n2\n\n"p2",n2,n3\n', encoding="utf-8")
    assert read_pairs(path) == PAIRS


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (b"", "line 1: header is ''"),
        (b"name,a,b\n", "line 1: header is 'name,a,b'"),
        (b"stream\n", "line 1: header is 'stream'"),
        (b"stream,a,a\n", "line 1: header is 'stream,a,a'"),
        (b"stream,a,b\np1,n1\n", "line 2: 'p1,n1' has 2 values, expected 3"),
        (b"stream,a,b\np1,n1,n2\np1,n2,n3\n", "line 3: stream 'p1'"),
        (b"stream,a,b\np/1,n1,n2\n", "line 2: stream is 'p/1'"),
        (b"stream,a,b\np1,n1,\n", "line 2: node is ''"),
        (b"stream,a,b\np1,\xff,n2\n", "cannot be read"),
    ],
)
def test_a_file_that_holds_no_pairs_is_refused_by_line(tmp_path, text, named):
    path = tmp_path / "pairs.csv"
    path.write_bytes(text)
    with pytest.raises(DataError, match=named):
        read_pairs(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"pairs\.csv"):
        read_pairs(tmp_path / "pairs.csv")


# Control


def told(messages):
    return {topic: orjson.loads(payload)["channels"] for topic, payload in messages}


def test_nodes_send_until_all_their_streams_are_decided():
    control = Control(Bindings.pairs(("a.light", "b.light"), PAIRS))
    assert told(control.start()) == {f"streamfs/control/{node}": ["light"] for node in ("n1", "n2", "n3")}
    assert told(control.decided("p1")) == {"streamfs/control/n1": []}
    assert told(control.decided("p1")) == {}
    assert told(control.decided("p2")) == {"streamfs/control/n2": [], "streamfs/control/n3": []}


def test_a_node_that_appears_is_told_once():
    control = Control(Bindings.single(["light"]), prefix="house")
    assert control.start() == []
    assert told(control.met("n7")) == {"house/control/n7": ["light"]}
    assert control.met("n7") == []
    assert told(control.decided("n7")) == {"house/control/n7": []}


def test_a_node_that_nobody_wants_is_told_nothing():
    assert Control(Bindings.single(["light"], ["n1"])).met("n2") == []


# Ledger


def test_the_energy_log_tells_decisions_nodes_and_the_total(tmp_path):
    path = tmp_path / "energy.jsonl"
    decision = Decision("p1", 1, None, math.nan, 0, 0.0, "closed", math.nan)
    with Ledger("cc2420", path) as ledger:
        ledger.count("n1", b"21.5")
        ledger.count("n2", b"22.25")
        ledger.record(decision, ["n1"])
        ledger.count("n1", b"21.5")
    lines = [orjson.loads(line) for line in path.read_bytes().splitlines()]
    message = ledger.meter.profile.message_joules(4)
    assert [line["kind"] for line in lines] == ["decision", "node", "node", "total"]
    assert {(line["unit"], line["profile"]) for line in lines} == {("joules", "cc2420")}
    assert [lines[0][name] for name in ("id", "messages", "energy")] == ["p1/1", 1, message]
    assert [lines[1][name] for name in ("node", "messages", "bytes", "energy")] == ["n1", 2, 8, 2 * message]
    assert lines[3]["messages"] == 3
    assert lines[3]["energy"] == ledger.meter.joules


def test_the_energy_log_is_appended_to(tmp_path):
    path = tmp_path / "energy.jsonl"
    for _ in range(2):
        with Ledger(path=path) as ledger:
            ledger.count("n1", b"1")
    assert len(path.read_bytes().splitlines()) == 4


def test_an_unknown_radio_is_refused():
    with pytest.raises(ValueError, match="smoke"):
        Ledger("smoke")


# Transport


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("mqtt://broker", Address("broker", 1883, None, None)),
        ("mqtt://10.0.0.1:1884/", Address("10.0.0.1", 1884, None, None)),
        ("mqtt://me@broker", Address("broker", 1883, "me", None)),
        ("mqtt://me:p%40ss@[::1]:1", Address("::1", 1, "me", "p@ss")),
    ],
)
def test_a_url_names_a_broker(url, address):
    assert parse_url(url) == address


@pytest.mark.parametrize(
    "url", ["", "broker", "http://broker", "mqtt://", "mqtt://broker:x", "mqtt://broker:0", "mqtt://broker:70000"]
)
def test_a_url_that_names_no_broker_is_refused(url):
    with pytest.raises(ValueError, match=f"broker is '{url}', expected mqtt"):
        Transport(url)


def test_a_password_is_not_shown():
    with pytest.raises(ValueError, match=r"me:\*\*\*@broker"):
        parse_url("http://me:secret@broker")


def test_an_unknown_quality_of_service_is_refused():
    with pytest.raises(ValueError, match="qos is 3"):
        Transport("mqtt://broker", qos=3)


def test_a_broker_that_is_not_there_is_named():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        with pytest.raises(TransportError, match=f"127.0.0.1:{port}"):
            Transport(f"mqtt://127.0.0.1:{port}").connect(timeout=2.0)


def test_a_broker_that_is_dumb_is_named():
    with socket.create_server(("127.0.0.1", 0)) as dumb:
        port = dumb.getsockname()[1]
        with pytest.raises(TransportError, match=f"127.0.0.1:{port} does not answer"):
            Transport(f"mqtt://127.0.0.1:{port}").connect(timeout=0.2)


@pytest.fixture
def broker(broker):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    """Run a broker of the test's own: nothing is retained there from other tests."""
    with Broker() as own:
        yield own


@contextmanager
def connected(broker):
    with closing(Transport(broker.url)) as transport:
        transport.connect()
        yield transport


@pytest.mark.mqtt
def test_what_is_published_is_received(broker):
    with connected(broker) as sender, connected(broker) as receiver:
        receiver.subscribe(["sensors/+/light", "sensors/+/door@flag:0.5"])
        for number in range(100):
            sender.publish("sensors/n1/light", b"%d" % number)
        assert sender.drain(10.0)
        first = receiver.receive(10.0)
        rest = []
        for _ in range(1000):
            rest += receiver.receive_all()
            if len(rest) == 99:
                break
            time.sleep(0.01)
    assert (first.topic, first.payload, first.retained) == ("sensors/n1/light", b"0", False)
    assert [int(message.payload) for message in rest] == list(range(1, 100))
    assert rest[-1].arrival >= first.arrival > 1.6e9


@pytest.mark.mqtt
def test_nothing_comes_where_nothing_is_sent(broker):
    with connected(broker) as receiver:
        receiver.subscribe(["sensors/+/light"])
        assert receiver.receive(0.01) is None
        assert receiver.receive_all() == []


@pytest.mark.mqtt
def test_a_retained_message_is_marked(broker):
    with connected(broker) as sender:
        sender.publish("sensors/n1/light", b"1", retain=True)
    with connected(broker) as receiver:
        receiver.subscribe(["sensors/n1/light"])
        assert receiver.receive(10.0).retained


def count_open_files():
    return len(list(Path("/dev/fd").iterdir()))


@pytest.mark.mqtt
def test_a_closed_connection_leaves_no_socket_open(broker):
    gc.collect()
    gc.disable()  # closed, not collected
    try:
        n_open = count_open_files()
        with connected(broker) as transport:
            transport.subscribe(["sensors/+/light"])
            assert count_open_files() > n_open
        assert count_open_files() == n_open
    finally:
        gc.enable()


@pytest.mark.mqtt
def test_subscriptions_outlive_a_broken_connection(broker, caplog):
    caplog.set_level(logging.CRITICAL)
    with connected(broker) as receiver, connected(broker) as sender:
        receiver.subscribe(["sensors/+/light"])
        receiver._client.socket().shutdown(socket.SHUT_RDWR)
        for _ in range(100):
            sender.publish("sensors/n1/light", b"1")
            if receiver.receive(0.1):
                break
        else:
            pytest.fail("nothing is received after the reconnection")
        assert receiver.counters["reconnects"] == 1


# The loop

CHANNEL = "light"


@pytest.fixture
def procedure():
    """Return a procedure that says "on" or "off" once the mean is beyond 0.8 or 0.2, within 5 ticks."""
    tree = Tree.from_json(
        {
            "feature": [0, -1, 0, -1, -1],
            "nominal": [False] * 5,
            "threshold": [0.2, 0.0, 0.8, 0.0, 0.0],
            "first_child": [1, 0, 3, 0, 0],
            "n_children": [2, 0, 2, 0, 0],
            "code": [0.0] * 5,
            "share": [1.0, 0.4, 0.6, 0.5, 0.5],
            "counts": [[40.0, 40.0], [32.0, 0.0], [8.0, 40.0], [8.0, 8.0], [0.0, 32.0]],
            "laplace": True,
        }
    )
    return Procedure((fx.get(f"mean({CHANNEL})"),), tree, ("off", "on"), Costs([1.0]), 0.9, time_limit=5)


@contextmanager
def running(gateway, **options):
    """Run a gateway in a thread; after the block its summary stands in the list."""
    stop, summaries = Event(), []
    thread = Thread(target=lambda: summaries.append(gateway.run(stop, **options)))
    thread.start()
    try:
        assert gateway.ready.wait(10.0)
        yield summaries
        if options:
            thread.join(10.0)
    finally:
        ended_alone = not thread.is_alive()
        stop.set()
        thread.join()
    assert ended_alone == bool(options)


def reading(time, value):
    return orjson.dumps({"v": value, "t": time})


@pytest.mark.mqtt
def test_streams_are_decided_and_their_nodes_told(broker, procedure, tmp_path):
    log = tmp_path / "energy.jsonl"
    heard = []
    bindings = Bindings.single([CHANNEL], ["n1", "n2"])
    gateway = Gateway(
        procedure, bindings, Transport(broker.url), energy_log=log, on_decision=heard.append, lateness=0.0
    )
    with connected(broker) as nodes:
        with running(gateway, until_decided=True) as summaries:
            for tick in range(3):
                for _ in range(2):
                    nodes.publish("sensors/n1/light", reading(tick, 1.0))
                nodes.publish("sensors/n2/light", reading(tick, 0.0 if tick else 0.5))
                nodes.publish("sensors/n3/light", reading(tick, 1.0))
            nodes.publish("sensors/n1/light", reading(9, 1.0))
        nodes.subscribe(["streamfs/#"])
        published = {}
        while len(published) < 4:
            message = nodes.receive(10.0)
            published[message.topic] = (message.retained, orjson.loads(message.payload))
    (summary,) = summaries
    assert [(d.stream, d.label, d.reason, d.tick) for d in summary.decisions] == [
        ("n1", "on", "confident", 1),
        ("n2", "off", "confident", 3),
    ]
    assert heard == summary.decisions
    assert published["streamfs/decision/n2"] == (True, summary.decisions[1].to_json())
    assert published["streamfs/control/n1"] == (True, {"channels": []})
    assert summary.counters["unbound"] == 3
    assert summary.counters["duplicate"] == 3
    assert summary.meter.account("n1").messages == 4
    assert summary.meter.account("n3").messages == 0
    kinds = [orjson.loads(line)["kind"] for line in log.read_bytes().splitlines()]
    assert kinds == ["decision", "decision", "node", "node", "total"]


@pytest.mark.mqtt
def test_the_stream_of_a_node_that_falls_silent_times_out(broker, procedure):
    gateway = Gateway(
        replace(procedure, period=0.1),
        Bindings.single([CHANNEL]),
        Transport(broker.url),
        lateness=0.0,
        grace=0.1,
    )
    with connected(broker) as nodes:
        nodes.subscribe(["streamfs/control/n1"])
        with running(gateway, until_decided=True) as summaries:
            nodes.publish("sensors/n1/light", reading(100, 0.5))
        told = [nodes.receive(10.0).payload for _ in range(2)]
    assert told == [b'{"channels":["light"]}', b'{"channels":[]}']
    (decision,) = summaries[0].decisions
    assert (decision.label, decision.reason, decision.tick) == (None, "timeout", 5)


@pytest.mark.mqtt
def test_open_streams_are_closed_when_told_to_stop(broker, procedure):
    gateway = Gateway(procedure, Bindings.single([CHANNEL], ["n1", "n2"]), Transport(broker.url))
    with connected(broker) as nodes:
        nodes.subscribe(["streamfs/control/+"])
        with running(gateway) as summaries:
            assert {nodes.receive(10.0).payload for _ in range(2)} == {b'{"channels":["light"]}'}
            nodes.publish("sensors/n1/light", reading(0, 0.5))
            for _ in range(1000):
                if gateway._counters["messages"]:
                    break
                time.sleep(0.01)
        assert {nodes.receive(10.0).payload for _ in range(2)} == {b'{"channels":[]}'}
    assert [(d.stream, d.reason, d.tick) for d in summaries[0].decisions] == [
        ("n1", "closed", 1),
        ("n2", "closed", 0),
    ]


@pytest.mark.mqtt
def test_what_cannot_be_read_is_counted_and_told_once(broker, procedure, caplog):
    with connected(broker) as nodes:
        nodes.publish("sensors/n1/light", reading(0, 1.0), retain=True)
        assert nodes.drain(10.0)
        gateway = Gateway(procedure, Bindings.single([CHANNEL]), Transport(broker.url))
        with running(gateway, idle_timeout=0.5) as summaries:
            for payload in (b"", b"\xff", b"NaN", b'{"v": null}', b"[" * 5000):
                nodes.publish("sensors/n1/light", payload)
            nodes.publish("sensors//light", b"1")
            nodes.publish("sensors/n1/light", b"1")
    (summary,) = summaries
    assert (summary.counters["retained"], summary.counters["malformed"], summary.counters["unbound"]) == (1, 5, 1)
    assert len([record for record in caplog.records if record.name == "streamfs.gateway.service"]) == 1
    assert summary.meter.account("n1").messages == 6
    (decision,) = summary.decisions
    assert (decision.label, decision.time > 1.6e9) == ("on", True)


def test_bindings_for_other_channels_are_refused(procedure):
    with pytest.raises(ValueError, match="humidity"):
        Gateway(procedure, Bindings.single(["humidity"]), Transport("mqtt://broker"))


@pytest.mark.mqtt
def test_a_bound_stream_that_was_never_heard_is_closed_too(broker, procedure):
    gateway = Gateway(procedure, Bindings.single([CHANNEL], ["unheard-1", "unheard-2"]), Transport(broker.url))
    with running(gateway) as summaries:
        pass
    (summary,) = summaries
    assert [(d.stream, d.tick, d.reason) for d in summary.decisions] == [
        ("unheard-1", 0, "closed"),
        ("unheard-2", 0, "closed"),
    ]


@pytest.mark.mqtt
def test_what_is_still_under_way_in_the_end_is_counted(broker, procedure):
    """Messages sent after the last decision, before the node has heard of it, have cost energy too."""
    gateway = Gateway(procedure, Bindings.single([CHANNEL], ["late-1"]), Transport(broker.url), lateness=0.0)
    with connected(broker) as nodes:
        with running(gateway, until_decided=True) as summaries:
            for tick in range(20):
                nodes.publish("sensors/late-1/light", reading(tick, 1.0))
        nodes.drain(5.0)
    (summary,) = summaries
    assert summary.decisions[0].tick < 10
    assert summary.meter.messages == 20


def test_a_log_that_cannot_be_written_is_named():
    with (
        pytest.raises(StreamfsError, match="energy log /dev/full cannot be written"),
        Ledger(path="/dev/full") as log,
    ):
        log.count("n1", b"1")


def test_a_broker_that_forgot_is_told_again():
    control = Control(Bindings.single(["light"], ["n1", "n2"]))
    control.start()
    control.decided("n1")
    assert dict(control.current()) == {
        "streamfs/control/n1": b'{"channels":[]}',
        "streamfs/control/n2": b'{"channels":["light"]}',
    }
