"""Translate a model to C."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.compiled import require_equal
from streamfs.cli.parameters import FOLDER, JSON, MODEL, TRUST, Parsed, example_text
from streamfs.cli.recordings import Recordings, recordings
from streamfs.cli.split_export import require_splitting, split_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.translation.parts import Sources
    from streamfs.translation.precision import Precision
    from streamfs.translation.self_test import Expected

PRECISIONS = ("double", "float")
TARGETS = ("c", "arduino", "esphome", "zephyr", "micropython")
SENDS = ("values", "crossings")
MOST_TESTS = 20


@click.command(
    epilog=example_text(
        "streamfs export pairs.streamfs new.csv -o pairs_c",
        "make -C pairs_c test",
        "streamfs export pairs.streamfs -o pairs --name pairs --target arduino",
        "streamfs export pairs.streamfs new.csv --estimate --precision float --exact",
        "streamfs export rooms.streamfs new.csv -o rooms_c --split crossings",
    )
)
@MODEL
@recordings(period=False, required=False)
@click.option("-o", "--out", type=FOLDER, help="Folder for the files.")
@click.option("--estimate", is_flag=True, help="Say what the model takes of microcontrollers.")
@click.option(
    "--resolution",
    "resolutions",
    multiple=True,
    type=Parsed("column=step", parameters.resolution),
    callback=parameters.prices,
    help="Step of which readings of a column are multiples, such as temperature=0.0625; may be repeated. A forest "
    "of counts and readings alone then takes less flash.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Compile the model here, and refuse it if it decides one of STREAMS otherwise than a gateway.",
)
@click.option(
    "--name", default="model", show_default=True, help="Name of the files, and prefix of what they declare."
)
@click.option(
    "--target",
    type=click.Choice(TARGETS),
    default=TARGETS[0],
    show_default=True,
    help="For which build system: a library of Arduino, an external component of ESPHome, a module of Zephyr, or "
    "plain Python for MicroPython.",
)
@click.option(
    "--precision",
    type=click.Choice(PRECISIONS),
    help="Of the numbers. In double precision the decisions are those of a gateway.  [default: double; float for "
    "arduino and micropython, whose small boards have no other]",
)
@click.option(
    "--split",
    "sends",
    type=click.Choice(SENDS),
    help="Let nodes compute the features, and a gateway decide: nodes send each new value of a feature, or only "
    "its crossings of the thresholds of a tree or a forest. The gateway's model is written, too; with STREAMS, "
    "what is sent of them is stated, beside what readings would take.",
)
@TRUST
@JSON
def export(
    model: Path,
    streams: Recordings,
    out: Path | None,
    estimate: bool,
    resolutions: dict[str, float],
    exact: bool,
    name: str,
    target: str,
    precision: str | None,
    sends: str | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Write MODEL as C, for nodes that decide by themselves.

    Features, classifier, calibration, stopping rule and report policies become one file in C99 and its header,
    which allocate nothing, have no state of their own, and need no library but that of mathematics. With STREAMS
    there is a test, too: a program that takes the first of them to the model, and compares its decisions with
    those of streamfs.
    """
    from streamfs.cli import console
    from streamfs.errors import TranslationError
    from streamfs.procedure.procedure import Procedure
    from streamfs.procedure.split import split
    from streamfs.translation.model import translate
    from streamfs.translation.precision import DOUBLE, FLOAT
    from streamfs.translation.sending import translate_sending

    _require_use(out, estimate=estimate, exact=exact, streams=streams)
    if target == "micropython" and resolutions:
        raise click.UsageError("--resolution is for targets in C")
    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--out": out and out / f"{name}.c"})
    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    precision = precision or ("float" if target in ("arduino", "micropython") else "double")
    if sends is not None:
        others = {"--exact": exact, "--resolution": bool(resolutions)}
        require_splitting(
            target, others, rounds=sends == "values" and precision == "float" and bool(streams.paths)
        )
    reals = DOUBLE if precision == "double" else FLOAT
    recorded = _recorded(procedure, streams, None if exact else MOST_TESTS) if streams.paths else None
    n_tests = 0 if recorded is None else len(recorded)
    try:
        if sends is not None:
            halves = split(procedure, sends)
            sources = translate_sending(procedure, halves, name, reals)
            files, found = split_files(procedure, halves, sources, reals, recorded)
        else:
            expected = [] if recorded is None else _expected(procedure, recorded)
            sources = translate(procedure, name, reals, resolutions)
            files, found = _written(procedure, sources, target, reals, expected[:MOST_TESTS])
            if exact:
                require_equal(procedure, reals, expected, resolutions)
        if estimate:
            counted = None if sends is not None else _operations(procedure, recorded)
            found |= {"processors": _estimates(sources, reals, counted)}
    except TranslationError as error:
        raise TranslationError(f"{model}: {error}") from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--name") from error
    if out is not None:
        found = {"files": _write(out, files), **found}
    found |= {"precision": precision, "n_tests": min(n_tests, MOST_TESTS), "n_equal": n_tests * exact}
    if as_json:
        console.print_json(found)
    else:
        _say(found, out, f"python {out}/self_test.py" if target == "micropython" else None)


def _require_use(out: Path | None, *, estimate: bool, exact: bool, streams: Recordings) -> None:
    """Raise a UsageError if nothing is asked for, or something without which it cannot be."""
    if out is None and not estimate:
        raise click.UsageError("--out is missing, or --estimate")
    if exact and not streams.paths:
        raise click.UsageError("--exact needs STREAMS, on which decisions are compared")


