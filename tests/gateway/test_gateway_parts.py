"""Further parts of the gateway: bindings, control, energy account, and the loop."""

import math
from contextlib import closing, contextmanager
from dataclasses import replace
from queue import SimpleQueue
from threading import Event, Thread

import numpy as np
import orjson
import pytest
from helpers.broker import Broker
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTv5
from paho.mqtt.subscribeoptions import SubscribeOptions

import feature_extractors as fx
from streamfs.classifiers.tree import Tree
from streamfs.costs.costs import Costs
from streamfs.costs.energy_meter import Account
from streamfs.costs.radio_profiles import profile
from streamfs.errors import DataError, StreamfsError
from streamfs.gateway.core.bindings import Bindings, NodeChannel
from streamfs.gateway.core.control import Control
from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.core.options import Options, Time
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.service import Gateway
from streamfs.gateway.settings.pairs_file import read_pairs
from streamfs.gateway.storage.energy_log import EnergyLog
from streamfs.gateway.transport.transport import Transport
from streamfs.procedure.procedure import Decision, Procedure

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
    assert bindings.sources("p1")[2] == NodeChannel("n2", "temperature")


def test_a_node_alone_is_a_stream_and_dots_in_its_columns_are_its_own():
    bindings = Bindings.single(["acc.x@delta:0.5", "light"], ["n1", "n2"])
    assert bindings.streams == bindings.nodes == ("n1", "n2")
    assert bindings.sources("n2") == (NodeChannel("n2", "acc.x@delta:0.5"), NodeChannel("n2", "light"))
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
        ("sensors/n1/light@flag:300", NodeChannel("n1", "light@flag:300")),
        ("sensors/n4/light@flag:300", None),
        ("sensors//light@flag:300", None),
        ("sensors/n1", None),
        ("sensors/n1/light/more", None),
        ("streamfs/n1/light", None),
    ],
)
def test_a_topic_names_a_node_and_a_channel(topic, source):
    found = Bindings.pairs(PAIR_CHANNELS, PAIRS).route(topic)
    assert (None if found is None else NodeChannel(*found[:2])) == source


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
    return {topic: orjson.loads(payload)["channels"] for topic, payload, *_ in messages}


def test_nodes_send_until_no_undecided_stream_reads_a_channel():
    control = Control(["light", "sound"])
    control.use([0, 2])  # a pair of the nodes 0 and 1
    control.use_all(np.array([[2, 4], [3, 3]], np.int32))  # a pair of 1 and 2; node 1 alone, by its other channel
    assert control.outdated() == [0, 1, 2]
    messages = [message for node in control.outdated() for message in control.update(node, f"n{node}")]
    assert told(messages) == {
        "streamfs/control/n0": ["light"],
        "streamfs/control/n1": ["light", "sound"],
        "streamfs/control/n2": ["light"],
    }
    assert control.outdated() == control.update(1, "n1") == []
    control.release([0, 2])
    assert told(control.update(0, "n0")) == {"streamfs/control/n0": []}
    assert control.update(1, "n1") == []
    control.release([3, 3])
    assert told(control.update(1, "n1")) == {"streamfs/control/n1": ["light"]}
    assert control.state(1, "n1") == Publication("streamfs/control/n1", b'{"channels":["light"],"number":5}')


def test_nodes_that_stop_by_themselves_receive_their_channels_again_in_time():
    control = Control(["light"], prefix="house", stop_after=9.5, silent_for=3600.0)
    control.use([0])
    (message,) = control.update(0, "n0")
    content = b'{"channels":["light"],"stop_after":9.5,"number":1}'
    assert message == Publication("house/control/n0", content, expiry=10)
    assert [control.renewals(now) for now in (100.0, 104.0, 105.0, 109.0, 111.0)] == [[], [], [0], [], [0]]
    control.release([0])
    silence = Publication("house/control/n0", b'{"channels":[],"number":4}', expiry=3600)
    assert control.update(0, "n0") == [silence]
    assert control.renewals(200.0) == control.renewals(300.0) == []
    assert control.state(0, "n0") == silence  # said again under its number


def numbers(messages):
    return [orjson.loads(payload)["number"] for _, payload, *_ in messages]


