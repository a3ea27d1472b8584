"""The facts of a model card: what is to be known before a procedure is deployed, from its model file alone."""

from collections.abc import Mapping
from typing import cast

from feature_extractors.base import Feature
from feature_extractors.catalogue import DIFFERENCES, SHAPE_KINDS
from feature_extractors.report import split_channel
from streamfs.costs.batteries import Duty, life
from streamfs.costs.costs import MESSAGE_BYTES, price_of
from streamfs.costs.energy import Profile
from streamfs.costs.rates import CONTROL_BYTES, Rates, by_role, role_of
from streamfs.procedure import card_text
from streamfs.procedure.card_schema import (
    ChannelFacts,
    DutyFacts,
    Facts,
    LifeFacts,
    NodeFacts,
    RadioFacts,
    StoppingFacts,
    TrafficFacts,
    cost_unit,
    read_card,
    read_earlier,
    read_held_out,
    read_others,
    read_point,
    read_promise,
    read_sends,
)
from streamfs.procedure.procedure import Procedure


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
    about, sends = procedure.about, read_sends(procedure.about)
    card = read_card(about.get("card"))
    known = None if card is None else card["radio"]
    if radio is not None:
        known = radio_of(radio, MESSAGE_BYTES if card is None else card["radio"]["message_bytes"])
    traffic, prices = (None, {}) if card is None else (card["traffic"], card["prices"])
    return {
        "model": procedure.digest,
        "classes": list(procedure.classes),
        "classifier": procedure.classifier.describe(),
        "confidence": procedure.confidence,
        "stopping": stopping_of(procedure),
        "time_limit": procedure.time_limit,
        "period": procedure.period,
        "max_silence": procedure.max_silence,
        "features": [
            {"feature": feature.name, "each_cost": cost, "reads": _reads(feature)}
            for feature, cost in zip(procedure.features, procedure.costs.each.tolist(), strict=True)
        ],
        "channels": [
            _channel(channel, traffic, known, prices)
            for channel in (procedure.channels if sends is None or traffic is None else traffic["channels"])
        ],
        "sends": sends,
        "promise": read_promise(about.get("promise")),
        "recertified": read_earlier(about.get("recertified")),
        "point": read_point(about.get("point")),
        "held_out": read_held_out(about.get("held_out")),
        "other_thresholds": read_others(about.get("other_thresholds")),
        "cost_unit": cost_unit(about),
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


def stopping_of(procedure: Procedure) -> StoppingFacts | None:
    """Return a procedure's own stopping rule, if it has one."""
    return None if procedure.stopping is None else cast("StoppingFacts", procedure.stopping.to_json())


def radio_of(radio: Profile, message_bytes: float) -> RadioFacts:
    """Return what a card keeps of a radio, whose messages have this size."""
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


def kept_radio(kept: RadioFacts) -> Profile:
    """Return a profile of the same costs, whose messages cost the same whatever their size."""
    receive = kept.get("control", 0.0) / CONTROL_BYTES
    return Profile(
        kept["name"], kept["message"], receive=receive, idle=kept["idle"], sleep=kept["sleep"], unit=kept["unit"]
    )


def _reads(feature: Feature) -> str:
    """Return what of its columns a feature reads: their shape, their difference, or their level."""
    is_flag = any("@flag" in column for column in feature.columns)
    if feature.kind in SHAPE_KINDS and not is_flag:
        return "shape"
    return "difference" if feature.kind in DIFFERENCES and not is_flag else "level"


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
    rates = Rates.of(kept_radio(kept), period, duty.awake)
    return rates.episode(traffic["channels"], traffic["nodes"], prices, traffic.get("orders", 0.0))


def _nodes(
    traffic: TrafficFacts, kept: RadioFacts, prices: Mapping[str, float], period: float, duty: Duty
) -> list[NodeFacts]:
    """Return each node's messages and battery life, and the same if it sent every column at every tick."""
    radio = kept_radio(kept)
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
