"""Control messages: nodes send exactly what their undecided streams request, and nothing else."""

from collections import defaultdict

import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, control_messages, message, new_core, requested_channels
from helpers.stories import BINDINGS, CASES, story_of
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.control import Control
from streamfs.gateway.core.records import clock_record, model_record

PAIRS = {"p1": {"a": "n1", "b": "n2"}, "p2": {"a": "n2", "b": "n3"}}
LIGHT = Models(channels_procedure("light"), channels_procedure("light", time_limit=60))
PAIRED_LIGHT = Models(channels_procedure("a.light", "b.light"))


def channels_of(node, publication):
    return {node: orjson.loads(publication.payload)["channels"]}


def numbers_of(publications):
    return [message["number"] for message in control_messages(publications).values() if "number" in message]


def highest_number(publications):
    return max(numbers_of(publications), default=0)


def wanted(core):
    """What each node's undecided streams read, by the bindings."""
    channels = defaultdict(set)
    for model in core.roster.models:
        bindings = core.roster.bindings.with_channels(model.procedure.channels)
        for stream in model.engine.streams:
            if not model.engine.is_decided(stream):
                for node, channel in bindings.sources(stream):
                    channels[node].add(channel)
    return dict(channels)


@pytest.mark.parametrize("case", CASES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=15)
def test_each_node_is_asked_for_exactly_what_its_undecided_streams_read(case, seed):
    models, options = CASES[case]
    core, effects = new_core(models, BINDINGS[models], **options)
    last, newest = requested_channels(effects.publications), highest_number(effects.publications)
    for record in story_of(models, seed):
        publications = core.take([record]).publications
        assert all(number > newest for number in numbers_of(publications))
        newest = max(newest, highest_number(publications))
        last |= requested_channels(publications)
        assert {node: set(channels) for node, channels in last.items() if channels} == wanted(core)
        current = requested_channels(core.roster.control_states())
        assert {node: last.get(node, []) for node in current} == current
        assert {node for node, channels in last.items() if channels} <= current.keys()
        assert all(
            ("stop_after" in said) == bool(said["channels"]) for said in control_messages(publications).values()
        )


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=8),
    st.lists(st.integers(0, 7), max_size=30),
)
def test_nodes_are_asked_for_what_is_still_read_in_whatever_order_streams_are_decided_and_reopened(streams, turns):
    control, undecided, last = Control(["light", "door"]), set(), {}
    for stream in (*range(len(streams)), *(turn % len(streams) for turn in turns)):
        (control.release if stream in undecided else control.use)(streams[stream])
        undecided ^= {stream}
        for node in {slot // 2 for slot in streams[stream]}:
            for publication in control.update(node, f"{node}"):
                last |= channels_of(node, publication)
        read = {slot for s in undecided for slot in streams[s]}
        assert last == {
            node: [c for i, c in enumerate(("light", "door")) if 2 * node + i in read] for node in last
        }
        assert {slot // 2 for slot in read} <= last.keys()
        assert all(channels_of(n, control.state(n, f"{n}"))[n] == channels for n, channels in last.items())


def test_a_group_is_silent_node_by_node():
    bindings = Bindings.group(PAIRED_LIGHT.first.channels, ["n1", "n2", "n3"])
    core, effects = new_core(PAIRED_LIGHT, bindings, lateness=0.0)
    assert requested_channels(effects.publications) == {"n1": ["light"], "n2": ["light"], "n3": ["light"]}
    records = [
        message(node, time, value, channel="light")
        for time in (0.0, 1.0)
        for node, value in (("n1", 1.0), ("n2", 0.0), ("n3", 0.0))
    ]
    effects = core.take(records)
    assert [decision.stream for decision in effects.decisions] == ["n1--n2", "n1--n3"]
    assert requested_channels(effects.publications) == {"n1": []}


def test_a_node_that_appears_is_logged_once_under_the_prefix():
    core, effects = new_core(LIGHT, Bindings.single(["light"]), prefix="house")
    assert effects.publications == []
    readings = [message("n7", time, 0.0, channel="light") for time in (0.0, 0.5)]
    assert control_messages(core.take(readings).publications, "house") == {
        "n7": {"channels": ["light"], "stop_after": 12.0, "number": 1}
    }
    assert core.take(readings).publications == []


def test_a_node_that_is_not_bound_receives_nothing():
    core, effects = new_core(LIGHT, Bindings.single(["light"], ["n1"]))
    assert requested_channels(effects.publications) == {"n1": ["light"]}
    assert core.take([message("n2", 0.0, 1.0, channel="light")]).publications == []


def test_requests_are_renewed_before_nodes_stop_by_themselves():
    core, _ = new_core(LIGHT, Bindings.single(["light"], ["heard", "unheard"]), lateness=0.0)
    said = []
    for time in range(21):
        records = message("heard", float(time), 0.0, channel="light"), clock_record(float(time))
        publications = core.take(records).publications
        said += [(time, *each) for each in requested_channels(publications).items()]
    assert said == [(6, "heard", []), *((time, "unheard", ["light"]) for time in (6, 12, 18))]


def test_a_model_of_longer_episodes_lets_no_node_stop_early():
    core, effects = new_core(LIGHT, Bindings.single(["light"], ["n1"]), lateness=0.0)
    assert control_messages(effects.publications)["n1"]["stop_after"] == 12.0
    core.take([message("n1", time, 0.0, channel="light") for time in (0.0, 1.0)])
    core.take([model_record(list(LIGHT)[1], 1.0)])
    said = control_messages(core.take([message("n1", 2.0, 0.0, channel="light"), clock_record(2.0)]).publications)
    assert said == {"n1": {"channels": ["light"], "stop_after": 120.0, "number": 2}}


def test_a_broker_that_forgot_receives_all_requests_again():
    core, _ = new_core(LIGHT, Bindings.single(["light"], ["n1", "n2"]), lateness=0.0)
    core.take([message("n1", time, 1.0, channel="light") for time in (0.0, 1.0)])
    assert requested_channels(core.roster.control_states()) == {"n1": [], "n2": ["light"]}
    assert all(publication.retain for publication in core.roster.control_states())


def test_a_request_without_a_limit_states_none():
    control = Control(["light"])
    control.use([0])
    (said,) = control.update(0, "n1")
    assert orjson.loads(said.payload) == {"channels": ["light"], "number": 1}
    assert said.expiry == 0
    assert control.renewals(1e9) == []


def test_streams_time_out_by_the_clock_and_their_nodes_fall_silent():
    core, _ = new_core(LIGHT, Bindings.single(["light"], ["n1"]), lateness=0.0)
    core.take([message("n1", 0.0, 0.0, channel="light")])
    assert requested_channels(core.take([clock_record(30.0)]).publications) == {"n1": []}
