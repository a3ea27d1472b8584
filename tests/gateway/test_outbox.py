"""The outbox: in order, until the broker confirms, whatever the network does."""

import time
from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from helpers.broker import Broker, find_mosquitto
from helpers.proxy import Proxy
from helpers.transports import ACCEPTS, Actor, ending
from hypothesis import given
from hypothesis import strategies as st

from streamfs.gateway import outbox as module
from streamfs.gateway import refused_publications
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.operations.health import Health
from streamfs.gateway.outbox import Outbox
from streamfs.gateway.transport.broker_address import parse_url
from streamfs.gateway.transport.refusal import Refusal
from streamfs.gateway.transport.transport import Transport

pytestmark = pytest.mark.mqtt

PATIENCE = 20.0  # seconds for what is to happen


@pytest.fixture
def broker():
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    with Broker() as running:
        yield running


@contextmanager
def connected(url):
    with closing(Transport(url, backoff=(0.02, 0.1), seed=1)) as transport:
        transport.connect()
        yield transport


@contextmanager
def listening(broker):
    """Yield what the broker has received, and a function that waits for more."""
    with connected(broker.url) as transport:
        transport.subscribe(["box/#"])
        transport.check_subscribed()
        heard = []

        def until(is_done, *more):
            last = time.monotonic() + PATIENCE
            while not is_done():
                assert time.monotonic() < last, heard
                messages = transport.poll(0.01)
                transport.acknowledge(len(messages))
                heard.extend(message.topic for message in messages)
                for one in more:
                    one.pump()
                    one._transport.poll(0.01, 0)

        yield heard, until


def test_a_broker_that_confirms_nothing_is_noticed(monkeypatch):
    """Else decisions waited, and all seemed well, until half of the outbox was full."""
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    with Actor(ACCEPTS) as mute, ending(Transport(mute.url)) as transport:
        transport.connect()
        box = Outbox(transport)
        for _ in range(2):
            box.pump()
            now[0] += 1000.0
        box.add([1, 2], [Publication("box/1", b""), Publication("box/2", b"")])
        for _ in range(4):
            box.pump()
            now[0] += 10.0
        assert box.seconds_without_answer == 40.0
        transport._confirmed.append(1)
        box.pump()
        assert box.seconds_without_answer == 0.0
        health = Health(True, subscribed=True, storing=True, loop_age=0.0, lag=0.0, unanswered=40.0)
    assert health.problems() == []
    assert health.warnings() == [
        "the broker has confirmed nothing that was published for 40 s: decisions and control messages wait"
    ]


