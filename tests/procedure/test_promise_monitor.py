"""A promise that is monitored: kept, in doubt, withdrawn."""

import json
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from helpers.promised import PLAIN, PROMISE, decisions, promised
from hypothesis import given, settings
from hypothesis import strategies as st

from streamfs.errors import ModelError
from streamfs.gateway.operations.promise_warnings import STATUSES
from streamfs.procedure import decision_queue
from streamfs.procedure.expectation import LEAST
from streamfs.procedure.promise_monitor import IN_DOUBT, KEPT, WITHDRAWN, PromiseMonitor, monitor_of, raised
from streamfs.procedure.reference import Bins, read_reference
from streamfs.procedure.stopping import TickThresholds


def test_what_is_as_it_was_certified_is_kept():
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    for decision, values in decisions(rng, 1000):
        monitor.decided(decision, values)
        monitor.labelled(rng.random() < 0.9, decision.time)
    assert (monitor.status, monitor.findings) == (KEPT, [])
    assert 0.8 < monitor.accuracy_at_least < 0.9
    assert monitor.to_json()["decisions"] == 1000


def test_what_looks_different_is_in_doubt_until_labels_show_that_it_is_kept():
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    for decision, values in decisions(rng, 30, level=4.0):
        monitor.decided(decision, values)
    assert monitor.status == IN_DOUBT
    assert [finding.what for finding in monitor.findings] == ["feature mean(x)"]
    assert monitor.findings[0].number < 20
    for _ in range(100):
        monitor.labelled(True, 31.0)
    assert monitor.status == KEPT


def test_more_errors_than_in_the_certificate_are_a_doubt_long_before_the_promise_is_broken():
    monitor = monitor_of(promised())
    for number in range(30):
        monitor.labelled(number % 5 > 1, float(number))
    assert (monitor.status, [finding.what for finding in monitor.findings]) == (IN_DOUBT, ["errors"])
    assert monitor.findings[0].number < 30
    as_promised = monitor_of(promised({**PROMISE, "right": 90}))
    for number in range(100):
        as_promised.labelled(number % 6 > 0 or number < 10, float(number))
    assert not as_promised.findings  # though none was wrong in the certificate
    with pytest.raises(ModelError, match=r"promise.right is 91, expected at most promise.labelled, 90"):
        monitor_of(promised({**PROMISE, "right": 91}))


@pytest.mark.parametrize("what", ["accuracy", "completeness"])
def test_a_share_that_is_not_kept_withdraws_the_promise(what):
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    for decision, values in decisions(rng, 60, completeness=0.2 if what == "completeness" else 0.9):
        monitor.decided(decision, values)
        monitor.labelled(what == "completeness", decision.time)
    assert monitor.status == WITHDRAWN
    assert what in {finding.what for finding in monitor.findings}


def test_episodes_that_begin_together_are_tested_in_no_order_of_theirs():
    """The easy ones are decided first, which is no news."""
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    for begin in (0.0, 100.0):
        for decision, values in sorted(decisions(rng, 400), key=lambda made: made[0].tick):
            time = begin + decision.tick
            monitor.decided(replace(decision, stream=f"{begin}/{decision.stream}", time=time), values)
    monitor.finish()
    assert monitor.findings == []


def test_those_that_are_decided_at_the_limit_are_not_tested_after_the_others():
    """The last that belong to the same beginning may come after the first of them."""
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    made = sorted(decisions(rng, 400), key=lambda made: made[0].tick)
    for number, (decision, values) in enumerate(made):
        tick = PLAIN.time_limit if number >= 300 else decision.tick
        monitor.decided(replace(decision, tick=tick, time=float(tick)), values)
    assert len(monitor.to_state()["queue"]["waiting"]) == 400


def test_a_node_far_ahead_hurries_no_other():
    monitor, rng = monitor_of(promised()), np.random.default_rng(1)
    for number, (decision, values) in enumerate(sorted(decisions(rng, 400), key=lambda made: made[0].tick)):
        if number % 20 == 10:
            monitor.decided(replace(decision, stream=f"ahead{number % 3}", time=1e9 + number), values)
        monitor.decided(replace(decision, time=float(decision.tick)), values)
    assert monitor.findings == []
    assert len(monitor.to_state()["queue"]["waiting"]) >= 400


def test_nodes_far_ahead_do_not_fill_the_queue(monkeypatch):
    monkeypatch.setattr(decision_queue, "MOST_WAITING", 50)
    monitor = monitor_of(promised())
    for decision, values in decisions(np.random.default_rng(1), 400, level=9.0):
        monitor.decided(decision, values)
        monitor.decided(replace(decision, stream="ahead", time=1e9), values)
    assert monitor.to_state()["queue"]["below"] == decision_queue.ALL
    assert monitor.status == IN_DOUBT


