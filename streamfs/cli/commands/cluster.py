"""Jobs on Apache Spark."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from streamfs.cli.commands.train import train as train_here
from streamfs.cli.parameters import FOLDER, MODEL, OLD_FILE, TRUST, example_text

_OUT = click.option("-o", "--out", type=FOLDER, required=True, help="Folder of the job.")
_MASTER = click.option("--master", default="local[2]", show_default=True, help="Spark's master.")
_SHARDS = click.option("--shards", type=click.IntRange(1, 4096), default=8, show_default=True, help="Shards.")
_PARTITIONS = click.option(
    "--partitions",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Partitions of the state: as many as the largest cluster meant has cores; they cannot be changed later.",
)


def _settings(_context: click.Context, _option: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    """Return settings of others by name."""
    wrong = [each for each in given if "=" not in each]
    if wrong:
        raise click.BadParameter(f"{wrong[0]!r}, expected NAME=VALUE")
    return dict(each.split("=", 1) for each in given)


_CONF = click.option(
    "--conf",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_settings,
    help="A setting of Spark's own; may be repeated.",
)


def _of_spark(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (_CONF, _PARTITIONS, _SHARDS, _MASTER, _OUT):
        command = option(command)
    return command


@click.group(
    epilog=example_text(
        "streamfs cluster decide rooms.streamfs history/ -o decided/",
        "streamfs cluster run gateway.toml -o followed/",
        "streamfs cluster train rooms.parquet -o rooms.streamfs --promise 0.9",
    )
)
def cluster() -> None:
    """Decide and follow streams on Apache Spark, and train there.

    It needs the extra ``cluster``, and Java 17 or newer.
    """


@cluster.command(epilog=example_text("streamfs cluster decide rooms.streamfs history/ -o decided/"))
@MODEL
@click.argument("history", type=FOLDER)
@click.option("--lateness", type=click.FloatRange(0.0), default=0.0, help="Seconds that samples wait for others.")
@click.option("--files", type=click.IntRange(1), default=8, show_default=True, help="Files of a batch.")
@_of_spark
@TRUST
def decide(model: Path, history: Path, lateness: float, files: int, trust: bool, **spark: Any) -> None:
    """Decide the streams of HISTORY, a folder of Parquet files, by MODEL.

    The files have columns stream, time, and one for each of the model's channels, and are read in the order of
    their names. A job that was interrupted goes on when it is called again. Decisions lie in OUT/decisions.
    """
    from streamfs.cli.console import say
    from streamfs.cluster.history import files_after
    from streamfs.cluster.jobs import Deciding
    from streamfs.cluster.spark.serve import decide as start
    from streamfs.procedure.procedure import Procedure

    if not files_after(history, ""):
        raise click.BadParameter(f"{history} has no file that ends in .parquet", param_hint="HISTORY")
    job = Deciding(Procedure.load(model, trust=trust).packed, spark["shards"], lateness, trust=trust)
    query = start(
        _session(spark), history, spark["out"], job, n_partitions=spark["partitions"], files_at_once=files
    )
    with suppress(KeyboardInterrupt):
        query.processAllAvailable()
    query.stop()
    say(f"decisions are in {spark['out'] / 'decisions'}")


@cluster.command(
    epilog=example_text(
        "streamfs cluster run gateway.toml -o followed/",
        "streamfs cluster run gateway.toml -o followed/ --kafka kafka:9092 --topic readings",
    )
)
@click.argument("settings", type=OLD_FILE)
@click.option("--seconds", type=click.FloatRange(0.0), default=5.0, show_default=True, help="From batch to batch.")
@click.option("--segments", type=click.IntRange(1), default=4, show_default=True, help="Segments of a batch.")
@click.option("--kafka", metavar="SERVERS", help="Read messages from Kafka, not from the spool of SETTINGS.")
@click.option("--topic", multiple=True, help="A topic of Kafka; may be repeated.")
@click.option(
    "--kafka-conf",
    multiple=True,
    metavar="NAME=VALUE",
    callback=_settings,
    help="A setting of librdkafka, such as security.protocol=SASL_SSL; may be repeated.",
)
@click.option("--silent", is_flag=True, help="Publish nothing to the broker of SETTINGS.")
@_of_spark
def run(
    settings: Path,
    seconds: float,
    segments: int,
    kafka: str | None,
    topic: tuple[str, ...],
    kafka_conf: dict[str, str],
    silent: bool,
    **spark: Any,
) -> None:
    """Follow the streams of a gateway's SETTINGS until stopped (Ctrl-C).

    Readings come from the gateway's spool, which all machines must reach, or from Kafka. Decisions lie in
    OUT/decisions, and are published, with control messages, to the broker of SETTINGS.
    """
    from streamfs.cli.console import say
    from streamfs.cluster.spark.serve import follow

    found, job = _following(settings, spark["out"], spark["shards"])
    source: Any = found.spool
    if kafka is not None:
        source = {"topics": list(topic), "kafka": {"bootstrap.servers": kafka, **kafka_conf}}
    if source is None or (kafka is not None and not topic):
        raise click.UsageError("there is nothing to read: SETTINGS has no spool; or give --kafka and --topic")
    publish = None if silent else _publisher(found)
    at_once = segments if kafka is None else 100_000
    query = follow(
        _session(spark), source, spark["out"], job, n_partitions=spark["partitions"], at_once=at_once,
        publish=publish, seconds=seconds,
    )  # fmt: skip
    say(f"following; decisions are in {spark['out'] / 'decisions'}; stop with Ctrl-C")
    with suppress(KeyboardInterrupt):
        query.awaitTermination()
    query.stop()


@cluster.command(
    epilog=example_text(
        "streamfs cluster train rooms.parquet -o rooms.streamfs --promise 0.9 --master spark://head:7077",
    )
)
@_MASTER
@_CONF
def train(master: str, conf: dict[str, str], **options: Any) -> None:
    """Train as `streamfs train` does, with the same result; parts of the work are done by Spark's tasks.

    These are: the features of streams, Relief's weights, and what a promise's search has to know of each subset
    of features. The streams are read here.
    """
    from streamfs.base.workers import working_with
    from streamfs.cluster.spark.session import session
    from streamfs.cluster.spark.workers import SparkWorkers

    training = train_here.callback
    with working_with(SparkWorkers(session(master, conf))):
        if training is not None:
            training(**options)


train.params[:0] = train_here.params


def _session(spark: dict[str, Any]) -> Any:
    from streamfs.cluster.spark.session import session

    return session(spark["master"], spark["conf"])


def _following(path: Path, out: Path, n_shards: int) -> tuple[Any, Any]:
    """Return settings, and the job of following their streams."""
    from time import time

    from streamfs.cluster.jobs import Following, begun
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.gateway.settings_file import load_model

    found = read_settings(path)
    model = load_model(found)
    bindings = found.bindings(model.channels)
    job = Following.of(model.packed, n_shards, bindings, found, begun(out) or time(), trust=found.trust)
    return found, job


def _publisher(found: Any) -> Callable[..., None]:
    """Return what publishes to the broker of settings."""
    from functools import partial

    from streamfs.cluster.publishing import publish_all
    from streamfs.gateway.transport.transport import Transport

    broker = found.broker
    transport = Transport(
        broker.address(), f"{broker.client_id}-cluster", qos=broker.qos, keepalive=broker.keepalive
    )
    transport.connect()
    return partial(publish_all, transport)
