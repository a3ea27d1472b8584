"""Names, numbers and times as the page writes them; whatever nodes send is shown, and does nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from math import isfinite
from typing import Any
from unicodedata import category
from urllib.parse import quote

from markupsafe import Markup

from streamfs.base.charts.scale import text_of
from streamfs.gateway.operations.courses import key_of
from streamfs.procedure import card_words

LONGEST_NAME = 80
"""Characters of a name that are shown."""

_LONGEST_IN_LINKS = 200
_UNSEEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")  # of Unicode: what is not seen, or moves what is


def visible(text: object, most: int = LONGEST_NAME) -> str:
    r"""Return a text with what cannot be seen written out, and cut where it is too long.

    Examples
    --------
    >>> visible("on\u202e\n"), visible("a" * 9, most=4)
    ('on\\u202e\\u000a', 'aaaa… (9 characters)')
    """
    whole = str(text)
    shown = "".join(f"\\u{ord(c):04x}" if category(c) in _UNSEEN else c for c in whole[:most])
    return shown if len(whole) <= most else f"{shown}… ({len(whole)} characters)"


def linked(name: str) -> str:
    """Return what stands for a name in an address: itself, or a number where it is long.

    Examples
    --------
    >>> linked("a/b&c")
    'a%2Fb%26c'
    """
    return quote(name, safe="") if len(name) <= _LONGEST_IN_LINKS else f"{key_of(name):016x}"


def sought(name: str) -> str:
    """Return what is searched for to find a name: its beginning, where it is long."""
    return quote(name[:_LONGEST_IN_LINKS], safe="")


def number(value: float | None) -> str:
    """Return a number; a dash if it is not known.

    Examples
    --------
    >>> number(1234567), number(0.25), number(None)
    ('1\u202f234\u202f567', '0.25', '-')
    """
    if value is None:
        return "-"
    if isfinite(value) and (abs(value) >= 1e4 or float(value).is_integer()) and abs(value) < 1e15:
        return f"{value:,.0f}".replace(",", "\u202f")
    return text_of(value)


def percent(share: float | None) -> str:
    """Return a share in percent.

    Examples
    --------
    >>> percent(0.97512), percent(None)
    ('97.5 %', '-')
    """
    return "-" if share is None or not isfinite(share) else f"{100 * share:.3g} %"


def spent(value: float | None, unit: str | None) -> str:
    """Return an energy in joules, or a number of transmissions, or of a unit that is not known.

    Examples
    --------
    >>> spent(0.0123, "joules"), spent(12.0, "transmissions"), spent(12.0, None)
    ('12.3 mJ', '12 transmissions', '12')
    """
    if unit == "joules" and value is not None:
        return card_words.joules(value)
    return number(value) if unit is None else f"{number(value)} {unit}"


def lasted(seconds: float) -> str:
    """Return how long something is ago, or takes; the browser counts on in the same words.

    Examples
    --------
    >>> [lasted(seconds) for seconds in (0.4, 61.0, 7300.0, 200000.0)]
    ['0 s', '61 s', '2 h', '2 days']
    """
    for least, size, unit in ((172800, 86400, "days"), (7200, 3600, "h"), (120, 60, "min")):
        if seconds >= least:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(0.0, seconds) // 1:.0f} s"


def delay(seconds: float) -> str:
    """Return by how much stamps lie behind their arrival, with a sign.

    Examples
    --------
    >>> delay(0.5), delay(-3600.0), delay(float("nan"))
    ('0.5 s', '-60 min', '-')
    """
    if not isfinite(seconds):
        return "-"
    return f"{seconds:.2g} s" if abs(seconds) < 10 else f"{'-' if seconds < 0 else ''}{lasted(abs(seconds))}"


def moment(seconds: float | None) -> str:
    """Return a time of day with its date, where it is not today, and its zone."""
    if seconds is None or not isfinite(seconds) or not 0 <= seconds < 2**37:
        return "-"
    local = datetime.fromtimestamp(seconds, UTC).astimezone()
    today = datetime.now(UTC).astimezone().date()
    return f"{local:%H:%M:%S %Z}" if local.date() == today else f"{local:%Y-%m-%d %H:%M:%S %Z}"


def ago(ahead: float, now: float) -> Callable[[float | None], str]:
    """Return a function from times of a gateway, whose clock is `ahead`, to how long they are ago."""

    def said(seconds: float | None) -> str:
        if seconds is None or not isfinite(seconds) or not 0 <= seconds < 2**37:
            return "-"
        stamp = datetime.fromtimestamp(seconds, UTC)
        return Markup('<time datetime="{}" data-at="{:.1f}" title="{}">{} ago</time>').format(
            f"{stamp:%Y-%m-%dT%H:%M:%SZ}", seconds - ahead, moment(seconds), lasted(now + ahead - seconds)
        )

    return said


FILTERS: dict[str, Callable[..., Any]] = {
    "visible": visible,
    "linked": linked,
    "sought": sought,
    "number": number,
    "percent": percent,
    "spent": spent,
    "lasted": lasted,
    "delay": delay,
    "moment": moment,
}
"""Of the templates, by name."""
