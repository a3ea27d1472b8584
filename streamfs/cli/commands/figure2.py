"""Repeat the experiment of the paper."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from streamfs.cli import parameters as arguments
from streamfs.cli.parameters import JSON, NOT_NEGATIVE, PICTURE, TABLE, Parsed, examples


@click.command(
    epilog=examples(
        "streamfs figure2 --seeds 3 --png figure2.png",
        "streamfs figure2 --noise 2 --price light=10 --csv figure2.csv",
        "streamfs figure2 --data room_climate --thresholds 0.85,0.9,0.92",
        "streamfs figure2 --data my-streams.parquet",
        "streamfs figure2 --seeds 3 --also floating --also lvf",
    )
)
@click.option(
    "--data",
    type=Parsed("data", arguments.data),
    help=f"Recorded streams instead of simulated ones: {', '.join(arguments.RECORDINGS)} (found through "
    "STREAMFS_DATA), or a CSV or Parquet file of labelled streams.",
)
@click.option(
    "--seeds", default=20, show_default=True, type=click.IntRange(1, 10_000), help="Splits to repeat on."
)
@click.option(
    "--thresholds",
    default="0.80:0.99:0.01",
    show_default=True,
    type=Parsed("thresholds", arguments.thresholds),
    help="Confidence thresholds.",
)
@click.option("--noise", type=NOT_NEGATIVE, help="Factor on the noise of simulated sensors; by default 1.")
@click.option(
    "--price",
    "prices",
    multiple=True,
    type=Parsed("price", arguments.price),
    callback=arguments.prices,
    help="What a message of a quantity costs, such as light=10; 1 where none is named; may be repeated.",
)
@click.option(
    "--also",
    "others",
    multiple=True,
    type=click.Choice([*arguments.SELECTIONS[3:], *arguments.LAZY]),
    metavar="SELECTION",
    help="Another selection to compare: "
    f"{', '.join((*arguments.SELECTIONS[3:], *arguments.LAZY))}; may be repeated.",
)
@click.option(
    "--features",
    "n_features",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="How many ranked features to offer to the classifier; by default cross-validated.",
)
@click.option(
    "--jobs",
    default=lambda: os.cpu_count() or 1,
    show_default="processors",
    type=click.IntRange(1, 1024),
    help="Processes.",
)
@click.option("--csv", "csv_path", type=TABLE, help="Write means and intervals there.")
@click.option("--png", "png_path", type=PICTURE, help="Draw the figure there.")
@JSON
def figure2(
    data: str | Path | None,
    seeds: int,
    thresholds: list[float],
    noise: float | None,
    prices: dict[str, float],
    others: Sequence[str],
    n_features: int | None,
    jobs: int,
    csv_path: Path | None,
    png_path: Path | None,
    as_json: bool,
) -> None:
    """Repeat the experiment of the StreamRelief paper (its Figure 2).

    Five ways to build a classifier are compared on same-source detection: naive C4.5, cost-based C4.5, and C4.5
    with Relief, with StreamRelief to the letter, and with its relevance floor; beside them the cheapest forest
    that promises the accuracy that stands for the threshold, at completeness 0.9, where these streams can show
    it. Means over seeds, with 95 % confidence intervals. Cost is that of the features the classifier tests; sent
    is what nodes really send for it.
    """
    if data is not None and noise is not None:
        raise click.UsageError("--noise is of simulated sensors, and --data names recorded ones")
    arguments.keep_inputs(
        {"--data": data if isinstance(data, Path) else None}, {"--csv": csv_path, "--png": png_path}
    )
    from streamfs.cli import console
    from streamfs.costs.costs import check_prices
    from streamfs.evaluation import evaluation
    from streamfs.experiments import experiment
    from streamfs.experiments import figure2 as paper
    from streamfs.relief._search import search

    if png_path:
        from streamfs.experiments import plots  # matplotlib is an extra
    source: paper.Source = paper.Motes() if noise is None else paper.Motes(noise)
    if data is not None:
        source = paper.File(data) if isinstance(data, Path) else paper.Recorded(data)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # so that no process of the experiment is left behind
    training, _ = source.split(0)  # what is wrong with the streams is said before any work is done
    check_prices(training, prices)
    if n_features is not None and n_features > (n_offered := len(source.features(training))):
        raise click.UsageError(f"--features is {n_features}, expected 1 to {n_offered}")
    if min(jobs, seeds) > 1:
        console.tell_if_nothing_is_compiled(search)  # the processes that compile have no terminal
    else:
        console.tell_of_compiling()
    with console.progress() as report:
        report("splits", 0, seeds)
        outcomes = paper.compare(
            source,
            thresholds=thresholds,
            n_seeds=seeds,
            prices=prices,
            methods=(*experiment.METHODS, experiment.PROMISE, *dict.fromkeys(others)),
            n_features=n_features,
            n_jobs=min(jobs, seeds),
            progress=report,
        )
    rows = experiment.summarise(outcomes)
    if csv_path:
        evaluation.write_csv(rows, csv_path)
    if png_path:
        plots.save(plots.figure_2(rows), png_path)
    if as_json:
        console.print_json(rows)
    else:
        _show(rows)


def _show(rows: list[dict[str, Any]]) -> None:
    from streamfs.cli import console
    from streamfs.experiments import figure2 as paper

    console.print_table(paper.shown(rows))
    for line in paper.refusals(rows):
        console.say(line)
    console.print_table(paper.against_the_cheapest(rows), "StreamRelief beside the cheapest other method")
