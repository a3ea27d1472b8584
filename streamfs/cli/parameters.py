"""Types and options of the command line; a wrong argument is reported before any work is done."""

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from importlib import import_module
from math import floor, isfinite
from os.path import realpath
from pathlib import Path
from time import time
from typing import Any

import click

from streamfs.costs.radio_profiles import PROFILES
from streamfs.gateway.core.option_declaration import OptionSection, declared

MAX_THRESHOLDS = 1000
MAX_TICKS = 1_000_000
PICTURES = (".png", ".svg", ".pdf")
RECORDINGS = ("room_climate", "room_B", "sml2010", "appliances", "uncg_wsn")
SELECTIONS = (
    "streamrelief",
    "literal",
    "relief",
    "relieff",
    "lvf",
    "finco",
    "forward",
    "backward",
    "floating",
    "floating-backward",
    "dependency-aware",
    "active",
)
LAZY = ("qsfs1", "qsfs2")


class Named(click.Choice[str]):
    """One of our names, or of those that installed packages bring as entry points of a group."""

    def __init__(self, choices: Iterable[str], group: str) -> None:
        super().__init__([*choices])
        self._group = group

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        from feature_extractors.own_parts import own_names  # noqa: PLC0415 - loads numpy

        if value not in self.choices and value in own_names(self._group):
            return str(value)
        return super().convert(value, param, ctx)


class Parsed(click.ParamType[Any]):
    """A type that is parsed by a function, whose ValueError is reported as wrong usage."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text."""
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Number(click.FloatRange):
    """A finite number in a range."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Read a number."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{number} is not a finite number", param, ctx)
        return number


class ConfidenceOrWord(Number):
    """A confidence above 0 and up to 1, or the word for one that is chosen for each tick."""

    def __init__(self) -> None:
        super().__init__(0, 1, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read a number, or the word."""
        if value == "anticipated":
            return value
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter as error:
            self.fail(f"{error.message.rstrip('.')}, and not the word anticipated.", param, ctx)


class NewFile(click.Path):
    """A file to write, in an existing folder and, if suffixes are given, with one of them."""

    def __init__(self, *suffixes: str) -> None:
        super().__init__(dir_okay=False, writable=True, path_type=Path)
        self._suffixes = suffixes

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Check the folder and the suffix."""
        path = Path(str(super().convert(value, param, ctx)))
        if not path.parent.is_dir():
            self.fail(f"{path} cannot be written: there is no folder {path.parent}", param, ctx)
        if self._suffixes and path.suffix not in self._suffixes:
            expected = f"one of {', '.join(self._suffixes)}" if len(self._suffixes) > 1 else self._suffixes[0]
            self.fail(f"{path} ends in {path.suffix!r}, expected {expected}", param, ctx)
        return path


def typed(path: Path) -> str:
    """Return a path as it is typed in a shell: in quotes if it needs them, and never like an option.

    Examples
    --------
    >>> typed(Path("my pairs.csv")), typed(Path("-x.csv"))
    ("'my pairs.csv'", './-x.csv')
    """
    return shlex.quote(f"./{path}" if str(path).startswith("-") else str(path))


_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def moment(text: str) -> float:
    """Parse a date and time, local without an offset, or how long ago it was (90m), to seconds since 1970.

    Examples
    --------
    >>> moment("2026-11-23T09:00+01:00")
    1795420800.0
    """
    number, unit = text[:-1], text[-1:]
    if unit in _SECONDS and number.isdecimal():
        return time() - int(number) * _SECONDS[unit]
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time, expected such as 2026-11-23T08:00 or 90m") from None
    return date.timestamp()


def time_limit(text: str) -> int | timedelta:
    """Parse a time limit: whole ticks (40), or seconds with the suffix s (600s)."""
    try:
        if text.endswith("s"):
            limit = timedelta(seconds=float(text.removesuffix("s")))
            if limit > timedelta():
                return limit
        elif 1 <= int(text) <= MAX_TICKS:
            return int(text)
    except (ValueError, OverflowError):
        pass
    raise ValueError(f"{text!r}, expected 1 to {MAX_TICKS} ticks (40), or seconds with an s (600s)")


def thresholds(text: str) -> list[float]:
    """Parse thresholds: numbers separated by commas, or first:last:step."""
    try:
        if ":" in text:
            first, last, step = (float(part) for part in text.split(":"))
            n_steps = min(floor((last - first) / step + 1e-9), MAX_THRESHOLDS)
            values = [round(first + k * step, 10) for k in range(n_steps + 1)]
        else:
            values = [float(part) for part in text.split(",")]
    except (ValueError, ArithmeticError):
        values = []
    if not 0 < len(values) <= MAX_THRESHOLDS or not all(0 < value <= 1 for value in values):
        raise ValueError(
            f"{text!r}, expected at most {MAX_THRESHOLDS} numbers above 0 and up to 1: 0.8,0.9 or 0.80:0.99:0.01"
        )
    return list(dict.fromkeys(values))


def data(text: str) -> str | Path:
    """Parse a source of recorded streams: one of `RECORDINGS`, or a file."""
    if text in RECORDINGS:
        return text
    if not text.endswith((".csv", ".csv.gz", ".parquet")):
        raise ValueError(f"{text!r}, expected one of {', '.join(RECORDINGS)}, or a CSV or Parquet file")
    return Path(text)


def price(text: str) -> tuple[str, float]:
    """Parse the cost of a message of a quantity: light=10."""
    quantity, _, factor = text.rpartition("=")
    try:
        value = float(factor)
    except ValueError:
        value = -1.0
    if not quantity or not (isfinite(value) and value >= 0):
        raise ValueError(f"{text!r}, expected a quantity and a number of at least 0: light=10")
    return quantity, value


def resolution(text: str) -> tuple[str, float]:
    """Parse the step of a column's readings: temperature=0.0625."""
    column, _, step = text.rpartition("=")
    try:
        value = float(step)
    except ValueError:
        value = 0.0
    if not column or not (isfinite(value) and value > 0):
        raise ValueError(f"{text!r}, expected a column and a number above 0: temperature=0.0625")
    return column, value


