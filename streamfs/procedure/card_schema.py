"""The model card: its fields in a model file, validated when read, and the facts assembled from them."""

from collections.abc import Mapping
from math import isclose
from types import NoneType, UnionType
from typing import Any, NotRequired, TypedDict, get_args, get_origin, get_type_hints, is_typeddict

from feature_extractors.report import READINGS, SENDS
from streamfs.errors import ModelError
from streamfs.procedure.falling import Falling
from streamfs.procedure.stopping import StoppingRule, TickThresholds, read_rule

ROUNDING = 1e-9
"""Share by which equal thresholds may differ."""


class DataFacts(TypedDict):
    """The streams that a procedure was trained on; `missing` is the share of each column's readings."""

    streams: int
    classes: dict[str, float]
    shortest: int
    median: float
    longest: int
    missing: dict[str, float]


class RadioFacts(TypedDict):
    """The radio that is charged for; `message` is the cost of a message of `message_bytes`.

    `control` is that of hearing a control message.
    """

    name: str
    unit: str
    message_bytes: float
    message: float
    control: NotRequired[float]
    idle: float
    sleep: float
    notes: str


class StoppingFacts(TypedDict):
    """A stopping rule's word, with its parameters; see `streamfs.procedure.stopping.StoppingRule.to_json`."""

    rule: str


class TrafficFacts(TypedDict):
    """Mean messages per episode: of the channels that are read, and of every recorded column.

    `nodes` are the ticks for which each node is asked for any channel, by its role, and `orders` the control
    messages that open channels later.
    """

    streams: int
    held_out: bool
    confidence: float
    stopping: NotRequired[StoppingFacts | None]
    ticks: float
    channels: dict[str, float]
    columns: dict[str, float]
    orders: NotRequired[float]
    nodes: NotRequired[dict[str, float]]


class Card(TypedDict):
    """The field ``card`` of a model file; with `own_costs` features were not charged by the radio."""

    data: DataFacts
    radio: RadioFacts
    prices: dict[str, float]
    traffic: TrafficFacts
    own_costs: NotRequired[bool]


class GroupFacts(TypedDict):
    """A group of test streams, how many of them were labelled, and how many of these rightly."""

    group: str
    streams: int
    labelled: int
    right: int


class _Measured(TypedDict):
    risk: float
    threshold: float
    streams: int
    labelled: int
    right: int
    cost: float
    ticks: float
    accuracy_risk: NotRequired[float | None]
    completeness_risk: NotRequired[float | None]
    p_accuracy: NotRequired[float | None]
    p_completeness: NotRequired[float | None]
    subsets: NotRequired[float | None]
    all_features_cost: NotRequired[float | None]
    start: NotRequired[int | None]
    patience: NotRequired[int | None]
    floor: NotRequired[float | None]
    fall: NotRequired[float | None]
    last: NotRequired[int | None]
    labelled_as: NotRequired[dict[str, float]]
    right_of: NotRequired[dict[str, float]]
    streams_of: NotRequired[dict[str, float]]


class LaterFacts(TypedDict):
    """Streams that began last: how many are right if learned from earlier ones alone, and from a mixture."""

    streams: int
    right: int
    mixed: int


class PromiseFacts(_Measured):
    """The field ``promise`` of a model file: the promise and its evidence."""

    accuracy: float
    completeness: float | None
    per_class: NotRequired[str | None]
    worst_group: NotRequired[GroupFacts]
    searched_on: NotRequired[float | None]
    copies: NotRequired[int | None]
    sharing: NotRequired[int | None]
    torn: NotRequired[int | None]
    later: NotRequired[LaterFacts]


class EarlierFacts(TypedDict):
    """What a recertified model was before: its digest, what was changed, and what was promised of it."""

    model: str
    how: str
    promise: NotRequired[PromiseFacts | None]


class PointFacts(_Measured):
    """The field ``point`` of a model file: a point of a trade-off as measured, with lower bounds."""

    accuracy: float
    accuracy_at_least: float
    completeness: float
    completeness_at_least: float
    searched_on: int


class WaitingFacts(TypedDict):
    """The cost of an error from which it pays to wait until a tick, and what share is right there."""

    error_cost: float
    tick: int
    right: float


