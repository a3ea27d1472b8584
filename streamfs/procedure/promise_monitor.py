"""Whether a promise is kept where a procedure serves: monitored from its first decision on."""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from math import inf
from typing import Any, NamedTuple

import numpy as np

from feature_extractors.arrays import Array
from streamfs.procedure.asked_labels import AskedLabels
from streamfs.procedure.betting import ErrorTest, RankTests, ShareTest, share_at_least
from streamfs.procedure.decision_queue import DecisionQueue
from streamfs.procedure.expectation import OF_ACCURACY, OF_ERRORS, Expectation, expectation_of
from streamfs.procedure.group_tests import GroupTests
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.reference import (
    ENDED_BY_THEMSELVES,
    ERRORS,
    LEAST_ERROR,
    Bins,
    error_of,
    names_of,
    numbers_of,
    read_reference,
)

KEPT, IN_DOUBT, WITHDRAWN = "kept so far", "in doubt", "withdrawn"

RISK = 0.05
"""Probability that anything is ever said against a promise that is kept by decisions as they were certified."""

ABSENT = -1
"""Number of the bin of a quantity that a decision does not have."""

_OF_COMPLETENESS = 0.05  # part of the risk; what it and labels leave is for the other quantities
_OF_A_PART = "accuracy of "  # a class or a group


class Finding(NamedTuple):
    """What speaks against a promise: a quantity, the decision or label that showed it, and its event time."""

    what: str
    number: int
    time: float

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return self._asdict()


