"""The model card: what training alone knows of a procedure, kept in its model file."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from streamfs.costs.batteries import Duty
from streamfs.costs.costs import MESSAGE_BYTES
from streamfs.costs.energy import Profile
from streamfs.costs.rates import COUNTED, Rates
from streamfs.data.streams import StreamSet
from streamfs.evaluation.split_traffic import traffics_sent
from streamfs.evaluation.traffic import Traffic
from streamfs.procedure.card_facts import facts, kept_radio, markdown, radio_of, stopping_of
from streamfs.procedure.card_schema import (
    Card,
    DataFacts,
    Facts,
    TrafficFacts,
    read_card,
)
from streamfs.procedure.procedure import Procedure

__all__ = ["build_card", "facts", "facts_on", "markdown", "paid"]


def build_card(
    procedure: Procedure,
    streams: StreamSet,
    radio: Profile,
    *,
    measured_on: StreamSet | None = None,
    message_bytes: float = MESSAGE_BYTES,
    prices: Mapping[str, float] | None = None,
) -> Card:
    """Collect the facts that only training knows: the data, the radio, and the messages per episode.

    Messages are counted on the held-out streams `measured_on`, or else on the training streams, where decisions
    are somewhat earlier than on new ones. Raises DataError if no stream has a tick, a column is missing, or the
    period differs.
    """
    watched = streams if measured_on is None else measured_on
    return {
        "data": _data(streams),
        "radio": radio_of(radio, message_bytes),
        "prices": {quantity: float(price) for quantity, price in (prices or {}).items()},
        "traffic": _counted(
            procedure,
            traffics_sent(procedure, watched, [procedure.rule])[0],
            len(watched),
            measured_on is not None,
        ),
    }


def facts_on(procedure: Procedure, traffic: Traffic, n_streams: int, duty: Duty | None = None) -> Facts:
    """Return all facts of a card, with the messages of other streams than those of training.

    Without a card they are those of `facts`. Raises as `facts`.
    """
    card = read_card(procedure.about.get("card"))
    if card is None:
        return facts(procedure, duty=duty)
    measured = {**card, "traffic": _counted(procedure, traffic, n_streams, held_out=True)}
    known = facts(replace(procedure, about={**procedure.about, "card": measured}), duty=duty)
    known["model"] = procedure.digest
    return known


def _counted(procedure: Procedure, traffic: Traffic, n_streams: int, held_out: bool) -> TrafficFacts:
    """Return the messages of streams, which the procedure was trained on or not."""
    return {
        "streams": n_streams,
        "held_out": held_out,
        "confidence": procedure.confidence,
        "stopping": stopping_of(procedure),
        "ticks": traffic.ticks,
        "channels": traffic.channels,
        "columns": traffic.columns,
        "nodes": traffic.nodes,
        "orders": traffic.orders,
    }


def _data(streams: StreamSet) -> DataFacts:
    inside = np.arange(streams.n_ticks) < streams.lengths[:, np.newaxis]
    n_samples = max(1, int(inside.sum()))
    missing = (np.isnan(streams.values) & inside[:, :, np.newaxis]).sum(axis=(0, 1)) / n_samples
    return {
        "streams": len(streams),
        "classes": {label: int((streams.labels == label).sum()) for label in streams.classes},
        "shortest": int(streams.lengths.min()),
        "median": float(np.median(streams.lengths)),
        "longest": int(streams.lengths.max()),
        "missing": dict(zip(streams.columns, missing.tolist(), strict=True)),
    }


def paid(procedure: Procedure, traffic: Traffic) -> tuple[float, str]:
    """Return what a stream costs its nodes on average, and the unit, by the radio and prices in a card.

    Without a card, messages are counted. Raise a ModelError if the card is damaged.
    """
    card = read_card(procedure.about.get("card"))
    if card is None:
        return traffic.paid(COUNTED), "transmissions"
    rates = Rates.of(kept_radio(card["radio"]), procedure.period)
    return traffic.paid(rates, card["prices"]), card["radio"]["unit"]
