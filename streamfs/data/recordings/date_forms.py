"""Forms of dates that are not those of ISO 8601: which one some texts have."""

from itertools import product

import polars as pl

from streamfs.data.recordings.times import dates_of

_DAYS = (
    "%d.%m.%Y",
    "%d.%m.%y",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d/%m/%y",
    "%m/%d/%y",
    "%d-%m-%y",
    "%m-%d-%y",
    "%Y.%m.%d",
    "%d %b %Y",
    "%d %B %Y",
    "%d-%b-%Y",
    "%B %d, %Y",
    "%d. %B %Y",
)
_HOURS = (
    " %H:%M:%S",
    " %H:%M:%S%.f",
    " %H:%M",
    " %H.%M.%S",
    ", %H:%M:%S",
    ", %H:%M:%S%.f",
    ", %H:%M",
    "",
)
_DAYS_BESIDE_AM_PM = (
    "%m/%d/%Y",
    "%m/%d/%y",
    "%m-%d-%Y",
    "%B %d, %Y",
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%d/%m/%Y",
    "%d/%m/%y",
    "%d-%m-%Y",
    "%d.%m.%Y",
    "%d %B %Y",
    "%d-%b-%Y",
)
_HALF_DAYS = (" %I:%M:%S %p", " %I:%M %p", ", %I:%M:%S %p", ", %I:%M %p")
FORMS = (
    *(day + hour for day, hour in product((*_DAYS, "%Y-%m-%d"), _HOURS)),
    *(day + hour for day, hour in product(_DAYS_BESIDE_AM_PM, _HALF_DAYS)),
    "%a %b %d %H:%M:%S %Y",
    "%a, %d %b %Y %H:%M:%S GMT",
    "%Y%m%d%H%M%S",
)
"""Forms that are tried: the day before the month first, but not beside AM and PM."""

_FIRST_YEAR = 1000
"""Where years have two digits, they are not those of the first century."""


def date_forms(cells: pl.Series) -> list[str]:
    """Return the forms in which all cells of a text column are dates, that with the shortest span first.

    Where day and month may be told apart in both ways, the wrong one spreads days over months.

    Examples
    --------
    >>> date_forms(pl.Series(["03/04/2026 10:00", "03/05/2026 10:00"]))
    ['%m/%d/%Y %H:%M', '%d/%m/%Y %H:%M']
    """
    texts = cells.drop_nulls() if cells.dtype == pl.String else pl.Series([], dtype=pl.String)
    if not len(texts):
        return []
    found = []
    for form in FORMS:
        first = dates_of(texts.head(1), form).dt.year()[0]
        if first is None or first < _FIRST_YEAR:
            continue
        dates = dates_of(texts, form)
        if not dates.null_count():
            found.append(((dates.dt.epoch("us").diff().abs().sum()), form))
    return [form for _, form in sorted(found, key=lambda each: each[0])]