class PromiseMonitor:
    """Tests the promise of a procedure, or what it was trained to do, on its decisions and on later labels.

    Labels are tested against the accuracy that is promised, decisions against the completeness. Each quantity of
    the decisions (confidence, ticks, label, feature values) is tested against those by which the promise was
    certified, and so are errors, by how sure they were, while bets on too few right labels win: they are noticed
    long before they prove that the promise is broken.
    All tests may be looked at after every decision, for ever; the probability that any of them rejects where
    nothing has changed is at most the `risk`. A promise whose accuracy or completeness is rejected is withdrawn,
    and in doubt if only the decisions look different, unless labels show that it is kept.

    If the accuracy is promised of each class, that of each is tested, too, by all labels; one that is rejected
    withdraws the promise. All labels, the classes and the groups, if there are any, have equal parts of the risk.

    If nothing was promised, decisions are tested against those on held-out streams in training, and labels against
    the least accuracy that these support (see `Expectation`). Then there may be doubt, but nothing is withdrawn.

    Decisions are tested in the order in which their episodes began (see `DecisionQueue`).

    Parameters
    ----------
    procedure : Procedure
        Of whose rule a promise, or what held-out streams showed, is known; see `expectation_of`.
    risk : float
        Of a false alarm.
    wanted : float
        Share of the decisions whose labels are asked for; other labels are then not counted. By default no label
        is asked for, and all labels are counted, which must come without regard to what was decided.
    group_of : callable, optional
        The group of a stream, such as a room, by its name; None for none. The labels of each group are tested
        too (see `GroupTests`). A group whose accuracy is rejected has its promise withdrawn; that of all is then
        in doubt.

    Raises
    ------
    ModelError
        If promise, held-out facts or reference are damaged.
    ValueError
        If nothing is known of the procedure's rule.
    """

    def __init__(
        self,
        procedure: Procedure,
        risk: float = RISK,
        wanted: float = 0.0,
        group_of: Callable[[str], str | None] | None = None,
    ) -> None:
        expected = expectation_of(procedure, risk)
        if expected is None:
            raise ValueError("the procedure has no promise for its stopping rule, expected one")
        self.findings: list[Finding] = []
        self._procedure, self._expected, self._risk, self._group_of = procedure, expected, risk, group_of
        of_classes = procedure.classes if expected.per_class and not wanted else ()
        risk_of_part = expected.risk_of_labels / (1 + bool(of_classes) + (group_of is not None))
        self._limits = {"accuracy": 1 / risk_of_part, "completeness": 1 / (risk * _OF_COMPLETENESS)}
        self._limit_of_errors = 1 / (risk * OF_ERRORS)
        self._limit_of_classes = len(of_classes) / risk_of_part
        self._classes = {label: ShareTest(expected.accuracy) for label in of_classes}
        self._groups = GroupTests(expected.accuracy, risk_of_part)
        self._withdrawn_groups: set[str] = set()
        self._asked = AskedLabels(expected.accuracy, wanted) if wanted else None
        self._accuracy = ShareTest(expected.accuracy) if self._asked is None else self._asked
        self._completeness = None if expected.completeness is None else ShareTest(expected.completeness)
        self._refer(expected, risk * (1 - OF_ACCURACY - OF_ERRORS - _OF_COMPLETENESS))
        self._n_decisions = 0
        self._queue = DecisionQueue(procedure.time_limit, procedure.period)

    def _refer(self, expected: Expectation, risk: float) -> None:
        """Prepare the tests of quantities that look as those of the reference."""
        about = self._procedure.about
        bins = read_reference(about.get("reference")) if expected.has_reference else {}
        place = {name: index for index, name in enumerate(names_of(self._procedure))}
        self._quantities = [name for name in bins if name in place]
        self._bins_of_errors = bins.get(ERRORS, Bins((0.0,), (expected.right, expected.wrong, 0)))
        has_errors = expected.has_reference and self._asked is None
        of_errors = self._bins_of_errors
        self._errors = ErrorTest(of_errors.counts, of_errors.weight) if has_errors else None
        self._edges = [(place[name], bins[name].edges) for name in self._quantities]
        found = [bins[name] for name in self._quantities]
        self._ranks = RankTests([each.counts for each in found], [each.weight for each in found])
        self._limit_of_ranks = 1 / risk

    @property
    def status(self) -> str:
        """``kept so far``, ``in doubt`` or ``withdrawn``."""
        if self.is_withdrawn:
            return WITHDRAWN
        if any(finding.what.startswith(_OF_A_PART) for finding in self.findings):
            return IN_DOUBT
        return IN_DOUBT if self.findings and self.accuracy_at_least < self._expected.accuracy else KEPT

    @property
    def is_withdrawn(self) -> bool:
        """Whether accuracy or completeness was rejected, if they were promised."""
        parts = {*self._limits, *(_OF_A_PART + label for label in self._classes)}
        return self._expected.is_promised and any(finding.what in parts for finding in self.findings)

    def is_withdrawn_for(self, stream: str) -> bool:
        """Whether the promise is withdrawn for a stream: for all, or for its group."""
        in_group = bool(self._withdrawn_groups) and self._group(stream) in self._withdrawn_groups
        return self.is_withdrawn or in_group

    @property
    def is_raised(self) -> bool:
        """Whether the threshold is higher than the one that was certified."""
        return not self._expected.has_reference

    @property
    def is_new(self) -> bool:
        """Whether nothing has been taken so far."""
        return not (self._n_decisions or self.n_labels)

    @property
    def n_labels(self) -> int:
        """Number of labels of decisions that had a label."""
        return self._accuracy.n

    @property
    def wanted(self) -> tuple[str, ...]:
        """Streams whose label is wanted, the one wanted for longest first."""
        return () if self._asked is None else self._asked.waiting

    def take_news(self) -> list[tuple[str, bool]]:
        """Return each stream whose label is wanted since the last call, or no longer is."""
        if self._asked is None:
            return []
        news, self._asked.news = self._asked.news, []
        return news

    @property
    def accuracy_at_least(self) -> float:
        """Lower bound of the accuracy here, by the labels, valid at every look; 0 if they were asked for."""
        test = self._accuracy
        return 0.0 if self._asked is not None else share_at_least(test.n_right, test.n - test.n_right, self._risk)

    def decided(self, decision: Decision, values: Array) -> None:
        """Take a decision and the feature values behind it, shape (n_features,)."""
        if decision.reason not in ENDED_BY_THEMSELVES:
            return
        self._n_decisions += 1
        self._take(self._queue.add(decision, self._places(decision, values)))
        if self._asked is not None and decision.label is not None:
            chance = _chance(f"{decision.stream}/{decision.episode}/label")
            self._asked.wants(decision.stream, decision.confidence, chance)
            self._look_at_accuracy(decision.time)

    def finish(self) -> None:
        """Take the decisions that still wait for others."""
        self._take(inf)

    def _places(self, decision: Decision, values: Array) -> list[int]:
        """Return the number of each quantity's bin, as `Bins.bin` has it."""
        numbers = numbers_of(self._procedure, decision, values)
        return [
            ABSENT if (x := numbers[i]) is None else bisect_left(edges, x) if x == x else len(edges) + 1  # noqa: PLR0124
            for i, edges in self._edges
        ]

    def _take(self, now: float) -> None:
        """Test the decisions of all episodes that must have ended by a time."""
        for _, _, time, has_label, places in self._queue.due(now):
            completeness = self._completeness
            if completeness is not None:
                completeness.add(has_label)
                if completeness.bets.wealth >= self._limits["completeness"]:
                    self._note_finding("completeness", completeness.n, time)
            if places and self._ranks.add(places) >= self._limit_of_ranks:
                self._look_at_ranks(time)

    def labelled(self, is_right: bool, time: float, stream: str = "", confidence: float = LEAST_ERROR) -> None:
        """Take whether the label of a stream's last decision was right, its event time, and how sure it was.

        If it is unknown how sure a wrong label was, it counts as less sure than any.
        """
        accuracy = self._accuracy
        if isinstance(accuracy, ShareTest):
            accuracy.add(is_right)
        elif not accuracy.answered(stream, is_right):
            return
        self._look_at_accuracy(time)
        errors = self._errors
        if errors is not None:
            place = self._bins_of_errors.bin(error_of(is_right, confidence))
            errors.add(place)
            if errors.bets.wealth >= self._limit_of_errors and accuracy.bets.wealth >= 1:
                self._note_finding(ERRORS, errors.bets.n, time)
        group = self._group(stream)
        if group is not None and (number := self._groups.add(group, is_right)):
            self._note_finding(f"{_OF_A_PART}{group}", number, time)
            if self._expected.is_promised:
                self._withdrawn_groups.add(group)

    def found(self, label: str | None, truth: str, time: float) -> None:
        """Take the label that a stream got, None for none, and its true one: for what is promised of classes."""
        of = label if self._expected.per_class == "labelled" else truth
        test = None if of is None else self._classes.get(of)
        if test is not None:
            test.add(label == truth)
            if test.bets.wealth >= self._limit_of_classes:
                self._note_finding(f"{_OF_A_PART}{of}", test.n, time)

    def _group(self, stream: str) -> str | None:
        return None if self._group_of is None else self._group_of(stream)

    def to_json(self) -> dict[str, Any]:
        """Return what is known of the promise here as plain JSON."""
        accuracy = self._accuracy
        estimated = {} if self._asked is None else {"accuracy": self._asked.accuracy, "wanted": len(self.wanted)}
        return {
            "status": self.status,
            "model": self._procedure.digest,
            **self._expected.to_json(),
            "decisions": self._n_decisions,
            "labels": accuracy.n,
            "right": accuracy.n_right,
            **estimated,
            **({} if self._group_of is None else {"groups": len(self._groups)}),
            "accuracy_at_least": round(self.accuracy_at_least, 4),
            "findings": [finding.to_json() for finding in self.findings],
        }

    def to_state(self) -> dict[str, Any]:
        """Copy what was seen as plain JSON."""
        return {
            "decisions": self._n_decisions,
            "findings": [list(finding) for finding in self.findings],
            "queue": self._queue.to_state(),
            "accuracy": self._accuracy.to_state(),
            "asks": self._asked is not None,
            "completeness": None if self._completeness is None else self._completeness.to_state(),
            "errors": None if self._errors is None else self._errors.to_state(),
            "ranks": self._ranks.to_state(),
            "groups": self._groups.to_state(),
            "classes": {label: test.to_state() for label, test in self._classes.items()},
            "withdrawn_groups": sorted(self._withdrawn_groups),
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self._n_decisions = state["decisions"]
        self.findings = [Finding(*finding) for finding in state["findings"]]
        self._queue.restore(state["queue"])
        if state["asks"] == (self._asked is not None):  # else labels begin anew
            self._accuracy.restore(state["accuracy"])
        if self._completeness is not None:
            self._completeness.restore(state["completeness"])
        if self._errors is not None and state["errors"] is not None:
            self._errors.restore(state["errors"])
        self._ranks.restore(state["ranks"])
        self._groups.restore(state["groups"])
        for label, test in self._classes.items():
            test.restore(state["classes"][label])
        self._withdrawn_groups = set(state["withdrawn_groups"])

    def _look_at_accuracy(self, time: float) -> None:
        """Note once that labels have rejected the accuracy."""
        bets = self._accuracy.bets
        if bets.wealth >= self._limits["accuracy"]:
            self._note_finding("accuracy", bets.n, time)

    def _look_at_ranks(self, time: float) -> None:
        """Note the quantities that differ most, once bets on all of them have won; those that tell more have more.

        One of them has won at least as much as all together.
        """
        wealths = self._ranks.wealths()
        if np.average(wealths, weights=self._ranks.weights) >= self._limit_of_ranks:
            for place in np.flatnonzero(wealths >= self._limit_of_ranks).tolist():
                self._note_finding(self._quantities[place], int(self._ranks.n[place]), time)

    def _note_finding(self, what: str, number: int, time: float) -> None:
        if all(each.what != what for each in self.findings):
            self.findings.append(Finding(what, number, time))


def monitor_of(
    procedure: Procedure, wanted: float = 0.0, group_of: Callable[[str], str | None] | None = None
) -> PromiseMonitor | None:
    """Return a monitor of a procedure's promise, or of what it was trained to do.

    None if nothing is known of its stopping rule, or only for a higher threshold. Raise a ModelError if its model
    file says what no training has written.
    """
    if expectation_of(procedure, RISK) is None:
        return None
    return PromiseMonitor(procedure, wanted=wanted, group_of=group_of)


def raised(procedure: Procedure, threshold: float) -> Procedure | None:
    """Return a procedure with a promise at a higher threshold than its own; None if it is not higher.

    It decides from the same tick on, and gives up as before.
    """
    own = procedure.rule.thresholds()
    if own is None or len(set(own.levels)) != 1 or threshold <= own.levels[0]:
        return None
    stopping = None if own.ticks == (1,) else replace(own, levels=(threshold,) * len(own.ticks))
    return replace(procedure, confidence=threshold, stopping=stopping)


def _chance(text: str) -> float:
    """Return a number from 0 to 1 that looks random and is always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest()) / 2**48
