"""Translate a model to C."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.parameters import FOLDER, JSON, MODEL, TRUST, example_text
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamfs.procedure.procedure import Procedure
    from streamfs.translation.precision import Precision
    from streamfs.translation.self_test import Expected

PRECISIONS = ("double", "float")
TARGETS = ("c", "arduino", "esphome", "zephyr", "micropython")
MOST_TESTS = 20


@click.command(
    epilog=example_text(
        "streamfs export pairs.streamfs new.csv -o pairs_c",
        "make -C pairs_c test",
        "streamfs export pairs.streamfs -o pairs --name pairs --target arduino",
    )
)
@MODEL
@recordings(period=False, required=False)
@click.option("-o", "--out", required=True, type=FOLDER, help="Folder for the files.")
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
@TRUST
@JSON
def export(
    model: Path,
    streams: Recordings,
    out: Path,
    name: str,
    target: str,
    precision: str | None,
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
    from streamfs.translation.precision import DOUBLE, FLOAT

    parameters.protect_inputs({"MODEL": model, **streams.inputs}, {"--out": out / f"{name}.c"})
    console.announce_compiling()
    procedure = Procedure.load(model, trust=trust)
    precision = precision or ("float" if target in ("arduino", "micropython") else "double")
    reals = DOUBLE if precision == "double" else FLOAT
    expected = _expected(procedure, streams) if streams.paths else []
    try:
        files, found = _written(procedure, name, target, reals, expected)
    except TranslationError as error:
        raise TranslationError(f"{model}: {error}") from error
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--name") from error
    for file, text in files.items():
        (out / file).parent.mkdir(parents=True, exist_ok=True)
        (out / file).write_text(text, encoding="utf-8")
    found = {
        "files": [str(out / file) for file in files],
        "precision": precision,
        **found,
        "n_tests": len(expected),
    }
    if as_json:
        console.print_json(found)
        return
    console.say(f"wrote {', '.join(found['files'])}")
    if "bytes_a_stream" in found:
        console.say(f"memory      {found['bytes_a_stream']} bytes a stream")
    test = f"python {out}/self_test.py" if target == "micropython" else f"make -C {out / found['test']} test"
    console.say(f"next: {test}" if expected else "with STREAMS there is a test, too")


def _written(
    procedure: "Procedure", name: str, target: str, reals: "Precision", expected: "Sequence[Expected]"
) -> tuple[dict[str, str], dict[str, Any]]:
    """Return the files of a target by their paths, and what is known of them."""
    from streamfs.translation.layouts import LAYOUTS
    from streamfs.translation.model import columns_of, require_name, translate
    from streamfs.translation.plain_model import plain_test, translate_plainly
    from streamfs.translation.self_test import makefile, self_test

    if target == "micropython":
        require_name(name)
        files = {f"{name}.py": translate_plainly(procedure, reals)}
        return files | ({"self_test.py": plain_test(name, expected, reals)} if expected else {}), {}
    sources, layout = translate(procedure, name, reals), LAYOUTS[target]
    files = layout.files(sources, procedure.period, columns_of(procedure))
    if expected:
        files |= {
            f"{layout.test}/self_test.c": self_test(sources, reals, expected),
            f"{layout.test}/Makefile": makefile(name, layout.sources_from_test(name)),
        }
    return files, {"bytes_a_stream": sources.n_reals * reals.dtype().itemsize + 8, "test": layout.test}


def _expected(procedure: "Procedure", streams: Recordings) -> "list[Expected]":
    """Return the first of some recorded streams, and what is decided of them."""
    from streamfs.cli import console
    from streamfs.evaluation.evaluation import replay
    from streamfs.procedure.fits import require_columns
    from streamfs.translation.model import columns_of
    from streamfs.translation.self_test import UNLABELLED, Expected

    with console.progress() as report, step(report, "reading the streams"):
        recorded = streams.read(procedure.period, labelled=False)
    require_columns(procedure, recorded, streams)
    recorded = recorded.take(range(min(len(recorded), MOST_TESTS)))
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