def test_of_too_many_that_wait_an_ever_smaller_share_is_tested(monkeypatch):
    monkeypatch.setattr(decision_queue, "MOST_WAITING", 50)
    monitor = monitor_of(promised())
    for decision, values in decisions(np.random.default_rng(1), 400, level=9.0):
        monitor.decided(replace(decision, time=0.0), values)
    assert len(monitor.to_state()["queue"]["waiting"]) <= 50
    monitor.finish()
    assert monitor.status == IN_DOUBT


def test_decisions_that_the_procedure_did_not_make_do_not_count():
    monitor = monitor_of(promised())
    for decision, values in decisions(np.random.default_rng(1), 50, level=9.0):
        monitor.decided(replace(decision, reason="closed"), values)
    assert monitor.is_new


def test_a_group_has_its_promise_withdrawn_alone():
    monitor, rng = PromiseMonitor(promised(), group_of=lambda stream: stream[:1]), np.random.default_rng(3)
    for number in range(120):
        for group in "abc":
            monitor.labelled(group != "b" and rng.random() < 0.9, float(number), f"{group}{number}")
        if monitor.is_withdrawn_for("b"):
            break
    assert monitor.findings[-1].what == "accuracy of b"
    assert (monitor.status, monitor.to_json()["groups"]) == (IN_DOUBT, 3)
    other = PromiseMonitor(promised(), group_of=lambda stream: stream[:1])
    other.restore(monitor.to_state())
    assert other.to_state() == monitor.to_state()
    assert [other.is_withdrawn_for(stream) for stream in ("a1", "b1", "z")] == [False, True, False]


def held_out(**about):
    """The procedure with what held-out streams showed, in place of a promise."""
    facts = {"streams": 100, "labelled": 90, "right": 85, "stated": 0.9, "ticks": 3.0, "sent": 3.0}
    of_classes = {name: {"on": 1, "off": 1} for name in ("streams_of", "labelled_of", "right_of")}
    return promised(None, held_out={**facts, **of_classes, "stopping": PLAIN.rule.to_json(), **about})


def test_without_a_promise_decisions_are_compared_with_those_on_held_out_streams():
    monitor, other, rng = monitor_of(held_out()), monitor_of(held_out()), np.random.default_rng(1)
    for decision, values in decisions(rng, 300):
        monitor.decided(decision, values)
        monitor.labelled(rng.random() < 0.9, decision.time)
        other.decided(decision, values + 4.0)
    said = monitor.to_json()
    assert (monitor.status, said["promised"]) == (KEPT, {})
    assert 0.8 < said["expected"]["accuracy"] < 85 / 90
    assert other.status == IN_DOUBT


def test_without_a_promise_there_is_doubt_but_nothing_is_withdrawn():
    monitor = PromiseMonitor(held_out(), group_of=lambda stream: stream[:1])
    for number in range(60):
        monitor.labelled(False, float(number), f"a{number}")
    assert [finding.what for finding in monitor.findings] == ["errors", "accuracy", "accuracy of a"]
    assert (monitor.status, monitor.is_withdrawn_for("a1")) == (IN_DOUBT, False)


def test_what_held_out_streams_showed_belongs_to_one_rule():
    assert monitor_of(held_out().with_confidence(0.95)) is None
    assert monitor_of(held_out(stopping={"rule": "thresholds", "ticks": [2], "levels": [0.5]})) is None
    with pytest.raises(ModelError, match="the model is damaged: held_out"):
        monitor_of(held_out(right="many"))
    assert monitor_of(held_out(right=0)).to_json()["expected"]["accuracy"] == LEAST


@pytest.mark.parametrize(("per_class", "withdrawn"), [(None, False), ("labelled", False), ("found", True)])
def test_a_class_that_is_not_found_withdraws_a_promise_of_each(per_class, withdrawn):
    monitor = PromiseMonitor(promised({**PROMISE, "per_class": per_class}))
    for number in range(400):
        truth, label = ("off", None) if number % 20 == 0 else ("on", "on")
        monitor.found(label, truth, float(number))
        if label is not None:
            monitor.labelled(True, float(number))
    assert monitor.is_withdrawn == withdrawn
    assert [finding.what for finding in monitor.findings] == ["accuracy of off"] * withdrawn
    other = PromiseMonitor(promised({**PROMISE, "per_class": per_class}))
    other.restore(monitor.to_state())
    assert other.to_state() == monitor.to_state()