class HeldOutFacts(TypedDict):
    """The field ``held_out`` of a model file: decisions on held-out streams, those that end in ``_of`` by class.

    Means of the confidence that was stated, of the ticks and of what was sent are of the labelled streams. `asked`
    is the confidence as the classifier states it, before its calibration, at which they were decided. `stopping`
    is the rule of the procedure. `waiting` is there if notably more would be right at a later tick, `torn` if
    streams that share a node's readings could not all be held out together, and `later` if surely fewer of the
    streams that began last are right where none like them is learned from.
    """

    streams: int
    labelled: int
    right: int
    stated: float
    ticks: float
    sent: float
    asked: NotRequired[float]
    stopping: NotRequired[StoppingFacts]
    waiting: NotRequired[WaitingFacts]
    torn: NotRequired[int]
    later: NotRequired[LaterFacts]
    streams_of: dict[str, float]
    labelled_of: dict[str, float]
    right_of: dict[str, float]


class ThresholdFacts(TypedDict):
    """What a threshold does on held-out streams: shares, and the mean cost of a stream in the radio's unit."""

    threshold: float
    completeness: float
    accuracy: float
    paid: float


class ConfidenceFacts(TypedDict):
    """Ticks of about equal confidence at which held-out streams may be decided.

    They have their mean confidence, the share of right ones, and their weight in streams.
    """

    confidence: float
    right: float
    weight: float


class OtherFacts(TypedDict):
    """The field ``other_thresholds`` of a model file: what held-out streams show of them."""

    streams: int
    thresholds: list[ThresholdFacts]
    confidence: list[ConfidenceFacts]


class LifeFacts(TypedDict):
    """A node's messages and joules per day, the joules of these for sending, and its battery life in days."""

    messages: float
    joules: float | None
    sending: float | None
    days: float | None


class NodeFacts(LifeFacts):
    """A node, and the same if it sent every recorded column."""

    node: str
    all_columns: LifeFacts


class ChannelFacts(TypedDict):
    """A channel's messages per tick and per episode, and their cost per episode in the radio's unit."""

    channel: str
    node: str
    messages: float | None
    messages_a_tick: float | None
    cost: float | None


class FeatureFacts(TypedDict):
    """A feature, its each-time cost, and what it reads: ``shape``, ``difference`` or ``level``."""

    feature: str
    each_cost: float
    reads: str


class DutyFacts(TypedDict):
    """How nodes are used; see `streamfs.costs.batteries.Duty`."""

    reopen_after: float
    awake: float
    battery: float


class Facts(TypedDict):
    """The facts of a card, as ``streamfs card --json`` prints them; unknown ones are None.

    `unit` is that of the radio, `cost_unit` that of the costs that features were chosen by. `sends` is what nodes
    send of the features that they compute; None if the gateway computes them.
    """

    model: str
    classes: list[str]
    classifier: str
    confidence: float
    stopping: StoppingFacts | None
    time_limit: int
    period: float
    max_silence: float | None
    features: list[FeatureFacts]
    channels: list[ChannelFacts]
    sends: str | None
    promise: PromiseFacts | None
    recertified: list[EarlierFacts]
    point: PointFacts | None
    held_out: HeldOutFacts | None
    other_thresholds: OtherFacts | None
    unit: str | None
    cost_unit: str | None
    data: DataFacts | None
    radio: RadioFacts | None
    prices: dict[str, float]
    traffic: TrafficFacts | None
    paid: float | None
    nodes: list[NodeFacts] | None
    duty: DutyFacts
    made: dict[str, Any]


def read_card(card: Any) -> Card | None:
    """Return a model file's card, validated, or None."""
    return None if card is None else _read("card", card, Card)


def cost_unit(about: Mapping[str, Any]) -> str | None:
    """Return the unit of the costs in a model file; None if it has no card, or has costs of its user's own."""
    card = read_card(about.get("card"))
    return None if card is None or card.get("own_costs") else card["radio"]["unit"]


def read_sends(about: Mapping[str, Any]) -> str | None:
    """Return what nodes send of the features that they compute, by a model file; None if they send readings."""
    found = about.get("sends", READINGS)
    if found not in (READINGS, *SENDS):
        raise ModelError(f"the model is damaged: sends is {found!r}, expected {READINGS}, {' or '.join(SENDS)}")
    return None if found == READINGS else str(found)


def read_fingerprints(about: Mapping[str, Any]) -> list[str]:
    """Return the fingerprints of streams that a model was made from, by its file; none if it keeps none."""
    found = about.get("fingerprints", [])
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ModelError(f"the model is damaged: fingerprints is {str(found)[:80]!r}, expected a list of strings")
    return found


def read_promise(promise: Any) -> PromiseFacts | None:
    """Return a model file's promise, validated, or None."""
    return None if promise is None else _read("promise", promise, PromiseFacts)


def read_earlier(recertified: Any) -> list[EarlierFacts]:
    """Return what a model file says of what the model was before, validated; nothing if it says nothing."""
    if recertified is None:
        return []
    if not isinstance(recertified, list):
        raise ModelError(f"the model is damaged: recertified is {recertified!r}, expected a list")
    return [_read("recertified", earlier, EarlierFacts) for earlier in recertified]


