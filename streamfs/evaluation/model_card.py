"""The model card: facts to know before deploying a procedure, kept in its model file."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import numpy as np

from feature_extractors.base import Feature
from feature_extractors.catalogue import DIFFERENCES, SHAPE_KINDS
from feature_extractors.report import split_channel
from streamfs.costs.batteries import Duty, life
from streamfs.costs.costs import MESSAGE_BYTES, price_of
from streamfs.costs.energy import Profile
from streamfs.costs.rates import CONTROL_BYTES, COUNTED, Rates, by_role, role_of
from streamfs.data.streams import StreamSet
from streamfs.evaluation.traffic import Traffic, measure_traffic
from streamfs.procedure import card_text
from streamfs.procedure.card_schema import (
    Card,
    ChannelFacts,
    DataFacts,
    DutyFacts,
    Facts,
    LifeFacts,
    NodeFacts,
    RadioFacts,
    StoppingFacts,
    TrafficFacts,
    read_card,
    read_earlier,
    read_held_out,
    read_point,
    read_promise,
)
from streamfs.procedure.procedure import Procedure


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
        "radio": _radio(radio, message_bytes),
        "prices": {quantity: float(price) for quantity, price in (prices or {}).items()},
        "traffic": _counted(procedure, measure_traffic(procedure, watched), len(watched), measured_on is not None),
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


def facts(procedure: Procedure, radio: Profile | None = None, duty: Duty | None = None) -> Facts:
    """Return all facts of a card.

    Parameters
    ----------
    procedure : Procedure
        The procedure.
    radio : Profile, optional
        Of the nodes; by default the one that the procedure was trained for.
    duty : Duty, optional
        How often streams are decided, and a node's battery; by default `Duty()`.

    Returns
    -------
    dict
        What is not known, because the procedure was trained without a card or a promise, is None.

    Raises
    ------
    ModelError
        If the card or the promise in the procedure is damaged.
    """
    duty = Duty() if duty is None else duty
    about = procedure.about
    card = read_card(about.get("card"))
    known = None if card is None else card["radio"]
    if radio is not None:
        known = _radio(radio, MESSAGE_BYTES if card is None else card["radio"]["message_bytes"])
    traffic, prices = (None, {}) if card is None else (card["traffic"], card["prices"])
    return {
        "model": procedure.digest,
        "classes": list(procedure.classes),
        "classifier": procedure.classifier.describe(),
        "confidence": procedure.confidence,
        "stopping": _stopping(procedure),
        "time_limit": procedure.time_limit,
        "period": procedure.period,
        "max_silence": procedure.max_silence,
        "features": [
            {"feature": feature.name, "each_cost": cost, "reads": _reads(feature)}
            for feature, cost in zip(procedure.features, procedure.costs.each.tolist(), strict=True)
        ],
        "channels": [_channel(channel, traffic, known, prices) for channel in procedure.channels],
        "promise": read_promise(about.get("promise")),
        "recertified": read_earlier(about.get("recertified")),
        "point": read_point(about.get("point")),
        "held_out": read_held_out(about.get("held_out")),
        "unit": None if card is None else card["radio"]["unit"],
        "data": None if card is None else card["data"],
        "radio": known,
        "prices": prices,
        "traffic": traffic,
        "paid": _paid_an_episode(traffic, known, prices, procedure.period, duty),
        "nodes": None
        if traffic is None or known is None
        else _nodes(traffic, known, prices, procedure.period, duty),
        "duty": DutyFacts(reopen_after=duty.reopen_after, awake=duty.awake, battery=duty.battery),
        "made": {name: about.get(name) for name in ("streamfs", "numpy", "python", "seed")},
    }


def markdown(procedure: Procedure, radio: Profile | None = None, duty: Duty | None = None) -> str:
    """Return a procedure's card as Markdown; parameters are those of `facts`.

    Raises
    ------
    ModelError
        If the card or the promise in the procedure is damaged.
    """
    return card_text.markdown(facts(procedure, radio, duty))


def _counted(procedure: Procedure, traffic: Traffic, n_streams: int, held_out: bool) -> TrafficFacts:
    """Return the messages of streams, which the procedure was trained on or not."""
    return {
        "streams": n_streams,
        "held_out": held_out,
        "confidence": procedure.confidence,
        "stopping": _stopping(procedure),
        "ticks": traffic.ticks,
        "channels": traffic.channels,
        "columns": traffic.columns,
        "nodes": traffic.nodes,
        "orders": traffic.orders,
    }


def _stopping(procedure: Procedure) -> StoppingFacts | None:
    return None if procedure.stopping is None else cast("StoppingFacts", procedure.stopping.to_json())


def _reads(feature: Feature) -> str:
    """Return what of its columns a feature reads: their shape, their difference, or their level."""
    is_flag = any("@flag" in column for column in feature.columns)
    if feature.kind in SHAPE_KINDS and not is_flag:
        return "shape"
    return "difference" if feature.kind in DIFFERENCES and not is_flag else "level"


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


def _radio(radio: Profile, message_bytes: float) -> RadioFacts:
    return {
        "name": radio.name,
        "unit": radio.unit,
        "message_bytes": message_bytes,
        "message": radio.message_joules(message_bytes),
        "control": radio.receive_joules(CONTROL_BYTES),
        "idle": radio.idle,
        "sleep": radio.sleep,
        "notes": radio.notes,
    }


def paid(procedure: Procedure, traffic: Traffic) -> tuple[float, str]:
    """Return what a stream costs its nodes on average, and the unit, by the radio and prices in a card.

    Without a card, messages are counted. Raise a ModelError if the card is damaged.
    """
    card = read_card(procedure.about.get("card"))
    if card is None:
        return traffic.paid(COUNTED), "transmissions"
    rates = Rates.of(_kept_radio(card["radio"]), procedure.period)
    return traffic.paid(rates, card["prices"]), card["radio"]["unit"]


def _paid_an_episode(
    traffic: TrafficFacts | None,
    kept: RadioFacts | None,
    prices: Mapping[str, float],
    period: float,
    duty: Duty,
) -> float | None:
    """Return what an episode costs the nodes of a stream, in the radio's unit; None if it is not known."""
    if traffic is None or kept is None or "nodes" not in traffic:
        return None
    rates = Rates.of(_kept_radio(kept), period, duty.awake)
    return rates.episode(traffic["channels"], traffic["nodes"], prices, traffic.get("orders", 0.0))


