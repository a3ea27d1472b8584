"""The outcome of a gateway's run, and comparisons of two outcomes."""

import re
from collections import Counter
from contextlib import suppress
from typing import Any, NamedTuple

from gateway_process import GatewayProcess
from traffic import Sent
from witness import Publisher, retained

from streamfs.errors import LogError
from streamfs.gateway.core.records import MESSAGE
from streamfs.gateway.recovery import recover
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings_file import load_model
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.log_reader import extent, read_log
from streamfs.gateway.storage.segment import first_position, segments
from streamfs.gateway.storage.state import State, journal_path, log_folder

ATTEMPTS = 100  # to read a log from which segments may go to the spool meanwhile


class Account(NamedTuple):
    """What is on disk, the core recovered from it, and what the broker retains."""

    readings: list[Sent]
    decisions: dict[str, dict[str, Any]]
    energy: list[dict[str, Any]]
    spent: dict[str, Any]
    marks: dict[tuple[str, str], int]
    episodes: dict[str, dict[str, Any]]
    counters: Counter[str]
    retained: dict[str, bytes]


def take_account(gateway, broker):
    """Read the state of a stopped gateway, and what the broker retains."""
    settings = read_settings(gateway.config)
    model = load_model(settings)
    with State(settings.state) as state:
        core = recover(state, model, settings.bindings(model.channels), settings).core
        decisions = state.journal.decisions()
        ids = [decision["id"] for decision in decisions]
        assert len(ids) == len(set(ids)), "a decision is in the journal twice"
        return Account(
            read_readings(gateway),
            dict(zip(ids, decisions, strict=True)),
            state.journal.energy(),
            core.spent.nodes,
            {(node, channel): sequence for node, channel, sequence, _ in core.marks()},
            episodes(core),
            core.counters,
            {topic: _without_number(payload) for topic, payload in retained(broker).items()},
        )


def episodes(core):
    """Return the engine's state of each stream."""
    standing = {}
    for model in core.roster.models:
        header, arrays = model.engine.to_state()
        for row, stream in enumerate(header["names"]):
            if stream:
                known = {name: array[row].tobytes() for name, array in arrays.items()}
                standing[stream] = {"model": model.procedure.digest, **known}
    return standing


def _without_number(payload):
    """Return a retained message without the number of a control message, which begins with the time."""
    return re.sub(rb',"number":\d+', b"", payload)


def read_readings(gateway):
    """Return the messages in spool and log, in order, with duplicates."""
    records = []
    for folder in (gateway.folder / "spool", log_folder(gateway.state)):
        if folder.exists() and (paths := segments(folder)):
            records += [record for _, record in read_log(folder, first_position(paths[0]))]
    return [Sent(record.topic, record.payload) for record in records if record.kind == MESSAGE]


def n_logged(gateway):
    """Return the records in the log of a gateway that may be running."""
    folder = log_folder(gateway.state)
    for _ in range(ATTEMPTS):
        with suppress(LogError):
            return extent(folder).end if folder.exists() else 0
    return extent(folder).end


def rows(gateway):
    """Return the number of rows of each table of the journal; the gateway may be running."""
    with JournalReader(journal_path(gateway.state)) as journal:
        return journal.counts()


def await_readings(gateway, messages):
    """Wait until the gateway has all of these messages in its log."""
    wanted = set(messages)

    def is_logged():
        try:
            return wanted <= set(read_readings(gateway))
        except LogError:  # a segment has gone to the spool meanwhile
            return False

    gateway.await_that(is_logged, "not all messages are in the log")


def run_undisturbed(folder, broker, messages, **sections):
    """Run a gateway on all messages, without faults."""
    with GatewayProcess(folder, broker.url, **sections) as gateway, Publisher(broker) as publisher:
        gateway.start()
        gateway.await_ready()
        publisher.send(messages)
        publisher.await_taken()
        await_readings(gateway, messages)
        gateway.stop()
    return take_account(gateway, broker)


def assert_nothing_lost(account, undisturbed, *, is_in_order=True):
    """Check that a run has the outcome of the undisturbed one: sample by sample, decision by decision."""
    assert set(account.readings) == set(undisturbed.readings)
    assert account.decisions == undisturbed.decisions
    made = [(line["stream"], line["episode"]) for line in account.energy if line["kind"] == "decision"]
    assert len(made) == len(set(made)), "a decision was made twice"
    assert account.spent == undisturbed.spent
    assert account.marks == undisturbed.marks
    assert account.episodes == undisturbed.episodes
    assert account.retained == undisturbed.retained
    if is_in_order:
        assert account.energy == undisturbed.energy


def assert_published(witness, undisturbed):
    """Check that each decision was published, always with the same content."""
    assert witness.decisions.keys() == undisturbed.decisions.keys()
    for decision, payloads in witness.decisions.items():
        assert len(set(payloads)) == 1, f"{decision} was published with different contents"
