"""What nodes send of readings, features or crossings, and pay for it, measured on recorded streams."""

from collections.abc import Sequence
from dataclasses import replace

from feature_extractors.report import READINGS, SENDS
from streamfs.costs.pricing import Pricing
from streamfs.data.derived import derive
from streamfs.data.streams import StreamSet
from streamfs.errors import TranslationError
from streamfs.evaluation.traffic import Traffic, measure_traffics
from streamfs.procedure.card_schema import read_sends
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.split import split
from streamfs.procedure.stopping import StoppingRule


def traffics_sent(
    procedure: Procedure, streams: StreamSet, rules: Sequence[float | StoppingRule]
) -> list[Traffic]:
    """Count messages as `measure_traffics` does, of what a procedure was trained to have nodes send.

    The columns are those that were recorded.
    """
    sends = read_sends(procedure.about)
    recorded = measure_traffics(procedure, streams, rules)
    if sends is None:
        return recorded
    sent = _measured(procedure, streams, rules, sends)
    return [replace(each, columns=whole.columns) for each, whole in zip(sent, recorded, strict=True)]


def paid_by_split(
    procedure: Procedure, streams: StreamSet, pricing: Pricing | str = "transmissions"
) -> dict[str, float]:
    """Measure what streams cost if nodes send readings, values of features, or crossings of thresholds.

    Parameters
    ----------
    procedure : Procedure
        The whole procedure.
    streams : StreamSet
        Recorded streams with its columns.
    pricing : Pricing or str
        How nodes are charged: a radio's name, or a `Pricing`.

    Returns
    -------
    dict of str to float
        The mean cost of a stream until its decision, by what is sent; without ways in which there is no split.

    Notes
    -----
    Decisions are the same in each way. The ticks before an episode opens count, too.
    """
    charged = Pricing(pricing) if isinstance(pricing, str) else pricing
    rates, prices = charged.rates(procedure.period), charged.prices
    paid = {READINGS: measure_traffics(procedure, streams, [procedure.rule])[0].paid(rates, prices)}
    for sends in SENDS:
        try:
            (traffic,) = _measured(procedure, streams, [procedure.rule], sends)
        except TranslationError:
            continue
        paid[sends] = traffic.paid(rates, prices)
    return paid


def _measured(
    procedure: Procedure, streams: StreamSet, rules: Sequence[float | StoppingRule], sends: str
) -> list[Traffic]:
    """Count messages of features or crossings; the columns are theirs."""
    halves = split(procedure, sends)
    derived = derive(streams, halves.columns, procedure.max_silence)
    return measure_traffics(halves.gateway, derived, rules)
