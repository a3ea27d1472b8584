"""The command line: each command is one public function of the library."""

import os
import signal
import sys
import threading
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

import click

from streamfs import arguments
from streamfs.arguments import (
    JSON,
    MODEL,
    NEW_FILE,
    NOT_NEGATIVE,
    OLD_FILE,
    PICTURE,
    POSITIVE,
    PROBABILITY,
    SEED,
    STREAMS,
    TRUST,
    Number,
    Parsed,
    examples,
    profile_option,
)
from streamfs.errors import DataError, StreamfsError


@click.group(
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=examples(
        "streamfs simulate pairs.csv --pairs 300",
        "streamfs train pairs.csv -o pairs.streamfs",
        "streamfs simulate new.csv --pairs 100 --seed 1",
        "streamfs evaluate pairs.streamfs new.csv",
        "streamfs demo",
    ),
)
@click.version_option(package_name="streamfs", prog_name="streamfs")
def cli() -> None:
    """Decide early and cheaply what a stream of sensor readings is."""


@cli.command(epilog=examples("streamfs simulate pairs.parquet --pairs 300 --ticks 60 --seed 1"))
@click.argument("out", type=NEW_FILE)
@click.option("--pairs", default=200, show_default=True, type=click.IntRange(1, 100_000), help="Pairs of nodes.")
@click.option("--ticks", default=60, show_default=True, type=click.IntRange(1, 100_000), help="Ticks of each.")
@click.option("--period", default=1.0, show_default=True, type=Number(1e-6, 1e6), help="Seconds a tick.")
@SEED
def simulate(out: Path, pairs: int, ticks: int, period: float, seed: int) -> None:
    """Record simulated pairs of nodes that sense one source or two.

    OUT is a CSV or Parquet file. The labels are same and different.
    """
    from sensors_sim.same_source import SameSource  # noqa: PLC0415 - commands import what they use
    from streamfs.console import say  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    sampled = SameSource().sample(pairs, ticks, period, seed=seed)
    streams = StreamSet(*sampled)
    streams.write(out)
    say(f"wrote {out}: {streams!r}; next: streamfs train {out} -o MODEL")


