"""States of two gateways that share the work, before and after a zone has moved between them."""

from helpers.procedures import channels_procedure
from helpers.records import Models, content, make_options, message

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.records import clock_record, start_record, stop_record
from streamfs.gateway.core.shards import Shard, Share
from streamfs.gateway.move import LEAVING
from streamfs.gateway.recovery import resume
from streamfs.gateway.settings.moved_zones import read_moved
from streamfs.gateway.storage.journal import Entry
from streamfs.gateway.storage.state import State

MODELS = Models(channels_procedure("x", time_limit=4))
NODES = tuple(f"n{i}" for i in range(6))


def run_both(folder):
    """Leave the states ``giving`` and ``taking`` in a folder, and return a stream that may move."""
    run_before(folder / "taking", 2, 11.0)
    return next(iter(run_before(folder / "giving", 1, 12.0)))


def run_before(folder, number, end):
    """Leave the state of a gateway of one of two shards that has run until a time."""
    bindings = Bindings.single(MODELS.first.channels, NODES).of_share(Share(Shard(number, 2)))
    core, effects = Core(MODELS.first, bindings, make_options(lateness=1.0, reopen_after=3.0), MODELS), Effects()
    of_nodes = [message(node, 0.5 + tick, tick % 3 / 2, tick) for tick in range(9) for node in bindings.streams]
    runs = [start_record(MODELS.first.digest, 0.0, core.configuration)], of_nodes, [clock_record(end)]
    with State(folder) as state:
        state.models.keep_model(MODELS.first.packed)
        for records in (*runs, [stop_record(end)]):
            effects = core.take(records)
            position = state.log.append(records)
            state.log.sync()
            of_journal = effects.decisions, effects.publications, effects.energy
            state.journal.commit(Entry(position, *of_journal))
    return bindings.streams


def left_behind(folder):
    """Return all that a state holds, and that gateways look at."""
    with State(folder) as state:
        core = resume(state).core
        publications = [publication for _, publication in state.journal.outbox()]
        return (
            content(core),
            state.journal.decisions(),
            publications,
            read_moved(folder),
            (folder / LEAVING).exists(),
        )
