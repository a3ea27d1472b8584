"""A model card as Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from feature_extractors.report import split_opening
from streamfs.procedure.card_schema import (
    DutyFacts,
    EarlierFacts,
    Facts,
    HeldOutFacts,
    NodeFacts,
    PointFacts,
    PromiseFacts,
    RadioFacts,
    StoppingFacts,
    TrafficFacts,
    certified_rule,
)
from streamfs.procedure.card_words import UNKNOWN, code, joules, life, listed, number, percent, table, time
from streamfs.procedure.caveats import caveats
from streamfs.procedure.guesses import guess_as_good
from streamfs.procedure.stopping import read_rule

NO_PROMISE = (
    "No promise was asked for: accuracy was not certified. The confidence threshold is no accuracy: it is crossed "
    "at the luckiest of many ticks, so that fewer of the labels are right."
)
TOGETHER = "- It speaks of all streams together, not of each class."
MEANING = f"""\
- It holds for streams like those that it was certified on: the same nodes and places, drawn independently.
- **It is no guarantee elsewhere**: in other rooms, at other sites, with other sensors, in another season.
- **It is no guarantee for pairs that share nodes**, since such pairs are not independent.
{TOGETHER}"""
AT_LEAST = "as soon as one of them has a confidence of at least"
ONE_POINT = "- It is no guarantee for the best of many points that were measured on the same streams."


def markdown(facts: Facts) -> str:
    """Return the card of the facts of a procedure, from `streamfs.evaluation.model_card.facts`."""
    sections = (_decision, _promise, _battery, _channels, _features, _data, _made)
    return "\n\n".join(part for section in sections for part in section(facts)) + "\n"


def _decision(facts: Facts) -> Iterable[str]:
    classes = listed([code(label) for label in facts["classes"]])
    limit = facts["time_limit"]
    yield f"# Model card: {classes}"
    yield (
        f"Decides whether a stream is {classes}, {when(facts)}; it gives no label after {limit} ticks of "
        f"{facts['period']:g} s ({time(limit * facts['period'])}). The model is `{facts['model']}`."
    )


def when(facts: Facts) -> str:
    """Describe the stopping rule: when a stream is decided."""
    stopping, said = facts["stopping"], _said(_threshold(facts), facts, 4)
    if stopping is None:
        return f"{AT_LEAST} {said}"
    thresholds = read_rule(stopping).thresholds()
    if thresholds is None:
        return f"by the stopping rule {said}"
    return f"{AT_LEAST} {said}" if thresholds.levels[0] > 0 else said


def _threshold(facts: Facts | TrafficFacts) -> float | StoppingFacts:
    """Return what decides: the thresholds by tick if there are any, or else the confidence."""
    return facts.get("stopping") or facts["confidence"]


def _certified(promise: PromiseFacts) -> float | StoppingFacts:
    """Return what was certified: a threshold from some tick on, or the confidence."""
    rule = certified_rule(promise)
    return promise["threshold"] if rule.ticks == (1,) else cast("StoppingFacts", rule.to_json())


def _said(threshold: float | StoppingFacts, facts: Facts, digits: int = 6) -> str:
    if isinstance(threshold, dict):
        return read_rule(threshold).text(facts["time_limit"])
    return f"{threshold:.{digits}g}"


def _promise(facts: Facts) -> Iterable[str]:
    promise = facts["promise"]
    yield "## Promise"
    if promise is None:
        if facts["point"] is not None:
            yield from _point(facts["point"], facts)
        elif facts["held_out"] is not None:
            yield from _held_out(facts["held_out"], facts["unit"])
        else:
            yield NO_PROMISE
        return
    certified = _certified(promise)
    if certified != _threshold(facts):
        yield (
            "**Nothing is promised of this model.** What follows was certified at a confidence threshold of "
            f"{_said(certified, facts)}, and the model's is {_said(_threshold(facts), facts)}."
        )
    yield _promised(promise)
    yield table(("what", "promised", "found"), _evidence(promise))
    yield " ".join(_found_on(promise, facts["unit"]))
    if "streams_of" in promise:
        head = ("class", "streams", "labelled so", "rightly", "share of its labels", "share of its streams")
        yield table(head, _classes(promise))
    yield from map(_earlier, facts["recertified"])
    meaning = MEANING.removesuffix(f"\n{TOGETHER}") if promise.get("per_class") else MEANING
    yield f"What this means:\n\n{meaning}"


def _earlier(earlier: EarlierFacts) -> str:
    """Describe what a recertified model was before."""
    before = earlier.get("promise")
    promised = (
        "of which nothing was promised"
        if before is None
        else f"which was promised an accuracy of {percent(before['accuracy'])} on other streams "
        f"({before['right']} of {before['labelled']} labels right)"
    )
    return f"It was recertified with another {earlier['how']}, from model {code(earlier['model'])}, {promised}."


def _held_out(held_out: HeldOutFacts, unit: str | None) -> Iterable[str]:
    """Describe what was decided of held-out streams, as nothing was promised."""
    streams, labelled = held_out["streams"], held_out["labelled"]
    sent = joules(held_out["sent"]) if unit == "joules" else f"{number(held_out['sent'])} {unit or ''}".strip()
    yield (
        f"No promise was asked for. Of {streams} streams, each classified by a classifier that was fitted without "
        f"it, {labelled} were labelled, {percent(held_out['right'] / labelled)} of them rightly, with a "
        f"confidence of {percent(held_out['stated'])} on average, after {held_out['ticks']:.1f} ticks and {sent}. "
        "New streams like these do about as well; it is no guarantee."
    )
    yield from (f"{sentence}." for sentence in caveats(held_out))
    guess = guess_as_good(held_out)
    if guess is not None:
        yield f"**Always guessing {code(guess.label)} is right of {percent(guess.share)}: that is about as good.**"
    if "waiting" in held_out:
        waiting = held_out["waiting"]
        yield (
            f"At tick {waiting['tick']}, {percent(waiting['right'])} of all would be labelled rightly, which is "
            f"worth the wait where an error costs {number(waiting['error_cost'])}."
        )
    yield table(
        ("class", "streams", "labelled", "rightly"),
        [
            (code(label), f"{n:g}", f"{held_out['labelled_of'][label]:g}", f"{held_out['right_of'][label]:g}")
            for label, n in held_out["streams_of"].items()
        ],
    )


def _point(point: PointFacts, facts: Facts) -> Iterable[str]:
    """Describe a point of a trade-off by its lower bounds, as nothing was promised."""
    yield (
        "No promise was asked for. This is a point of a trade-off, chosen on "
        f"{point['searched_on']} streams, and measured on {point['streams']} others that were kept apart."
    )
    if point["threshold"] != _threshold(facts):
        yield (
            "**What follows is not of this model.** It was measured at a confidence threshold of "
            f"{point['threshold']:.6g}, and the model's is {_said(_threshold(facts), facts)}."
        )
    right, labelled, streams = (point[name] for name in ("right", "labelled", "streams"))
    rows = (
        ("accuracy", f"{_share(right, labelled)}: {right} of {labelled} labels", point["accuracy_at_least"]),
        (
            "completeness",
            f"{_share(labelled, streams)}: {labelled} of {streams} streams",
            point["completeness_at_least"],
        ),
    )
    yield table(("what", "found", "at least"), [(what, found, f"{least:.3f}") for what, found, least in rows])
    yield (
        f"Each bound holds with a probability of at least {percent(1 - point['risk'])}. On average a stream cost "
        f"{_cost(point['cost'], facts['unit'])} and took {point['ticks']:.3g} ticks."
    )
    yield f"What this means:\n\n{MEANING}\n{ONE_POINT}"


def _promised(promise: PromiseFacts) -> str:
    risk = f"with a probability of at least {percent(1 - promise['risk'])}"
    each = {"labelled": ", of each label", "found": ", and as many of the streams of each class get its label"}
    per_class = each.get(promise.get("per_class") or "", "")
    accuracy = f"At least {percent(promise['accuracy'])} of the labels are right{per_class}"
    if promise["completeness"] is None:
        return f"{accuracy}. This holds {risk}; how many streams get a label was not certified."
    completeness = f"at least {percent(promise['completeness'])} of the streams get a label"
    return f"{accuracy}, and {completeness}. This holds {risk}."


def _evidence(promise: PromiseFacts) -> Iterable[Sequence[str]]:
    right, labelled, streams = (promise[name] for name in ("right", "labelled", "streams"))
    asked = promise["completeness"]
    accuracy, completeness = f"{right} of {labelled} labels", f"{labelled} of {streams} streams"
    yield "accuracy", f"at least {promise['accuracy']:.4g}", f"{_share(right, labelled)}: {accuracy}"
    promised = "nothing" if asked is None else f"at least {asked:.4g}"
    yield "completeness", promised, f"{_share(labelled, streams)}: {completeness}"


def _classes(promise: PromiseFacts) -> Iterable[Sequence[str]]:
    """Return how many streams of each class were labelled, and rightly."""
    for label, streams in promise["streams_of"].items():
        labelled, right = promise["labelled_as"][label], promise["right_of"][label]
        shares = (f"{right / n:.3f}" if n else "-" for n in (labelled, streams))
        yield (code(label), f"{streams:g}", f"{labelled:g}", f"{right:g}", *shares)


def _found_on(promise: PromiseFacts, unit: str | None) -> Iterable[str]:
    """Describe the result of the search; parts of it may be missing."""
    yield f"Found on {promise['streams']} streams that were kept apart."
    for name, p_value, part in (
        ("accuracy", promise.get("p_accuracy"), promise.get("accuracy_risk")),
        ("completeness", promise.get("p_completeness"), promise.get("completeness_risk")),
    ):
        if p_value is not None:
            allowed = promise["risk"] if part is None else part
            yield (
                f"So high a share has a probability of {p_value:.2g}, were the {name} just not kept; that had to "
                f"be at most {allowed:.4g}."
            )
    yield from (f"{sentence}." for sentence in caveats(promise))
    if "worst_group" in promise:
        worst = promise["worst_group"]
        yield (
            f"Of its groups {code(worst['group'])} fared worst: {worst['right']} of {worst['labelled']} labels "
            f"are right, of {worst['streams']} streams."
        )
    subsets, others = promise.get("subsets"), promise.get("searched_on")
    if subsets is not None and others is not None:
        yield f"The search tried {subsets} subsets of features on {others} other streams."
    yield f"On average a stream cost {_cost(promise['cost'], unit)} and took {promise['ticks']:.3g} ticks."
    everything = promise.get("all_features_cost")
    if everything is not None:
        yield _with_all_features(promise, everything, unit)


def _with_all_features(promise: PromiseFacts, everything: float, unit: str | None) -> str:
    """Compare with the cost of all features: per stream, or per label if no completeness is promised."""
    cost, what = promise["cost"], "it"
    if promise["completeness"] is None:
        what, cost = "a label", promise["cost"] * promise["streams"] / max(promise["labelled"], 1)
    times = f", {everything / cost:.2g} times as much" if cost > 0 else ""
    return (
        f"With all features that were searched, under the same promise, {what} would cost about "
        f"{_cost(everything, unit)}{times}."
    )


def _battery(facts: Facts) -> Iterable[str]:
    yield "## Battery life"
    nodes, radio, traffic = facts["nodes"], facts["radio"], facts["traffic"]
    if nodes is None or radio is None or traffic is None:
        yield f"Not known, since the messages of an episode are {UNKNOWN}."
        return
    if radio["unit"] == "joules":
        yield table(
            ("node", "messages a day", "energy a day", "of it for messages", "battery life"), _lives(nodes)
        )
    else:
        yield table(("node", "messages a day"), _messages_a_day(nodes))
    where = (
        "kept apart" if traffic["held_out"] else "that it was trained on, where decisions come slightly earlier"
    )
    yield (
        "In brackets: were every recorded column sent at every tick until the same decision. Each stream is "
        f"taken to be decided anew {time(facts['duty']['reopen_after'])} after its last decision. Its messages "
        f"were counted on {traffic['streams']} streams {where}. A node in several streams sends until the last is "
        "decided."
    )
    yield _radio(radio, facts["duty"])
    if _threshold(traffic) != _threshold(facts):
        yield (
            f"The messages were counted at a confidence threshold of {_said(_threshold(traffic), facts)}, and the "
            f"model's is {_said(_threshold(facts), facts)}."
        )


def _radio(radio: RadioFacts, duty: DutyFacts) -> str:
    if radio["unit"] != "joules":
        return (
            f"The profile {code(radio['name'])} counts messages, so that battery life is not known: name the "
            "radio to `streamfs card` (`--profile cc2420`)."
        )
    return (
        f"The radio is {code(radio['name'])}, which spends {joules(radio['message'])} on a message of "
        f"{radio['message_bytes']:g} bytes, is awake for another {number(duty['awake'])} s of each tick until a "
        f"decision, hears two control messages an episode, and else sleeps; a battery holds "
        f"{joules(duty['battery'])}. Nothing else is counted: no processor, no sensor beyond its price, nothing "
        "that is sent again, no ageing of the cells. "
        f"Of the radio's figures: {' '.join(radio['notes'].split()) or UNKNOWN}"
    )


def _messages_a_day(nodes: Sequence[NodeFacts]) -> Iterable[Sequence[str]]:
    for node in nodes:
        yield _node(node["node"]), f"{number(node['messages'])} ({number(node['all_columns']['messages'])})"


def _lives(nodes: Sequence[NodeFacts]) -> Iterable[Sequence[str]]:
    for node in nodes:
        other = node["all_columns"]
        yield (
            _node(node["node"]),
            f"{number(node['messages'])} ({number(other['messages'])})",
            f"{joules(node['joules'])} ({joules(other['joules'])})",
            f"{joules(node['sending'])} ({joules(other['sending'])})",
            f"**{life(node['days'])}** ({life(other['days'])})",
        )


def _channels(facts: Facts) -> Iterable[str]:
    radio, traffic = facts["radio"], facts["traffic"]
    unit = None if radio is None else radio["unit"]
    yield "## Channels"
    yield table(
        ("channel", "node", "messages a tick", "messages an episode", "cost an episode"),
        [
            (
                code(each["channel"]),
                _node(each["node"]),
                number(each["messages_a_tick"]),
                number(each["messages"]),
                _cost(each["cost"], unit),
            )
            for each in facts["channels"]
        ],
    )
    if facts["sends"] is not None:
        yield (
            f"Nodes compute the features, and send their {facts['sends']}: what they run is written by "
            f"`streamfs export --split {facts['sends']}`, and so is the model of the gateway."
        )
    later = {tick for each in facts["channels"] if (tick := split_opening(each["channel"])[1]) > 1}
    if later:
        ticks = listed([str(tick) for tick in sorted(later)])
        yield f"Channels that end in `@from` are asked for from tick {ticks} on, of streams that are undecided."
    if traffic is not None:
        yield f"An episode takes {traffic['ticks']:.3g} ticks on average{_paid(facts)}.{_priced(facts['prices'])}"


def _paid(facts: Facts) -> str:
    """Say what an episode costs, if that is known and if not messages alone are counted."""
    if facts["paid"] is None or facts["unit"] is None:
        return ""
    unit = None if facts["radio"] is None else facts["radio"]["unit"]
    return f", and costs the nodes of a stream {_cost(facts['paid'], unit)}, waiting and control messages included"


def _priced(prices: Mapping[str, float]) -> str:
    listing = ", ".join(f"{code(quantity)} {price:g} times" for quantity, price in prices.items())
    return f" A message costs a multiple of the radio's: {listing}." if listing else ""


def _features(facts: Facts) -> Iterable[str]:
    yield "## Features and classifier"
    rows = [(code(each["feature"]), _cost(each["each_cost"], facts["cost_unit"])) for each in facts["features"]]
    yield table(("feature", "cost a tick"), rows)
    yield _leans_on(facts)
    yield (
        "The costs are those that it was trained with; features that read the same channel share its messages. "
        f"Classified by {facts['classifier']}."
    )


def _leans_on(facts: Facts) -> str:
    """Say what kinds of features there are, and what becomes of them elsewhere."""
    reads = [each["reads"] for each in facts["features"]]
    n_level, n_difference, n_shape = (reads.count(kind) for kind in ("level", "difference", "shape"))
    return (
        f"Of these, {n_level} read levels, which differ from place to place, so that they seldom travel; "
        f"{n_difference} read differences of two nodes, which travel to nodes that agree as these do; {n_shape} "
        "read shapes, which neither level nor scale changes. Evaluate the model on labelled streams of another "
        "place before it serves there."
    )


def _data(facts: Facts) -> Iterable[str]:
    data = facts["data"]
    yield "## Data"
    if data is None:
        yield f"Its training data are {UNKNOWN}."
        return
    classes = ", ".join(f"{count} {code(label)}" for label, count in data["classes"].items())
    shortest, longest = data["shortest"], data["longest"]
    ticks = f"{longest}" if shortest == longest else f"{shortest} to {longest} (median {data['median']:g})"
    yield table(
        ("what", "is"),
        [
            ("streams", f"{data['streams']}: {classes}"),
            ("ticks of a stream", f"{ticks}, of {facts['period']:g} s"),
            ("columns", ", ".join(code(column) for column in data["missing"])),
            ("readings that are missing", _missing(data["missing"])),
            ("when and where they were recorded", UNKNOWN),
        ],
    )


def _missing(shares: Mapping[str, float]) -> str:
    parts = [f"{percent(share)} of {code(column)}" for column, share in shares.items() if share]
    return ", ".join(parts) if parts else "none"


def _made(facts: Facts) -> Iterable[str]:
    made = {name: UNKNOWN if value is None else value for name, value in facts["made"].items()}
    silence = facts["max_silence"]
    repeats = "never repeats its value" if silence is None else f"repeats its value after {time(silence)}"
    yield "## How it was made"
    yield (
        f"By streamfs {made['streamfs']}, numpy {made['numpy']} and Python {made['python']}, with seed "
        f"{made['seed']}. A channel that sends on change {repeats}."
    )


def _node(name: str) -> str:
    return code(name) if name else "the only one"


def _cost(value: float | None, unit: str | None) -> str:
    if value is None or unit is None:
        return number(value)
    return joules(value) if unit == "joules" else f"{number(value)} {unit}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"
