"""A simulated broker with the session of one gateway, and a simulated network between the two."""

from collections import Counter, deque
from math import inf
from typing import NamedTuple

from streamfs.gateway.messages.message import Message
from streamfs.gateway.transport.backoff import Backoff
from streamfs.gateway.transport.inbox import Inbox
from streamfs.gateway.transport.refusal import Refusal
from streamfs.gateway.transport.silence import Silence
from streamfs.gateway.transport.steady_clock import SteadyClock

LATENCY = 0.01  # seconds, at most, in one direction
FORGOTTEN = 1.0  # seconds of which a broker that dies knows nothing
ID_BYTES = 8
LONGEST = 8.0  # seconds that an idle gateway sleeps


class Delivery(NamedTuple):
    """A message on its way to the gateway."""

    number: int
    time: float
    topic: str
    payload: bytes
    qos: int
    copy: int = 0

    @property
    def packet(self):
        """Number of the packet: a copy has another."""
        return self.number + (self.copy << 32)


class Link:
    """A connection: each direction keeps the order, and nothing gets through while it stalls."""

    def __init__(self, timeline, random, faults):
        self.is_up = True
        self._timeline, self._random, self._faults = timeline, random, faults
        self._last = {"up": 0.0, "down": 0.0}

    def send(self, direction, act):
        """Let something happen at the other end, unless the connection is cut before."""
        now = self._timeline.now
        latency = self._random.uniform(0.0, LATENCY) + self._faults.network_latency(now)
        time = max(now + latency, self._last[direction])
        self._last[direction] = time = self._faults.after_stall(time)
        self._timeline.at(time, lambda: act() if self.is_up else None)


class Broker:
    """Keeps the gateway's messages of quality 1 until it acknowledges them; notes all that is published."""

    def __init__(self, timeline, random, faults, receive_maximum):
        self.published = []  # by the gateway: the number of the connection, and what came over it
        self.retained = {}
        self.acknowledged = set()
        self.asked = {}  # when silence was asked for: the gateway's time of it, and the true one
        self._timeline, self._random, self._faults = timeline, random, faults
        self.receive_maximum = receive_maximum  # in either direction
        self.on_taken = lambda _: None  # called with what it takes
        self.hung_up = -inf  # when it last has
        self.is_calm = False  # whether it hangs up no more
        self._has_session = False
        self._waiting = deque()
        self._unacknowledged = {}  # by packet, in order
        self._concluded = deque()  # time and delivery, of the last second
        self._connection = None
        self._n_sent = self._n_taken = self._n_connections = 0

    def publish(self, delivery):
        """Take a node's message."""
        if delivery.qos or self._connection is not None:
            self._waiting.append(delivery)
        self._send_next()

    def accept(self, connection):
        """Accept a connection; a session that was there goes on."""
        self._connection = connection
        self._n_connections += 1
        has_session, self._has_session = self._has_session, True
        connection.link.send("down", lambda: connection.accepted(has_session=has_session))
        self._waiting.extendleft(reversed(self._unacknowledged.values()))  # as many at once as ever
        self._unacknowledged.clear()
        self._send_next()

    def acknowledge(self, numbers):
        """Forget messages that the gateway has."""
        for number in numbers:
            delivery = self._unacknowledged.pop(number, None)
            if delivery is not None:
                self.acknowledged.add(delivery.number)
                self._concluded.append((self._timeline.now, delivery))
        while self._concluded and self._concluded[0][0] < self._timeline.now - FORGOTTEN:
            self._concluded.popleft()
        self._send_next()

    def take(self, publication, token, connection):
        """Take a publication of the gateway, and confirm or refuse it."""
        if self._faults.refuses(publication.topic, self._timeline.now):
            connection.link.send("down", lambda: connection.refuse(token))
            return
        self._n_taken += 1
        keeps = None if self.is_calm else self._faults.hang_ups.get(self._n_taken)
        if keeps is not False:
            self._keep(publication)
        if keeps is not None:
            self.hung_up = self._timeline.now
            self.cut()
            return
        connection.link.send("down", lambda: connection.confirm(token))

    def _keep(self, publication):
        self.published.append((self._n_connections, publication))
        self.on_taken(publication)
        if publication.retain:
            self.retained[publication.topic] = publication.payload

    @property
    def n_waiting(self):
        """Number of messages that the gateway has not acknowledged."""
        return len(self._waiting) + len(self._unacknowledged)

    def cut(self, connection=None):
        """Lose a connection, or the one that there is."""
        lost = self._connection if connection is None else connection
        self._connection = None
        self._waiting = deque(each for each in self._waiting if each.qos)
        if lost is not None:
            lost.lose()

    def crash(self):
        """Restart without knowing of the last second."""
        self.cut()
        since = self._timeline.now - FORGOTTEN
        again = {each.packet: each for time, each in self._concluded if time > since}
        self._concluded.clear()
        self._unacknowledged = dict(sorted((again | self._unacknowledged).items()))

    def lose_session(self):
        """Restart without any session, and without what was retained."""
        self.cut()
        self._has_session = False
        self.retained.clear()
        self._waiting.clear()
        self._unacknowledged.clear()

    def _send_next(self):
        while self._waiting and self._connection and len(self._unacknowledged) < self.receive_maximum:
            delivery = self._waiting.popleft()
            if delivery.qos:
                self._unacknowledged[delivery.packet] = delivery
            self._send(delivery)

    def _send(self, delivery):
        connection = self._connection
        self._n_sent += 1
        if self._n_sent in self._faults.doubled:
            self._waiting.appendleft(delivery._replace(copy=delivery.copy + 1))
        connection.link.send("down", lambda: connection.receive(delivery))


