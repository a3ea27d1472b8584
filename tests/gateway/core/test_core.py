"""The gateway's core: the same records have the same effects, however they are divided."""

from operator import itemgetter
from random import Random

import pytest
from helpers.procedures import channels_procedure
from helpers.random_models import tick_thresholds
from helpers.records import Models, check_divided, command, message, new_core
from helpers.stories import BINDINGS, CASES, PAIRS, story_of
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.gateway import NaiveGateway

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record


@pytest.mark.slow
@pytest.mark.parametrize("restoring", [False, True], ids=["kept", "restored"])
@pytest.mark.parametrize("case", CASES)
@given(seed=st.integers(0, 2**32), sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5))
@settings(max_examples=12)  # simulated worlds try it, too
def test_the_same_records_have_the_same_effects_however_they_are_divided(case, restoring, seed, sizes):
    models, options = CASES[case]
    check_divided(models, BINDINGS[models], options, list(story_of(models, seed)), sizes, restoring=restoring)


def sendings(channels, random, n_ticks=40):
    """Return (node, channel, time, value, sequence, arrival) of a few nodes: late, twice, or never."""
    sent = []
    for node, channel in channels:
        is_counted, sequence = random.random() < 0.7, 0
        rate = random.choice([0.3, 0.95])
        for tick in range(n_ticks):
            if random.random() < rate:
                time, value = tick + random.uniform(-0.49, 0.49), random.choice([0.0, 0.25, 0.5, 1.0])
                arrival = time + random.choice([0.0, 0.0, 0.0, 0.4, 3.0, 6.0])
                reading = (node, channel, time, value, sequence if is_counted else None)
                times = [arrival + again for again in range(random.choice([0, 2] + [1] * 18))]
                sent += [(*reading, at) for at in times]
                sequence += 1
    return sorted(sent, key=itemgetter(-1))


@pytest.mark.parametrize("paired", [False, True], ids=["alone", "paired"])
@given(
    seed=st.integers(0, 2**32),
    lateness=st.sampled_from([0.0, 1.0, 2.5]),
    grace=st.sampled_from([None, 0.0, 4.0]),
    max_silence=st.sampled_from([None, 3.0]),
    time_limit=st.sampled_from([3, 12]),
    stopping=st.none() | tick_thresholds(3),
    reopen_after=st.sampled_from([None, 0.5, 3.0]),
)
@settings(max_examples=40)
def test_decisions_are_those_of_a_slow_twin(
    paired, seed, lateness, grace, max_silence, time_limit, stopping, reopen_after
):
    random = Random(seed)  # noqa: S311 - no secret
    columns = ("a.x", "b.x", "b.door@flag:0.5") if paired else ("x", "door@flag:0.5", "y@every:2")
    options = {"confidence": 0.85, "threshold": 0.537, "time_limit": time_limit, "max_silence": max_silence}
    models = Models(channels_procedure(*columns, stopping=stopping, **options))
    nodes = [f"n{i}" for i in range(4)]
    bindings = Bindings.pairs(columns, PAIRS) if paired else Bindings.single(columns, nodes)
    sources = {stream: bindings.sources(stream) for stream in bindings.streams}
    core, _ = new_core(models, bindings, lateness=lateness, grace=grace, reopen_after=reopen_after)
    twin = NaiveGateway(models.first, sources, lateness, grace, reopen_after)
    channels = sorted({source for columns in sources.values() for source in columns})
    decisions = []
    for reading in sendings(channels, random):
        twin.take(*reading)
        node, channel, time, value, sequence, arrival = reading
        decisions += core.take([message(node, time, value, sequence, channel, arrival)]).decisions
        if random.random() < 0.1:
            silence = arrival + random.choice([-1.0, 0.0])
            twin.prove(silence)
            decisions += core.take([clock_record(silence)]).decisions
        if random.random() < 0.02:
            decisions += core.take([command({"reopen": "*"})]).decisions
            twin.reopen([*twin.decided])
    decisions += core.finish().decisions
    twin.finish()
    assert sorted((d.to_json() for d in decisions), key=itemgetter("id")) == sorted(
        twin.decisions, key=itemgetter("id")
    )


def test_a_stall_hides_no_episode_that_begins_with_held_values():
    """Proved at once or every second, silence lets the same episodes begin and end."""
    models, known = Models(channels_procedure("x@delta:0.1", time_limit=6)), []
    for silences in (range(3, 60), [59]):
        core, _ = new_core(
            models, Bindings.single(["x@delta:0.1"], ["n0"]), lateness=0.0, grace=0.0, reopen_after=2.0
        )
        sent = [message("n0", 1e9 + i, 0.2, i, "x@delta:0.1", 1e9 + i) for i in range(3)]
        known.append(core.take([*sent, *(clock_record(1e9 + silence) for silence in silences)]).decisions)
    assert known[0] == known[1]
    assert len(known[0]) == 7
