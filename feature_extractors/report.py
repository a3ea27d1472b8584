"""Report policies: at which ticks a node transmits a column, and the values that the gateway sees in between."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from typing import Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array

CROSSINGS = "crossings"
"""Begins the name of a column that counts the levels which a feature is above: ``crossings(mean(light))``."""

READINGS, SENDS = "readings", ("values", CROSSINGS)
"""What nodes send: readings; or of features, each value, or that it has crossed a threshold of the classifier."""

_OPENING = "@from:"
_LONGEST = 2**53  # ticks of silence that are counted exactly

_IN_TICKS = ("every", "mean")
_ON_CHANGE = ("flag", "delta", "quantised")


@dataclass(frozen=True)
class Policy:
    """When a node transmits a column.

    Samples that are not finite are never transmitted.

    Parameters
    ----------
    kind : str
        ``every`` sends every ``value``-th tick, beginning with the first. ``mean`` sends, at the end of each
        block of ``value`` ticks, the mean of the block's finite samples. ``flag`` sends 1 (the sample is above
        ``value``) or 0, first and on change. ``delta`` sends the first sample, and then each that differs from the
        last one sent by more than ``value``. ``quantised`` sends the sample rounded to a multiple of ``value``,
        first and on change.
    value : float
        Ticks for ``every`` and ``mean``, else in the column's unit.

    Raises
    ------
    ValueError
        If the kind is unknown or the value does not match it.

    Examples
    --------
    >>> Policy.parse("delta:0.5").sent(np.array([20.0, 20.25, 20.75, 21.0]))
    array([20.  ,   nan, 20.75,   nan])
    >>> Policy.parse("delta:0.5").seen(np.array([20.0, 20.25, 20.75, 21.0]))
    array([20.  , 20.  , 20.75, 20.75])
    """

    kind: str = "every"
    value: float = 1.0

    def __post_init__(self) -> None:
        if self.kind not in _IN_TICKS + _ON_CHANGE:
            raise ValueError(f"report policy kind is {self.kind!r}, expected one of {_IN_TICKS + _ON_CHANGE}")
        if not isfinite(self.value):
            raise ValueError(f"{self.kind} has value {self.value}, expected a finite number")
        if self.kind in _IN_TICKS and (self.value < 1 or self.value != int(self.value)):
            raise ValueError(f"{self.kind} has value {self.value}, expected whole ticks, at least 1")
        if self.kind == "delta" and self.value < 0:
            raise ValueError(f"delta has value {self.value}, expected at least 0")
        if self.kind == "quantised" and self.value <= 0:
            raise ValueError(f"quantised has value {self.value}, expected more than 0")

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a policy from its text, ``kind:value``; the empty string means every tick.

        Examples
        --------
        >>> Policy.parse("flag:300")
        Policy(kind='flag', value=300.0)
        >>> Policy.parse("every:1") == Policy.parse("")
        True
        """
        if not text:
            return cls()
        kind, _, value = text.partition(":")
        try:
            return cls(kind, float(value))
        except ValueError as error:
            raise ValueError(f"report policy is {text!r}, expected kind:value ({error})") from error

    @property
    def name(self) -> str:
        """Text of the policy, which `parse` reads; empty for every tick."""
        if not self.holds:
            return ""
        value = repr(float(self.value)).removesuffix(".0")
        return f"{self.kind}:{value}"

    @property
    def holds(self) -> bool:
        """Whether the gateway holds the last value between transmissions; False only for every tick."""
        return self.kind != "every" or self.value != 1

    def sent(self, values: npt.ArrayLike, max_silence: int | None = None) -> Array:
        """Return the value that is transmitted at each tick.

        Parameters
        ----------
        values : array of shape (..., n_ticks)
            Recorded columns; NaN is a missing sample.
        max_silence : int, optional
            Ticks after which ``flag``, ``delta`` and ``quantised`` repeat the last value sent, at the first tick
            with a sample; by default never.

        Returns
        -------
        array of shape (..., n_ticks)
            NaN if nothing is transmitted.
        """
        samples = _finite_samples(values)
        _check_max_silence(max_silence)
        match self.kind:
            case "every":
                return _every(samples, int(self.value))
            case "mean":
                return _block_means(samples, int(self.value))
            case "flag":
                flags = np.where(np.isnan(samples), np.nan, samples > self.value)
                return _on_change(flags, 0.0, max_silence)
            case "quantised":
                return _on_change(_rounded(samples, self.value), 0.0, max_silence)
            case _:
                return _on_change(samples, self.value, max_silence)

    def seen(self, values: npt.ArrayLike, max_silence: int | None = None) -> Array:
        """Return the value that the gateway sees at each tick: the last one sent, which holds until the next.

        Under the policy of every tick, values are not held. With a ``max_silence``, a value is held for that many
        ticks (or for the policy's own ``value``, if ``every`` or ``mean`` sends less often) and is NaN afterwards,
        because the gateway then considers the node silent.

        Parameters
        ----------
        values : array of shape (..., n_ticks)
            Recorded columns; NaN is a missing sample.
        max_silence : int, optional
            As in `sent`.

        Returns
        -------
        array of shape (..., n_ticks)
            NaN before the first transmission.

        Examples
        --------
        >>> Policy.parse("every:2").seen(np.array([1.0, 2.0, 3.0, 4.0]))
        array([1., 1., 3., 3.])
        """
        sent = self.sent(values, max_silence)
        if not self.holds:
            return sent
        if max_silence is not None and self.kind in _IN_TICKS:
            max_silence = max(max_silence, int(self.value))
        return _hold(sent, max_silence)