class SimulatedTransport:
    """The connection of a gateway, in place of `Transport`."""

    def __init__(self, broker, timeline, process, random, faults, wall):
        self.counters = Counter(connections=0)
        self.link = None
        self.clock = SteadyClock(wall, lambda: timeline.now)
        self._broker, self._timeline, self._process, self._random = broker, timeline, process, random
        self._faults = faults
        self._inbox = Inbox(10_000, self.counters)
        self._silence = Silence()
        self._backoff = Backoff(0.5, 4.0, random.randrange(2**32))
        self._retry_at = 0.0
        self._is_connecting = self._is_accepted = self._session_lost = self._is_woken = False
        self._is_unanswered = self._answer_lost = False
        self._in_flight = {}
        self._confirmed, self._refused = [], []

    # What the gateway calls

    @property
    def is_connected(self):
        return self._is_accepted

    is_subscribed = is_connected

    @property
    def trouble(self):
        return "" if self._is_accepted else "there is no broker"

    @property
    def session_lost(self):
        lost, self._session_lost = self._session_lost, False
        return lost

    @property
    def answer_lost(self):
        lost, self._answer_lost = self._answer_lost, False
        return lost

    @property
    def silence(self):
        return self._silence.proved

    def subscribe(self, topics, instead_of=()):
        pass

    def prove_silence(self):
        if self._is_accepted and not self._silence.is_asked:
            now = self.clock.now()
            self._broker.asked[now] = self._timeline.now
            self._silence.asked(now)
            self.link.send("up", lambda: self.link.send("down", self._answered))

    def poll(self, timeout, room=None):
        self._process.deal()
        self._wait(timeout, room)
        self._timeline.run(self._faults.after_stop(self._timeline.now))
        if not (self._is_accepted or self._is_connecting) and self._timeline.now >= self._retry_at:
            self._connect()
        messages = self._inbox.take(room)
        self._silence.taken(len(messages))
        return messages

    def acknowledge(self, n):
        self._process.deal()
        packets, n_packets = self._inbox.acknowledge(n)
        self._silence.acknowledged(n_packets)
        numbers = [int.from_bytes(packets[at : at + ID_BYTES]) for at in range(0, len(packets), ID_BYTES)]
        if numbers and self.link is not None:
            self.link.send("up", lambda: self._broker.acknowledge(numbers))

    def publish(self, publication, token=None, qos=1):
        if not self._is_accepted or len(self._in_flight) >= self._broker.receive_maximum:
            return False
        self._process.deal()
        if qos and token is not None:
            self._in_flight[token] = publication
        self.link.send("up", lambda: self._broker.take(publication, token, self))
        return True

    def confirmed(self):
        confirmed, self._confirmed = self._confirmed, []
        return confirmed

    def refused(self):
        refused, self._refused = self._refused, []
        return refused

    def wake(self):
        self._is_woken = True

    def close(self, timeout=2.0, goodbye=None):  # noqa: ARG002 - as the real one's
        if self.link is not None:
            self._broker.cut(self)

    # What the network calls

    def accepted(self, *, has_session):
        self._is_connecting, self._is_accepted = False, True
        self.counters["connections"] += 1
        self._session_lost |= not has_session
        self._answer_lost |= self._is_unanswered
        self._is_unanswered = False

    def receive(self, delivery):
        acknowledgement = delivery.packet.to_bytes(ID_BYTES) if delivery.qos else b""
        self._inbox.put(Message(delivery.topic, delivery.payload, False, self.clock.now()), acknowledgement)
        if acknowledgement:
            self._silence.received()

    def confirm(self, token):
        if self._in_flight.pop(token, None) is not None:
            self._confirmed.append(token)

    def refuse(self, token):
        if self._in_flight.pop(token, None) is not None:
            self._refused.append(Refusal(token, "not authorized"))

    def lose(self):
        """Lose the connection, and with it what is under way."""
        self._is_unanswered |= self._is_connecting
        self.link.is_up = self._is_accepted = self._is_connecting = False
        self.link = None
        self._in_flight.clear()
        self._inbox.forget_connection()
        self._retry_at = self._timeline.now + self._backoff.next(0.0, is_taken_over=False)

    def _connect(self):
        self.link = Link(self._timeline, self._random, self._faults)
        self._is_connecting = True
        self._silence.begin()
        self.link.send("up", lambda: self._broker.accept(self))

    def _answered(self):
        self._silence.answered(len(self._inbox))

    def _wait(self, timeout, room):
        """Let time pass until a message can be taken; who only looks again sleeps until something happens."""
        until = self._timeline.now + timeout
        if timeout > 0.04:
            until = max(until, min(self._timeline.next, self._timeline.now + LONGEST))
        while not ((self._inbox and room != 0) or self._is_woken or self._timeline.now >= until):
            self._timeline.step(until)
        self._is_woken = False
