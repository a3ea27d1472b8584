"""Text names of features, which are a public contract, and the features that apply to some columns.

A name is ``kind(column, ...; parameter=value, ...)``. A column may have a report policy after ``@``. A column that
contains any of ``(),;@"`` or white space is in double quotes, with double quotes in it doubled.
"""

import re
from collections.abc import Iterable, Sequence
from itertools import combinations

from feature_extractors import moments, normalised, order, pair, pair_window, pattern, shape, spectral, trend
from feature_extractors._window import WINDOW
from feature_extractors.base import Feature, Kind
from feature_extractors.own_parts import own_part
from feature_extractors.report import channel_name, quantity_of, split_channel, split_opening
from feature_extractors.spelling import nearest

ESSENTIAL: tuple[Kind, ...] = (
    moments.COUNT,
    moments.LAST,
    moments.MEAN,
    moments.VARIANCE,
    order.MIN,
    order.MAX,
    order.RANGE,
    trend.SLOPE,
    trend.EXPONENTIAL_MEAN,
    moments.WINDOWED_MEAN,
    moments.WINDOWED_VARIANCE,
    pair.CORRELATION,
    pair.INCREMENT_CORRELATION,
    pair.MEAN_ABSOLUTE_DIFFERENCE,
    pair.MEAN_RELATIVE_DIFFERENCE,
    pair.MEAN_SIGNED_DIFFERENCE,
    pair.FLAG_AGREEMENT,
)
"""A small set of kinds: level, spread, trend, and relations of pairs."""

_MODULES = (moments, order, trend, shape, spectral, normalised, pattern, pair, pair_window)

KINDS: tuple[Kind, ...] = tuple(
    dict.fromkeys(
        (*ESSENTIAL, *(kind for module in _MODULES for kind in vars(module).values() if isinstance(kind, Kind)))
    )
)
"""All kinds: the essential ones, then the others of each module, in its order.

Among kinds of one name, `get` takes the first that accepts the given parameters.
"""

SHAPE_KINDS: tuple[Kind, ...] = (
    moments.COUNT,
    moments.SKEWNESS,
    moments.KURTOSIS,
    moments.WINDOWED_SKEWNESS,
    moments.WINDOWED_KURTOSIS,
    order.TIME_OF_MAX,
    order.TIME_OF_MIN,
    *(kind for kind in vars(shape).values() if isinstance(kind, Kind)),
    spectral.AUTOCORRELATION,
    spectral.WINDOWED_AUTOCORRELATION,
    spectral.BAND_SHARE,
    spectral.WINDOWED_BAND_SHARE,
    *(kind for kind in vars(normalised).values() if isinstance(kind, Kind)),
    pattern.NORMALISED_MAX,
    pattern.NORMALISED_SHARE,
    pair.CORRELATION,
    pair.INCREMENT_CORRELATION,
)
"""Kinds that neither the level nor the scale of a column changes."""

FLAG_KINDS = (
    moments.LAST,
    moments.MEAN,
    moments.WINDOWED_MEAN,
    shape.SIGN_RUNS,
    pair.FLAG_AGREEMENT,
    pair_window.WINDOWED_FLAG_AGREEMENT,
)
"""The kinds that are informative about a column of 0 and 1: whether it is on, the share of time it was, how often
it switched, and how often two agreed. Most others follow from these: the variance and energy of a flag are
functions of its mean, its extremes and quantiles are 0 or 1."""

DIFFERENCES = (
    pair.MEAN_ABSOLUTE_DIFFERENCE,
    pair.MEAN_RELATIVE_DIFFERENCE,
    pair.MEAN_DIFFERENCE,
    pair.MEAN_SIGNED_DIFFERENCE,
    pair.DEVIATION_DIFFERENCE,
    pair_window.WINDOWED_MEAN_ABSOLUTE_DIFFERENCE,
    pair_window.WINDOWED_MEAN_RELATIVE_DIFFERENCE,
    pair_window.WINDOWED_MEAN_DIFFERENCE,
    pair_window.WINDOWED_MEAN_SIGNED_DIFFERENCE,
    pair_window.WINDOWED_DEVIATION_DIFFERENCE,
)
"""The kinds that subtract one column from another, which must be of one quantity."""

DEFAULT_WINDOW = 16

_WORD = r'[^(),;@"\s]+'
_CHANNEL = rf'(?:"(?:[^"]|"")*"|{_WORD})(?:@{_WORD}){{0,2}}'
_NAME = re.compile(rf"\s*(\w+)\s*\(\s*({_CHANNEL}(?:\s*,\s*{_CHANNEL})*)?\s*(?:;\s*([^()]*?)\s*)?\)\s*")
_UNQUOTED = re.compile(r"\s*(\w+)\s*\(\s*([^,;\"]+?)\s*(;[^()]*)?\)\s*")
_ASSIGNMENT = re.compile(r"\s*(\w+)\s*=\s*([^=,\s]+)\s*")


def _quoted(name: str) -> str:
    """Return advice to quote the column of a name that is not a feature's; empty if that would not help."""
    parts = _UNQUOTED.fullmatch(name)
    quoted = "" if parts is None else f'{parts[1]}("{parts[2]}"{parts[3] or ""})'
    return f"; columns with spaces or parentheses are quoted: {quoted}" if _NAME.fullmatch(quoted) else ""


