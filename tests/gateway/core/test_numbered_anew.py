"""Devices without a clock that number anew before their 65th message, and brokers that repeat what they said."""

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, message, new_core, outcome, raw, restored, take_divided
from hypothesis import example, given, settings
from hypothesis import strategies as st

from streamfs.gateway.core._said import LAST, MOST, WIDTH
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.left_out import CAUSES
from streamfs.gateway.core.records import model_record
from streamfs.gateway.redeliveries import Redeliveries

MODELS = Models(channels_procedure("x"), channels_procedure("x", "y"))
ONE = Bindings.single(["x"], ["n0"])


def begun(bindings=ONE, models=MODELS, **options):
    core, _ = new_core(models, bindings, **options)
    return core


def said(values, start=1e9, node="n0"):
    """Return the messages of a device that is switched on, and numbers what it says from 0 on."""
    return [message(node, None, value, number, arrival=start + number) for number, value in enumerate(values)]


def lives(n_lives, n_messages):
    """Return the messages of a device that is switched on again and again, of which no two say the same."""
    return [
        said([100.0 * life + number for number in range(n_messages)], 1e9 + 1e3 * life) for life in range(n_lives)
    ]


def is_read(core, record):
    """Let a core take a message; return whether it has a reading that was not left out."""
    before = core.counters["duplicate"]
    comes_again = core.has_come(record)
    core.take([record])
    is_new = core.counters["duplicate"] == before
    assert comes_again != is_new
    return is_new


@pytest.mark.parametrize("n_messages", [1, 2, 10, 64])
def test_a_device_that_numbers_anew_is_read_again_from_its_third_life_on(n_messages):
    core = begun()
    n_read = [sum(is_read(core, record) for record in life) for life in lives(5, n_messages)]
    assert n_read == [n_messages, 0, *[n_messages] * 3]
    assert core.counters["restarted"] == 3


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.5, 21.5]), min_size=1, max_size=64), max_size=6),
    st.data(),
)
@settings(max_examples=30)
def test_what_comes_again_in_a_life_is_left_out_in_any_order(values, data):
    core = begun()
    for life, of_life in enumerate(values):
        sent, read = said(of_life, 1e9 + 1e3 * life), []
        for n_sent, record in enumerate(sent, start=1):
            read += [record] * is_read(core, record)
            again = data.draw(st.lists(st.sampled_from(sent[:n_sent]), max_size=4))
            core = restored(core, MODELS) if data.draw(st.booleans()) else core
            read += [each for each in again if is_read(core, each._replace(arrival=record.arrival + 0.5))]
        assert len({each.payload for each in read}) == len(read)


class NaiveNumbers:
    """The numbers of a device without a clock, in sets: those that have come, and those of the newest age."""

    def __init__(self):
        self.mark, self.seen, self.came, self.values, self.is_watched = None, set(), set(), {}, False

    def is_news(self, number, value):
        is_new = self._is_news(number, value)
        self.is_watched = self.is_watched or not is_new
        if self.is_watched:
            self.values[number] = value
            self.came.add(number)
        return is_new

    def _is_news(self, number, value):
        if self.mark is None or number > self.mark:
            self._begin(number, self.seen)
        elif self.mark - number >= LAST:
            self._begin(number, set())
        elif number not in self.seen:
            self.seen.add(number)
        elif self.values.get(number, value) == value:
            return False
        else:
            self._begin(number, {other for other in self.came if other < number})
        return True

    def _begin(self, mark, seen):
        self.mark, self.seen, self.came = mark, {each for each in {*seen, mark} if mark - each < LAST}, set()


@given(st.lists(st.tuples(st.integers(0, 90) | st.integers(0, 5), st.sampled_from([0.0, 1.0])), max_size=200))
@example([(0, 0.0), (0, 0.0), (60, 0.0), (64, 0.0), (60, 1.0), (0, 0.0)])  # 0 and 64 have one place
def test_numbers_are_news_as_sets_of_them_say(said_values):
    core, naive = begun(), NaiveNumbers()
    for at, (number, value) in enumerate(said_values):
        record = message("n0", None, value, number, arrival=1e9 + at)
        assert is_read(core, record) == naive.is_news(number, value)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=64, unique=True), st.integers(1, 5))