def prices(
    _context: click.Context, option: click.Parameter, named: Sequence[tuple[str, float]]
) -> dict[str, float]:
    """Collect prices into a mapping; refuse two prices of one quantity."""
    collected = dict(named)
    for quantity in collected:
        factors = [f"{factor:g}" for other, factor in named if other == quantity]
        if len(factors) > 1:
            raise click.UsageError(f"{option.opts[-1]} names {quantity} twice: {' and '.join(factors)}")
    return collected


def feature(text: str) -> Any:
    """Parse the name of a feature."""
    import feature_extractors as fx  # noqa: PLC0415 - help shall not wait for numba

    return fx.get(text)


def channel(text: str) -> str:
    """Parse a channel into its canonical form."""
    from feature_extractors.catalogue import canonical  # noqa: PLC0415

    return canonical(text)


def broker(text: str) -> str:
    """Check the address of a broker, and return it unchanged."""
    from streamfs.gateway.transport.broker_address import parse_url  # noqa: PLC0415

    parse_url(text)
    return text


def river_classifier(text: str) -> Any:
    """Make a River classifier from its name within River."""
    module, _, word = text.rpartition(".")
    try:
        from streamfs.classifiers.online import OnlineClassifier  # noqa: PLC0415

        model = getattr(import_module(f"river.{module}"), word)()
        return OnlineClassifier(model, (), ("one", "other")).model
    except (ImportError, AttributeError, TypeError, RuntimeError) as error:
        raise ValueError(f"{text!r}: {error}; expected a name such as naive_bayes.GaussianNB") from error


def sklearn_classifier(text: str) -> Any:
    """Make a classifier of scikit-learn from its name within scikit-learn."""
    module, _, word = text.rpartition(".")
    try:
        from streamfs.classifiers.estimator import EstimatorClassifier  # noqa: PLC0415

        model = getattr(import_module(f"sklearn.{module}"), word)()
        return EstimatorClassifier(model, (), ("one", "other")).model
    except (ImportError, AttributeError, TypeError) as error:
        raise ValueError(f"{text!r}: {error}; expected a name such as ensemble.RandomForestClassifier") from error


def protect_inputs(inputs: Mapping[str, Path | None], outputs: Mapping[str, Path | None]) -> None:
    """Refuse to overwrite an input, or to write two outputs to one file, even through links."""
    taken = dict(inputs)
    for option, path in outputs.items():
        for name, other in taken.items():
            if path is not None and other is not None and _is_same_file(path, other):
                raise click.UsageError(f"{option} {path} is the file of {name}, which it would overwrite")
        taken[option] = path


def _is_same_file(path: Path, other: Path) -> bool:
    return realpath(path) == realpath(other) or (path.exists() and other.exists() and path.samefile(other))


def example_text(*commands: str) -> str:
    """Return the examples at the end of a command's help; click does not wrap what follows the backspace."""
    lines = "\n".join(f"  {command}" for command in commands)
    return f"\b\n{'Examples' if len(commands) > 1 else 'Example'}:\n{lines}"


OLD_FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
NEW_FILE = NewFile()
PICTURE = NewFile(*PICTURES)
TABLE = NewFile(".csv")
POSITIVE = Number(0, min_open=True)
NOT_NEGATIVE = Number(0)
SHARE = Number(0, 1, min_open=True, max_open=True)

MODEL = click.argument("model", type=OLD_FILE)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
TRUST = click.option(
    "--trust", is_flag=True, help="Load a pickled model of another library; only from a source that you trust."
)
REOPEN_AFTER = click.option(
    "--reopen-after",
    default=3600.0,
    show_default=True,
    type=NOT_NEGATIVE,
    help="Seconds from a decision to the stream's next episode.",
)
BATTERY = click.option(
    "--battery",
    type=POSITIVE,
    metavar="JOULES",
    help="Usable energy of a node's battery; by default two AA cells.",
)
SEED = click.option(
    "--seed", default=0, show_default=True, type=click.IntRange(0), help="Seed of everything random."
)


def profile_option(default: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return the option that names a radio."""
    return click.option(
        "--profile",
        default=default,
        show_default=True,
        metavar="RADIO",
        type=Named(PROFILES, "streamfs.radios"),
        help=f"Radio whose energy is counted: {', '.join(PROFILES)}.",
    )


def gateway_option(section: type[OptionSection], key: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make the flag of an option of the gateway."""
    _, kind, option, default = declared(section)[key]

    def checked(text: str) -> str:
        if fault := option.fault(key, text):
            raise ValueError(fault)
        return text

    types = {float: NOT_NEGATIVE, Path: FOLDER, str: Parsed("text", checked)}
    return click.option(
        f"--{key}", default=default, show_default=default is not None, type=types[kind], help=f"{option.sentence}."
    )


def flag(name: str) -> str:
    """Return the option of the command line for an argument or a field of this name.

    Examples
    --------
    >>> flag("time_format")
    '--time-format'
    """
    return f"--{name.replace('_', '-')}"