def test_control_messages_have_higher_numbers_than_those_of_forgotten_runs():
    control = Control(["light"])
    control.begin(1.7e9)
    control.use([0, 1])
    said = numbers(message for node in (0, 1) for message in control.update(node, f"n{node}"))
    assert said == [1_700_000_000_001, 1_700_000_000_002]
    control.forget(1)  # and met again
    assert numbers(control.update(1, "n1")) == [1_700_000_000_003]
    restarted, wider = Control(["light"]), Control(["light", "sound"])
    restarted.use([0, 1])
    restarted.restore(control.requested_at, control.numbers, control.newest_number)
    assert numbers([restarted.state(0, "n0")]) == [1_700_000_000_001]
    restarted.begin(1.6e9)  # a clock that is wrong
    wider.take_over(restarted)
    wider.use([1])
    assert numbers(wider.update(0, "n0")) == [1_700_000_000_004]


@pytest.mark.parametrize("period", [0.1, 0.3, 0.01, 0.7])
def test_repeated_control_messages_do_not_depend_on_a_restart(period):
    kept, restarted = (Control(["light"], stop_after=6 * period) for _ in range(2))
    for control in (kept, restarted):
        control.use([0])
        control.update(0, "n0")
    for tick in range(200):
        now = tick * period
        assert kept.renewals(now) == restarted.renewals(now)
        restarted.restore(restarted.requested_at.copy(), restarted.numbers.copy(), restarted.newest_number)


def test_more_channels_leave_what_nodes_know():
    old, new = Control(["light"]), Control(["light", "sound"])
    old.use([0])
    old.update(0, "n0")
    new.take_over(old)
    new.use([0])
    assert new.update(0, "n0") == []
    new.use([1])
    assert told(new.update(0, "n0")) == {"streamfs/control/n0": ["light", "sound"]}


# EnergyAccount


def accounts(**nodes):
    return np.array(list(nodes.values()), dtype=[("messages", "i8"), ("bytes", "i8"), ("joules", "f8")])


def test_the_energy_log_has_decisions_nodes_and_the_total():
    decision = Decision("p1", 1, None, math.nan, 0, 0.0, "closed", math.nan)
    ledger = EnergyAccount("cc2420")
    four, five = ledger.joules(4), ledger.joules(5)
    assert four == profile("cc2420").message_joules(4) < five
    spent = accounts(n1=(2, 8, 2 * four), n2=(1, 5, five), n3=(0, 0, 0.0))
    line = ledger.decision(decision, 2, 2 * four, 2)
    assert [line[name] for name in ("kind", "id", "messages", "energy")] == ["decision", "p1/1", 2, 2 * four]
    assert line["waiting"] == pytest.approx(4 * profile("cc2420").receive_joules(48))
    hearing = {"n2": Account(2, 8, 0.5), "": Account(1, 4, 0.25)}
    *nodes, total = ledger.totals(ledger.spent({"n2": 1, "n1": 0, "n3": 2}, spent), hearing)
    assert [line.get("asked") for line in (*nodes, total)] == [None, 2, 3]
    assert (nodes[1]["hearing"], total["hearing"]) == (0.5, 0.75)
    assert [(line["node"], line["messages"], line["bytes"]) for line in nodes] == [("n1", 2, 8), ("n2", 1, 5)]
    assert (total["kind"], total["messages"], total["bytes"]) == ("total", 3, 13)
    assert total["energy"] == pytest.approx(2 * four + five, rel=1e-12)
    assert {(line["unit"], line["profile"]) for line in (line, *nodes, total)} == {("joules", "cc2420")}


def test_the_line_of_a_decision_says_what_its_nodes_paid_to_wait():
    decision = Decision("p1", 1, None, math.nan, 7, 0.0, "timeout", math.nan)
    a_tick = 3.0 * 426e-6
    slow, fast = (EnergyAccount("cc2420", period).decision(decision, 0, 0.0, 3)["waiting"] for period in (9, 0.02))
    assert slow - fast == pytest.approx(3 * 7 * (0.1 - 0.02) * a_tick)
    assert EnergyAccount().decision(decision, 0, 0.0, 3)["waiting"] == 0.0


def test_a_spreading_factor_prices_only_lora():
    lora = EnergyAccount("sx1276_lora_sf7")
    assert lora.joules(20, 12) == profile("sx1276_lora_sf12").message_joules(20) > 5 * lora.joules(20)
    assert EnergyAccount("cc2420").joules(20, 12) == EnergyAccount("cc2420").joules(20)
    assert lora.hearing(4, 12) == profile("sx1276_lora_sf12").receive_joules(4) > 5 * lora.hearing(4) > 0.0


def test_the_energy_log_is_appended_to(tmp_path):
    path = tmp_path / "energy.jsonl"
    for _ in range(2):
        with EnergyLog(path) as log:
            log.write([{"kind": "node"}, {"kind": "total"}])
    assert [orjson.loads(line)["kind"] for line in path.read_bytes().splitlines()] == ["node", "total"] * 2