@lru_cache(1024)
def split_channel(channel: str) -> tuple[str, Policy]:
    """Split a channel's text into column and report policy; a column that contains ``@`` is in double quotes.

    Its opening tick, if it has one, is left out: `split_opening` returns it.

    Examples
    --------
    >>> split_channel('"inlet @ north"@every:5'), split_channel("humidity@from:7")[1]
    (('inlet @ north', Policy(kind='every', value=5.0)), Policy(kind='every', value=1.0))
    """
    channel, _ = split_opening(channel)
    quoted, quote, rest = channel[1:].rpartition('"')
    if channel.startswith('"') and quote and rest[:1] in ("", "@"):
        column, policy = quoted.replace('""', '"'), rest[1:]
    else:
        column, _, policy = channel.partition("@")
    if not column:
        raise ValueError(f"channel is {channel!r}, expected a column, or column@policy")
    return column, Policy.parse(policy)


@lru_cache(1024)
def split_opening(channel: str) -> tuple[str, int]:
    """Split a channel's text into what a node sends, and the tick of an episode from which that is asked for.

    Examples
    --------
    >>> split_opening("light@delta:40@from:7"), split_opening("humidity")
    (('light@delta:40', 7), ('humidity', 1))
    """
    sent, mark, text = channel.rpartition(_OPENING)
    if not mark or text.endswith('"'):  # a column in double quotes may contain the mark
        return channel, 1
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"channel is {channel!r}, expected a whole number of ticks, at least 1, after {_OPENING}")
    return sent, int(text)


def channel_name(column: str, policy: Policy | None = None, opening: int = 1) -> str:
    """Return the text of a channel, by default every tick; a column with ``(),;@"`` or white space is quoted."""
    if any(character in '(),;@"' or character.isspace() for character in column):
        column = '"' + column.replace('"', '""') + '"'
    name = policy.name if policy is not None else ""
    channel = f"{column}@{name}" if name else column
    return channel if opening == 1 else f"{channel}{_OPENING}{opening}"


def from_ticks(view: Callable[[Array], Array], values: Array, first: npt.NDArray[np.int64]) -> Array:
    """Apply what a policy makes of a column from a tick of each stream on; NaN before it.

    Parameters
    ----------
    view : callable
        `Policy.sent` or `Policy.seen`, with its silence.
    values : array of shape (n_streams, n_ticks)
        The recorded column.
    first : ndarray of int64 of shape (n_streams,)
        The ticks at which the channel opens, from 0.

    Examples
    --------
    >>> from_ticks(Policy.parse("every:2").sent, np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([1]))
    array([[nan,  2., nan,  4.]])
    """
    n_ticks = values.shape[1]
    ticks = np.arange(n_ticks) + first[:, np.newaxis]
    asked = np.where(ticks < n_ticks, np.take_along_axis(values, np.minimum(ticks, n_ticks - 1), axis=1), np.nan)
    back = np.arange(n_ticks) - first[:, np.newaxis]
    return np.where(back >= 0, np.take_along_axis(view(asked), np.maximum(back, 0), axis=1), np.nan)


