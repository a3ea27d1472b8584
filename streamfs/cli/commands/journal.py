"""Show the files of a gateway's state."""

from math import inf, nan
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.parameters import JSON, Parsed, example_text, moment

if TYPE_CHECKING:
    from streamfs.gateway.storage.journal_reader import JournalReader

Rows = list[dict[str, Any]]

_PAUSE = 0.5  # seconds between looks for new decisions
_SHOWN = 24  # characters of a payload in a table
_LEFT_OUT = ("id", "content_type")  # in tables
_PARTS = ("summary", "decisions", "energy", "outbox", "snapshots", "log")


@click.command(
    epilog=example_text(
        "streamfs journal state",
        "streamfs journal state decisions --last 5",
        "streamfs journal state decisions --stream pair-7 --since 2026-11-23T08:00",
        "streamfs journal state decisions --follow",
        "streamfs journal state energy --last 100000 --json > energy.jsonl",
        "streamfs journal state --verify",
    )
)
@click.argument("state", type=click.Path(file_okay=False, path_type=Path))
@click.argument("part", default="summary", metavar="[PART]", type=click.Choice(_PARTS))
@click.option("--last", default=20, show_default=True, type=click.IntRange(1), help="Maximum number of rows.")
@click.option("--stream", help="Only decisions of this stream.")
@click.option(
    "--since",
    type=Parsed("time", moment),
    default=None,
    metavar="TIME",
    help="Only decisions from this time on: 2026-11-23T08:00 (local), or 90m for 90 minutes ago.",
)
@click.option("--follow", is_flag=True, help="Go on with decisions as they fall, until stopped (Ctrl-C).")
@click.option("--verify", is_flag=True, help="Check every file; exit with 1 if one is damaged.")
@JSON
def journal(
    state: Path,
    part: str,
    last: int,
    stream: str | None,
    since: float | None,
    follow: bool,
    verify: bool,
    as_json: bool,
) -> None:
    """Show the folder STATE of a gateway, which may be running.

    PART is summary (the default), decisions, energy, outbox (messages not yet confirmed by the broker), snapshots
    or log (messages received). The newest rows are shown, of the outbox the next, in order; with --json each is a
    line. With --verify, each file is read whole instead and reported.
    """
    if part != "decisions" and (stream is not None or since is not None or follow):
        raise click.UsageError(f"--stream, --since and --follow are for decisions, not for {part}.")
    from streamfs.cli import console
    from streamfs.gateway.storage.journal_reader import JournalReader
    from streamfs.gateway.storage.state import journal_path

    if verify:
        _verify(state, as_json=as_json)
        return
    earliest = -inf if since is None else since
    with JournalReader(journal_path(state)) as reader:
        if follow:
            _follow(reader, last, stream, earliest, as_json=as_json)
            return
        if part == "decisions":
            rows = reader.decisions(last, stream=stream, since=earliest)
        else:
            rows = _rows(state, reader, part, last)
    if as_json:
        for row in rows:
            console.print_json(row)
    elif rows:
        console.print_table(_table(part, rows))
    else:
        console.say(f"{part}: nothing")


def _verify(state: Path, *, as_json: bool) -> None:
    """Report each file of a state; end with 1 if one is damaged."""
    from streamfs.cli import console
    from streamfs.gateway.storage.verification import verify_state

    n_damaged = 0
    for file, problem in verify_state(state):
        n_damaged += bool(problem)
        if as_json:
            console.print_json({"file": file, "problem": problem or None})
        else:
            click.echo(problem or f"{file}: whole")
    if n_damaged:
        raise SystemExit(1)


def _follow(reader: "JournalReader", last: int, stream: str | None, since: float, *, as_json: bool) -> None:
    """Print the newest decisions, and then each as it falls."""
    from streamfs.cli import console
    from streamfs.procedure.procedure import Decision

    number = max(0, reader.highest_numbers()["decisions"] - last)
    while True:
        for found, row in reader.decisions_after(number):
            number = found
            if stream in (None, row["stream"]) and (row["time"] is None or row["time"] >= since):
                known = {name: nan if row[name] is None else row[name] for name in ("confidence", "cost", "time")}
                decision = {name: value for name, value in row.items() if name != "id"}
                console.print_decision(Decision(**(decision | known)), as_json=as_json)
        sleep(_PAUSE)


def _rows(state: Path, reader: "JournalReader", part: str, last: int) -> Rows:
    if part == "energy":
        return reader.energy(last)
    if part == "snapshots":
        return reader.snapshot_sizes()[-last:]
    if part == "outbox":
        return [
            {"number": number, **publication._asdict(), "payload": _text(publication.payload)}
            for number, publication in reader.outbox(limit=last)
        ]
    return _log(state, last) if part == "log" else [_summary(state, reader)]


def _summary(state: Path, reader: "JournalReader") -> dict[str, Any]:
    from streamfs.gateway.storage.log_reader import extent
    from streamfs.gateway.storage.state import log_folder

    start, end, n_segments, n_bytes = extent(log_folder(state))
    return {
        "position": reader.committed_position(),
        **reader.counts(),
        "log_start": start,
        "log_end": end,
        "log_segments": n_segments,
        "log_bytes": n_bytes,
    }


def _log(state: Path, last: int) -> Rows:
    from streamfs.gateway.core.records import CLOCK, MESSAGE, MODEL, SETTINGS, START
    from streamfs.gateway.storage.log import read_log
    from streamfs.gateway.storage.log_reader import extent
    from streamfs.gateway.storage.state import log_folder

    kinds = {MESSAGE: "message", CLOCK: "clock", MODEL: "model", START: "start", SETTINGS: "settings"}
    folder = log_folder(state)
    start, end, *_ = extent(folder)
    return [
        {
            "position": position,
            **record._asdict(),
            "kind": kinds.get(record.kind),
            "payload": _text(record.payload),
        }
        for position, record in read_log(folder, max(start, end - last))
    ]


def _table(part: str, rows: Rows) -> Rows:
    """Return the fields that fit into a table."""
    if part == "summary":
        return [{"what": name.replace("_", " "), "number": number} for name, number in rows[0].items()]
    if part == "energy":
        names = ("kind", "stream", "node", "messages", "energy", "unit")
        return [{name: _cell(name, row.get(name, "")) for name in names} for row in rows]
    return [{name: _cell(name, value) for name, value in row.items() if name not in _LEFT_OUT} for row in rows]


def _cell(name: str, value: Any) -> Any:
    from rich.markup import escape

    if not isinstance(value, str):
        return value
    text = "".join(character if character.isprintable() else "." for character in value)
    return escape(f"{text[:_SHOWN]}..." if name == "payload" and len(text) > _SHOWN else text)


def _text(payload: bytes) -> str:
    return payload.decode(errors="backslashreplace")