def test_a_log_that_cannot_be_written_is_named():
    with (
        EnergyLog("/dev/full") as log,
        pytest.raises(StreamfsError, match="energy log /dev/full cannot be written"),
    ):
        log.write([{"kind": "total"}])


def test_an_unknown_radio_is_refused():
    with pytest.raises(ValueError, match="smoke"):
        EnergyAccount("smoke")


# The loop

CHANNEL = "light"


@pytest.fixture
def broker(broker):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    """Run a separate broker, without retained messages of other tests."""
    with Broker() as own:
        yield own


class Nodes:
    """Another client of the broker."""

    def __init__(self, broker):
        self._broker = broker
        self._heard = SimpleQueue()
        self._client = Client(CallbackAPIVersion.VERSION2, protocol=MQTTv5)
        self._client.on_message = lambda _client, _data, message: self._heard.put(message)
        self._subscribed = Event()
        self._client.on_subscribe = lambda *_: self._subscribed.set()

    def __enter__(self):
        self._client.connect(self._broker.host, self._broker.port)
        self._client.loop_start()
        return self

    def __exit__(self, *_):
        self._client.disconnect()
        self._client.loop_stop()

    def subscribe(self, *topics):
        self._subscribed.clear()
        self._client.subscribe([(topic, SubscribeOptions(qos=1)) for topic in topics])
        assert self._subscribed.wait(10.0)

    def publish(self, topic, payload, *, retain=False):
        self._client.publish(topic, payload, qos=1, retain=retain).wait_for_publish(10.0)

    def hear(self):
        return self._heard.get(timeout=10.0)


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
    """Run a gateway in a thread; after the block its summary is in the list."""
    stop, summaries = Event(), []
    thread = Thread(target=lambda: summaries.append(gateway.run(stop, patience=10.0, **options)))
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


def test_a_stop_at_the_end_of_an_iteration_is_reported(procedure):
    stop, reported = Event(), []

    def report():
        reported.append(stop.is_set())
        stop.set()

    transport = Transport("mqtt://127.0.0.1:1")
    Gateway(procedure, Bindings.single([CHANNEL], ["n1"]), transport, Options()).run(stop, on_turn=report)
    assert reported == [False, True]


@pytest.mark.mqtt
def test_streams_are_decided_and_their_nodes_notified(broker, procedure, tmp_path):
    log = tmp_path / "energy.jsonl"
    heard = []
    bindings = Bindings.single([CHANNEL], ["n1", "n2"])
    gateway = Gateway(
        procedure,
        bindings,
        Transport(broker.url),
        Options(time=Time(lateness=0.0)),
        energy_log=log,
        on_decision=heard.append,
    )
    with Nodes(broker) as nodes:
        with running(gateway, until_decided=True) as summaries:
            for tick in range(3):
                for _ in range(2):
                    nodes.publish("sensors/n1/light", reading(tick, 1.0))
                nodes.publish("sensors/n2/light", reading(tick, 0.0 if tick else 0.5))
                nodes.publish("sensors/n3/light", reading(tick, 1.0))
            nodes.publish("sensors/n2/light", reading(9, 1.0))
        nodes.subscribe("streamfs/#")
        published = {}
        while len(published) < 4:
            message = nodes.hear()
            published[message.topic] = (message.retain, orjson.loads(message.payload))
    (summary,) = summaries
    assert [(d.stream, d.label, d.reason, d.tick) for d in heard] == [
        ("n1", "on", "confident", 1),
        ("n2", "off", "confident", 3),
    ]
    assert summary.decided == {("confident", "on"): 1, ("confident", "off"): 1}
    assert published["streamfs/decision/n2"] == (True, heard[1].to_json())
    is_retained, control = published["streamfs/control/n1"]
    assert is_retained
    assert control["channels"] == []
    assert summary.counters["unbound"] == 3
    assert summary.counters["duplicate"] == 3
    assert summary.spent.nodes["n1"].messages == 3
    assert "n3" not in summary.spent.nodes
    kinds = [orjson.loads(line)["kind"] for line in log.read_bytes().splitlines()]
    assert kinds == ["decision", "decision", "node", "node", "total"]


