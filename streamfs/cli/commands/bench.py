"""Compare streamfs with other methods on a user's own sets."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.parameters import FOLDER, JSON, Parsed, example_text

if TYPE_CHECKING:
    from streamfs.experiments.early.comparison import Comparison


def _names(text: str) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in text.split(",")))


@click.group(epilog=example_text("streamfs bench early sets"))
def bench() -> None:
    """Compare streamfs with other methods on your own sets."""


@bench.command(
    epilog=example_text(
        "streamfs bench early sets --seeds 3",
        "streamfs bench early sets --methods 'streamfs,RF tuned,aeon PT' --json",
    )
)
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.option("--seeds", default=1, show_default=True, type=click.IntRange(1, 10_000), help="Number of seeds.")
@click.option(
    "--methods",
    type=Parsed("methods", _names),
    help="Methods to compare, separated by commas; by default those whose package is installed, but aeon TEASER, "
    "which is slow.",
)
@JSON
def early(folder: Path, seeds: int, methods: list[str] | None, as_json: bool) -> None:
    """Compare early classification with other methods.

    Those are forests of prefixes, triggers on the same probabilities as streamfs, aeon's and tslearn's.

    DIR holds the sets: NAME_train and NAME_test, or NAME, which is split in halves by the seed; .csv, .csv.gz and
    .parquet with the columns stream, time, label and the readings, or as in the archives of the field: .ts, or
    .tsv with a class and its series on each line (or .gz), also in a folder NAME of each set. All series of a set
    have one length, without gaps.

    Each set is also disturbed: series start late, with a scale and an offset of their own. hm is the harmonic mean
    of accuracy and 1 - earliness, cost that of errors and delays, its mean over five prices; stated is the stated
    confidence less the accuracy, fit s and us a tick are CPU time. A method that fails on a set has no mean.
    """
    import warnings

    from streamfs.cli import console
    from streamfs.experiments.early import methods as known
    from streamfs.experiments.early.comparison import Comparison
    from streamfs.experiments.early.protocol import measure
    from streamfs.experiments.early.sets import sets_in

    asked = [*filter(known.is_installed, known.USUAL)] if methods is None else methods
    _check_methods(asked)
    console.announce_compiling()
    sets = {name: files.split for name, files in sets_in(folder).items()}
    for split in sets.values():
        split(0)  # what cannot be compared is refused before anything is measured
    with console.progress() as report, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of peers
        rows = list(measure(sets, range(seeds), asked, report))
    kinds = {
        name: Comparison([row for row in rows if row["disturbed"] is is_disturbed])
        for name, is_disturbed in (("as recorded", False), ("disturbed", True))
    }
    if as_json:
        console.print_json({"summary": {name: each.summary() for name, each in kinds.items()}, "trials": rows})
        return
    for row in rows:
        if "failed" in row:
            console.say(f"{row['method']} fails on {row['set']}, seed {row['seed']}: {row['failed']}")
    for name, each in kinds.items():
        _show(name, each)


def _check_methods(names: Sequence[str]) -> None:
    from streamfs.errors import MissingExtraError
    from streamfs.experiments.early.methods import METHODS, NEEDED, is_installed

    for name in names:
        if name not in METHODS:
            raise click.UsageError(f"--methods has {name!r}, expected some of {', '.join(METHODS)}")
        if not is_installed(name):
            raise MissingExtraError(NEEDED[name], "bench")


def _show(title: str, comparison: "Comparison") -> None:
    from streamfs.cli import console

    rows: list[dict[str, Any]] = [
        {name: round(value, 3) if isinstance(value, float) else value for name, value in row.items()}
        for row in comparison.summary()
    ]
    console.print_table(rows, f"{title}, {len(comparison.sets)} sets")
