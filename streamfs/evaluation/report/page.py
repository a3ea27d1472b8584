"""A report on a procedure: one file of HTML that needs nothing else."""

from math import isnan, nan
from typing import Any

from scipy.stats import binomtest

from streamfs.base.charts.paid_unit import PaidUnit
from streamfs.base.charts.scale import text_of
from streamfs.data.fingerprints import n_known
from streamfs.errors import MissingExtraError
from streamfs.evaluation.report import figures
from streamfs.evaluation.report.chosen_streams import KINDS
from streamfs.evaluation.report.measure import MeasuredProcedure
from streamfs.procedure import card_text, card_words
from streamfs.procedure.card_html import card_html
from streamfs.procedure.card_schema import read_fingerprints

try:
    from jinja2 import Environment, PackageLoader
except ImportError as error:
    raise MissingExtraError("jinja2", "report") from error


def html(measured: MeasuredProcedure, source: str) -> str:
    """Return the report of what was measured.

    Parameters
    ----------
    measured : MeasuredProcedure
        What `streamfs.evaluation.report.measure.measure` returns.
    source : str
        Where the streams are from.

    Returns
    -------
    str
        A page without a script, which loads nothing and follows the reader's light or dark theme.
    """
    environment = Environment(loader=PackageLoader("streamfs.evaluation.report"), autoescape=True)
    environment.filters["number"] = _number
    environment.filters["percent"] = _percent
    environment.filters["time"] = card_words.time
    environment.filters["life"] = card_words.life
    environment.filters["listed"] = card_words.listed
    return environment.get_template("report.html").render(_words(measured, source))


def _words(measured: MeasuredProcedure, source: str) -> dict[str, Any]:
    """Return what the template names."""
    evaluation, unit = measured.evaluation, PaidUnit.of([measured.paid], measured.unit)
    labelled = [d.label is not None for d in evaluation.decisions]
    right = [d.label == label for d, label in zip(evaluation.decisions, evaluation.labels, strict=True)]
    kept = read_fingerprints(measured.procedure.about)
    return {
        "measured": measured,
        "kept": len(kept),
        "known": n_known(kept, measured.streams),
        "source": source,
        "facts": measured.facts,
        "when": card_text.when(measured.facts),
        "paid": unit.text(measured.paid),
        "labelled": sum(labelled),
        "right": sum(right),
        "accuracy_interval": _interval(sum(right), sum(labelled)),
        "completeness_interval": _interval(sum(labelled), len(labelled)),
        "confusion": figures.confusion(measured),
        "by_class": evaluation.by_class(),
        "trade_off": figures.trade_off_chart(measured),
        "decided": figures.decided_chart(measured),
        "reliability": figures.reliability_chart(measured.reliability),
        "importance": figures.importance_charts(measured),
        "channels": figures.channel_chart(measured),
        "kinds": [
            (
                said,
                [
                    (chosen, figures.stream_charts(chosen, measured))
                    for chosen in measured.chosen
                    if chosen.kind == kind
                ],
            )
            for kind, said in KINDS.items()
        ],
        "card": card_html(card_text.markdown(measured.facts)),
    }


def _interval(n_good: int, n: int) -> tuple[float, float] | None:
    """Return the exact 95 % confidence interval of a share (Clopper and Pearson); None of none."""
    if not n:
        return None
    low, high = binomtest(n_good, n).proportion_ci(0.95)
    return float(low), float(high)


def _number(value: float | None) -> str:
    return text_of(nan if value is None else value)


def _percent(share: float | None) -> str:
    return "-" if share is None or isnan(share) else card_words.percent(share)
