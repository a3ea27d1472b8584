"""The options by which `streamfs train` keeps a promise, or explores what could be promised."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.parameters import LAZY, NEW_FILE, PICTURE, POSITIVE, SHARE, TABLE, protect_inputs

if TYPE_CHECKING:
    from feature_extractors.base import Feature
    from streamfs.data.streams import StreamSet

OPTIONS = (
    click.option(
        "--promise",
        type=SHARE,
        metavar="ACCURACY",
        help="Find the cheapest features and threshold with which this share of the labels is right.",
    ),
    click.option(
        "--completeness", type=SHARE, help="With --promise: the share of the streams that get a label, too."
    ),
    click.option(
        "--risk", type=SHARE, help="Probability with which a promise, or a bound, may fail; by default 0.05."
    ),
    click.option(
        "--groups",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="CSV",
        help="Rows of stream,group: what streams have in common, such as a room, is tested on others only.",
    ),
    click.option(
        "--search",
        type=click.Choice(["floating", "exhaustive"]),
        help="How subsets are searched; exhaustively of ten features at most. By default floating.",
    ),
    click.option(
        "--as-offered", is_flag=True, help="Do not try the features over cheaper channels than their own."
    ),
    click.option("--seconds", type=POSITIVE, help="Time for the search; then the best so far is taken."),
    click.option(
        "--resume",
        type=NEW_FILE,
        metavar="JSONL",
        help="Keep what is judged there, and go on from it the next time.",
    ),
    click.option(
        "--explore",
        type=TABLE,
        metavar="FRONT",
        help="Write the trade-off between accuracy, completeness, cost and ticks there, as CSV.",
    ),
    click.option(
        "--point", type=click.IntRange(1), metavar="NUMBER", help="Make that point of --explore's FRONT a model."
    ),
    click.option(
        "--png", type=PICTURE, help="Plot the trade-off of --explore, or the reliability of --promise's model."
    ),
)

ALONE = {"completeness", "search", "resume"}
"""Options of --promise."""

SHARED = {"risk", "groups", "as_offered", "seconds", "png"}
"""Options of --promise and --explore."""

FOUND = {"confidence", "n_features", "river"}
"""What a promise, and a front, leave no choice of."""

SETTLED = {*FOUND, "features", "channels", "catalogue", "select", "extrapolation", "as_offered", "seconds", "png"}
"""What a point has settled."""


@dataclass(frozen=True)
class Asked:
    """What is asked of `streamfs train` beside a plain model; the options' values by their names."""

    promise: float | None
    completeness: float | None
    risk: float | None
    groups: Path | None
    search: str | None
    as_offered: bool
    seconds: float | None
    resume: Path | None
    explore: Path | None
    point: int | None
    png: Path | None

    def check(self, context: click.Context) -> None:
        """Refuse options that do not go together.

        Raises
        ------
        click.UsageError
            Naming them.
        """
        given = set(_given(context))
        if self.point is not None:
            need(context, {"explore", "out"} - given)
            refuse(context, "--point, which has settled that", given & (SETTLED | ALONE | {"promise"}))
        elif self.explore is not None:
            found = ALONE | FOUND | {"promise", "out"}
            refuse(context, "--explore, which writes points and no model", given & found)
        elif self.promise is not None:
            refuse(context, "--promise, which finds that", given & FOUND)
        else:
            unused = sorted(given & (ALONE | SHARED))
            if unused:
                others = "" if unused[0] in ALONE else " or --explore"
                raise click.UsageError(f"{_flag(context, unused[0])} is of --promise{others}: give that, too")
        if self.explore is None:
            need(context, {"out"} - given)
        if self.png is not None:
            from streamfs.experiments import plots  # noqa: F401 - without matplotlib it is said at once
        name = context.params["classifier"]
        if name in LAZY and (self.promise is not None or self.explore is not None):
            raise click.UsageError(
                f"--classifier {name} is of neighbours, and only c45 and extra-trees can be tested"
            )

    def keep_inputs(self, streams: Path, out: Path | None) -> None:
        """Refuse to write over a file that is read, or two outputs to one file.

        Raises
        ------
        click.UsageError
            Naming them.
        """
        inputs = {"STREAMS": streams, "--groups": self.groups}
        outputs = {"--out": out, "--png": self.png, "--resume": self.resume}
        (outputs if self.point is None else inputs)["--explore"] = self.explore
        protect_inputs(inputs, outputs)

    def require_few(self, offered: "Sequence[Feature]") -> None:
        """Refuse to exhaust too many features.

        Raises
        ------
        click.UsageError
            Saying how many there may be.
        """
        from streamfs.training.promises.channel_groups import FEW

        n_paid = sum(bool(feature.columns) for feature in offered)
        if self.search == "exhaustive" and n_paid > FEW:
            raise click.UsageError(
                f"--search exhaustive tries all subsets of at most {FEW} features, and there are "
                f"{n_paid}: name them by --feature"
            )

    def training_options(self, recorded: "StreamSet") -> dict[str, Any]:
        """Return the arguments of `train_promised` that `train` does not have."""
        from streamfs.training.promises import Promise, SearchSettings

        return {
            "promise": Promise(self.promise or 0.0, self.completeness, self.failing),
            "groups": self.group_of(recorded),
            "search": SearchSettings(self.search or "floating", not self.as_offered, self.seconds, self.resume),
        }

    @property
    def failing(self) -> float:
        """The risk."""
        from streamfs.training.promises import Promise

        return Promise.risk if self.risk is None else self.risk

    def group_of(self, recorded: "StreamSet") -> list[str] | None:
        """The group of each stream, where there are groups."""
        from streamfs.training.promises.groups import read_groups

        return None if self.groups is None else read_groups(self.groups, recorded)

    def set_apart(self, recorded: "StreamSet", seed: int) -> "StreamSet":
        """The streams on which a promise was tested."""
        from streamfs.training.promises.split import Division

        return Division.of(recorded, self.group_of(recorded), seed).testing


def promise_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of `Asked`."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def need(context: click.Context, missing: Iterable[str]) -> None:
    """Refuse to go on without some options.

    Raises
    ------
    click.MissingParameter
        Naming the first that is missing.
    """
    for name in sorted(missing):
        raise click.MissingParameter(ctx=context, param=_option(context, name))


def refuse(context: click.Context, what: str, given: Iterable[str]) -> None:
    """Refuse options beside another.

    Raises
    ------
    click.UsageError
        Naming the first of them.
    """
    for name in sorted(given):
        raise click.UsageError(f"{_flag(context, name)} does not go with {what}")


def _given(context: click.Context) -> Iterable[str]:
    """Names of the parameters that were given on the command line."""
    for name in context.params:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            yield name


def _flag(context: click.Context, name: str) -> str:
    """How an option is written."""
    return _option(context, name).opts[-1]


def _option(context: click.Context, name: str) -> click.Parameter:
    return next(option for option in context.command.params if option.name == name)
