"""Records as a gateway takes them, and a core that takes them in pieces."""

from itertools import cycle, islice

import orjson

from streamfs.base import container
from streamfs.gateway.core.core import KIND, VERSION, Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.core.options import AfterWithdrawal, DeviceReturn, Drift, Limits, Options, StreamTimes, Time
from streamfs.gateway.core.records import MESSAGE, Record, start_record


def message(node, time, value, sequence=None, channel="x", arrival=None):
    """One reading."""
    payload = {"v": value} if time is None else {"t": time, "v": value}
    if sequence is not None:
        payload["seq"] = sequence
    return raw(f"sensors/{node}/{channel}", orjson.dumps(payload), time or 0.0 if arrival is None else arrival)


def batch(node, time, values, sequence=None, channel="x", arrival=None):
    """Several readings of one channel in a message, a second apart."""
    payload = {"t0": time, "dt": 1.0, "v": values} | ({} if sequence is None else {"seq": sequence})
    return raw(f"sensors/{node}/{channel}", orjson.dumps(payload), time if arrival is None else arrival)


def raw(topic, payload, arrival=0.0):
    return Record(MESSAGE, arrival, topic, payload)


def label(stream, text, arrival=0.0):
    return raw(f"streamfs/label/{stream}", text.encode(), arrival)


def command(payload, arrival=0.0):
    return raw("streamfs/command/gateway", orjson.dumps(payload), arrival)


class Models:
    """Procedures by their digests."""

    def __init__(self, *procedures):
        self.first = procedures[0]
        self._of = {procedure.digest: procedure for procedure in procedures}

    def __iter__(self):
        return iter(self._of)

    def __call__(self, digest):
        return self._of[digest]


def make_options(**values):
    """Return options from their keys, whatever their sections are."""
    sections = {"time": Time, "limits": Limits, "streams": StreamTimes, "promise": AfterWithdrawal, "drift": Drift}
    sections["devices"] = DeviceReturn  # last: of keys that it shares, the promise has them
    given = {}
    for name, section in sections.items():
        own = {key: values.pop(key) for key in tuple(values) if key in declared(section)}
        if own:
            given[name] = section(**own)
    return Options(**values, **given)


EVICTING = {"streams_when_full": "evict", "evicted_per_hour": 1e6}
"""Options that evict whenever there are too many streams."""


def new_core(models, bindings, **options):
    """Return a core at the begin of a run, and the effects of that."""
    core = Core(models.first, bindings, make_options(**options), models)
    return core, core.take([start_record(models.first.digest, 0.0)])


def restored(core, models):
    """Return what goes on from the core's snapshot."""
    return Core.from_state(core.to_state()(), models)


def take_divided(core, records, sizes, models, *, restoring=False):
    """Let records have their effects, in pieces of these sizes; return the last core and all effects."""
    effects, rest, pieces = Effects(), iter(records), cycle(sizes)
    while piece := list(islice(rest, next(pieces))):
        effects.add(core.take(piece))
        if restoring:
            core = restored(core, models)
    return core, effects


def content(core):
    """Everything that a core's snapshot holds, number for number; padding has none."""
    header, arrays, sealed = container.unpack(core.to_state()(), KIND, VERSION, "the snapshot")
    numbers = {name: repr(array.tolist()) for name, array in arrays.items()}
    return header, numbers, {name: data for name, data in sealed.items() if not name.startswith("river")}


def outcome(core, effects):
    """The effects and state of a core, in a form that can be compared."""
    return {
        "decisions": [decision.to_json() for decision in effects.decisions],
        "publications": effects.publications,
        "energy": effects.energy,
        "rejected": effects.rejected,
        "counters": dict(core.counters),
        "decided": dict(core.decided),
        "spent": core.spent,
        "marks": core.marks(),
        "current": core.roster.control_states(),
    }


def control_messages(publications, prefix="streamfs"):
    """Return the last control message to each node, by name; an empty one removes the retained message."""
    topic = f"{prefix}/control/"
    return {
        publication.topic.removeprefix(topic): orjson.loads(publication.payload or b'{"channels":[]}')
        for publication in publications
        if publication.topic.startswith(topic)
    }


def requested_channels(publications):
    return {node: message["channels"] for node, message in control_messages(publications).items()}


def ids(decisions):
    return [f"{decision.stream}/{decision.episode}" for decision in decisions]


def check_divided(models, bindings, options, records, sizes, *, restoring):
    """The same records have the same effects however they are divided, through snapshots if restored."""
    whole, _ = new_core(models, bindings, **options)
    expected = whole.take(records)
    core, _ = new_core(models, bindings, **options)
    core, effects = take_divided(core, records, sizes, models, restoring=restoring)
    assert outcome(core, effects) == outcome(whole, expected)
    assert content(core) == content(whole)
    assert outcome(core, core.finish()) == outcome(whole, whole.finish())
