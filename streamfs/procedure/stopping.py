"""When a stream is decided: rules that say, at each tick, whether to wait, to decide or to give up."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import IntEnum
from itertools import chain, pairwise
from math import inf
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from feature_extractors.own_parts import own_part
from streamfs.errors import ModelError


class Action(IntEnum):
    """What a stopping rule says of a stream: wait for the next tick, take the likeliest class, or none."""

    WAIT = 0
    DECIDE = 1
    GIVE_UP = 2


_ACTIONS = frozenset(map(int, Action))


class StoppingRule(ABC):
    """Whether streams are decided at a tick: a frozen dataclass, whose fields are its parameters in a model file.

    A rule of your own implements `actions`, and is registered by `register_rule`, so that model files with it can
    be loaded. It has no memory: what it needs to know of a stream's past is a matter of features.

    Attributes
    ----------
    word : str
        Its name in model files.

    Notes
    -----
    A rule is asked at each tick with a sample, up to the time limit; a stream that still waits then gets no label.
    Rules with `thresholds` run within an engine's compiled pass. Others are called outside, for each batch of
    samples, which is fast for large batches, and slower for samples that arrive alone.

    Examples
    --------
    >>> @dataclass(frozen=True)
    ... class Leads(StoppingRule):
    ...     '''Decide when the likeliest class leads by a margin; give up after some ticks.'''
    ...
    ...     word = "leads"
    ...     margin: float
    ...     patience: int
    ...
    ...     def actions(self, ticks, probabilities):
    ...         second, first = np.sort(probabilities, axis=1)[:, -2:].T
    ...         undecided = np.where(ticks >= self.patience, Action.GIVE_UP, Action.WAIT)
    ...         return np.where(first - second >= self.margin, Action.DECIDE, undecided)
    >>> Leads(margin=0.3, patience=9).actions(np.array([1, 2, 9]), np.array([[0.8, 0.2], [0.6, 0.4], [0.6, 0.4]]))
    array([1, 0, 2])
    >>> Leads(margin=0.3, patience=9).text(time_limit=20)
    'leads (margin 0.3, patience 9)'
    """

    word: ClassVar[str]

    @abstractmethod
    def actions(self, ticks: Integers, probabilities: Array) -> npt.ArrayLike:
        """Return an `Action` for each of some streams.

        Parameters
        ----------
        ticks : ndarray of int64, shape (n,)
            The streams' ticks, from 1.
        probabilities : ndarray of shape (n, n_classes)
            Of each class; NaN if the classifier failed.

        Returns
        -------
        array_like of int, shape (n,)
            Each depends on its own stream's tick and probabilities alone.
        """

    def thresholds(self) -> "TickThresholds | None":
        """Return confidence thresholds that say the same, for the engine's compiled pass; None without."""
        return None

    def text(self, time_limit: int) -> str:  # noqa: ARG002 - for subclasses
        """Return the rule in words."""
        parameters = ", ".join(f"{f.name} {getattr(self, f.name)}" for f in fields(self))  # type: ignore[arg-type]
        return f"{self.word} ({parameters})" if parameters else self.word

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a JSON object, which `read_rule` reads: its word as ``rule``, and its parameters."""
        parameters = {f.name: getattr(self, f.name) for f in fields(self)}  # type: ignore[arg-type]
        return {"rule": self.word} | {
            name: list(value) if isinstance(value, tuple) else value for name, value in parameters.items()
        }


_MOST_TICKS = 3  # from which the same threshold holds, and which are listed


_OTHERS = "1 at the others"


def _at_tick(tick: int, level: float, time_limit: int) -> str:
    """Return a threshold from some tick on in words."""
    if level > 0:
        return f"{level:.3g} from tick {tick}"
    return f"{'at' if tick == time_limit else 'from'} tick {tick} in any case"


def _comes_often(ticks: Sequence[int]) -> bool:
    """Return whether ticks stand in too many places to be listed."""
    return sum(after - before > 1 for before, after in pairwise(ticks)) >= _MOST_TICKS


@dataclass(frozen=True)
class TickThresholds(StoppingRule):
    """Confidence thresholds that depend on the tick.

    Parameters
    ----------
    ticks : tuple of int
        The ticks from which the thresholds hold, ascending. Nothing is decided before the first.
    levels : tuple of float
        The threshold from each of these ticks on, in [0, 1]; at 0 the likeliest class is taken, however likely it
        is.
    floors : tuple of float
        The confidence, in [0, 1], below which a stream is given up from each of these ticks on; by default 0: none
        is.

    Raises
    ------
    TypeError
        If a tick is not a whole number, or ticks, levels or floors are not sequences.
    ValueError
        If ticks, levels or floors are out of range, or of different lengths.

    Notes
    -----
    A stream is labelled at the first tick whose sample gives a class at least the threshold's probability. So if
    the threshold is 0 at the time limit, every stream whose sample of that tick arrives gets a label. A tick
    without a sample decides nothing, and neither does a probability that is NaN.

    Examples
    --------
    >>> thresholds = TickThresholds(ticks=(1, 12, 60), levels=(0.97, 0.9, 0.0))
    >>> thresholds.at(11), thresholds.at(12)
    (0.97, 0.9)
    >>> thresholds.text(time_limit=60)
    '0.97 from tick 1, 0.9 from tick 12, at tick 60 in any case'
    >>> TickThresholds(ticks=(12,), levels=(0.9,)).by_tick(13)[10:]
    array([inf, 0.9, 0.9])
    >>> giving_up = TickThresholds.since(2, 0.9, patience=12, floor=0.6)
    >>> giving_up.actions(np.array([11, 12, 12]), np.array([[0.5, 0.5], [0.5, 0.5], [0.3, 0.7]]))
    array([0, 2, 0])
    >>> giving_up.text(time_limit=60)
    '0.9 from tick 2, given up below 0.6 from tick 12'
    """

    word: ClassVar[str] = "thresholds"
    ticks: tuple[int, ...]
    levels: tuple[float, ...]
    floors: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name in ("ticks", "levels", "floors"):
            if not isinstance(getattr(self, name), (Sequence, np.ndarray)) or isinstance(getattr(self, name), str):
                raise TypeError(f"{name} is {getattr(self, name)!r}, expected a list of numbers")
        _check_ticks(self.ticks)
        object.__setattr__(self, "ticks", tuple(map(int, self.ticks)))  # numpy's numbers are not JSON
        floors = self.floors if len(self.floors) else (0.0,) * len(self.ticks)
        for name, shares in (("levels", self.levels), ("floors", floors)):
            _check_shares(name, shares)
            if len(shares) != len(self.ticks):
                raise ValueError(f"{name} has {len(shares)} numbers, expected {len(self.ticks)}, one per tick")
            object.__setattr__(self, name, tuple(map(float, shares)))

    @classmethod
    def since(cls, start: int, level: float, patience: int | None = None, floor: float = 0.0) -> Self:
        """Return one threshold from a tick on; from the later tick `patience` on give up what is below `floor`."""
        if patience is None:
            return cls((start,), (level,))
        return cls((start, patience), (level, level), (0.0, floor))

    @property
    def gives_up(self) -> bool:
        """Whether a stream may be given up."""
        return any(self.floors)

    def at(self, tick: int) -> float:
        """Return the threshold at a tick; infinite before the first."""
        return (inf, *self.levels)[bisect_right(self.ticks, tick)]

    def by_tick(self, n_ticks: int) -> Array:
        """Return the thresholds of the ticks from 1 on, shape (n_ticks,)."""
        return self._at(np.arange(1, n_ticks + 1), inf, self.levels)

    def actions(self, ticks: Integers, probabilities: Array) -> npt.ArrayLike:
        """Decide where the likeliest class is as probable as the threshold; else give up below the floor."""
        return self.actions_of(ticks, probabilities.max(axis=1))

    def actions_of(self, ticks: Integers, confidence: Array) -> Integers:
        """Return the actions for probabilities of the likeliest class at ticks, in any shapes that go together."""
        given_up = np.where(confidence < self._at(ticks, 0.0, self.floors), Action.GIVE_UP, Action.WAIT)
        return np.where(confidence >= self._at(ticks, inf, self.levels), Action.DECIDE, given_up)

    def thresholds(self) -> "TickThresholds":
        """Return itself."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the rule as a JSON object, with floors only if there are any."""
        said = super().to_json()
        return said if self.gives_up else {name: value for name, value in said.items() if name != "floors"}

    def text(self, time_limit: int) -> str:
        """Return the thresholds in words; what falls in many steps, or comes and goes too often, is not listed."""
        floors = [
            f"given up below {floor:.3g} from tick {tick}"
            for tick, floor, before in zip(self.ticks, self.floors, (0.0, *self.floors), strict=False)
            if floor != before
        ]
        falling = self._falling(time_limit)
        return ", ".join([*falling, *floors[:1]] if falling else [*self._listed(time_limit), *floors])

    def _listed(self, time_limit: int) -> list[str]:
        """Return the thresholds in words; what comes and goes too often is counted."""
        many = {
            level: ticks for level, ticks in self._held_at(time_limit).items() if level < 1 and _comes_often(ticks)
        }
        hidden = {*many, 1.0} if many else set()
        counted = [
            f"{f'{level:.3g} at' if level else 'in any case at the first of'} {len(ticks)} ticks "
            f"from {ticks[0]} to {ticks[-1]}"
            for level, ticks in many.items()
        ]
        counted += [_OTHERS] if many and 1.0 in self.levels and 0.0 not in many else []
        return counted + [
            _at_tick(tick, level, time_limit)
            for tick, level, before in zip(self.ticks, self.levels, (None, *self.levels), strict=False)
            if level not in hidden and (level != before or not self.gives_up)
        ]

    def _falling(self, time_limit: int) -> list[str]:
        """Return thresholds that fall in many steps in words; nothing of others."""
        steps = [(tick, level) for tick, level in zip(self.ticks, self.levels, strict=True) if 0 < level < 1]
        levels = [level for _, level in steps]
        if len({*levels}) <= _MOST_TICKS or levels != sorted(levels, reverse=True) or 0.0 in self.levels[:-1]:
            return []
        last = [_at_tick(self.ticks[-1], 0.0, time_limit)] if self.levels[-1] == 0.0 else []
        if 1.0 not in self.levels:
            (first, high), (least, low) = steps[0], steps[-1]
            return [f"{high:.3g} from tick {first}", f"falling to {low:.3g} from tick {least}", *last]
        ticks = sorted(chain(*(found for level, found in self._held_at(time_limit).items() if level in levels)))
        where = f"at {len(ticks)} ticks from {ticks[0]} to {ticks[-1]}"
        return [f"{levels[0]:.3g} falling to {levels[-1]:.3g} {where}", _OTHERS, *last]

    def _held_at(self, time_limit: int) -> dict[float, list[int]]:
        """Return the ticks at which each threshold holds."""
        ends, held = [*(tick - 1 for tick in self.ticks[1:]), time_limit], dict[float, list[int]]()
        for level, first, last in zip(self.levels, self.ticks, ends, strict=True):
            held.setdefault(level, []).extend(range(first, last + 1))
        return held

    def _at(self, ticks: Integers, first: float, shares: tuple[float, ...]) -> Array:
        """Return the shares that hold at ticks, and `first` before the first."""
        found: Array = np.array([first, *shares])[np.searchsorted(self.ticks, ticks, side="right")]
        return found


