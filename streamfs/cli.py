"""The command line: each command is one public function of the library."""

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

import streamfs
from streamfs.errors import StreamfsError

STREAMS = click.argument("streams", type=click.Path(dir_okay=False, path_type=Path))
MODEL = click.argument("model", type=click.Path(dir_okay=False, path_type=Path))
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
TRUST = click.option(
    "--trust", is_flag=True, help="Load a pickled River model: only from a source that you trust."
)
PROFILE = click.option(
    "--profile", default="transmissions", show_default=True, help="Radio whose energy is counted."
)
SEED = click.option("--seed", default=0, show_default=True, help="Seeds everything random.")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(streamfs.__version__, prog_name="streamfs")
def cli() -> None:
    r"""Decide early and cheaply what a stream of sensor readings is.

    \b
    A first tour:
      streamfs simulate pairs.csv --pairs 300
      streamfs train pairs.csv -o pairs.streamfs
      streamfs simulate new.csv --pairs 100 --seed 1
      streamfs evaluate pairs.streamfs new.csv
      streamfs demo
    """


@cli.command()
@click.argument("out", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--pairs", default=200, show_default=True, type=click.IntRange(1), help="How many pairs of nodes.")
@click.option("--ticks", default=60, show_default=True, type=click.IntRange(1), help="Ticks of each.")
@click.option(
    "--period", default=1.0, show_default=True, type=click.FloatRange(0, min_open=True), help="Seconds a tick."
)
@SEED
def simulate(out: Path, pairs: int, ticks: int, period: float, seed: int) -> None:
    r"""Record simulated pairs of nodes, labelled by whether they sense the same source.

    \b
    Example:
      streamfs simulate pairs.parquet --pairs 300 --ticks 60 --seed 1
    """
    from sensors_sim.same_source import SameSource  # noqa: PLC0415 - commands import what they use
    from streamfs.console import say  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    sampled = SameSource().sample(pairs, ticks, period, seed=seed)
    streams = StreamSet(*sampled)
    streams.write(out)
    say(f"wrote {out}: {streams!r}")


@cli.command()
@STREAMS
@click.option(
    "-o", "--out", required=True, type=click.Path(dir_okay=False, path_type=Path), help="The model file."
)
@click.option("--confidence", default=0.9, show_default=True, help="A label is given once a class is so probable.")
@click.option("--time-limit", help="Ticks (40) or seconds (600s); by default the longest stream.")
@click.option("--period", type=float, help="Seconds a tick; by default the smallest step in the file.")
@click.option(
    "--feature", "feature_names", multiple=True, help="A feature to choose from, such as 'mean(a.light)'."
)
@click.option(
    "--channel", "channels", multiple=True, help="A channel to make features of, such as a.light@delta:5."
)
@click.option(
    "--select",
    default="streamrelief",
    show_default=True,
    type=click.Choice(["streamrelief", "literal", "none"]),
    help="How features are chosen: StreamRelief, the paper to the letter, or not at all.",
)
@click.option(
    "--features", "n_features", type=click.IntRange(1), help="How many to offer; by default cross-validated."
)
@click.option("-a", "weight_each", default=1.0, show_default=True, help="Weight of each-time costs.")
@click.option("-b", "weight_once", default=1.0, show_default=True, help="Weight of one-time costs.")
@click.option("--river", help="A River classifier instead of C4.5, such as tree.HoeffdingTreeClassifier.")
@PROFILE
@SEED
@JSON
def train(
    streams: Path,
    out: Path,
    confidence: float,
    time_limit: str | None,
    period: float | None,
    feature_names: Sequence[str],
    channels: Sequence[str],
    select: str,
    n_features: int | None,
    weight_each: float,
    weight_once: float,
    river: str | None,
    profile: str,
    seed: int,
    as_json: bool,
) -> None:
    r"""Learn which features of labelled STREAMS are worth their cost, and build a classifier on them.

    STREAMS is a CSV or Parquet file of the columns stream, time, label and the readings.

    \b
    Examples:
      streamfs train pairs.csv -o pairs.streamfs --confidence 0.95
      streamfs train rooms.parquet -o rooms.streamfs --time-limit 600s --profile cc2420
      streamfs train pairs.csv -o nb.streamfs --river naive_bayes.GaussianNB
    """
    import feature_extractors as fx  # noqa: PLC0415
    from streamfs import console, training  # noqa: PLC0415
    from streamfs.relief import StreamRelief  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    recorded = StreamSet.read(streams, period)
    console.say(repr(recorded))
    selectors: dict[str, Callable[..., Any] | None] = {
        "streamrelief": StreamRelief,
        "literal": StreamRelief.literal,
        "none": None,
    }
    features = [fx.get(name) for name in feature_names] + list(fx.catalogue(channels) if channels else ())
    with console.progress() as report:
        procedure = training.train(
            recorded,
            features=features or None,
            energy_profile=profile,
            a=weight_each,
            b=weight_once,
            confidence=confidence,
            time_limit=_ticks(time_limit, recorded.period) if time_limit else None,
            select=selectors[select],
            n_features=n_features,
            model=_river(river) if river else None,
            seed=seed,
            progress=report,
        )
    procedure.save(out)
    if as_json:
        console.print_json(
            {"model": str(out), "features": [f.name for f in procedure.features], **procedure.about}
        )
    else:
        click.echo(procedure.text())
    console.say(f"wrote {out}; next: streamfs evaluate {out} STREAMS")


@cli.command()
@MODEL
@STREAMS
@click.option("--sweep", help="Several confidence thresholds, such as 0.8,0.9,0.95 or 0.80:0.99:0.01.")
@click.option(
    "--csv", "csv_path", type=click.Path(dir_okay=False, path_type=Path), help="Write the figures there."
)
@click.option("--png", "png_path", type=click.Path(dir_okay=False, path_type=Path), help="Draw them there.")
@TRUST
@JSON
def evaluate(
    model: Path,
    streams: Path,
    sweep: str | None,
    csv_path: Path | None,
    png_path: Path | None,
    trust: bool,
    as_json: bool,
) -> None:
    r"""Measure completeness, accuracy and cost of MODEL on labelled STREAMS.

    \b
    Examples:
      streamfs evaluate pairs.streamfs new.csv
      streamfs evaluate pairs.streamfs new.csv --sweep 0.80:0.99:0.01 --csv sweep.csv --png sweep.png
    """
    from streamfs import console, evaluation  # noqa: PLC0415
    from streamfs.procedure import Procedure  # noqa: PLC0415
    from streamfs.streams import StreamSet  # noqa: PLC0415

    procedure = Procedure.load(model, trust=trust)
    recorded = StreamSet.read(streams, procedure.period)
    thresholds = _thresholds(sweep) if sweep else [procedure.confidence]
    with console.progress() as report:
        evaluations = evaluation.sweep(procedure, recorded, thresholds, report)
    if csv_path:
        evaluation.write_csv(evaluations, csv_path)
    if png_path:
        from streamfs import plots  # noqa: PLC0415 - matplotlib is an extra

        plots.save(plots.sweep_figure(evaluations), png_path)
    rows = [each.summary() for each in evaluations]
    if as_json:
        console.print_json(rows if sweep else rows[0])
    else:
        console.print_table(rows)


@cli.command()
@MODEL
@STREAMS
@TRUST
@JSON
def replay(model: Path, streams: Path, trust: bool, as_json: bool) -> None:
    r"""Run MODEL over recorded STREAMS, labelled or not, and print each decision as it is made.

    \b
    Example:
      streamfs replay pairs.streamfs new.csv --json > decisions.jsonl
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


@cli.command()
@MODEL
@click.option("--broker", required=True, help="Such as mqtt://localhost or mqtt://user:password@gateway:1883.")
@click.option(
    "--pairs", type=click.Path(dir_okay=False, path_type=Path), help="CSV of streams and their nodes: stream,a,b."
)
@click.option(
    "--node", "nodes", multiple=True, help="A node that is a stream; by default every node that is heard."
)
@click.option("--lateness", type=float, help="Seconds a reading may lag behind the newest; by default two ticks.")
@click.option(
    "--max-silence", type=float, help="Seconds for which a value sent on change is held; by default for ever."
)
@click.option("--energy-log", type=click.Path(dir_okay=False, path_type=Path), help="Append the energy log there.")
@click.option(
    "--prefix", default="streamfs", show_default=True, help="First part of the topics that are published to."
)
@click.option("--idle", type=float, help="End after so many seconds without a message.")
@click.option("--until-decided", is_flag=True, help="End once every stream is decided.")
@PROFILE
@TRUST
@JSON
def run(
    model: Path,
    broker: str,
    pairs: Path | None,
    nodes: Sequence[str],
    lateness: float | None,
    max_silence: float | None,
    energy_log: Path | None,
    prefix: str,
    idle: float | None,
    until_decided: bool,
    profile: str,
    trust: bool,
    as_json: bool,
) -> None:
    r"""Follow the streams of an MQTT broker with MODEL until told to stop (Ctrl-C).

    Nodes publish to sensors/{node}/{channel}, JSON such as {"t": 12.0, "v": 20.5, "seq": 3}. Decisions go to
    {prefix}/decision/{stream}; {prefix}/control/{node} tells a node which channels to send.

    \b
    Examples:
      streamfs run rooms.streamfs --broker mqtt://localhost
      streamfs run pairs.streamfs --broker mqtt://localhost --pairs pairs.csv --energy-log energy.jsonl
    """
    from streamfs import console  # noqa: PLC0415
    from streamfs.gateway.bindings import Bindings, read_pairs  # noqa: PLC0415
    from streamfs.gateway.service import Gateway  # noqa: PLC0415
    from streamfs.gateway.transport import Transport  # noqa: PLC0415
    from streamfs.procedure import Procedure  # noqa: PLC0415

    procedure = Procedure.load(model, trust=trust)
    if pairs:
        bindings = Bindings.pairs(procedure.channels, read_pairs(pairs))
    else:
        bindings = Bindings.single(procedure.channels, nodes)
    gateway = Gateway(
        procedure,
        bindings,
        Transport(broker),
        lateness=lateness,
        max_silence=max_silence,
        profile=profile,
        energy_log=energy_log,
        prefix=prefix,
        on_decision=lambda d: console.print_json(d.to_json()) if as_json else click.echo(_decision_line(d)),
    )
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    console.say(f"following {broker}; stop with Ctrl-C")
    summary = gateway.run(stop, idle, until_decided=until_decided)
    meter = summary.meter
    console.say(
        f"{len(summary.decisions)} decisions, {meter.messages} messages of {len(meter.nodes)} nodes, "
        f"{meter.joules:.4g} {meter.profile.unit}; {dict(summary.counters)}"
    )


@cli.command()
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
@click.option("--profile", default="cc2420", show_default=True, help="Radio whose energy is counted.")
@SEED
@JSON
def demo(out: Path, pairs: int, profile: str, seed: int, as_json: bool) -> None:
    r"""Train on simulated streams, start a broker and a fleet of nodes, and follow them over MQTT.

    \b
    Example:
      streamfs demo --out my-demo --pairs 60
    """
    from streamfs import console  # noqa: PLC0415
    from streamfs.demo import run_demo  # noqa: PLC0415

    result = run_demo(out, pairs, profile, seed)
    if as_json:
        console.print_json(result)
    else:
        console.print_table([{"figure": name.replace("_", " "), "value": value} for name, value in result.items()])


def main() -> None:
    """Run the command line: exit 0 if all went well, 1 on an error, 2 on wrong usage."""
    try:
        cli(standalone_mode=False)
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (StreamfsError, ValueError, OSError) as error:
        click.echo(f"streamfs: {error}", err=True)
        sys.exit(1)


def _decision_line(decision: Any) -> str:
    label = decision.label if decision.label is not None else "-"
    return (
        f"{decision.stream:<20} {label:<12} {decision.reason:<10} tick {decision.tick:<5d} "
        f"confidence {decision.confidence:.3f}  cost {decision.cost:.4g}"
    )


def _ticks(text: str, period: float) -> int:
    """Read a time limit: whole ticks (40), or seconds with an s behind them (600s)."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = 0.0
    ticks = number / period + 1e-9 if text.endswith("s") else number
    if not 1 <= ticks < 1e9 or (not text.endswith("s") and ticks != int(ticks)):
        raise click.BadParameter(
            f"{text!r}, expected whole ticks (40) or seconds, at least one tick (600s)", param_hint="--time-limit"
        )
    return int(ticks)


def _thresholds(text: str) -> list[float]:
    """Read thresholds: numbers between commas, or first:last:step."""
    try:
        if ":" in text:
            first, last, step = (float(part) for part in text.split(":"))
            values = [round(first + k * step, 10) for k in range(int((last - first) / step + 1e-9) + 1)]
        else:
            values = [float(part) for part in text.split(",")]
    except (ValueError, ZeroDivisionError):
        values = []
    if not values or not all(0 < value <= 1 for value in values):
        raise click.BadParameter(
            f"{text!r}, expected numbers in (0, 1]: 0.8,0.9 or 0.80:0.99:0.01", param_hint="--sweep"
        )
    return values


def _river(name: str) -> Any:
    """Make a River classifier from its name within River."""
    from importlib import import_module  # noqa: PLC0415

    module, _, word = name.rpartition(".")
    try:
        return getattr(import_module(f"river.{module}"), word)()
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise click.BadParameter(
            f"{name!r} cannot be made: {error}; expected a name such as naive_bayes.GaussianNB",
            param_hint="--river",
        ) from error
