"""Whether a promise is kept where a procedure serves: monitored from its first decision on."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import blake2b
from heapq import heapify, heappop, heappush
from math import inf, log
from statistics import median_low
from typing import Any, NamedTuple

import numpy as np

from feature_extractors.base import Array
from streamfs.procedure.asked_labels import AskedLabels
from streamfs.procedure.betting import RankTests, ShareTest, share_at_least
from streamfs.procedure.card_schema import PromiseFacts, certified_rule, read_promise
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.reference import ENDED_BY_THEMSELVES, quantities, read_reference

KEPT, IN_DOUBT, WITHDRAWN = "kept so far", "in doubt", "withdrawn"

RISK = 0.05
"""Probability that anything is ever said against a promise that is kept by decisions as they were certified."""

MOST_WAITING = 1000
"""Decisions that wait until they are tested."""

N_RECENT = 15
"""Streams of whose last decisions the median time is taken for now."""

NONE = -1
"""Number of the bin of a quantity that a decision does not have."""

MOST_GROUPS = 10_000
"""Groups of streams whose labels are tested apart; those of further groups count for all alone."""

_OF_SHARES = {"accuracy": 0.5, "completeness": 0.1}  # parts of the risk; the rest is for the other quantities
_OF_A_PART = "accuracy of "  # a class or a group


class Finding(NamedTuple):
    """What speaks against a promise: a quantity, the decision or label that showed it, and its event time."""

    what: str
    number: int
    time: float

    def to_json(self) -> dict[str, Any]:
        """Return the finding as a JSON object."""
        return self._asdict()


class _Waiting(NamedTuple):
    """A decision to be tested: when its episode must have ended, a chance, event time, and quantities' bins."""

    ended: float
    chance: float
    time: float
    has_label: bool
    bins: list[int]


