"""Proof of silence against any broker, and a clock that never steps."""

from collections import deque

from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.gateway.transport.silence import Silence
from streamfs.gateway.transport.steady_clock import SteadyClock


class Link:
    """A broker that lets few messages be unacknowledged, and a client, with a link between them that may stall."""

    def __init__(self, limit):
        self.limit, self.n_open = limit, 0
        self.held, self.to_client, self.to_broker = deque(), deque(), deque()
        self.waiting, self.taken, self.unacknowledged, self.published = deque(), set(), 0, []
        self.silence = Silence()

    def publish(self, now):
        self.published.append(now)
        self.held.append(now)
        self.send()

    def send(self):
        while self.held and self.n_open < self.limit:
            self.n_open += 1
            self.to_client.append(self.held.popleft())

    def broker_reads(self, _now):
        if self.to_broker:
            if self.to_broker.popleft() == "ping":
                self.to_client.append("answer")
            else:
                self.n_open -= 1
                self.send()

    def client_reads(self, _now):
        if self.to_client:
            message = self.to_client.popleft()
            if message == "answer":
                self.silence.answered(len(self.waiting))
            else:
                self.silence.received()
                self.waiting.append(message)

    def take(self, _now):
        if self.waiting:
            self.taken.add(self.waiting.popleft())
            self.unacknowledged += 1
            self.silence.taken(1)

    def acknowledge(self, _now):
        if self.unacknowledged:
            self.unacknowledged -= 1
            self.silence.acknowledged(1)
            self.to_broker.append("acknowledgement")

    def ask(self, now):
        if not self.silence.is_asked:
            self.silence.asked(now)
            self.to_broker.append("ping")


STEPS = ("publish", "broker_reads", "client_reads", "take", "acknowledge", "ask")


@given(st.integers(1, 4), st.lists(st.sampled_from(STEPS), max_size=200))
@settings(max_examples=200)
def test_whatever_was_published_before_proved_silence_was_taken(limit, steps):
    link = Link(limit)
    for now, step in enumerate(steps):
        getattr(link, step)(now)
        assert {at for at in link.published if at < link.silence.proved} <= link.taken


def test_a_quiet_link_proves_silence_and_a_busy_one_does_too():
    link = Link(limit=4)
    for now, step in enumerate(["ask", "broker_reads", "client_reads"]):
        getattr(link, step)(now)
    assert link.silence.proved == 0
    busy = ["publish", "client_reads"] * 3 + ["take"] * 3 + ["acknowledge", "ask", *["broker_reads"] * 2]
    for now, step in enumerate([*busy, "client_reads"], 10):
        getattr(link, step)(now)
    assert link.silence.proved == 10 + busy.index("ask")


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(-1e10, 1e10)), min_size=1), st.floats(0, 1e10))
def test_steps_of_the_wall_clock_change_nothing(turns, last):
    """Whatever the wall clock says, time goes on by the seconds that have passed, from the last record on."""
    state = {"monotonic": 0.0, "wall": 1e9}
    clock = SteadyClock(lambda: state["wall"], lambda: state["monotonic"])
    clock.start_after(last)
    begin = clock.now()
    assert begin >= max(last, 1e9)
    for seconds, step in turns:
        state["monotonic"] += seconds
        state["wall"] += seconds + step
        assert clock.now() == begin + state["monotonic"]
        assert clock.step == state["wall"] - clock.now()