def get(name: str, kinds: Sequence[Kind] = KINDS) -> Feature:
    """Make the feature with a given text name.

    Parameters
    ----------
    name : str
        A name such as ``correlation(a.light, b.light)`` or ``mean(a.light@delta:0.5; window=32)``.
    kinds : sequence of Kind, optional
        The kinds to choose from, such as `KINDS` plus those of `python_feature`. Known besides are those that
        installed packages bring as entry points of ``streamfs.features``: kinds, or features, whose parameters are
        the defaults.

    Returns
    -------
    Feature
        Its `name` is the canonical form of the text.

    Raises
    ------
    ValueError
        If the text is not the name of a feature.

    Examples
    --------
    >>> get("correlation(a,b)").name
    'correlation(a, b)'
    """
    match = _NAME.fullmatch(name)
    if match is None:
        expected = f"expected the form kind(column, ...; parameter=value, ...){_quoted(name)}"
        raise ValueError(f"{name!r} is not a feature, {expected}")
    word, columns_text, params_text = match.groups()
    params: dict[str, float] = {}
    for text in params_text.split(",") if params_text else ():
        assignment = _ASSIGNMENT.fullmatch(text)
        if assignment is None:
            raise ValueError(f"{text.strip()!r} in {name!r} is not a parameter, expected the form parameter=value")
        if assignment[1] in params:
            raise ValueError(f"{assignment[1]} occurs twice in {name!r}")
        try:
            params[assignment[1]] = float(assignment[2])
        except ValueError:
            raise ValueError(f"{assignment[1]} is {assignment[2]!r} in {name!r}, expected a number") from None
    columns = tuple(canonical(channel) for channel in re.findall(_CHANNEL, columns_text or ""))
    own = own_part("streamfs.features", word) if all(kind.name != word for kind in kinds) else None
    try:
        if isinstance(own, Feature):
            return Feature(own.kind, columns, {**own.params, **params})
        return Feature(own or _kind(word, params, kinds), columns, params)
    except ValueError as error:
        raise ValueError(f"{name!r}: {error}") from None


def canonical(channel: str) -> str:
    """Return the canonical form of a channel, so that two spellings of it are paid for once."""
    return channel_name(*split_channel(channel), split_opening(channel)[1])


def _kind(word: str, params: Iterable[str], kinds: Sequence[Kind]) -> Kind:
    """Return the first kind of that name that takes these parameters and needs no others, else the first."""
    named = [kind for kind in kinds if kind.name == word]
    if not named:
        known = dict.fromkeys(kind.name for kind in kinds)
        expected = f"expected one of {', '.join(known)}{nearest(word, known)}"
        raise ValueError(f"{word} is not a kind of feature, {expected}")
    return next((kind for kind in named if _takes(kind, set(params))), named[0])


def _takes(kind: Kind, params: set[str]) -> bool:
    needed = {p.name for p in kind.parameters if p.default is None}
    return needed <= params <= {p.name for p in kind.parameters}


def catalogue(columns: Sequence[str], kinds: Sequence[Kind] = KINDS) -> tuple[Feature, ...]:
    """Return the features of some kinds that apply to some columns.

    Parameters
    ----------
    columns : sequence of str
        Channels: columns, optionally with a report policy. Two of them make features of a pair if they are the
        same quantity of two roles under one policy (``a.light``, ``b.light``), or if neither has a role and both
        policies are of one kind; the latter are different quantities, of which no differences are taken.
    kinds : sequence of Kind, optional
        By default all; `ESSENTIAL` is a small selection.

    Returns
    -------
    tuple of Feature
        Flags get only features that are informative about flags, other columns no agreement of flags. Windows have
        `DEFAULT_WINDOW` samples; all other parameters have their defaults. A kind with another parameter that has
        no default, such as the kernel of a pattern, gives no feature: ``streamfs.data.pattern_features`` proposes
        patterns.

    Raises
    ------
    ValueError
        If a channel cannot be read.

    Examples
    --------
    >>> [feature.name for feature in catalogue(["a@flag:3"])]
    ['count()', 'last(a@flag:3)', 'mean(a@flag:3)', 'mean(a@flag:3; window=16)', 'sign_runs(a@flag:3)']
    """
    columns = [canonical(column) for column in columns]
    kinds = [kind for kind in kinds if _needs_no_more_than_a_window(kind)]
    features = [_make(kind) for kind in kinds if kind.n_columns == 0]
    for column in columns:
        features += [_make(kind, column) for kind in kinds if kind.n_columns == 1 and _applies(kind, column)]
    for first, second in combinations(columns, 2):
        if _pairs(first, second):
            is_alike = quantity_of(split_channel(first)[0]) == quantity_of(split_channel(second)[0])
            features += [
                _make(kind, first, second)
                for kind in kinds
                if kind.n_columns == 2 and _applies(kind, first) and (is_alike or kind not in DIFFERENCES)
            ]
    return tuple(features)


def _needs_no_more_than_a_window(kind: Kind) -> bool:
    return all(p is WINDOW or p.default is not None for p in kind.parameters)


def _make(kind: Kind, *columns: str) -> Feature:
    params = {p.name: DEFAULT_WINDOW for p in kind.parameters if p is WINDOW}
    return Feature(kind, columns, params)


def _applies(kind: Kind, column: str) -> bool:
    is_flag = split_channel(column)[1].kind == "flag"
    return kind in FLAG_KINDS if is_flag else kind.name != pair.FLAG_AGREEMENT.name


def _pairs(first: str, second: str) -> bool:
    (column, policy), (other, other_policy) = split_channel(first), split_channel(second)
    quantity, other_quantity = quantity_of(column), quantity_of(other)
    has_role, other_has_role = quantity != column, other_quantity != other
    if has_role and other_has_role:
        return quantity == other_quantity and column != other and policy == other_policy
    return not (has_role or other_has_role) and column != other and policy.kind == other_policy.kind