@cli.command(
    epilog=examples(
        "streamfs train pairs.csv -o pairs.streamfs --profile cc2420",
        "streamfs train rooms.parquet -o rooms.streamfs --time-limit 600s",
        "streamfs train pairs.csv -o nb.streamfs --river naive_bayes.GaussianNB",
    )
)
@STREAMS
@click.option("-o", "--out", required=True, type=NEW_FILE, help="The model file.")
@click.option(
    "--confidence",
    default=0.9,
    show_default=True,
    type=PROBABILITY,
    help="A label is given once a class is so probable.",
)
@click.option(
    "--time-limit",
    type=Parsed("limit", arguments.time_limit),
    help="Ticks (40) or seconds (600s) after which a stream gets no label; by default the longest stream.",
)
@click.option("--period", type=POSITIVE, help="Seconds a tick; by default the smallest step in the file.")
@click.option(
    "--feature",
    "features",
    multiple=True,
    type=Parsed("name", arguments.feature),
    help="A feature to choose from, such as 'mean(a.light)'; may be repeated.",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    type=Parsed("channel", arguments.channel),
    help="A channel to make features of, such as a.light@delta:5; may be repeated.",
)
@click.option(
    "--catalogue",
    type=click.Choice(["essential", "full"]),
    help="Which kinds of features to make of the channels: fifteen (the default), or all.",
)
@click.option(
    "--select",
    default="streamrelief",
    show_default=True,
    type=click.Choice(["streamrelief", "literal", "relief", "none"]),
    help="How features are chosen: StreamRelief, the paper to the letter, Relief without costs, or not at all.",
)
@click.option(
    "--extrapolation",
    type=click.Choice(["linear", "none", "spline", "hermite", "saturating", "auto"]),
    help="How StreamRelief goes on beyond the recorded ticks, to a longer time limit; by default linear.",
)
@click.option(
    "--features",
    "n_features",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="How many features to offer to the classifier; by default cross-validated.",
)
@click.option(
    "-a", "weight_each", default=1.0, show_default=True, type=NOT_NEGATIVE, help="Weight of each-time costs."
)
@click.option(
    "-b", "weight_once", default=1.0, show_default=True, type=NOT_NEGATIVE, help="Weight of one-time costs."
)
@click.option(
    "--max-silence",
    type=POSITIVE,
    help="Seconds after which a channel that sends on change repeats its value; by default never.",
)
@click.option(
    "--river",
    type=Parsed("classifier", arguments.river_classifier),
    help="A River classifier instead of C4.5, such as tree.HoeffdingTreeClassifier.",
)
@profile_option("transmissions")
@SEED
@JSON
def train(
    streams: Path,
    out: Path,
    confidence: float,
    time_limit: int | timedelta | None,
    period: float | None,
    features: Sequence[Any],
    channels: Sequence[str],
    catalogue: str | None,
    select: str,
    extrapolation: str | None,
    n_features: int | None,
    weight_each: float,
    weight_once: float,
    max_silence: float | None,
    river: Any,
    profile: str,
    seed: int,
    as_json: bool,
) -> None:
    """Learn which features are worth their cost, and a classifier.

    STREAMS is a CSV or Parquet file of the columns stream, time, label and the readings. Without --feature and
    --channel, those of --catalogue are tried on every column at every tick, on change, and as a flag.
    """
    if catalogue and features and not channels:
        raise click.UsageError(
            "--catalogue is of channels, and there are none beside --feature: give --channel too"
        )
    if select == "none" and n_features:
        raise click.UsageError("--features counts ranked features, and --select none ranks none")
    if extrapolation and select not in ("streamrelief", "literal"):
        raise click.UsageError(f"--extrapolation is of StreamRelief, and --select is {select}")
    import feature_extractors as fx  # noqa: PLC0415
    from streamfs import console, training  # noqa: PLC0415
    from streamfs.selectors import SELECTORS  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    recorded = StreamSet.read(streams, period)
    console.say(repr(recorded))
    kinds = fx.KINDS if catalogue == "full" else fx.ESSENTIAL
    if catalogue == "full" and not (channels or features):
        channels = training.default_channels(recorded)
    offered = dict.fromkeys([*features, *(fx.catalogue(channels, kinds) if channels else ())])
    selector = None if select == "none" else SELECTORS[select]
    if selector is not None and extrapolation:
        selector = partial(selector, extrapolation=extrapolation)
    with console.progress() as report:
        procedure = training.train(
            recorded,
            features=list(offered) or None,
            energy_profile=profile,
            a=weight_each,
            b=weight_once,
            confidence=confidence,
            time_limit=time_limit,
            select=selector,
            n_features=n_features,
            max_silence=max_silence,
            model=river,
            seed=seed,
            progress=report,
        )
    procedure.save(out)
    if as_json:
        console.print_json(
            {
                "model": str(out),
                "classes": procedure.classes,
                "features": [feature.name for feature in procedure.features],
                "each_costs": procedure.costs.each,
                "confidence": procedure.confidence,
                "time_limit": procedure.time_limit,
                "period": procedure.period,
                "max_silence": procedure.max_silence,
                **procedure.about,
            }
        )
    else:
        click.echo(procedure.text())
    console.say(f"wrote {out}; next: streamfs evaluate {out} STREAMS")


