"""What is wrong with a world's outcome, beside the naive gateway and a core that nothing has befallen."""

from collections import Counter
from math import inf

import orjson
from devices import disobedient, untold
from fault import HARMLESS
from helpers.records import content
from oracles.gateway import NaiveGateway
from scenario import COMMANDS, LATENESS, NODES, bindings, honest_streams, models, options_of

from streamfs.errors import ModelError, StateError
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import CLOCK, MESSAGE, MODEL, START

HONEST = {f"sensors/{node}/x" for node in NODES}  # topics of readings that every model reads
DECISION, CONTROL = "streamfs/decision/", "streamfs/control/"


def problems_of(scenario, outcome):
    """Return what is wrong: each begins with lost, doubled, changed or refused."""
    kinds = {fault.kind for fault in scenario.faults}
    if {"lie", "power"} <= kinds:  # what was acknowledged may be lost
        is_well = outcome.refusal is None or isinstance(outcome.refusal, (StateError, ModelError))
        return [] if is_well else [f"refused: {outcome.refusal}"]
    if outcome.refusal is not None:
        return [f"refused: {outcome.refusal}"]
    checks = [check_log, check_time, check_silence, check_pace, check_core, check_decisions, check_published]
    return [problem for check in checks for problem in check(scenario, outcome, kinds)]


def check_log(scenario, outcome, kinds):
    """Every message that was acknowledged is in the log, and nothing that was not sent."""
    sent = dict(enumerate([*((each.topic, each.payload) for each in scenario.messages), *outcome.said], 1))
    logged = {(record.topic, record.payload) for record in outcome.records if record.kind == MESSAGE}
    lost = [number for number in outcome.acknowledged if sent[number] not in logged]
    if lost:
        yield f"lost: messages {lost} were acknowledged, but are not in the log"
    if logged - set(sent.values()):
        yield f"changed: {logged - set(sent.values())} in the log were never sent"
    if kinds <= set(HARMLESS):
        missing = [n for n, each in enumerate(scenario.messages, 1) if each.qos and sent[n] not in logged]
        if missing:
            yield f"lost: messages {missing} never arrived"


def check_time(_, outcome, __):
    """No reading of an honest node, and no run, is of an earlier time than readings and silence before it."""
    latest = -inf
    for place, record in enumerate(outcome.records):
        if (record.kind == START or record.topic in HONEST) and record.arrival < latest:
            yield f"changed: record {place} is of {record.arrival}, after one of {latest}"
        if record.kind == CLOCK or record.topic in HONEST:
            latest = max(latest, record.arrival)


def check_silence(scenario, outcome, _):
    """Silence is proved after all that honest nodes had sent before has come, apart from what never comes."""
    came = {}
    for place, record in enumerate(outcome.records):
        came.setdefault((record.topic, record.payload), place)
    sent = [(each.time, came.get(each[1:3], 0)) for each in scenario.messages if each.topic in HONEST]
    for place, record in enumerate(outcome.records):
        if record.kind == CLOCK:
            early = [time for time, other in sent if time < outcome.asked[record.arrival] and other > place]
            if early:
                yield f"changed: silence was proved at record {place}, before what was sent at {early} had come"


def check_pace(scenario, outcome, _):
    """No honest stream has more decisions than seconds have passed, however far the wall clock was set."""
    seconds = max([scenario.end, *outcome.asked.values()])
    numbers = Counter(decision["stream"] for decision in outcome.decisions)
    disturbed = {*bindings(scenario.kind).streams} - {*honest_streams(scenario.kind)}
    for stream, number in numbers.items():
        if number > seconds and stream not in disturbed:
            yield f"changed: {stream} has {number} decisions of {seconds:.0f} s"


def check_core(scenario, outcome, _):
    """The records have had the effects that they have at once."""
    known = models(scenario.kind)
    first = next(known(record.topic) for record in outcome.records if record.kind == START)
    core = Core(first, bindings(scenario.kind), options_of(scenario), known)
    effects = core.take(outcome.records)
    decisions = [decision.to_json() for decision in effects.decisions]
    if decisions != outcome.decisions:
        yield f"changed: the journal has decisions {outcome.decisions}, the records give {decisions}"
    energy = [orjson.loads(orjson.dumps(line)) for line in effects.energy]
    if energy != outcome.energy:
        yield "changed: the journal has another account of energy than the records give"
    yield from check_devices(effects, core, outcome)
    if core.to_state()() != outcome.snapshot:
        restored = Core.from_state(outcome.snapshot, known)
        differing = [
            name
            for name, one, other in zip(
                ("header", "arrays", "sealed"), content(core), content(restored), strict=True
            )
            if one != other
        ]
        if differing:
            yield f"changed: the gateway's state differs from what the records give: {differing}"