def _say(found: dict[str, Any], out: Path | None, test: str | None) -> None:
    """Say what was exported, and how to test it."""
    from streamfs.cli import console

    if out is not None:
        test = test or f"make -C {out / found['test']} test"
        console.say(f"wrote {', '.join(found['files'])}")
        console.say(f"next: {test}" if found["n_tests"] else "with STREAMS there is a test, too")
    if "bytes_a_stream" in found:
        console.say(f"memory      {found['bytes_a_stream']} bytes a stream")
    if "messages_a_stream" in found:
        sent = ", ".join(f"{n:.4g} by {sends}" for sends, n in found["messages_a_stream"].items())
        console.say(f"messages    a stream: {sent}")
    if found["n_equal"]:
        console.say(f"exact       all of {found['n_equal']} streams are decided alike, at the same tick")
    if "processors" in found:
        _say_estimates(found["processors"])


def _say_estimates(processors: list[dict[str, Any]]) -> None:
    """Print what a model takes of processors, and below which were not measured."""
    from streamfs.cli import console

    notes = {row["processor"]: row["+-"] for row in processors if "measured" in row["+-"]}
    shown = [
        {name: "-" if cell == notes.get(row["processor"]) else cell for name, cell in row.items()}
        for row in processors
    ]
    console.print_table(shown, "bytes; flash without the compiler's library; stack and cycles with it")
    for processor, note in notes.items():
        console.say(f"note: {processor} was {note}")


def _write(out: Path, files: dict[str, str | bytes]) -> list[str]:
    """Write files; return their paths."""
    for file, content in files.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_bytes(content.encode() if isinstance(content, str) else content)
    return [str(out / file) for file in files]


def _operations(procedure: "Procedure", recorded: "StreamSet | None") -> dict[str, float]:
    """Return a model's operations a tick, of recorded streams or else of noise."""
    import numpy as np

    from streamfs.translation.model import columns_of
    from streamfs.translation.operations import noise, operations

    if recorded is None:
        return operations(procedure, noise(procedure))
    order = [recorded.columns.index(column) for column in columns_of(procedure)]
    streams = zip(recorded.values[:MOST_TESTS], recorded.lengths, strict=False)
    return operations(procedure, np.concatenate([rows[:n, order] for rows, n in streams]))


def _estimates(sources: "Sources", reals: "Precision", counted: dict[str, float] | None) -> list[dict[str, Any]]:
    """Return what a model takes of each processor that has numbers of a precision; with operations, cycles too."""
    from streamfs.translation.estimate import SAME_CODE, cycles, estimate, processors

    rows = []
    for processor in processors(reals):
        found, other = estimate(sources, reals, processor), SAME_CODE.get(processor)
        unmeasured = None if other is None else f"not measured: as {other}"
        row = {
            "processor": processor,
            "flash": found.flash,
            "+-": unmeasured or f"{100 * found.error:.0f} %",
            "RAM a stream": found.ram,
            "stack": found.stack,
        }
        if counted is not None:
            n, error = cycles(counted, reals, processor)
            row |= {"cycles a tick": n, "+- of cycles": unmeasured or f"{100 * error:.0f} %"}
        rows.append(row)
    return rows


def _written(
    procedure: "Procedure", sources: "Sources", target: str, reals: "Precision", expected: "Sequence[Expected]"
) -> tuple[dict[str, str | bytes], dict[str, Any]]:
    """Return the files of a target by their paths, and what is known of them."""
    from streamfs.translation.estimate import ram_of
    from streamfs.translation.layouts import LAYOUTS
    from streamfs.translation.model import columns_of
    from streamfs.translation.plain_model import plain_test, translate_plainly
    from streamfs.translation.self_test import makefile, self_test

    name = sources.name
    if target == "micropython":
        plain: dict[str, str | bytes] = {f"{name}.py": translate_plainly(procedure, reals)}
        return plain | ({"self_test.py": plain_test(name, expected, reals)} if expected else {}), {}
    layout = LAYOUTS[target]
    files: dict[str, str | bytes] = {**layout.files(sources, procedure.period, columns_of(procedure))}
    if expected:
        files |= {
            f"{layout.test}/self_test.c": self_test(sources, reals, expected),
            f"{layout.test}/Makefile": makefile(name, layout.sources_from_test(name)),
        }
    return files, {"bytes_a_stream": ram_of(sources, reals), "test": layout.test}


def _recorded(procedure: "Procedure", streams: Recordings, most: int | None) -> "StreamSet":
    """Return the first of some recorded streams, or all."""
    from streamfs.cli import console
    from streamfs.procedure.fits import require_columns

    with console.progress() as report, step(report, "reading the streams"):
        recorded = streams.read(procedure.period, labelled=False)
    require_columns(procedure, recorded, streams)
    return recorded.take(range(len(recorded) if most is None else min(len(recorded), most)))


def _expected(procedure: "Procedure", recorded: "StreamSet") -> "list[Expected]":
    """Return the readings of recorded streams, and what is decided of them."""
    from streamfs.evaluation.evaluation import replay
    from streamfs.translation.model import columns_of
    from streamfs.translation.self_test import UNLABELLED, Expected

    order = [recorded.columns.index(column) for column in columns_of(procedure)]
    decided = {decision.stream: decision for decision in replay(procedure, recorded)}
    opened = recorded.seen_through(procedure.channels, procedure.max_silence).episodes()
    expected = []
    for place, name in enumerate(recorded.names):
        decision, length = decided[name], int(recorded.lengths[place])
        before = length - int(opened.lengths[place])  # ticks until the episode opens
        answer = UNLABELLED[decision.reason] if decision.label is None else procedure.classes.index(decision.label)
        n_taken = length if answer == UNLABELLED["closed"] else before + decision.tick
        expected.append(Expected(recorded.values[place, :length, order].T, answer, n_taken))
    return expected