def test_where_all_groups_keep_it_none_is_withdrawn():
    """Whatever the order in which they are met."""
    n_found = 0
    for seed in range(40):
        monitor, rng = (
            PromiseMonitor(promised(), risk=0.2, group_of=lambda stream: stream),
            np.random.default_rng(seed),
        )
        for _ in range(300):
            monitor.labelled(rng.random() < 0.8, 0.0, str(rng.integers(10)))
        n_found += any(finding.what != "errors" for finding in monitor.findings)  # more of which there are
    assert n_found <= 40 * 0.1 + 3 * np.sqrt(40 * 0.1)


@given(n=st.integers(0, 40), seed=st.integers(0, 9))
@settings(max_examples=20, deadline=None)
def test_it_goes_on_from_its_state(n, seed):
    rng = np.random.default_rng(seed)
    one, other = PromiseMonitor(promised()), PromiseMonitor(promised())
    for number, (decision, values) in zip(count(), decisions(rng, 60, level=1.0), strict=False):
        if number == n:
            other = PromiseMonitor(promised())
            other.restore(one.to_state())
        for monitor in (one, other):
            monitor.decided(decision, values)
            monitor.labelled(number % 3 == 0, decision.time)
    assert one.to_state() == other.to_state()
    assert one.to_json() == other.to_json()
    begun = PromiseMonitor(promised())
    begun.restore({**one.to_state(), "ranks": {"seen": [[1]], "n": [1], "bets": [[1.0] * 12]}})  # of bets of 0.1
    assert begun.to_json() == one.to_json()


def test_only_a_promise_for_its_own_threshold_is_monitored():
    assert monitor_of(PLAIN) is None
    assert monitor_of(replace(promised(), confidence=0.8)) is None
    higher = monitor_of(replace(promised(), confidence=0.95))
    assert higher.to_json()["promised"] == {"accuracy": 0.8}
    higher.restore(json.loads(json.dumps(higher.to_state())))  # labels alone are tested
    begun_late = TickThresholds((3,), (0.9,))
    assert monitor_of(replace(promised(), stopping=begun_late)) is None
    assert monitor_of(replace(promised({**PROMISE, "start": 3}), stopping=begun_late)) is not None
    with pytest.raises(ValueError, match="the procedure has no promise"):
        PromiseMonitor(PLAIN)


def test_without_a_reference_shares_alone_are_tested():
    monitor = monitor_of(promised(reference=None))
    for decision, values in decisions(np.random.default_rng(1), 50, level=9.0):
        monitor.decided(decision, values)
    assert monitor.status == KEPT


@pytest.mark.parametrize(
    "damaged",
    [
        7,
        {"tick": 7},
        {"tick": {"edges": [1.0]}},
        {"tick": {"edges": [2.0, 1.0], "counts": [1, 1, 1, 1]}},
        {"tick": {"edges": [None], "counts": [1, 1, 1]}},
        {"tick": {"edges": [1.0], "counts": [1, -1, 1]}},
        {"tick": {"edges": [1.0], "counts": [1, 1]}},
        {"tick": {"edges": [], "counts": [2**50, 1]}},
        {"tick": {"edges": [], "counts": [1, 1], "weight": 0.3}},
    ],
)
def test_a_damaged_reference_is_refused(damaged):
    with pytest.raises(ModelError, match="the model is damaged: reference"):
        monitor_of(promised(reference=damaged))


def test_a_damaged_promise_is_refused():
    with pytest.raises(ModelError, match="the model is damaged: promise"):
        monitor_of(promised({**PROMISE, "accuracy": "high"}))


@given(values=st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=50))
def test_every_value_has_a_bin(values):
    bins = Bins.of(values)
    assert sum(bins.counts) == len(values)
    assert all(0 <= bins.bin(value) < len(bins.counts) for value in values)
    assert read_reference({"x": {"edges": list(bins.edges), "counts": list(bins.counts)}}) == {"x": bins}


def test_operators_see_the_same_words():
    assert STATUSES == (KEPT, IN_DOUBT, WITHDRAWN)


def test_a_promise_that_gives_streams_up_is_raised_and_monitored_too():
    rule = TickThresholds.since(1, 0.9, 5, 0.6)
    giving_up = promised({**PROMISE, "start": 1, "patience": 5, "floor": 0.6}).with_stopping(rule)
    assert monitor_of(giving_up) is not None
    higher = raised(giving_up, 0.95)
    assert higher.stopping == TickThresholds.since(1, 0.95, 5, 0.6)
    assert monitor_of(higher) is not None
    assert monitor_of(giving_up.with_stopping(TickThresholds.since(1, 0.95, 5, 0.5))) is None
