"""Features as River has them: statistics of one or two numbers, and a transformer that follows many streams."""

from collections.abc import Hashable, Sequence
from functools import cache
from math import isnan
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from river import base, stats

from feature_extractors.base import Feature
from feature_extractors.catalogue import get
from feature_extractors.drive import Program

_ROW = np.zeros(1, dtype=np.int64)


@cache
def _program(feature: Feature) -> Program:
    """Return a program of one feature, which belongs to this process."""
    return Program([feature], feature.columns)


class _Prefix:
    """The state of a feature on one stream, and its newest value."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.feature = get(name)
        self.state = _program(self.feature).new_state(1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.name, self.state)

    def add(self, sample: Sequence[float], time: float) -> None:
        """Add a sample of the feature's columns; what is not finite is missing."""
        _program(self.feature).advance(self.state, _ROW, np.array([sample], dtype=np.float64), np.array([time]))

    @property
    def value(self) -> float:
        """The feature of all samples so far; NaN while it is not defined."""
        return float(self.state[0, 0])


def _restored(name: str, state: Any) -> _Prefix:
    prefix = _Prefix(name)
    prefix.state = state.copy()
    return prefix


class _Follows:
    """What statistics share: a feature, and the numbers so far."""

    n_columns: ClassVar[int]

    def __init__(self, feature: str, period: float) -> None:
        self.feature = feature
        self.period = period
        self._prefix = _Prefix(feature)
        self._n = 0
        n_columns = len(self._prefix.feature.columns)
        if n_columns != self.n_columns:
            raise ValueError(f"feature is {feature!r} of {n_columns} columns, expected {self.n_columns}")

    def get(self) -> float | None:
        """Return the feature of the numbers so far; None while it is not defined."""
        return None if isnan(self._prefix.value) else self._prefix.value

    def _add(self, *numbers: float) -> None:
        self._prefix.add(numbers, self._n * self.period)
        self._n += 1


class FeatureStatistic(_Follows, stats.base.Univariate):
    """A feature of one column as a statistic of River.

    Parameters
    ----------
    feature : str
        Its name, such as ``slope(x)`` or ``variance(x; window=16)``; what its column is called does not matter.
    period : float
        Seconds from one number to the next.

    Raises
    ------
    ValueError
        If it is not the name of a feature of one column.

    Examples
    --------
    >>> slope = FeatureStatistic("slope(x)")
    >>> for number in [1.0, 3.0, 5.0]:
    ...     slope.update(number)
    >>> slope.get()
    2.0
    """

    n_columns = 1

    def __init__(self, feature: str = "mean(x)", period: float = 1.0) -> None:
        super().__init__(feature, period)

    def update(self, x: float) -> None:
        """Add a number; one that is not finite is missing."""
        self._add(x)


class PairStatistic(_Follows, stats.base.Bivariate):
    """A feature of two columns as a statistic of River.

    Parameters
    ----------
    feature : str
        Its name, such as ``correlation(x, y)``; what its columns are called does not matter.
    period : float
        Seconds from one pair of numbers to the next.

    Raises
    ------
    ValueError
        If it is not the name of a feature of two columns.

    Examples
    --------
    >>> correlation = PairStatistic("correlation(x, y)")
    >>> for x, y in [(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]:
    ...     correlation.update(x, y)
    >>> round(correlation.get(), 9)
    1.0
    """

    n_columns = 2

    def __init__(self, feature: str = "correlation(x, y)", period: float = 1.0) -> None:
        super().__init__(feature, period)

    def update(self, x: float, y: float) -> None:
        """Add a pair of numbers; where one is not finite, the pair is missing."""
        self._add(x, y)


class StreamFeatures(base.Transformer):
    """Features of the prefixes of many streams, whose samples come in any order, as a transformer of River.

    Parameters
    ----------
    features : tuple of str
        Names of features, such as ``correlation(a, b)``, or kinds, such as ``slope``, of each column that a sample
        has.
    key : str, optional
        Which entry of a sample names its stream; by default all samples are of one stream.
    period : float
        Seconds from one sample of a stream to the next.

    Notes
    -----
    `learn_one` alone moves the state of a stream; `transform_one` returns the features of the samples that were
    learned, without those that are not defined. In a pipeline, River learns a sample before it transforms it.

    Examples
    --------
    >>> features = StreamFeatures(("mean", "slope"), key="node")
    >>> for sample in [{"node": "n1", "x": 1.0}, {"node": "n2", "x": 9.0}, {"node": "n1", "x": 2.0}]:
    ...     features.learn_one(sample)
    >>> features.transform_one({"node": "n1"})
    {'mean(x)': 1.5, 'slope(x)': 1.0}
    """

    def __init__(
        self, features: tuple[str, ...] = ("last", "mean"), key: str | None = None, period: float = 1.0
    ) -> None:
        self.features = features
        self.key = key
        self.period = period
        self._streams: dict[Hashable, dict[str, _Prefix]] = {}
        self._ticks: dict[Hashable, int] = {}

    def learn_one(self, x: dict[Any, Any]) -> None:
        """Add a sample to its stream; entries that are no numbers are left out."""
        stream = x.get(self.key)
        prefixes = self._streams.setdefault(stream, {})
        tick = self._ticks.get(stream, 0)
        known = {
            str(name): float(value) for name, value in x.items() if name != self.key and isinstance(value, Real)
        }
        for name in self._names(known):
            prefix = prefixes.get(name) or prefixes.setdefault(name, _Prefix(name))
            sample = [known.get(column.strip('"'), np.nan) for column in prefix.feature.columns]
            prefix.add(sample, tick * self.period)
        self._ticks[stream] = tick + 1

    def transform_one(self, x: dict[Any, Any]) -> dict[str, float]:
        """Return the defined features of a sample's stream, as far as it was learned."""
        prefixes = self._streams.get(x.get(self.key), {})
        values = {prefix.feature.name: prefix.value for prefix in prefixes.values()}
        return {name: value for name, value in sorted(values.items()) if not isnan(value)}

    def forget(self, stream: Hashable) -> None:
        """Forget a stream: its next sample begins it anew."""
        self._streams.pop(stream, None)
        self._ticks.pop(stream, None)

    def _names(self, known: dict[str, float]) -> list[str]:
        """Return the names of the features of a sample's columns."""
        whole = [name for name in self.features if "(" in name]
        kinds = [kind for kind in self.features if "(" not in kind]
        return whole + [f'{kind}("{column}")' for kind in kinds for column in sorted(known)]