class PromiseMonitor:
    """Tests the promise of a procedure on its decisions and on labels that arrive later.

    Labels are tested against the accuracy that is promised, decisions against the completeness, and each quantity
    of the decisions (confidence, ticks, label, feature values) against those by which the promise was certified.
    All tests may be looked at after every decision, for ever; the probability that any of them rejects where
    nothing has changed is at most the `risk`. A promise whose accuracy or completeness is rejected is withdrawn,
    and in doubt if only the decisions look different, unless labels show that it is kept.

    If the accuracy is promised of each class, that of each is tested, too, by all labels; one that is rejected
    withdraws the promise. All labels, the classes and the groups, if there are any, have equal parts of the risk.

    Of episodes that begin together the easy ones are decided first. So decisions are tested in the order in which
    their episodes began, once all that began then must have ended: one time limit later. The event time now is the
    median of the last decisions of `N_RECENT` streams, which a few nodes far ahead do not move. If more than
    `MOST_WAITING` decisions wait, those of nodes far ahead are not tested, then an ever smaller share of the
    episodes is monitored.

    Parameters
    ----------
    procedure : Procedure
        With a promise for its threshold, and perhaps the reference of its certificate; see `monitor_of`. Of one
        whose threshold was raised, the labels alone are tested.
    risk : float
        Of a false alarm.
    wanted : float
        Share of the decisions whose labels are asked for; other labels are then not counted. By default no label
        is asked for, and all labels are counted, which must come without regard to what was decided.
    group_of : callable, optional
        The group of a stream, such as a room, by its name; None for none. The labels of each group are tested
        too; of the risk for all groups that will ever come, the k-th has 1 / (k (k + 1)). A group whose accuracy
        is rejected has its promise withdrawn; that of all is then in doubt.

    Raises
    ------
    ModelError
        If promise or reference are damaged.
    """

    def __init__(
        self,
        procedure: Procedure,
        risk: float = RISK,
        wanted: float = 0.0,
        group_of: Callable[[str], str | None] | None = None,
    ) -> None:
        promise = read_promise(procedure.about.get("promise"))
        if promise is None:
            raise ValueError("the procedure has no promise, expected one")
        self.findings: list[Finding] = []
        self._procedure = procedure
        self._risk = risk
        self._group_of = group_of
        self._groups: dict[str, tuple[ShareTest, float]] = {}  # with the log wealth that rejects
        self._withdrawn_groups: set[str] = set()
        self._per_class = None if wanted else promise.get("per_class")
        of_classes = procedure.classes if self._per_class else ()
        self._classes = {label: ShareTest(promise["accuracy"]) for label in of_classes}
        n_parts = 1 + bool(of_classes) + (group_of is not None)
        self._risk_of_part = risk * _OF_SHARES["accuracy"] / n_parts
        self._promised: dict[str, float] = {"accuracy": promise["accuracy"]}
        is_raised = _is_raised(procedure, promise)
        if promise["completeness"] is not None and not is_raised:
            self._promised["completeness"] = promise["completeness"]
        self._asked = AskedLabels(promise["accuracy"], wanted) if wanted else None
        accuracy = ShareTest(promise["accuracy"]) if self._asked is None else self._asked
        self._shares: dict[str, ShareTest | AskedLabels] = {"accuracy": accuracy}
        self._completeness = (
            ShareTest(self._promised["completeness"]) if "completeness" in self._promised else None
        )
        if self._completeness is not None:
            self._shares["completeness"] = self._completeness
        self._bins = {} if is_raised else read_reference(procedure.about.get("reference"))
        self._ranks = RankTests([bins.counts for bins in self._bins.values()])
        self._limit_of_ranks = log(max(len(self._bins), 1) / (risk * (1 - sum(_OF_SHARES.values()))))
        self._n_decisions = 0
        self._recent: dict[str, float] = {}  # event time of the last decisions, by stream, the newest last
        self._waiting: list[_Waiting] = []
        self._share = 1.0  # of the episodes that are monitored

    @property
    def status(self) -> str:
        """``kept so far``, ``in doubt`` or ``withdrawn``."""
        if self.is_withdrawn:
            return WITHDRAWN
        if self._withdrawn_groups:
            return IN_DOUBT
        return IN_DOUBT if self.findings and self.accuracy_at_least < self._promised["accuracy"] else KEPT

    @property
    def is_withdrawn(self) -> bool:
        """Whether accuracy or completeness was rejected."""
        parts = {*self._shares, *(_OF_A_PART + label for label in self._classes)}
        return any(finding.what in parts for finding in self.findings)

    def is_withdrawn_for(self, stream: str) -> bool:
        """Whether the promise is withdrawn for a stream: for all, or for its group."""
        in_group = bool(self._withdrawn_groups) and self._group(stream) in self._withdrawn_groups
        return self.is_withdrawn or in_group

    @property
    def is_new(self) -> bool:
        """Whether nothing has been taken so far."""
        return not (self._n_decisions or self.n_labels)

    @property
    def n_labels(self) -> int:
        """Number of labels of decisions that had a label."""
        return self._shares["accuracy"].n

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
        test = self._shares["accuracy"]
        return 0.0 if self._asked is not None else share_at_least(test.n_right, test.n - test.n_right, self._risk)

    def decided(self, decision: Decision, values: Array) -> None:
        """Take a decision and the feature values behind it, shape (n_features,)."""
        if decision.reason not in ENDED_BY_THEMSELVES:
            return
        self._n_decisions += 1
        now = self._note(decision)
        found = dict(quantities(self._procedure, decision, values))
        bins = [self._bins[what].bin(found[what]) if what in found else NONE for what in self._bins]
        ended = decision.time - (decision.tick - self._procedure.time_limit) * self._procedure.period
        chance = _chance(f"{decision.stream}/{decision.episode}")
        if chance < self._share:
            heappush(self._waiting, _Waiting(ended, chance, decision.time, decision.label is not None, bins))
        self._take(now)
        if len(self._waiting) > MOST_WAITING:
            self._leave_out(now)
        if self._asked is not None and decision.label is not None:
            self._asked.wants(
                decision.stream, decision.confidence, _chance(f"{decision.stream}/{decision.episode}/label")
            )
            self._look("accuracy", decision.time)

    def finish(self) -> None:
        """Take the decisions that still wait for others."""
        self._take(inf)

    def _note(self, decision: Decision) -> float:
        """Take the time of a decision, and return the event time now."""
        self._recent.pop(decision.stream, None)
        self._recent[decision.stream] = decision.time
        if len(self._recent) > N_RECENT:
            del self._recent[next(iter(self._recent))]
        return median_low(self._recent.values())

    def _leave_out(self, now: float) -> None:
        """Leave out decisions of nodes far ahead, and episodes by chance, until no more than some wait."""
        last = now + self._procedure.time_limit * self._procedure.period
        self._waiting = [each for each in self._waiting if each.ended <= last]
        while len(self._waiting) > MOST_WAITING:
            self._share /= 2
            self._waiting = [each for each in self._waiting if each.chance < self._share]
        heapify(self._waiting)

    def _take(self, now: float) -> None:
        """Test the decisions of all episodes that must have ended by a time."""
        while self._waiting and self._waiting[0].ended <= now:
            each = heappop(self._waiting)
            if self._completeness is not None:
                self._completeness.add(each.has_label)
                self._look("completeness", each.time)
            if each.bins:
                highest = self._ranks.add(each.bins, int(each.chance * 2**48))
                if highest >= self._limit_of_ranks:
                    self._look_at_ranks(each.time)

    def labelled(self, is_right: bool, time: float, stream: str = "") -> None:
        """Take whether the label of a stream's last decision was right, and its event time."""
        accuracy = self._shares["accuracy"]
        if isinstance(accuracy, ShareTest):
            accuracy.add(is_right)
        elif not accuracy.answered(stream, is_right):
            return
        self._look("accuracy", time)
        group = self._group(stream)
        if group is not None:
            self._labelled_in(group, is_right, time)

    def found(self, label: str | None, truth: str, time: float) -> None:
        """Take the label that a stream got, None for none, and its true one: for what is promised of classes."""
        of = label if self._per_class == "labelled" else truth
        test = None if of is None else self._classes.get(of)
        if test is not None:
            test.add(label == truth)
            if test.bets.log_wealth >= log(len(self._classes) / self._risk_of_part):
                self._note_finding(f"{_OF_A_PART}{of}", test.n, time)

    def _group(self, stream: str) -> str | None:
        return None if self._group_of is None else self._group_of(stream)

    def _labelled_in(self, group: str, is_right: bool, time: float) -> None:
        """Test the labels of a group."""
        if group not in self._groups:
            if len(self._groups) == MOST_GROUPS:
                return
            self._groups[group] = self._new_group()
        test, limit = self._groups[group]
        test.add(is_right)
        if group not in self._withdrawn_groups and test.bets.log_wealth >= limit:
            self._withdrawn_groups.add(group)
            self._note_finding(f"{_OF_A_PART}{group}", test.n, time)

    def _new_group(self) -> tuple[ShareTest, float]:
        """Return the test of the next group, and the logarithm of the wealth at which it rejects."""
        place = len(self._groups) + 1
        return ShareTest(self._promised["accuracy"]), log(place * (place + 1) / self._risk_of_part)

    def to_json(self) -> dict[str, Any]:
        """Return what is known of the promise here as plain JSON."""
        accuracy = self._shares["accuracy"]
        estimated = {} if self._asked is None else {"accuracy": self._asked.accuracy, "wanted": len(self.wanted)}
        return {
            "status": self.status,
            "model": self._procedure.digest,
            "promised": dict(self._promised),
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
            "waiting": [list(each) for each in self._waiting],
            "share": self._share,
            "asked": None if self._asked is None else self._asked.to_state(),
            "recent": dict(self._recent),
            "right": {what: test.n_right for what, test in self._shares.items()},
            "ranks": self._ranks.to_state(),
            "groups": {group: test.to_state() for group, (test, _) in self._groups.items()},
            "classes": {label: test.to_state() for label, test in self._classes.items()},
            "withdrawn_groups": sorted(self._withdrawn_groups),
            "bets": {what: [test.bets.n, test.bets.log_wealths.tolist()] for what, test in self._shares.items()},
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self._n_decisions = state["decisions"]
        self.findings = [Finding(*finding) for finding in state["findings"]]
        self._waiting = [_Waiting(*each) for each in state["waiting"]]
        self._share, self._recent = state["share"], dict(state["recent"])
        if self._asked is not None and state["asked"] is not None:
            self._asked.restore(state["asked"])
        for what, n_right in state["right"].items():
            self._shares[what].n_right = n_right
        self._ranks.restore(state["ranks"])
        for group, kept in state["groups"].items():
            self._groups[group] = self._new_group()
            self._groups[group][0].restore(kept)
        for label, test in self._classes.items():
            test.restore(state["classes"][label])
        self._withdrawn_groups = set(state["withdrawn_groups"])
        for what, (n, log_wealths) in state["bets"].items():
            if n:
                self._shares[what].bets.n, self._shares[what].bets.log_wealths = n, np.array(log_wealths)

    def _look(self, what: str, time: float) -> None:
        """Note once that the test of a share has rejected its hypothesis."""
        bets = self._shares[what].bets
        risk = self._risk_of_part if what == "accuracy" else self._risk * _OF_SHARES[what]
        if bets.log_wealth >= log(1 / risk):
            self._note_finding(what, bets.n, time)

    def _look_at_ranks(self, time: float) -> None:
        """Note of each quantity once that its test has rejected its hypothesis."""
        rejected = self._ranks.log_wealths() >= self._limit_of_ranks
        for what, is_rejected, n in zip(self._bins, rejected, self._ranks.n.tolist(), strict=True):
            if is_rejected:
                self._note_finding(what, n, time)

    def _note_finding(self, what: str, number: int, time: float) -> None:
        if all(each.what != what for each in self.findings):
            self.findings.append(Finding(what, number, time))


def monitor_of(
    procedure: Procedure, wanted: float = 0.0, group_of: Callable[[str], str | None] | None = None
) -> PromiseMonitor | None:
    """Return a monitor of a procedure's promise; None if it has none for its threshold, or a lower one.

    Raise a ModelError if its model file says of the promise what no training has written.
    """
    promise = read_promise(procedure.about.get("promise"))
    if promise is None:
        return None
    is_meant = procedure.rule == certified_rule(promise) or _is_raised(procedure, promise)
    return PromiseMonitor(procedure, wanted=wanted, group_of=group_of) if is_meant else None


def raised(procedure: Procedure, threshold: float) -> Procedure | None:
    """Return a procedure with a promise at a higher threshold than its own; None if it is not higher.

    It decides from the same tick on, and gives up as before.
    """
    own = procedure.rule.thresholds()
    if own is None or len(set(own.levels)) != 1 or threshold <= own.levels[0]:
        return None
    stopping = None if own.ticks == (1,) else replace(own, levels=(threshold,) * len(own.ticks))
    return replace(procedure, confidence=threshold, stopping=stopping)


def _is_raised(procedure: Procedure, promise: PromiseFacts) -> bool:
    """Return whether a procedure decides by a higher threshold than the certified one, from the same tick on."""
    own, certified = procedure.rule.thresholds(), certified_rule(promise)
    if own is None or (own.ticks, own.floors) != (certified.ticks, certified.floors):
        return False
    return own.levels > certified.levels


def _chance(text: str) -> float:
    """Return a number from 0 to 1 that looks random and is always the same for a text."""
    return int.from_bytes(blake2b(text.encode(), digest_size=6).digest()) / 2**48