def certified_rule(promise: PromiseFacts) -> TickThresholds:
    """Return the rule that a promise was certified for: a threshold from some tick on, and when to give up."""
    start, floor, falling = promise.get("start") or 1, promise.get("floor") or 0.0, falling_of(promise)
    make = TickThresholds.since if falling is None else falling.rule
    return make(start, promise["threshold"], promise.get("patience"), floor)


def is_certified(rule: StoppingRule, promise: PromiseFacts) -> bool:
    """Return whether a rule is the certified one; another processor may round thresholds that fall otherwise."""
    own, certified = rule.thresholds(), certified_rule(promise)
    if own is None or own.ticks != certified.ticks:
        return False
    pairs = zip(own.levels + own.floors, certified.levels + certified.floors, strict=True)
    return all(isclose(one, other, rel_tol=ROUNDING) for one, other in pairs)


def falling_of(promise: PromiseFacts) -> Falling | None:
    """Return how the thresholds of a promise fall; None if they do not."""
    fall, last = promise.get("fall"), promise.get("last")
    return None if fall is None or last is None else Falling(fall, last)


def read_point(point: Any) -> PointFacts | None:
    """Return a model file's point of a trade-off, validated, or None."""
    return None if point is None else _read("point", point, PointFacts)


def read_held_out(held_out: Any) -> HeldOutFacts | None:
    """Return what a model file says of held-out streams, validated, or None."""
    if held_out is None:
        return None
    found: HeldOutFacts = _read("held_out", held_out, HeldOutFacts)
    streams, labelled, right = found["streams"], found["labelled"], found["right"]
    for name, number, least, most in (("labelled", labelled, 1, streams), ("right", right, 0, labelled)):
        if not least <= number <= most:
            raise ModelError(f"the model is damaged: held_out.{name} is {number}, expected {least} to {most}")
    of_classes = found["streams_of"]
    if not of_classes or sum(of_classes.values()) > streams:
        raise ModelError(
            f"the model is damaged: held_out.streams_of is {of_classes!r}, expected at most {streams} in all"
        )
    for name in ("labelled_of", "right_of"):
        if held_out[name].keys() != of_classes.keys():
            raise ModelError(
                f"the model is damaged: held_out.{name} has {[*held_out[name]]}, expected {[*of_classes]}"
            )
    return found


def read_others(others: Any) -> OtherFacts | None:
    """Return what a model file says of other thresholds, validated, or None."""
    if others is None:
        return None
    found: OtherFacts = _read("other_thresholds", others, OtherFacts)
    for name, kind in (("thresholds", ThresholdFacts), ("confidence", ConfidenceFacts)):
        for each in others[name]:
            _read(f"other_thresholds.{name}", each, kind)
    return found


def _read(what: str, value: Any, expected: Any) -> Any:
    """Return a JSON value if it is of the expected type; numbers must not be negative."""
    kinds = get_args(expected) if get_origin(expected) is UnionType else (expected,)
    if not any(_is_of(value, kind) for kind in kinds):
        names = " or ".join(dict.fromkeys(map(_name_of, kinds)))
        raise ModelError(f"the model is damaged: {what} is {value!r}, expected {names}")
    if StoppingFacts in kinds and value is not None:
        _read_stopping(what, value)
    elif value is not None and is_typeddict(kinds[0]):
        for name, kind in get_type_hints(kinds[0]).items():
            if name in value:
                _read(f"{what}.{name}", value[name], kind)
            elif name in kinds[0].__required_keys__:
                raise ModelError(f"the model is damaged: {what} has no {name}")
    elif isinstance(value, dict):
        for name, number in value.items():
            _read_number(f"{what}.{name}", number)
    elif _is_of(value, float):
        _read_number(what, value)
    return value


def _read_stopping(what: str, value: Any) -> None:
    try:
        read_rule(value, what)
    except ModelError as error:
        raise ModelError(f"the model is damaged: {error}") from error


def _read_number(what: str, number: Any) -> None:
    if not _is_of(number, float) or number < 0:
        raise ModelError(f"the model is damaged: {what} is {number!r}, expected a number, at least 0")


def _is_of(value: Any, kind: Any) -> bool:
    if kind is float or kind is int:
        return isinstance(value, (int, kind)) and not isinstance(value, bool)
    return isinstance(value, dict if is_typeddict(kind) else get_origin(kind) or kind)


def _name_of(kind: Any) -> str:
    names = {int: "a number", float: "a number", str: "a text", bool: "true or false", NoneType: "null"}
    return names.get(kind, "an object")
