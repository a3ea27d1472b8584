"""Train a procedure on recorded streams."""

import shlex
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.base.progress import step
from streamfs.cli import parameters
from streamfs.cli.commands.promise_options import PromiseOptions, promise_options
from streamfs.cli.parameters import (
    JSON,
    NEW_FILE,
    NOT_NEGATIVE,
    POSITIVE,
    SEED,
    ConfidenceOrWord,
    Named,
    Parsed,
    example_text,
    profile_option,
    typed,
)
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamfs.costs.pricing import Pricing
    from streamfs.data.streams import StreamSet
    from streamfs.selection.by_name import MakeSelector

PRICING = ("profile", "prices", "max_silence", "weight_each", "weight_once")
"""Options for the cost of messages."""

MODELS = ("river", "sklearn")
"""Options for classifiers of other packages."""

LIMITS = ("max_flash", "max_ram", "processor", "sends")
"""Options for what an exported model may take, and what it sends."""

DECISION_COSTS = ("error_cost", "delay_cost", "sending_cost")


@click.command(
    epilog=example_text(
        "streamfs train pairs.csv -o pairs.streamfs --profile cc2420",
        "streamfs train rooms.parquet -o rooms.streamfs --time-limit 600s",
        "streamfs train pairs.csv -o lazy.streamfs --classifier qsfs1",
        "streamfs train pairs.csv -o nb.streamfs --river naive_bayes.GaussianNB",
        "streamfs train pairs.csv -o sure.streamfs --promise 0.8 --completeness 0.9",
        "streamfs train pairs.csv --explore front.csv --png front.png",
        "streamfs train pairs.csv --explore front.csv --point 3 -o third.streamfs",
    )
)
@recordings()
@click.option("-o", "--out", type=NEW_FILE, help="The model file.")
@click.option(
    "--confidence",
    type=ConfidenceOrWord(),
    help="Probability of a class at which a label is given; by default the one at which errors and delays cost "
    "least, and 0.9 for ranked features. It is not an accuracy: see --promise. Or 'anticipated': one for each "
    "tick, by what waiting is expected to cost.",
)
@click.option(
    "--error-cost",
    type=POSITIVE,
    help="What a wrong label costs; by default 1. If no cost nor --confidence is given, accuracy and "
    "earliness are balanced: their harmonic mean is the best.",
)
@click.option("--delay-cost", type=NOT_NEGATIVE, help="What a delay up to the time limit costs; by default 1.")
@click.option(
    "--sending-cost",
    type=NOT_NEGATIVE,
    help="What a unit of --profile, such as a transmission, costs that is sent until the decision; by default 0.",
)
@click.option(
    "--time-limit",
    type=Parsed("limit", parameters.time_limit),
    help="Ticks (40) or seconds (600s) for which a stream is followed at most; by default the longest stream.",
)
@click.option(
    "--feature",
    "features",
    multiple=True,
    type=Parsed("name", parameters.feature),
    help="A feature to choose from, such as 'mean(a.light)'; may be repeated.",
)
@click.option(
    "--channel",
    "channels",
    multiple=True,
    type=Parsed("channel", parameters.channel),
    help="A channel to make features of, such as a.light@delta:5; may be repeated.",
)
@click.option(
    "--catalogue",
    type=click.Choice(["essential", "full"]),
    help="Kinds of features to make of the channels: essential (level, spread, trend, relations of pairs; the "
    "default) or full (all).",
)
@click.option(
    "--select",
    type=Named(["channels", *parameters.SELECTIONS, "none"], "streamfs.selectors"),
    metavar="SELECTION",
    help="How to select features: channels (all features of those worth reading, the default); streamrelief (the "
    "default of promises); literal (StreamRelief as printed); without costs "
    f"{', '.join(parameters.SELECTIONS[2:])}; or none (no selection).",
)
@click.option(
    "--extrapolation",
    type=click.Choice(["linear", "none", "spline", "hermite", "saturating", "auto"]),
    help="How StreamRelief extrapolates to a time limit beyond the recorded ticks; by default linear.",
)
@click.option(
    "--features",
    "--n-features",
    "n_features",
    type=click.IntRange(1),
    metavar="NUMBER",
    help="Number of ranked features to offer to the classifier, ranked by StreamRelief unless --select says "
    "otherwise; by default cross-validated.",
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
    "--classifier",
    type=Named(["c45", "extra-trees", "boosting", *parameters.LAZY], "streamfs.learners"),
    help="Extra trees (the default on chosen channels), C4.5 (the default on ranked features), gradient boosting, "
    "or nearest neighbours that request some channels only while a stream is unusual. By default a promise takes "
    "the best of the first three.",
)
@click.option(
    "--river",
    type=Parsed("classifier", parameters.river_classifier),
    help="A River classifier, such as tree.HoeffdingTreeClassifier.",
)
@click.option(
    "--sklearn",
    type=Parsed("classifier", parameters.sklearn_classifier),
    help="A classifier of scikit-learn, such as ensemble.RandomForestClassifier; --seed is its random state.",
)
@click.option(
    "--price",
    "prices",
    multiple=True,
    type=Parsed("quantity=factor", parameters.price),
    callback=parameters.prices,
    help="Cost factor of messages of a quantity, such as light=10; may be repeated.",
)
@click.option(
    "--devices",
    metavar="PROFILE",
    help="Offer only channels that devices of this profile can send by themselves: a name, or a TOML file; see "
    "streamfs devices.",
)
@click.option("--max-flash", type=click.IntRange(1), help="Bytes of flash that the exported model may take.")
@click.option("--max-ram", type=click.IntRange(1), help="Bytes that the exported model may keep for a stream.")
@click.option(
    "--processor",
    metavar="NAME",
    help="Where, in single precision: one that streamfs export --estimate names; by default cortex-m4.",
)
@click.option(
    "--split",
    "sends",
    type=click.Choice(("values", "crossings")),
    help="Train for streamfs export --split: nodes compute features, and send values or crossings. This must cost "
    "less than to send readings; with --promise, the cheaper of both is taken.",
)
@promise_options
@profile_option("transmissions")
@SEED
@JSON
def train(
    streams: Recordings,
    out: Path | None,
    confidence: float | str | None,
    time_limit: int | timedelta | None,
    features: Sequence[Any],
    channels: Sequence[str],
    catalogue: str | None,
    select: str | None,
    extrapolation: str | None,
    n_features: int | None,
    classifier: str | None,
    seed: int,
    as_json: bool,
    **others: Any,
) -> None:
    """Select features worth their cost, and train a classifier.

    STREAMS are CSV and Parquet files, folders of them, or patterns. They have the columns stream, time, label and
    the readings, unless options say otherwise. Without --feature and --channel, features are
    made of every column at every tick, on change, and as a flag.
    """
    pricing, models = ({name: others.pop(name) for name in names} for names in (PRICING, MODELS))
    devices = others.pop("devices")
    decision_costs, limits = ({name: others.pop(name) for name in names} for names in (DECISION_COSTS, LIMITS))
    promised = PromiseOptions(**others)
    context = click.get_current_context()
    promised.check(context)
    _check_options(context.params)
    promised.protect_inputs(streams.inputs, out)
    recorded = _recorded(streams)
    options: dict[str, Any] = {
        "pricing": _pricing(**pricing, sends=limits["sends"] if promised.promise is not None else None),
        "time_limit": time_limit,
        "seed": seed,
    }
    is_ranked = extrapolation is not None or n_features is not None
    if select is not None or is_ranked:
        options["select"] = _selector(select or "streamrelief", extrapolation)
    from streamfs.cli.console import say

    group_of = streams.groups_of(recorded)
    offered = _offered(recorded, features, channels, catalogue, devices)
    if promised.explore is not None:
        from streamfs.cli.commands.exploring import explore

        options |= {"groups": group_of} | ({} if classifier is None else {"classifier": classifier})
        explore(recorded, offered, promised, options, promised.explore, out, as_json=as_json)
    elif out is not None:
        options |= {"classifier": _model(classifier, **models, seed=seed)}
        options |= {} if confidence is None else {"confidence": confidence}
        options |= {} if n_features is None else {"n_features": n_features}
        options |= {name: cost for name, cost in decision_costs.items() if cost is not None}
        if promised.promise is None:
            options |= _limits(limits)
        else:
            options |= promised.training_options(group_of)
        _train(recorded, offered, promised, options, out, as_json=as_json)
        following = ["STREAMS", *streams.flags_of_model]
        say(f"wrote {out}; next: streamfs evaluate {typed(out)} {shlex.join(following)}")