_RULES: dict[str, type[StoppingRule]] = {TickThresholds.word: TickThresholds}
"""Stopping rules by their words in model files."""


def register_rule(rule: type[StoppingRule]) -> None:
    """Make a stopping rule known, so that model files with it can be loaded.

    Parameters
    ----------
    rule : subclass of StoppingRule
        A dataclass; its `word` is its name in the file.

    Raises
    ------
    TypeError
        If it is not a dataclass.
    ValueError
        If another rule has that word.
    """
    if not is_dataclass(rule):
        raise TypeError(f"rule is {rule!r}, expected a dataclass, whose fields are its parameters in a model file")
    if _RULES.get(rule.word, rule) is not rule:
        raise ValueError(f"word is {rule.word!r}, expected one that is not taken")
    _RULES[rule.word] = rule


def read_rule(rule: Any, what: str = "stopping") -> StoppingRule:
    """Read what `StoppingRule.to_json` returned, and a file calls `what`.

    Raises
    ------
    ModelError
        If the rule is not registered, or a parameter is missing, unknown or wrong.
    """
    if not isinstance(rule, dict):
        raise ModelError(f"{what} is {rule!r}, expected an object")
    word = rule.get("rule")
    kind = _RULES.get(word) or own_part("streamfs.stopping", word) if isinstance(word, str) else None
    if kind is None:
        known = ", ".join(_RULES)
        raise ModelError(f"{what}.rule is {word!r}, expected {known}, or one of your own given to register_rule")
    given = {name: value for name, value in rule.items() if name != "rule"}
    known_fields = fields(kind)  # type: ignore[arg-type]
    optional = {f.name for f in known_fields if f.default is not MISSING} - given.keys()
    for name in sorted({f.name for f in known_fields} - optional ^ given.keys()):
        raise ModelError(f"{what}.{name} is {'unknown' if name in given else 'missing'}")
    try:
        return kind(**given)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{what}.{error}") from error


