"""Repeat the paper's experiment."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, NOT_NEGATIVE, PICTURE, TABLE, Parsed, example_text

if TYPE_CHECKING:
    from streamfs.experiments.sources import SplitSource

OTHERS = (*parameters.SELECTIONS[3:], *parameters.LAZY)


@click.command(
    epilog=example_text(
        "streamfs figure2 --seeds 3 --png figure2.png",
        "streamfs figure2 --noise 2 --price light=10 --csv figure2.csv",
        "streamfs figure2 --data room_climate --thresholds 0.85,0.9,0.92",
        "streamfs figure2 --data my-streams.parquet",
        "streamfs figure2 --seeds 3 --also floating --also lvf",
    )
)
@click.option(
    "--data",
    type=Parsed("data", parameters.data),
    help=f"Recorded streams instead of simulated ones: {', '.join(parameters.RECORDINGS)} (found through "
    "STREAMFS_DATA), or a CSV or Parquet file of labelled streams.",
)
@click.option("--seeds", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Number of splits.")
@click.option(
    "--thresholds",
    default="0.80:0.99:0.01",
    show_default=True,
    type=Parsed("thresholds", parameters.thresholds),
    help="Confidence thresholds.",
)
@click.option("--noise", type=NOT_NEGATIVE, help="Factor on the noise of simulated sensors; by default 1.")
@click.option(
    "--price",
    "prices",
    multiple=True,
    type=Parsed("price", parameters.price),
    callback=parameters.prices,
    help="Cost of a message of a quantity, such as light=10; by default 1; may be repeated.",
)
@click.option(
    "--also",
    "others",
    multiple=True,
    type=click.Choice(OTHERS),
    metavar="SELECTION",
    help=f"Another selection to compare: {', '.join(OTHERS)}; may be repeated.",
)
@click.option(
    "--features",
    "--n-features",
    "n_features",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Number of ranked features to offer to the classifier; by default cross-validated.",
)
@click.option(
    "--n-jobs",
    default=lambda: os.cpu_count() or 1,
    show_default="processors",
    type=click.IntRange(1, 1024),
    help="Number of processes.",
)
@click.option("--csv", "csv_path", type=TABLE, help="Write means and intervals to this file.")
@click.option("--png", "png_path", type=PICTURE, help="Plot the figure to this file.")
@JSON
def figure2(
    data: str | Path | None,
    seeds: int,
    thresholds: list[float],
    noise: float | None,
    prices: dict[str, float],
    others: Sequence[str],
    n_features: int | None,
    n_jobs: int,
    csv_path: Path | None,
    png_path: Path | None,
    as_json: bool,
) -> None:
    """Repeat the StreamRelief paper's experiment (Figure 2).

    Five classifiers are compared on same-source detection: naive C4.5, cost-based C4.5, and C4.5 with features
    selected by Relief, by StreamRelief as printed, and by StreamRelief with a relevance floor. A sixth is the
    cheapest forest that is promised to be as accurate as the threshold says, at completeness 0.9. Results are
    means over seeds with 95 % confidence intervals. Cost is that of the features the classifier tests; sent is
    what nodes really send for it.
    """
    if data is not None and noise is not None:
        raise click.UsageError("--noise is for simulated sensors, and --data names recorded streams")
    parameters.protect_inputs(
        {"--data": data if isinstance(data, Path) else None}, {"--csv": csv_path, "--png": png_path}
    )
    if png_path:
        from streamfs.experiments import plots  # matplotlib is an extra
    from streamfs.cli import console
    from streamfs.evaluation.evaluation import write_csv
    from streamfs.experiments.figure2 import compare
    from streamfs.experiments.outcome import METHODS, PROMISE
    from streamfs.experiments.summary import summarise

    source = _source(data, noise)
    _check_streams(source, prices, n_features)
    n_jobs = min(n_jobs, seeds)
    _announce_compiling(n_jobs)
    with console.progress() as report:
        outcomes = compare(
            source,
            thresholds=thresholds,
            n_seeds=seeds,
            prices=prices,
            methods=(*METHODS, PROMISE, *dict.fromkeys(others)),
            n_features=n_features,
            n_jobs=n_jobs,
            progress=report,
        )
    rows = summarise(outcomes)
    if csv_path:
        write_csv(rows, csv_path)
    if png_path:
        plots.save(plots.figure_2(rows), png_path)
    if as_json:
        console.print_json(rows)
    else:
        _show(rows)


def _source(data: str | Path | None, noise: float | None) -> "SplitSource":
    from streamfs.experiments import sources

    if data is None:
        return sources.Motes() if noise is None else sources.Motes(noise)
    return sources.LabelledFile(data) if isinstance(data, Path) else sources.RecordedPairs(data)


def _check_streams(source: "SplitSource", prices: dict[str, float], n_features: int | None) -> None:
    """Report errors in the streams of the first split before any work is done."""
    from streamfs.costs.costs import check_prices

    training, _ = source.split(0)
    check_prices(training, prices)
    if n_features is not None and n_features > (n_offered := len(source.features(training))):
        raise click.UsageError(f"--n-features is {n_features}, expected 1 to {n_offered}")


def _announce_compiling(n_jobs: int) -> None:
    from streamfs.cli import console
    from streamfs.relief._search import search

    if n_jobs > 1:
        console.announce_empty_cache(search)  # worker processes have no terminal
    else:
        console.announce_compiling()


def _show(rows: list[dict[str, Any]]) -> None:
    from streamfs.cli import console
    from streamfs.experiments.summary import compare_with_cheapest, refusal_notes, shorten

    console.print_table(shorten(rows))
    for line in refusal_notes(rows):
        console.say(line)
    console.print_table(compare_with_cheapest(rows), "StreamRelief against the cheapest other method")