def test_a_connection_that_is_lost_is_not_a_broker_that_confirms_nothing(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    transport = Narrow()
    transport.confirmed = list
    box = Outbox(transport)
    box.add(*numbered(1, 2))
    box.pump()
    now[0] += 600.0
    away = Health(False, False, storing=True, loop_age=0.0, lag=0.0, unanswered=box.seconds_without_answer)
    assert (away.unanswered, away.warnings()) == (600.0, [])
    transport.counters["connections"] += 1
    box.pump()
    now[0] += 1.0
    assert box.seconds_without_answer == 1.0


class Narrow:
    """A transport that confirms what was sent, but for what is too large."""

    def __init__(self):
        self.most, self.sent, self.unread, self.counters = 10, [], [], {"connections": 1}

    def publish(self, publication, number):
        is_too_large = len(publication.payload) > self.most
        (self.unread if is_too_large else self.sent).append(Refusal(number, "too large", is_of_topic=False))
        return True

    def confirmed(self):
        confirmed = [refusal.token for refusal in self.sent]
        self.sent = []
        return confirmed

    def refused(self):
        unread, self.unread = self.unread, []
        return unread


def pump_for_long(box, monkeypatch):
    now = [module.monotonic()]
    monkeypatch.setattr(module, "monotonic", lambda: now[0])
    for _ in range(1000):
        now[0] += 1.0
        box.pump()


def test_what_is_too_large_waits_for_another_connection_and_keeps_nothing_back(monkeypatch):
    """Nothing of its topic was sent any more; it may never become smaller than what the broker takes."""
    box = Outbox(transport := Narrow())
    small = Publication("box/1", b"", retain=False)
    box.add([1, 2, 3], [small, small._replace(payload=bytes(20)), small])
    pump_for_long(box, monkeypatch)
    assert (box.take_concluded(), len(box), box.refused) == ([1, 3], 1, {"box/1": "too large"})
    transport.counters["connections"] += 1
    box.pump()
    box.pump()
    assert (len(box), box.refused) == (1, {"box/1": "too large"})
    transport.most = 20
    transport.counters["connections"] += 1
    box.pump()
    box.pump()
    assert (box.take_concluded(), len(box), box.refused) == ([2], 0, {})


def test_what_is_too_large_and_replaced_is_not_sent_after_what_replaces_it(monkeypatch):
    box = Outbox(Narrow())
    box.add(
        [1, 2, 3], [Publication("box/1", bytes(20)), Publication("box/2", bytes(20)), Publication("box/1", b"")]
    )
    pump_for_long(box, monkeypatch)
    assert (box.take_concluded(), len(box), box.refused) == ([3, 1], 1, {"box/2": "too large"})


def test_what_is_too_large_leaves_room(monkeypatch):
    box = Outbox(Narrow(), bound=20)
    box.add(range(1, 21), [Publication(f"box/{number}", bytes(20)) for number in range(20)])
    pump_for_long(box, monkeypatch)
    box.add(*numbered(21, 23))
    assert (box.take_concluded(), len(box)) == ([1, 2, 3, 4], 18)


class Falling:
    """A transport that confirms what was sent, unless something fatal is among it: the connection ends."""

    def __init__(self, fatal):
        self.fatal, self.sent, self.counters = fatal, [], {"connections": 1}

    def publish(self, _publication, number):
        self.sent.append(number)
        return True

    def confirmed(self):
        sent, self.sent = self.sent, []
        is_lost = not self.fatal.isdisjoint(sent)
        self.counters["connections"] += is_lost
        return [] if is_lost else sent

    def refused(self):
        return []


def numbered(first, last):
    """Return numbers, and publications on topics with these numbers."""
    numbers = range(first, last)
    return numbers, [Publication(f"box/{number}", b"{}", retain=False) for number in numbers]


def topics(first, last):
    return [f"box/{number}" for number in range(first, last)]


def test_what_is_safe_is_published_in_order_and_confirmed_once(broker):
    with connected(broker.url) as transport, listening(broker) as (heard, until):
        box = Outbox(transport, zip(*numbered(1, 4), strict=True))
        box.add(*numbered(4, 200))
        assert len(box) == 199
        until(lambda: len(heard) == 199 and not len(box), box)
        assert heard == topics(1, 200)
        assert box.take_concluded() == list(range(1, 200))
        assert not box.has_concluded
        assert box.take_concluded() == []
        assert box.counters == {"confirmed": 199, "passing_dropped": 0, "outbox_dropped": 0}


def test_what_was_under_way_when_the_connection_broke_is_published_again_before_the_rest(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as transport, listening(broker) as (heard, until):
        box = Outbox(transport)
        box.add(*numbered(1, 11))
        until(lambda: not len(box), box)
        proxy.stall()
        box.add(*numbered(11, 21))
        until(lambda: proxy.n_swallowed > 0, box)
        assert len(box) == 10
        proxy.refuse()
        proxy.resume()
        until(lambda: not transport.is_connected, box)
        box.add(*numbered(21, 31))
        proxy.accept()
        until(lambda: not len(box) and len(set(heard)) == 30, box)
        assert heard == topics(1, 31)
        assert sorted(box.take_concluded()) == list(range(1, 31))
        assert transport.counters["reconnects"] == 1


def test_a_publication_whose_acknowledgement_is_lost_arrives_twice_and_is_confirmed_once(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as transport, listening(broker) as (heard, until):
        box = Outbox(transport)
        proxy.delay(1.0)
        box.add(*numbered(1, 6))
        until(lambda: len(heard) == 5, box)
        assert len(box) == 5
        proxy.cut()
        proxy.delay(0.0)
        until(lambda: not len(box) and len(heard) == 10, box)
        assert heard == topics(1, 6) * 2
        assert box.take_concluded() == [1, 2, 3, 4, 5]


def test_what_is_only_passing_comes_after_the_rest_and_at_most_once(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as transport, listening(broker) as (heard, until):
        box = Outbox(transport)
        box.add_passing(numbered(100, 103)[1])
        box.add(*numbered(1, 4))
        assert len(box) == 3
        until(lambda: len(heard) == 6 and not len(box), box)
        assert heard == [*topics(1, 4), *topics(100, 103)]
        proxy.cut()
        box.add(*numbered(4, 5))
        until(lambda: not len(box) and len(heard) >= 7, box)
        assert heard[6:] == topics(4, 5)
        assert box.take_concluded() == [1, 2, 3, 4]


def test_of_what_is_only_passing_so_much_waits_and_the_rest_is_dropped_and_counted(monkeypatch):
    monkeypatch.setattr(module, "MAX_PASSING", 5)
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        box = Outbox(transport)
        box.add(*numbered(1, 3))
        box.add_passing(numbered(100, 108)[1])
        box.pump()
        assert box.counters == {"confirmed": 0, "passing_dropped": 3, "outbox_dropped": 0}
        assert (len(box), box.has_concluded) == (2, False)


def test_what_is_refused_is_tried_again_in_order_while_the_rest_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(refused_publications, "FIRST_DELAY", 0.05)
    acl = tmp_path / "acl"
    acl.write_text("topic write box/open\ntopic read box/#\n", encoding="utf-8")
    with (
        Broker(f"acl_file {acl}") as strict,
        connected(strict.url) as transport,
        listening(strict) as (heard, until),
    ):
        box = Outbox(transport)
        shut = [Publication("box/shut", b"%d" % i, retain=False) for i in range(3)]
        box.add([1, 2, 3, 4], [*shut[:2], Publication("box/open", b"", retain=False), shut[2]])
        until(lambda: len(box) == 3 and heard == ["box/open"], box)
        assert box.refused == {"box/shut": "Not authorized"}
        assert box.take_concluded() == [3]
        until(lambda: transport.counters["refused_publications"] > 3, box)
        acl.write_text("topic box/#\n", encoding="utf-8")
        strict.stop()
        strict.start()
        until(lambda: not len(box) and len(heard) == 4, box)
        assert heard == ["box/open", *["box/shut"] * 3]
        assert box.take_concluded() == [1, 2, 4]
        assert box.refused == {}


def test_a_full_box_drops_what_is_replaced_first_and_decisions_last():
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        box = Outbox(transport, bound=20, dear="s/decision/")
        decisions = [Publication(f"s/decision/{i}", b"") for i in range(8)]
        controls = [Publication(f"s/control/{i % 6}", b"%d" % i) for i in range(12)]
        box.add(range(1, 21), [*decisions, *controls])
        assert box.take_concluded() == []
        assert box.fullness == 1.0
        box.add([21], [Publication("s/control/9", b"")])
        assert box.take_concluded() == [9, 10, 11]  # the eldest of those that 15 to 20 replace
        box.add(range(22, 42), [Publication(f"s/decision/{i}", b"") for i in range(20)])
        assert box.counters["outbox_dropped"] == 23
        assert [number for number, (topic, *_) in box._waiting if "control" in topic] == []
        assert len(box) == 18


def test_what_is_refused_does_not_take_the_room_of_the_rest():
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        box = Outbox(transport, bound=20, dear="d/")
        for number in range(1, 21):
            box._refused.refuse(number, Publication(f"d/{number % 4}", b""), "Not authorized", now=0.0)
        box.add(range(21, 25), [Publication(f"c/{number}", b"") for number in range(4)])
        assert [number for number, _ in box._waiting] == [21, 22, 23, 24]
        assert box.take_concluded() == list(range(1, 7))
        assert (len(box), box.counters["outbox_dropped"]) == (18, 6)
        assert box.refused.keys() == {f"d/{number}" for number in range(4)}


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(1, 9)), max_size=60))
def test_a_full_box_keeps_its_bound_and_accounts_for_every_number(added):
    with closing(Transport("mqtt://127.0.0.1:1")) as transport:
        box, number = Outbox(transport, bound=10, dear="d/"), 0
        for name, is_dear, n in added:
            numbers = range(number + 1, number + n + 1)
            box.add(numbers, [Publication(f"{'d' if is_dear else 'c'}/{name}", b"")] * n)
            number += n
            assert len(box) <= 10
        left = [each for each, _ in box._waiting]
        assert sorted([*left, *box.take_concluded()]) == list(range(1, number + 1))
        assert left == sorted(left)


def test_publications_that_end_the_connection_do_not_keep_the_others_back(broker, caplog):  # noqa: ARG001 - skips
    with Broker("max_packet_size 200") as narrow:
        address = replace(parse_url(narrow.url), protocol="3.1.1")  # by which a broker does not say so
        with connected(address) as transport, listening(narrow) as (heard, until):
            box = Outbox(transport)
            numbers, publications = numbered(1, 21)
            for index in (4, 5, 11):
                publications[index] = publications[index]._replace(payload=bytes(300))
            box.add(numbers, publications)
            kept = {f"box/{number}" for number in numbers} - {"box/5", "box/6", "box/12"}
            until(lambda: set(heard) == kept and len(box) == 3, box)
            assert set(box.refused) == {"box/5", "box/6", "box/12"}
    assert box.counters["refused_publications"] >= 3
    assert "a publication to box/5 waits: the connection is lost whenever this is sent" in caplog.text


def test_connections_that_are_lost_by_themselves_refuse_nothing_for_long(broker):
    with Proxy(broker.port) as proxy, connected(proxy.url) as transport, listening(broker) as (heard, until):
        box = Outbox(transport)
        proxy.stall()
        box.add(*numbered(1, 11))
        for n_lost in range(1, 7):
            until(lambda: proxy.n_swallowed > 0, box)
            proxy.cut()
            until(lambda n_lost=n_lost: transport.counters["lost_connections"] >= n_lost, box)
            proxy.resume()
            until(lambda: transport.is_connected, box)
            proxy.stall()
        proxy.resume()
        until(lambda: not len(box) and set(heard) == set(topics(1, 11)), box)
        assert not box.refused


@pytest.mark.parametrize("falls", ["one of a topic", "all, and some are dropped"])
def test_once_it_is_known_what_ends_the_connection_the_rest_goes_together(falls):
    is_one = falls == "one of a topic"
    transport = Falling({1} if is_one else set(range(1, 11)))
    box = Outbox(transport, bound=20, dear="dear/")
    numbers, publications = numbered(1, 11)
    box.add(
        numbers, [publications[0] if is_one and number < 4 else publications[number - 1] for number in numbers]
    )
    for _ in range(module.N_FRUITLESS + 1):
        box.pump()
    if not is_one:
        transport.fatal = set()
        box.add(*numbered(11, 41))
    for _ in range(50):
        box.pump()
    assert len(box) == 3 * is_one
    box.add(*numbered(50, 60))
    box.pump()
    assert transport.sent == [*range(50, 60)]