def check_devices(effects, core, outcome):
    """Devices were asked all that the records ask of them, and those that obey do what was wanted last."""
    if lost := untold(effects.publications, outcome.published):
        yield f"lost: devices were not asked {sorted(lost)}"
    for name, does, wanted in disobedient(outcome.devices, core.conduct):
        yield f"changed: {name} reports every {does} s, wanted is {wanted}"


def check_decisions(scenario, outcome, kinds):
    """The decisions on streams of honest nodes, and what of theirs had come before, are those of the slow twin.

    It knows no devices, nor that where channels open later, an episode after the first, or of another model, waits
    for new values.
    """
    if scenario.kind == "devices" or (scenario.kind == "later" and "reload" in kinds):
        return
    streams = honest_streams(scenario.kind)
    twin = slow_twin(scenario, outcome.records, streams)
    known = [decision for decision in outcome.decisions if decision["stream"] in streams]
    most = 1 if scenario.kind == "later" else inf
    found, expected = (
        sorted((d for d in decisions if d["episode"] <= most), key=lambda d: d["id"])
        for decisions in (known, twin.decisions)
    )
    if found != expected:
        yield f"changed: decisions are {found}, the naive gateway's {expected}"
    found, expected = (
        {node: counted.get(node, 0) for node in NODES} for counted in (outcome.duplicates, twin.duplicates)
    )
    if found != expected:
        yield f"changed: {found} readings were duplicates, for the naive gateway {expected}"


def slow_twin(scenario, records, streams):
    """Return the naive gateway after these records, on some of the streams."""
    known, bound = models(scenario.kind), bindings(scenario.kind)

    def followed(digest):
        procedure = known(digest)
        found = bound.with_channels(procedure.channels)
        return procedure, {stream: found.sources(stream) for stream in streams}

    first = next(record.topic for record in records if record.kind == START)
    options = scenario.options
    twin = NaiveGateway(*followed(first), LATENESS, options["grace"], options["reopen_after"])
    for record in records:
        if record.kind == START:
            twin.resume(record.arrival)
        if record.kind in (START, MODEL) and record.topic != twin.procedure.digest:
            twin.follow(*followed(record.topic))
        if record.kind == CLOCK:
            twin.prove(record.arrival)
        if record.kind == MESSAGE:
            tell(twin, record)
    return twin


def tell(twin, record):
    """Let the naive gateway take a message."""
    source = tuple(record.topic.split("/")[1:])
    if record.topic == COMMANDS:
        twin.reopen([*twin.decided])
    elif source in twin.bound:
        reading = orjson.loads(record.payload)
        twin.take(*source, reading["t"], reading["v"], reading.get("seq"), record.arrival)


def channels(control):
    """Return what a control message asks for."""
    return orjson.loads(control)["channels"] if control else []


def check_published(scenario, outcome, kinds):
    """Every decision was published, always the same, in order; and what the broker retains is the newest.

    What the broker has refused may still wait for its next attempt, and comes out of order.
    """
    known = {}
    for _, publication in outcome.published:
        if publication.topic.startswith(DECISION) and publication.payload:
            decision = orjson.loads(publication.payload)
            if known.setdefault(decision["id"], publication.payload) != publication.payload:
                yield f"doubled: {decision['id']} was published with different contents"
    if "refuse" not in kinds:
        yield from check_order(outcome)
    if not outcome.refused:
        missing = sorted(set(known) ^ {decision["id"] for decision in outcome.decisions})
        if missing:
            yield f"lost: {missing} was published or decided, not both"
        yield from check_retained(scenario, outcome, kinds)


def check_order(outcome):
    """On each connection, decisions were published in the order of the journal."""
    place = {decision["id"]: place for place, decision in enumerate(outcome.decisions)}
    connection = newest = -1
    for at, publication in outcome.published:
        if at != connection:
            connection, newest = at, -1
        if publication.topic.startswith(DECISION) and publication.payload:
            known = orjson.loads(publication.payload)["id"]
            if place.get(known, newest) < newest:
                yield f"changed: {known} was published after later decisions"
            newest = max(newest, place.get(known, newest))


def check_retained(_, outcome, kinds):
    """The broker retains what each node is to send, and the newest decisions unless it has forgotten them."""
    for topic, payload in outcome.requested.items():
        if channels(outcome.retained.get(topic)) != channels(payload):
            yield f"changed: the broker retains {outcome.retained.get(topic)} of {topic}, expected {payload}"
    if "forget" in kinds:
        return
    newest = {}
    for decision in outcome.decisions:
        newest[DECISION + decision["stream"]] = decision["id"]
    retained = {
        topic: orjson.loads(payload)["id"]
        for topic, payload in outcome.retained.items()
        if topic.startswith(DECISION) and payload
    }
    if retained != newest:
        yield f"changed: the broker retains decisions {retained}, expected {newest}"
