"""Options of `streamfs train` for promises and for exploring the trade-off between accuracy and cost."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.parameters import LAZY, NEW_FILE, PICTURE, POSITIVE, SHARE, TABLE, protect_inputs

if TYPE_CHECKING:
    from feature_extractors.base import Feature

OPTIONS = (
    click.option(
        "--promise",
        type=SHARE,
        metavar="ACCURACY",
        help="Find the cheapest features and threshold for which this share of the labels is correct.",
    ),
    click.option(
        "--completeness", type=SHARE, help="With --promise: also promise this share of the streams a label."
    ),
    click.option(
        "--per-class",
        type=click.Choice(["labelled", "found"]),
        help="With --promise: also promise the accuracy of each class, of streams labelled so or that are so.",
    ),
    click.option("--risk", type=SHARE, help="Probability that a promise or a bound fails; by default 0.05."),
    click.option(
        "--strategy",
        type=click.Choice(["floating", "exhaustive"]),
        help="Search of subsets: floating (the default), or exhaustive, with at most ten features.",
    ),
    click.option("--as-offered", is_flag=True, help="Do not try cheaper channels, or such that open later."),
    click.option(
        "--seconds",
        type=POSITIVE,
        help="Time limit of the search of subsets, which then returns the best so far. What is computed before, "
        "and the model after, take their own time.",
    ),
    click.option(
        "--max-cost", type=POSITIVE, help="With --promise: refuse what costs more on average, a stream or a label."
    ),
    click.option(
        "--resume",
        type=NEW_FILE,
        metavar="JSONL",
        help="Store subset scores in this file, and resume from it the next time.",
    ),
    click.option(
        "--explore",
        type=TABLE,
        metavar="FRONT",
        help="Write the trade-off between accuracy, completeness, cost and ticks to this CSV file.",
    ),
    click.option(
        "--point",
        type=click.IntRange(1),
        metavar="NUMBER",
        help="Train the model of this point of --explore's FRONT.",
    ),
    click.option(
        "--png",
        type=PICTURE,
        help="Plot the trade-off of --explore, or the reliability of the model of --promise.",
    ),
)

OF_PROMISE = {"completeness", "per_class", "max_cost", "strategy", "resume"}
"""Options that need --promise."""

OF_EITHER = {"risk", "as_offered", "seconds", "png"}
"""Options that need --promise or --explore."""

FOUND = {"confidence", "n_features", "error_cost", "delay_cost", "sending_cost"}
"""Options that --promise and --explore determine themselves."""

OTHERS = {"river", "sklearn"}
"""Classifiers of other libraries, which --explore does not explore."""

FIXED = {
    *FOUND,
    *OTHERS,
    "features",
    "channels",
    "catalogue",
    "select",
    "extrapolation",
    "as_offered",
    "seconds",
    "png",
}
"""Options that are fixed by a point."""


@dataclass(frozen=True)
class PromiseOptions:
    """Values of the options by name."""

    promise: float | None
    completeness: float | None
    per_class: str | None
    risk: float | None
    strategy: str | None
    as_offered: bool
    seconds: float | None
    max_cost: float | None
    resume: Path | None
    explore: Path | None
    point: int | None
    png: Path | None

    def check(self, context: click.Context) -> None:
        """Refuse options that exclude or miss each other."""
        given = set(_given(context))
        if self.point is not None:
            need(context, {"explore", "out"} - given)
            refuse(context, "--point, which fixes it", given & (FIXED | OF_PROMISE | {"promise"}))
        elif self.explore is not None:
            found = OF_PROMISE | FOUND | OTHERS | {"promise", "out"}
            refuse(context, "--explore, which writes points and not a model", given & found)
        elif self.promise is not None:
            refuse(context, "--promise, which determines it", given & FOUND)
        else:
            unused = sorted(given & (OF_PROMISE | OF_EITHER))
            if unused:
                others = "" if unused[0] in OF_PROMISE else " or --explore"
                raise click.UsageError(f"{_flag(context, unused[0])} needs --promise{others}")
        if self.explore is None:
            need(context, {"out"} - given)
        if self.png is not None:
            from streamfs.experiments import plots  # noqa: F401 - fails at once without matplotlib
        name = context.params["classifier"]
        if name in LAZY and (self.promise is not None or self.explore is not None):
            raise click.UsageError(f"--classifier {name} cannot be tested, expected extra-trees, c45 or boosting")

    def protect_inputs(self, streams: Mapping[str, Path | None], out: Path | None) -> None:
        """Refuse to overwrite an input, or to write two outputs to one file."""
        inputs = dict(streams)
        outputs = {"--out": out, "--png": self.png, "--resume": self.resume}
        (outputs if self.point is None else inputs)["--explore"] = self.explore
        protect_inputs(inputs, outputs)

    def require_few(self, offered: "Sequence[Feature]") -> None:
        """Refuse an exhaustive search of too many features."""
        from streamfs.training.promises.channel_groups import FEW

        n_paid = sum(bool(feature.columns) for feature in offered)
        if self.strategy == "exhaustive" and n_paid > FEW:
            raise click.UsageError(
                f"--strategy exhaustive tries all subsets of at most {FEW} features, and there are {n_paid}: "
                "name fewer with --feature"
            )

    def training_options(self, groups: Sequence[str] | None) -> dict[str, Any]:
        """Return the arguments of `train_promised` that `train` does not have."""
        from streamfs.training.promises import Promise, SearchSettings

        return {
            "promise": Promise(self.promise or 0.0, self.completeness, self.failure_probability, self.per_class),
            "groups": groups,
            "search": SearchSettings(
                self.strategy or "floating", self.as_offered, self.seconds, self.resume, self.max_cost
            ),
        }

    @property
    def failure_probability(self) -> float:
        """Return the risk, or its default."""
        from streamfs.training.promises import Promise

        return Promise.risk if self.risk is None else self.risk


def promise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `PromiseOptions`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def need(context: click.Context, missing: Iterable[str]) -> None:
    """Report the first of the missing options, if any."""
    for name in sorted(missing):
        raise click.MissingParameter(ctx=context, param=_option(context, name))


def refuse(context: click.Context, what: str, given: Iterable[str]) -> None:
    """Report the first option that another excludes, if any."""
    for name in sorted(given):
        raise click.UsageError(f"{_flag(context, name)} cannot be combined with {what}")


def _given(context: click.Context) -> Iterable[str]:
    """Yield the names of the parameters given on the command line."""
    for name in context.params:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            yield name


def _flag(context: click.Context, name: str) -> str:
    """Return the long form of an option."""
    return _option(context, name).opts[-1]


def _option(context: click.Context, name: str) -> click.Parameter:
    return next(option for option in context.command.params if option.name == name)