def checked_actions(rule: StoppingRule, ticks: Integers, probabilities: Array) -> Integers:
    """Return a rule's actions as whole numbers; raise ValueError if they are not an `Action` for each stream."""
    actions = np.asarray(rule.actions(ticks, probabilities))
    if actions.shape != ticks.shape:
        raise ValueError(f"the actions of {rule.word} have shape {actions.shape}, expected {ticks.shape}")
    for action in set(actions.tolist()) - _ACTIONS:  # quicker than a comparison of arrays for one stream
        raise ValueError(f"an action of {rule.word} is {action}, expected one of {', '.join(map(repr, Action))}")
    return actions.astype(np.int64)


def _check_ticks(ticks: Sequence[int]) -> None:
    """Refuse ticks that are not whole numbers, ascending, of at least 1."""
    if not len(ticks):
        raise ValueError("ticks is empty, expected at least one")
    for place, tick in enumerate(ticks):
        if not isinstance(tick, Integral) or isinstance(tick, bool):
            raise TypeError(f"ticks[{place}] is {tick!r}, expected a whole number")
        if place == 0 and tick < 1:
            raise ValueError(f"ticks[0] is {tick}, expected at least 1")
        if place > 0 and tick <= ticks[place - 1]:
            raise ValueError(f"ticks[{place}] is {tick}, expected more than {ticks[place - 1]}")


def _check_shares(name: str, shares: Sequence[float]) -> None:
    """Refuse numbers that are not in [0, 1]."""
    for place, share in enumerate(shares):
        if not isinstance(share, Real) or isinstance(share, bool) or not 0 <= share <= 1:
            raise ValueError(f"{name}[{place}] is {share!r}, expected a number from 0 to 1")