def _limits(given: dict[str, Any]) -> dict[str, Any]:
    """Return what an exported model may take, if that is limited."""
    known = {name: value for name, value in given.items() if value is not None}
    if not known:
        return {}
    from streamfs.training.within import NodeLimits

    try:
        return {"limits": NodeLimits(**known)}
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--processor") from error


def _check_options(given: dict[str, Any]) -> None:
    """Refuse options that exclude or miss each other."""
    select, classifier = given["select"], given["classifier"]
    if given["catalogue"] and given["features"] and not given["channels"]:
        raise click.UsageError("--catalogue needs --channel if --feature is given")
    if select in ("channels", "none") and given["n_features"]:
        raise click.UsageError("--n-features counts ranked features: give --select streamrelief or another")
    if given["extrapolation"] and select not in (None, "streamrelief", "literal"):
        raise click.UsageError(f"--extrapolation is for StreamRelief, and --select is {select}")
    words = {name: name.replace("_", "-") for name in LIMITS} | {"sends": "split"}
    promised = ("sends",) if given["promise"] is not None else ()
    limited = [f"--{words[name]}" for name in LIMITS if given[name] is not None and name not in promised]
    if limited and (given["promise"] is not None or given["explore"] is not None):
        raise click.UsageError(f"{limited[0]} is not for --promise and --explore: train without them")
    if given["promise"] is not None and select == "channels":
        raise click.UsageError("--promise searches features of its own proposals, and --select is channels")
    named = [f"--{name}" for name in MODELS if given[name] is not None]
    named = [f"--classifier {classifier}", *named] if classifier else named
    if len(named) > 1:
        raise click.UsageError(f"{' and '.join(named)} are {len(named)} classifiers, expected one")