@cli.command(
    epilog=examples(
        "streamfs evaluate pairs.streamfs new.csv",
        "streamfs evaluate pairs.streamfs new.csv --sweep 0.80:0.98:0.02 --png s.png",
    )
)
@MODEL
@STREAMS
@click.option(
    "--sweep",
    type=Parsed("thresholds", arguments.thresholds),
    help="Confidence thresholds to try, such as 0.8,0.9,0.95 or 0.80:0.99:0.01.",
)
@click.option("--csv", "csv_path", type=NEW_FILE, help="Write the figures there.")
@click.option("--png", "png_path", type=PICTURE, help="Draw them there.")
@TRUST
@JSON
def evaluate(
    model: Path,
    streams: Path,
    sweep: list[float] | None,
    csv_path: Path | None,
    png_path: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    """Measure completeness, accuracy and cost on labelled STREAMS.

    Completeness is the share of the streams that MODEL gives a label in time, accuracy the share of those whose
    label is right, cost the mean cost of a stream; offered cost is that of all features MODEL could choose from.
    """
    from streamfs import console, evaluation  # noqa: PLC0415
    from streamfs.procedure import Procedure  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    if png_path:
        from streamfs import plots  # noqa: PLC0415 - matplotlib is an extra
    procedure = Procedure.load(model, trust=trust)
    recorded = StreamSet.read(streams, procedure.period)
    with console.progress() as report:
        evaluations = evaluation.sweep(procedure, recorded, sweep or [procedure.confidence], report)
    rows = [each.summary() for each in evaluations]
    if csv_path:
        evaluation.write_csv(rows, csv_path)
    if png_path:
        plots.save(plots.sweep_figure(evaluations), png_path)
    if as_json:
        console.print_json(rows if sweep else rows[0])
    else:
        console.print_table(rows)


@cli.command(epilog=examples("streamfs replay pairs.streamfs new.csv --json > decisions.jsonl"))
@MODEL
@STREAMS
@TRUST
@JSON
def replay(model: Path, streams: Path, trust: bool, as_json: bool) -> None:
    """Run MODEL over recorded STREAMS and print each decision.

    The streams need no labels. Decisions come in the order in which they are made.
    """
    from streamfs import console, evaluation  # noqa: PLC0415
    from streamfs.procedure import Procedure  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    procedure = Procedure.load(model, trust=trust)
    recorded = StreamSet.read(streams, procedure.period, labelled=False)
    for decision in evaluation.replay(procedure, recorded):
        if as_json:
            console.print_json(decision.to_json())
        else:
            click.echo(_decision_line(decision))


@cli.command(
    epilog=examples(
        "streamfs run rooms.streamfs --broker mqtt://localhost",
        "streamfs run pairs.streamfs --broker mqtt://localhost --pairs nodes.csv",
    )
)
@MODEL
@click.option(
    "--broker",
    required=True,
    type=Parsed("url", arguments.broker),
    help="Such as mqtt://localhost or mqtt://user:password@gateway:1883.",
)
@click.option("--pairs", type=OLD_FILE, help="CSV of streams and their nodes by role: stream,a,b.")
@click.option(
    "--node",
    "nodes",
    multiple=True,
    help="A node that is a stream; may be repeated; by default every node that is heard.",
)
@click.option(
    "--lateness", type=NOT_NEGATIVE, help="Seconds a reading may lag behind the newest; by default two ticks."
)
@click.option(
    "--grace",
    default=10.0,
    show_default=True,
    type=NOT_NEGATIVE,
    help="Seconds that all may be silent before event time runs on with the clock.",
)
@click.option("--energy-log", type=NEW_FILE, help="Append the energy log there.")
@click.option(
    "--prefix",
    default="streamfs",
    show_default=True,
    type=Parsed("topic", arguments.topic),
    help="First part of the topics that are published to.",
)
@click.option("--idle", type=POSITIVE, help="End after so many seconds without a message.")
@click.option("--until-decided", is_flag=True, help="End once every stream is decided.")
@profile_option("transmissions")
@TRUST
@JSON
def run(
    model: Path,
    broker: str,
    pairs: Path | None,
    nodes: Sequence[str],
    lateness: float | None,
    grace: float,
    energy_log: Path | None,
    prefix: str,
    idle: float | None,
    until_decided: bool,
    profile: str,
    trust: bool,
    as_json: bool,
) -> None:
    """Follow the streams of an MQTT broker until stopped (Ctrl-C).

    Nodes publish to sensors/{node}/{channel}, a number or JSON such as {"t": 12.0, "v": 20.5, "seq": 3}.
    Decisions go to {prefix}/decision/{stream}; {prefix}/control/{node} tells a node which channels to send.
    """
    if pairs and nodes:
        raise click.UsageError("--pairs and --node exclude each other: the file names the nodes")
    from streamfs import console  # noqa: PLC0415
    from streamfs.gateway.bindings import Bindings, read_pairs  # noqa: PLC0415
    from streamfs.gateway.service import Gateway  # noqa: PLC0415
    from streamfs.gateway.transport import Transport  # noqa: PLC0415
    from streamfs.procedure import Decision, Procedure  # noqa: PLC0415

    procedure = Procedure.load(model, trust=trust)
    if pairs:
        bindings = Bindings.pairs(procedure.channels, read_pairs(pairs))
        if not bindings.streams:
            raise DataError(f"{pairs} names no stream")
    else:
        bindings = Bindings.single(procedure.channels, nodes)
    stop = threading.Event()

    def announce(decision: Decision) -> None:
        try:
            console.print_json(decision.to_json()) if as_json else click.echo(_decision_line(decision))
        except BrokenPipeError:  # nobody reads on: the streams are closed all the same
            sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - to the process's end
            stop.set()

    gateway = Gateway(
        procedure,
        bindings,
        Transport(broker),
        lateness=lateness,
        grace=grace,
        profile=profile,
        energy_log=energy_log,
        prefix=prefix,
        on_decision=announce,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    who = "; every node that is heard is a stream, unless --pairs or --node names them" * bindings.discovers
    console.say(f"listening to {', '.join(bindings.topics)}{who}; stop with Ctrl-C")
    summary = gateway.run(stop, idle, until_decided=until_decided)
    meter = summary.meter
    noted = [f"{name} {number}" for name, number in summary.counters.items() if number]
    console.say(
        f"{len(summary.decisions)} decisions, {meter.messages} messages of {len(meter.nodes)} nodes, "
        f"{meter.joules:.4g} {meter.profile.unit}; {', '.join(noted) or 'nothing was heard'}"
    )


@cli.command(
    epilog=examples(
        "streamfs figure2 --seeds 3 --png figure2.png",
        "streamfs figure2 --noise 2 --price light=10 --csv figure2.csv",
        "streamfs figure2 --data room_climate --thresholds 0.85,0.9,0.92",
        "streamfs figure2 --data my-streams.parquet",
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
    help="What a message of a quantity costs, such as light=10; 1 where none is named; may be repeated.",
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
@click.option("--csv", "csv_path", type=NEW_FILE, help="Write means and intervals there.")
@click.option("--png", "png_path", type=PICTURE, help="Draw the figure there.")
@JSON
def figure2(
    data: str | Path | None,
    seeds: int,
    thresholds: list[float],
    noise: float | None,
    prices: Sequence[tuple[str, float]],
    n_features: int | None,
    jobs: int,
    csv_path: Path | None,
    png_path: Path | None,
    as_json: bool,
) -> None:
    """Repeat the experiment of the StreamRelief paper (its Figure 2).

    Five ways to build a classifier are compared on same-source detection: naive C4.5, cost-based C4.5, and C4.5
    with Relief, with StreamRelief to the letter, and with its relevance floor. Means over seeds, with 95 %
    confidence intervals. Cost is that of the features the tree tests; sent is what nodes really send for it.
    """
    if data is not None and noise is not None:
        raise click.UsageError("--noise is of simulated sensors, and --data names recorded ones")
    if len(dict(prices)) < len(prices):
        raise click.UsageError("--price names a quantity twice")
    from streamfs import console, evaluation, experiment  # noqa: PLC0415
    from streamfs import figure2 as paper  # noqa: PLC0415

    if png_path:
        from streamfs import plots  # noqa: PLC0415 - matplotlib is an extra
    source: paper.Source = paper.Motes() if noise is None else paper.Motes(noise)
    if data is not None:
        source = paper.File(data) if isinstance(data, Path) else paper.Recorded(data)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # so that no process of the experiment is left behind
    source.split(0)  # what is wrong with the streams is said before any work is done
    with console.progress() as report:
        report("splits", 0, seeds)
        outcomes = paper.compare(
            source,
            thresholds=thresholds,
            n_seeds=seeds,
            prices=dict(prices),
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
        console.print_table(paper.shown(rows))
        console.print_table(paper.against_the_cheapest(rows), "StreamRelief beside the cheapest other method")


@cli.command(epilog=examples("streamfs demo --out my-demo --pairs 60"))
@click.option(
    "--out",
    default="streamfs-demo",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the model, the energy log and the plots.",
)
@click.option(
    "--pairs", default=40, show_default=True, type=click.IntRange(2), help="Pairs of nodes that are followed."
)
@profile_option("cc2420")
@SEED
@JSON
def demo(out: Path, pairs: int, profile: str, seed: int, as_json: bool) -> None:
    """Train, then follow a fleet of simulated nodes over MQTT.

    All runs on this machine, the broker included, and takes about a minute.
    """
    from streamfs import console  # noqa: PLC0415
    from streamfs.demo import run_demo  # noqa: PLC0415

    result = run_demo(out, pairs, profile, seed)
    if as_json:
        console.print_json(result)
    else:
        console.print_table([{"figure": name.replace("_", " "), "value": value} for name, value in result.items()])


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line: exit 0 if all went well, 1 on an error, 2 on wrong usage.

    Parameters
    ----------
    args : sequence of str, optional
        By default those of the process.
    """
    try:
        cli(args, standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (StreamfsError, ValueError, OSError, MemoryError) as error:
        click.echo(f"streamfs: {_reason(error)}", err=True)
        sys.exit(1)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    return str(error)


def _decision_line(decision: Any) -> str:
    label = "-" if decision.label is None else decision.label
    confidence = "-" if isnan(decision.confidence) else f"{decision.confidence:.3f}"
    return (
        f"{decision.stream:<16} {label:<10} {decision.reason:<9} tick {decision.tick:<4d} "
        f"confidence {confidence:<5} cost {decision.cost:.4g}"
    )
