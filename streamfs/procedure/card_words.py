"""Names, numbers and tables as a model card writes them in Markdown."""

import re
from collections.abc import Iterable, Sequence
from math import isfinite

UNKNOWN = "not known"

_YEAR = 365.25  # days
_LONGEST = 10 * _YEAR  # days, beyond which cells age before they are empty


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table.

    Examples
    --------
    >>> print(table(("what", "is"), [("ticks", "60")]))
    | what | is |
    | --- | --- |
    | ticks | 60 |
    """
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def code(text: str) -> str:
    r"""Write a name as it is, whatever characters it has, also within a table.

    Examples
    --------
    >>> print(code("a.light"), code("on|off"), code("a`b"))
    `a.light` `on\|off` `` a`b ``
    """
    line = " ".join(text.split()).replace("|", "\\|")
    if "`" not in line:
        return f"`{line}`"
    fence = "`" * (1 + max(len(run) for run in re.findall("`+", line)))
    return f"{fence} {line} {fence}"


def listed(words: Sequence[str]) -> str:
    """Write alternatives.

    Examples
    --------
    >>> listed(["walk", "sit", "lie"])
    'walk, sit or lie'
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} or {words[-1]}"


def number(value: float | None) -> str:
    """Write a number with three digits, or all those before the point; None is not known.

    Examples
    --------
    >>> number(12345.6), number(0.51234)
    ('12,346', '0.512')
    """
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def percent(share: float) -> str:
    """Write a share.

    Examples
    --------
    >>> percent(0.975)
    '97.5 %'
    """
    return f"{100 * share:.4g} %"


def joules(value: float | None) -> str:
    """Write an energy.

    Examples
    --------
    >>> joules(6.18e-5), joules(0.0), joules(2.5)
    ('61.8 µJ', '0 µJ', '2.5 J')
    """
    if value is None:
        return UNKNOWN
    for size, unit in ((1.0, "J"), (1e-3, "mJ")):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 1e-6)} µJ"


def time(seconds: float) -> str:
    """Write a time.

    Examples
    --------
    >>> time(100.0), time(1200.0), time(3600.0), time(86400.0 * 7)
    ('100 s', '20 min', '1 h', '7 days')
    """
    for least, size, unit in ((172800.0, 86400.0, "days"), (3600.0, 3600.0, "h"), (120.0, 60.0, "min")):
        if seconds >= least:
            return f"{number(seconds / size)} {unit}"
    return f"{number(seconds)} s"


def life(days: float | None) -> str:
    """Write how long a battery lasts; beyond ten years its cells age before they are empty.

    Examples
    --------
    >>> life(0.5), life(400.0), life(1000.0), life(1e9)
    ('12 h', '400 days', '2.7 years', 'over 10 years')
    """
    if days is None:
        return UNKNOWN
    if not isfinite(days) or days > _LONGEST:
        return "over 10 years"
    if days >= 2 * _YEAR:
        return f"{days / _YEAR:.2g} years"
    return f"{number(days)} days" if days >= 2 else f"{number(24 * days)} h"