def _kept_radio(kept: RadioFacts) -> Profile:
    """Return a profile of the same costs, whose messages cost the same whatever their size."""
    receive = kept.get("control", 0.0) / CONTROL_BYTES
    return Profile(
        kept["name"], kept["message"], receive=receive, idle=kept["idle"], sleep=kept["sleep"], unit=kept["unit"]
    )


def _nodes(
    traffic: TrafficFacts, kept: RadioFacts, prices: Mapping[str, float], period: float, duty: Duty
) -> list[NodeFacts]:
    """Return each node's messages and battery life, and the same if it sent every column at every tick."""
    radio = _kept_radio(kept)
    needed, everything = by_role(traffic["channels"]), by_role(traffic["columns"])

    def facts_of(messages: Mapping[str, float]) -> LifeFacts:
        lasts = life(messages, traffic["ticks"], period, radio, duty, prices=prices)
        return {"messages": lasts.messages, "joules": lasts.joules, "sending": lasts.sending, "days": lasts.days}

    return [
        {"node": role, **facts_of(needed.get(role, {})), "all_columns": facts_of(everything.get(role, {}))}
        for role in sorted({*needed, *everything})
    ]


def _channel(
    channel: str, traffic: TrafficFacts | None, radio: RadioFacts | None, prices: Mapping[str, float]
) -> ChannelFacts:
    """Return a channel's messages, and their cost in the radio's unit."""
    messages = a_tick = cost = None
    if traffic is not None and channel in traffic["channels"]:
        messages = traffic["channels"][channel]
        a_tick = messages / max(traffic["ticks"], 1)
        if radio is not None:
            cost = price_of(split_channel(channel)[0], prices) * messages * radio["message"]
    return {
        "channel": channel,
        "node": role_of(channel),
        "messages": messages,
        "messages_a_tick": a_tick,
        "cost": cost,
    }