def _model(classifier: str | None, river: Any, sklearn: Any, seed: int) -> Any:
    """Return the classifier that was asked for, by name or itself; None for the default."""
    if sklearn is not None and "random_state" in sklearn.get_params():
        sklearn.set_params(random_state=seed)
    return next((model for model in (classifier, river, sklearn) if model is not None), None)


def _recorded(streams: Recordings) -> "StreamSet":
    """Read the streams, and print notes on their quality."""
    from streamfs.cli import console

    console.announce_compiling()
    with console.progress() as report, step(report, "reading the streams"):
        recorded = streams.read()
    console.say(repr(recorded))
    for note in _notes(recorded, streams):
        console.say(f"note: {note}")
    return recorded


def _pricing(
    profile: str,
    prices: dict[str, float],
    max_silence: float | None,
    weight_each: float,
    weight_once: float,
    sends: str | None,
) -> "Pricing":
    from streamfs.costs.pricing import Pricing

    return Pricing(profile, prices or None, max_silence, weight_each, weight_once, sends=sends)


def _selector(select: str, extrapolation: str | None) -> "str | MakeSelector | None":
    from streamfs.training.arguments import selector_of

    if select in ("channels", "none"):
        return None if select == "none" else select
    found = selector_of(select)
    return partial(found, extrapolation=extrapolation) if extrapolation and found else found