def split_column(column: str) -> tuple[str, str]:
    """Split a column into the role of its node and its name there; one that a node computes has no role.

    Examples
    --------
    >>> split_column("a.light"), split_column("humidity"), split_column("quantile(light; q=0.9)")
    (('a', 'light'), ('', 'humidity'), ('', 'quantile(light; q=0.9)'))
    """
    role, dot, name = column.partition(".")
    return (role, name) if dot and "(" not in role else ("", column)


def quantity_of(column: str) -> str:
    """Return the quantity of a column: the part after its role, or the column itself.

    Examples
    --------
    >>> quantity_of("a.light"), quantity_of("humidity")
    ('light', 'humidity')
    """
    role, name = split_column(column)
    return name.rpartition(".")[2] if role else name


def silent_ticks(max_silence: float | None, period: float) -> int | None:
    """Return the longest silence of a channel in whole ticks, or None if it is unlimited."""
    if max_silence is None:
        return None
    if not max_silence >= period:
        raise ValueError(f"max_silence is {max_silence:g} s, expected at least a tick of {period:g} s")
    if max_silence > _LONGEST * period:
        raise ValueError(f"max_silence is {max_silence:g} s, expected at most {_LONGEST * period:g} s, or None")
    return int(max_silence / period + 1e-9)


def _finite_samples(values: npt.ArrayLike) -> Array:
    samples = np.asarray(values, dtype=np.float64)
    if samples.ndim == 0:
        raise ValueError("values have shape (), expected (..., n_ticks)")
    return np.where(np.isfinite(samples), samples, np.nan)


def _check_max_silence(max_silence: int | None) -> None:
    if max_silence is not None and max_silence < 1:
        raise ValueError(f"max_silence is {max_silence}, expected at least 1 tick")


def _every(samples: Array, n_ticks: int) -> Array:
    sent = np.full(samples.shape, np.nan)
    sent[..., ::n_ticks] = samples[..., ::n_ticks]
    return sent


def _block_means(samples: Array, n_ticks: int) -> Array:
    sent = np.full(samples.shape, np.nan)
    if n_ticks > samples.shape[-1]:
        return sent
    n_blocks = samples.shape[-1] // n_ticks
    blocks = samples[..., : n_blocks * n_ticks].reshape(*samples.shape[:-1], n_blocks, n_ticks)
    known = ~np.isnan(blocks)
    n_known = known.sum(axis=-1)
    sums = np.where(known, blocks, 0.0).sum(axis=-1)
    sent[..., n_ticks - 1 :: n_ticks] = np.where(n_known > 0, sums / np.maximum(n_known, 1), np.nan)
    return sent


def _rounded(samples: Array, step: float) -> Array:
    return np.round(samples / step) * step + 0.0  # turns -0.0 into 0.0


def _on_change(messages: Array, step: float, max_silence: int | None) -> Array:
    """Send the first message and each that differs from the last one sent by more than the step."""
    sent = np.full(messages.shape, np.nan)
    held = np.full(messages.shape[:-1], np.nan)
    last_tick = np.zeros(messages.shape[:-1], dtype=np.int64)
    for tick in range(messages.shape[-1]):
        message = messages[..., tick]
        known = ~np.isnan(message)
        changed = known & ~(np.abs(message - held) <= step)  # true before the first message: held is NaN
        held = np.where(changed, message, held)
        sending = changed
        if max_silence is not None:
            sending = known & (changed | (tick - last_tick >= max_silence))
            last_tick = np.where(sending, tick, last_tick)
        sent[..., tick] = np.where(sending, held, np.nan)
    return sent


def _hold(sent: Array, max_ticks: int | None) -> Array:
    """Hold each transmitted value, for at most `max_ticks` ticks."""
    ticks = np.arange(sent.shape[-1])
    last = np.maximum.accumulate(np.where(np.isnan(sent), 0, ticks), axis=-1)
    held = np.take_along_axis(sent, last, axis=-1)
    return held if max_ticks is None else np.where(ticks - last <= max_ticks, held, np.nan)
