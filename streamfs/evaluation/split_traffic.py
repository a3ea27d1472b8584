"""What nodes pay by what they send: readings, features or crossings, measured on recorded streams."""

from streamfs.costs.pricing import Pricing
from streamfs.data.derived import derive
from streamfs.data.streams import StreamSet
from streamfs.errors import TranslationError
from streamfs.evaluation.traffic import measure_traffic
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.split import SENDS, split

READINGS = "readings"
"""What nodes send of a procedure that is not split."""


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
    Decisions are the same in each way. Of readings, the ticks before an episode opens count, too.
    """
    charged = Pricing(pricing) if isinstance(pricing, str) else pricing
    rates, prices = charged.rates(procedure.period), charged.prices
    paid = {READINGS: measure_traffic(procedure, streams).paid(rates, prices)}
    for sends in SENDS:
        try:
            halves = split(procedure, sends)
        except TranslationError:
            continue
        derived = derive(streams, halves.columns, procedure.max_silence)
        paid[sends] = measure_traffic(halves.gateway, derived).paid(rates, prices)
    return paid