def _offered(
    recorded: "StreamSet",
    features: Sequence[Any],
    channels: Sequence[str],
    catalogue: str | None,
    devices: str | None = None,
) -> list[Any] | None:
    """Return the named features; None for the default ones. All channels are such as devices of a profile send."""
    import feature_extractors as fx
    from streamfs.data.default_features import default_channels

    if devices is not None:
        channels = _of_devices(recorded, features, channels, devices)
    kinds = fx.KINDS if catalogue == "full" else fx.ESSENTIAL
    if catalogue == "full" and not (channels or features):
        channels = default_channels(recorded)
    return list(dict.fromkeys([*features, *(fx.catalogue(channels, kinds) if channels else ())])) or None


def _of_devices(
    recorded: "StreamSet", features: Sequence[Any], channels: Sequence[str], devices: str
) -> Sequence[str]:
    """Return the channels to make features of; raise a DataError if devices cannot send one that is named."""
    from streamfs.cli.device_channels import check_channels, device_channels
    from streamfs.gateway.settings.profiles import load_profile, read_profile

    profile = read_profile(Path(devices)) if devices.endswith(".toml") else load_profile(devices)
    named = [*channels, *(channel for feature in features for channel in feature.columns)]
    check_channels(profile, named, recorded.period)
    return channels if named else device_channels(profile, recorded)


def _train(
    recorded: "StreamSet",
    offered: list[Any] | None,
    promised: PromiseOptions,
    options: dict[str, Any],
    out: Path,
    *,
    as_json: bool,
) -> None:
    """Train, save and show a model with its promise, if any."""
    from streamfs.cli import console
    from streamfs.cli.commands import promise_text
    from streamfs.data.default_features import default_features
    from streamfs.training.cost_aware import train as train_plainly
    from streamfs.training.promises import PromiseError
    from streamfs.training.promises.promised import train_promised
    from streamfs.training.promises.split import TrainTestSplit
    from streamfs.training.within import train_within

    if promised.promise is not None:
        promised.require_few(default_features(recorded) if offered is None else offered)
    train_one: Any = train_plainly if promised.promise is None else train_promised
    train_one = train_within if "limits" in options else train_one
    try:
        with console.progress() as report:
            procedure = train_one(recorded, features=offered, progress=report, **options)
    except PromiseError as error:
        promise_text.print_refusal(error, as_json=as_json)
        raise
    except KeyboardInterrupt:
        if promised.resume is not None and promised.resume.exists():
            console.say(f"the subset scores are in {promised.resume}: the same command resumes from there")
        raise
    procedure.save(out)
    promise_text.show(procedure, out, as_json=as_json)
    if promised.png is not None:
        tested = TrainTestSplit.of(recorded, options["groups"], options["seed"]).test
        promise_text.draw_reliability(procedure, tested, promised.png)
        console.say(f"wrote {promised.png}")


def _notes(recorded: "StreamSet", streams: Recordings) -> "Iterator[str]":
    """Yield notes on the quality of the data, and on windows."""
    from streamfs.data.quality_checks import empty_columns, median_gap

    for column in empty_columns(recorded):
        yield f"{column} of {streams} has no reading in any of {len(recorded)} streams, and is left out"
    if "window" in streams.layout and "groups" not in streams.layout:
        yield (
            "windows that follow each other are alike, as all of a class do: held-out ones may show too much"
            if recorded.groups is None
            else "windows of a class that follow each other are held out together, but each counts as if alone"
        )
    usual = median_gap(recorded)
    if "period" not in streams.layout and "resample" not in streams.layout and usual is not None:
        yield (
            f"a tick is {recorded.period:g} s, the smallest step of time in {streams}, but the usual step is "
            f"{usual:g} s: give --period if that is meant"
        )