def test_a_backlog_that_comes_again_and_again_is_read_once(values, n_times):
    core, sent = begun(), said(values)
    assert sum(is_read(core, record) for record in sent) == len(sent)
    assert sum(is_read(core, record._replace(arrival=2e9)) for record in sent * n_times) == 0


def test_a_life_that_says_what_the_last_one_said_is_left_out_until_it_differs():
    core = begun()
    read = [[is_read(core, record) for record in said(values)] for values in ((1, 1, 1), (1, 1, 1), (1, 1, 2, 2))]
    assert read == [[True] * 3, [False] * 3, [False, False, True, True]]
    assert core.left_out()[0, 1 + CAUSES.index("duplicate")] == 5


def test_a_stamp_or_the_lack_of_numbers_goes_as_before():
    core = begun()
    assert is_read(core, message("n0", 1e9, 1.0, 0, arrival=1e9))
    for value in (2.0, 3.0, 4.0):
        assert not is_read(core, message("n0", 1e9, value, 0, arrival=1e9))
    core = begun()
    for value in (1.0, 2.0, 3.0):
        assert is_read(core, message("n0", None, value, None, arrival=1e9)) == (value == 1.0)
    assert core.counters["restarted"] == 0


def test_a_device_with_several_channels_numbers_all_of_them_anew():
    route = Route.of("multi/{node}", fields={"a": "x", "b": "y"}, sequence="n")
    models = Models(channels_procedure("x", "y"))
    core = begun(Bindings.single(["x", "y"], ["n0"], routes=(route,)), models)
    for life in range(4):
        for number in range(5):
            before = core.counters["duplicate"]
            payload = {"a": 1.0, "b": 10.0 * life + number, "n": number}
            core.take([raw("multi/n0", orjson.dumps(payload), 1e9 + 100 * life + number)])
            assert core.counters["duplicate"] - before == (2 if life == 1 else 0)
    assert core.counters["restarted"] == 2 * 2, "each channel in each life from the third on"


def test_each_of_many_devices_is_remembered_however_records_are_divided():
    nodes = [f"n{i}" for i in range(40)]
    bindings = Bindings.single(["x"], nodes)
    records = [
        message(node, None, 10.0 * life + number, number, arrival=1e9 + 100 * life + number)
        for life in range(4)
        for number in range(3)
        for node in nodes
    ]
    whole, effects = take_divided(begun(bindings), records, [len(records)], MODELS)
    for sizes in ([1], [7, 50]):
        core, same = take_divided(begun(bindings), records, sizes, MODELS, restoring=True)
        assert outcome(core, same) == outcome(whole, effects)
        assert content(core)[1]["joiner.said"] == content(whole)[1]["joiner.said"]
    assert whole.counters["duplicate"] == 3 * len(nodes)


def test_of_too_many_devices_the_first_ones_are_forgotten():
    nodes = [f"n{i}" for i in range(MOST + 100)]
    core = begun(Bindings.single(["x"], nodes))
    for life in range(3):
        core.take([message(node, None, float(life), 0, arrival=1e9 + life) for node in nodes])
        core.take([message(nodes[50], None, float(life), 0, arrival=1e9 + life)])
    assert core.counters["restarted"] > 0
    assert core.counters["restarted"] + core.counters["duplicate"] == 2 * len(nodes) + 3
    assert len(core.joiner.to_state()[1]["said"]) == MOST * WIDTH


def test_what_was_said_is_still_known_after_a_model_with_more_channels():
    core = begun(Bindings.single(["x", "y"], ["n0", "n1"]))
    first, second, third = ([*said(v), *said(v, node="n1")] for v in ((1, 2), (3, 4), (5, 6)))
    core.take([*first, *second])
    core.take([model_record([*MODELS][1], 1e9)])
    assert sum(is_read(core, record) for record in third) == len(third)


def test_after_a_reconnect_a_whole_backlog_of_several_lives_is_dropped():
    core = begun()
    redeliveries = Redeliveries(core, ONE)
    sent = [record for number, life in enumerate(lives(6, 7)) for record in life[: 3 + 2 * number % 5]]
    sent += said(map(float, range(1000, 1200)), 2e9)
    for record in sent:
        core.take(redeliveries.drop([record], 1))
    for start in (len(sent) - 1, len(sent) - 100, 3, 0):
        assert redeliveries.drop(sent[start:], 2) == []