@pytest.mark.mqtt
def test_the_stream_of_a_node_that_falls_silent_times_out(broker, procedure):
    heard = []
    gateway = Gateway(
        replace(procedure, period=0.1),
        Bindings.single([CHANNEL]),
        Transport(broker.url),
        Options(time=Time(lateness=0.0, grace=0.1)),
        on_decision=heard.append,
    )
    with Nodes(broker) as nodes:
        nodes.subscribe("streamfs/control/n1")
        with running(gateway, until_decided=True):
            nodes.publish("sensors/n1/light", reading(100, 0.5))
        told = [orjson.loads(nodes.hear().payload) for _ in range(2)]
    assert [(control["channels"], control.get("stop_after")) for control in told] == [(["light"], 1.0), ([], None)]
    (decision,) = heard
    assert (decision.label, decision.reason, decision.tick) == (None, "timeout", 5)


@pytest.mark.mqtt
def test_open_streams_are_closed_at_a_stop(broker, procedure):
    heard = []
    gateway = Gateway(
        procedure, Bindings.single([CHANNEL], ["n1", "n2"]), Transport(broker.url), on_decision=heard.append
    )
    with Nodes(broker) as nodes:
        nodes.subscribe("streamfs/control/+")
        with running(gateway):
            assert [orjson.loads(nodes.hear().payload)["channels"] for _ in range(2)] == [["light"], ["light"]]
            nodes.publish("sensors/n1/light", reading(0, 0.5))
        assert [orjson.loads(nodes.hear().payload)["channels"] for _ in range(2)] == [[], []]
    assert [(d.stream, d.reason, d.tick) for d in heard] == [
        ("n1", "closed", 1),
        ("n2", "closed", 0),
    ]


@pytest.mark.mqtt
def test_messages_that_cannot_be_read_are_counted_and_logged_once(broker, procedure, caplog):
    with Nodes(broker) as nodes:
        nodes.publish("sensors/n1/light", reading(0, 1.0), retain=True)
        nodes.subscribe("streamfs/deadletter/gateway")
        heard = []
        gateway = Gateway(procedure, Bindings.single([CHANNEL]), Transport(broker.url), on_decision=heard.append)
        with running(gateway, idle_timeout=0.5) as summaries:
            for payload in (b"", b"\xff", b"NaN", b'{"v": null}', b"[" * 5000):
                nodes.publish("sensors/n1/light", payload)
            nodes.publish("sensors//light", b"1")
            nodes.publish("sensors/n1/light", b"1")
        letters = [orjson.loads(nodes.hear().payload) for _ in range(5)]
    (summary,) = summaries
    assert (summary.counters["retained"], summary.counters["malformed"], summary.counters["unbound"]) == (1, 5, 1)
    assert len([record for record in caplog.records if record.name == "streamfs.gateway.dead_letters"]) == 1
    assert {letter["topic"] for letter in letters} == {"sensors/n1/light"}
    assert (letters[2]["payload"], letters[2]["bytes"]) == ("NaN", 3)
    assert summary.spent.nodes["n1"].messages == 6
    (decision,) = heard
    assert (decision.label, decision.time > 1.6e9) == ("on", True)


def test_bindings_without_a_role_of_the_model_are_refused(procedure):
    other = replace(procedure, features=(fx.get("mean(c.light)"),))
    bindings = Bindings.pairs(["a.light"], PAIRS)
    with closing(Transport("mqtt://broker")) as transport, pytest.raises(ValueError, match="has role 'c'"):
        Gateway(other, bindings, transport)


@pytest.mark.mqtt
def test_a_bound_stream_that_never_sent_is_closed_too(broker, procedure):
    heard, names = [], ["unheard-1", "unheard-2"]
    gateway = Gateway(
        procedure, Bindings.single([CHANNEL], names), Transport(broker.url), on_decision=heard.append
    )
    with running(gateway):
        pass
    assert [(d.stream, d.tick, d.reason) for d in heard] == [
        ("unheard-1", 0, "closed"),
        ("unheard-2", 0, "closed"),
    ]


@pytest.mark.mqtt
def test_what_is_still_under_way_in_the_end_is_counted(broker, procedure):
    """Messages sent after the last decision, before the node receives it, cost energy too."""
    heard, bindings = [], Bindings.single([CHANNEL], ["late-1"])
    gateway = Gateway(
        procedure, bindings, Transport(broker.url), Options(time=Time(lateness=0.0)), on_decision=heard.append
    )
    with Nodes(broker) as nodes, running(gateway, until_decided=True) as summaries:
        for tick in range(20):
            nodes.publish("sensors/late-1/light", reading(tick, 1.0))
    (summary,) = summaries
    assert heard[0].tick < 10
    assert summary.spent.messages == 20
