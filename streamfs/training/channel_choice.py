"""Choose the channels that are worth reading, by what decisions on held-out streams cost."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from feature_extractors.arrays import Array, Integers
from feature_extractors.base import Feature
from feature_extractors.report import quantity_of, split_channel
from streamfs.base.progress import Progress, quiet
from streamfs.data.clock import clock_of
from streamfs.training.confidence import choose_confidence
from streamfs.training.decision_costs import TOLERANCE, DecisionCosts, mean_sent
from streamfs.training.held_out import Followed, OutOfFold
from streamfs.training.luck import cautious_mean, effective_number

KINDS = ("", "delta")
"""Kinds of report policies under which all quantities are tried: at every tick, and on change."""

Group = tuple[str, str]
"""The channels of a quantity under a report policy, by the names of both."""

Choice = frozenset[Group]


@dataclass(frozen=True, eq=False)
class ChoiceCost:
    """What decisions with some features cost, and what streams count; of all streams.

    On average so much is `sent`, and decisions take a `delay`, a share of the ticks at which they may be made: 1
    for streams that are never decided; empty ones have none.
    """

    costs: Array
    counts: Array
    sent: float
    delay: float

    @property
    def n_streams(self) -> float:
        """As many streams of equal weight are as much a matter of luck."""
        return effective_number(self.counts)

    @property
    def mean(self) -> float:
        """The mean cost, with its standard error."""
        return cautious_mean(self.costs, self.counts)

    def excess(self, best: "ChoiceCost", error: float) -> float:
        """Return by how much it may cost more: the mean difference, its standard error, and an error more.

        Few streams that cost the same with either are no evidence that others would.
        """
        return cautious_mean(self.costs - best.costs, self.counts) + error / self.n_streams


@dataclass(frozen=True, eq=False)
class ChannelChoice:
    """The features over each choice of channels, compared by decisions on held-out streams.

    A feature is offered with all channels that it reads. The channels of all roles of a quantity, under one report
    policy, are chosen together. `importances` returns those of the features, once they are asked for.
    """

    held_out: OutOfFold
    costs: DecisionCosts
    importances: Callable[[], Array]
    confidence: float | None = None
    found: dict[Choice, ChoiceCost] = field(default_factory=dict)

    @cached_property
    def read(self) -> Sequence[Choice]:
        """The groups of channels that each feature reads."""
        return [groups_of(feature) for feature in self.held_out.table.features]

    @cached_property
    def groups(self) -> Sequence[Group]:
        """The groups of channels that some feature reads, sorted."""
        return sorted(frozenset().union(*self.read))

    @cached_property
    def importance(self) -> Mapping[Group, float]:
        """The summed importance of the features that read each group of channels."""
        importances = self.importances()
        return {
            group: float(sum(i for i, read in zip(importances, self.read, strict=True) if group in read))
            for group in self.groups
        }

    def features(self, choice: Choice) -> list[int]:
        """Return the features that read no other channels."""
        return [i for i, read in enumerate(self.read) if read <= choice]

    @property
    def start(self) -> Choice:
        """The groups of channels that are read at every tick, or all groups if there is none such."""
        return self.all_under("") or frozenset(self.groups)

    def evaluate(self, choice: Choice) -> ChoiceCost:
        """Return what decisions cost with the features over a choice of channels."""
        if choice not in self.found:
            followed = self.held_out.follow(self.features(choice))
            limit, table = self.held_out.time_limit, self.held_out.table
            chosen = choose_confidence(followed, self.costs, limit, clock_of(table.features), self.confidence)
            columns, counts = chosen.columns, followed.counts
            sent = float(mean_sent(followed, columns, limit))
            costs = followed.by_stream(self.costs.of(followed, columns, limit))
            self.found[choice] = ChoiceCost(costs, counts, sent, mean_delay(followed, columns))
        return self.found[choice]

    def outdoes(self, other: "ChannelChoice") -> bool:
        """Return whether its features surely cost less than another's, over the channels that both start with."""
        if self.start != other.start:
            return False
        ours, theirs = self.evaluate(self.start), other.evaluate(self.start)
        return cautious_mean(ours.costs - theirs.costs, ours.counts) < 0.0

    def search(self, progress: Progress = quiet) -> Choice:
        """Leave out quantities, read at every tick or on change; then try other report policies of those left.

        Fewer quantities are taken if their decisions cost about as little. What is read on change is taken if that
        costs less, or about as little and sends less; another policy of one quantity, of which several are tried,
        only if it sends less and surely does not cost more.
        """
        if not self.groups:
            return self.start
        starts = [start for start in map(self.all_under, KINDS) if start] or [self.start]
        paths = [self._path(start) for start in starts]
        choices = [choice for path in paths for choice in path]
        n_steps = len(choices) + max(map(len, paths))
        for n, choice in enumerate(choices):
            progress("choosing the channels", n, n_steps)
            self.evaluate(choice)
        best, *others = map(self._least, paths)
        for other in others:
            best = other if self._is_cheaper(other, best) else best
        for n, group in enumerate(sorted(best)):
            progress("choosing the channels", n_steps - len(best) + n, n_steps)
            best = self._under_another_policy(best, group)
        progress("choosing the channels", n_steps, n_steps)
        return best

    def all_under(self, kind: str) -> Choice:
        """Return the groups under a kind of report policy."""
        return frozenset(group for group in self.groups if group[1].partition(":")[0] == kind)

    def _path(self, choice: Choice) -> list[Choice]:
        """Return a choice, and what is left of it as its least important group is left out, again and again."""
        if len(choice) == 1:  # no importances are asked for
            return [choice]
        by_importance = sorted(choice, key=lambda group: (self.importance[group], group))
        return [frozenset(by_importance[n:]) for n in range(len(choice))]

    def _least(self, choices: Sequence[Choice]) -> Choice:
        """Return the choice that sends least, of those about as cheap as the cheapest."""
        found = {choice: self.evaluate(choice) for choice in choices}
        most = min(each.mean for each in found.values()) + TOLERANCE * self.costs.error
        good = [choice for choice, each in found.items() if each.mean <= most]
        return min(good, key=lambda choice: (found[choice].sent, found[choice].mean, sorted(choice)))

    def _is_cheaper(self, other: Choice, best: Choice) -> bool:
        """Return whether another choice costs less with an error more, or about as little and sends less."""
        tried, present = self.evaluate(other), self.evaluate(best)
        saved = (present.mean - tried.mean) / self.costs.error - 1.0 / tried.n_streams
        return saved >= (-TOLERANCE if tried.sent < present.sent else TOLERANCE)

    def _under_another_policy(self, best: Choice, group: Group) -> Choice:
        """Return the choice with a group's quantity under the policy that sends least.

        With so few streams that one more error would exceed the tolerance, no other policy is tried.
        """
        if len(self.held_out.table.labels) * TOLERANCE <= 1.0:
            return best
        for other in (each for each in self.groups if each[0] == group[0] and each[1]):
            tried, present = best - {group} | {other}, self.evaluate(best)
            found = self.evaluate(tried)
            excess = found.excess(present, self.costs.error)
            if found.sent < present.sent and excess <= TOLERANCE * self.costs.error:
                best, group = tried, other
        return best


def mean_delay(followed: Followed, columns: Integers) -> float:
    """Return the mean share of the ticks followed at which streams with samples are decided, 1 for never."""
    shares = np.where(columns < 0, 1.0, followed.ticks[columns] / followed.ticks[-1])
    weights = np.tile(followed.counts, followed.n_repetitions) * (followed.trajectories.ticks > 0)
    return float(np.average(shares, weights=weights)) if weights.any() else 1.0


def groups_of(feature: Feature) -> Choice:
    """Return the groups of channels that a feature reads."""
    split = (split_channel(channel) for channel in feature.columns)
    return frozenset((quantity_of(column), policy.name) for column, policy in split)
