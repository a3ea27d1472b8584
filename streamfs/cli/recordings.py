"""The argument STREAMS and the options that say how it is laid out."""

import csv
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from streamfs.cli.parameters import NOT_NEGATIVE, POSITIVE, Parsed, flag, typed

if TYPE_CHECKING:
    from streamfs.data.stream_files import ReadStreams
    from streamfs.data.streams import StreamSet

_AROUND_COMMAS = re.compile(r'("(?:[^"]|"")*")|\s*,\s*')
_QUOTED = re.compile(r'[,"\r\n]|^\s|\s$')


def names(text: str) -> tuple[str, ...]:
    """Parse names that commas separate; one with a comma, or with spaces around it, is in double quotes.

    Examples
    --------
    >>> names('x, "y, z" ,"t "')
    ('x', 'y, z', 't ')
    """
    bare = _AROUND_COMMAS.sub(lambda found: found[1] or ",", text.strip())
    try:
        return tuple(next(csv.reader([bare]), []))
    except csv.Error as error:
        raise ValueError(f"{text!r} has a line break, expected a name with one in double quotes") from error


def words(text: str) -> dict[str, float | str]:
    """Parse words in place of numbers.

    Examples
    --------
    >>> words("closed=0,open=1,NA=missing")
    {'closed': 0.0, 'open': 1.0, 'NA': 'missing'}
    """
    found: dict[str, float | str] = {}
    for pair in names(text):
        word, _, value = pair.rpartition("=")
        try:
            found[word] = value if value in ("missing", "unit") else float(value)
        except ValueError as error:
            raise ValueError(f"{pair!r} is no word and its number, such as open=1 or NA=missing") from error
        if not word:
            raise ValueError(f"{pair!r} has no word before its number, such as open=1 or NA=missing")
    return found


NAMES = Parsed("names", names)

OPTIONS = {
    "long": click.option(
        "--long",
        type=NAMES,
        metavar="STREAM,TIME,SENSOR,VALUE",
        help="The columns of these, if STREAMS has a row for each reading: --long device,time,sensor,value.",
    ),
    "stream": click.option(
        "--stream",
        type=NAMES,
        metavar="COLUMN,...",
        help="Column of the stream's name, or several: --stream session,device; a file without one is a stream.",
    ),
    "time": click.option(
        "--time",
        type=NAMES,
        metavar="COLUMN,...",
        help="Column of the time, by default time; or those of the date and the time of day: --time Date,Time; "
        "or of year, month, day and so on; or the word rows, if rows follow each other at --period.",
    ),
    "label": click.option(
        "--label",
        metavar="COLUMN",
        help="Column of the label, by default label; or, with --labels runs or --window, a sensor.",
    ),
    "columns": click.option(
        "--columns", type=NAMES, metavar="COLUMN,...", help="The readings to take; by default all."
    ),
    "labels": click.option(
        "--labels",
        metavar="FILE|folder|name|runs",
        help="Where labels are, if not in a column: a file of stream,label, or of start,end,label (and stream); "
        "the word folder for the names of the files' folders; name for what the files' own begin with, as "
        "wave_03.csv; or runs, each of one label in its column.",
    ),
    "window": click.option(
        "--window",
        type=POSITIVE,
        metavar="SECONDS",
        help="Cut streams into windows of this length, each a stream of its own. Their label may change: a window "
        "has that of nine in ten of its rows, or is left out.",
    ),
    "groups": click.option(
        "--groups",
        metavar="COLUMN|CSV",
        help="Column that says what belongs together, such as a person or a room, or a CSV file of stream,group: "
        "streams of one group are all either trained or tested on.",
    ),
    "time_format": click.option(
        "--time-format",
        metavar="FORMAT",
        help="What times are: s, ms, us, ns, or a form such as '%d.%m.%Y %H:%M'.",
    ),
    "time_zone": click.option(
        "--time-zone",
        metavar="ZONE",
        help="Zone of dates without an offset, such as Europe/Berlin; by default UTC.",
    ),
    "values": click.option(
        "--values",
        type=Parsed("words", words),
        metavar="WORD=NUMBER,...",
        help="Words in place of numbers: --values closed=0,open=1,unavailable=missing; or after them: °C=unit.",
    ),
    "decimal": click.option(
        "--decimal",
        type=click.Choice([",", "."]),
        help="What separates the decimals of numbers; by default a comma beside semicolons, else a point.",
    ),
    "header": click.option(
        "--header",
        type=NAMES,
        metavar="COLUMN,...",
        help="What the header begins with, if other lines come before it: --header Date,Time.",
    ),
    "column_names": click.option(
        "--column-names",
        type=NAMES,
        metavar="COLUMN,...",
        help="Names of all columns, if there is no header: --column-names time,x,y; with --header, in its place.",
    ),
    "resample": click.option(
        "--resample",
        type=click.Choice(["last", "mean"]),
        help="What a tick holds if several readings fall on it; by default that is an error.",
    ),
    "max_age": click.option(
        "--max-age",
        type=NOT_NEGATIVE,
        metavar="SECONDS",
        help="Time for which a tick without a reading holds the previous one; by default it is missing.",
    ),
}
"""Options by the field of a `Layout` that each sets."""

PERIOD = click.option(
    "--period",
    type=POSITIVE,
    help="Length of a tick in seconds; by default the smallest step, or the usual one with --resample.",
)


@dataclass(frozen=True)
class Recordings:
    """Recorded streams, as named on the command line.

    Parameters
    ----------
    paths : sequence of path
        Files, folders and patterns.
    layout : mapping
        Fields of a `Layout` that were given.
    """

    paths: Sequence[Path]
    layout: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join(map(str, self.paths))

    @property
    def inputs(self) -> dict[str, Path | None]:
        """The files, by what a message calls them."""
        labels = self.layout.get("labels")
        named: dict[str, Path | None] = {} if labels is None else {"--labels": Path(labels)}
        named |= {} if self.groups_file is None else {"--groups": self.groups_file}
        return named | {"STREAMS" if not n else f"STREAMS ({n + 1})": path for n, path in enumerate(self.paths)}

    @property
    def groups_file(self) -> Path | None:
        """The file of the streams' groups; None if a column has them, or there are none."""
        if "groups" not in self.layout:
            return None
        from streamfs.data.recordings.layout import groups_file  # noqa: PLC0415 - help shall not wait for polars

        return groups_file(self.layout["groups"])

    @property
    def command(self) -> str:
        """The argument and its options, as they are typed."""
        return " ".join([*map(typed, self.paths), *map(shlex.quote, flags(self.layout))])

    @property
    def flags_of_model(self) -> list[str]:
        """The options as words for other streams; a model has its own period, and they have other groups."""
        others = {"period", *(() if self.groups_file is None else ("groups",))}
        return flags({name: value for name, value in self.layout.items() if name not in others})

    def read(self, period: float | None = None, *, labelled: bool = True) -> "StreamSet":
        """Read the streams; the period of a model is given, that of the options is not."""
        from streamfs.data.streams import StreamSet  # noqa: PLC0415 - help shall not wait for polars

        return StreamSet.of_read(self.recording(period, labelled=labelled))

    def groups_of(self, recorded: "StreamSet") -> list[str] | None:
        """Return the group of each stream, if groups were asked for."""
        return list(map(str, recorded.groups)) if "groups" in self.layout and recorded.groups is not None else None

    def recording(
        self, period: float | None = None, *, labelled: bool = True, count: bool = False
    ) -> "ReadStreams":
        """Read the streams with what their files say of times, and count those of each stream if asked."""
        from streamfs.cli.console import say  # noqa: PLC0415 - help shall not wait for polars
        from streamfs.data.recordings.layout import Layout  # noqa: PLC0415
        from streamfs.data.stream_files import read_recording  # noqa: PLC0415

        fields = dict(self.layout) if period is None else {**self.layout, "period": period}
        found = read_recording(self.paths, Layout(**fields, labelled=labelled), count=count)
        if found.windows is not None and found.windows.n_left_out:
            windows = f"{found.windows.n_left_out} of {found.windows.n_cut} windows of {fields['window']:g} s"
            say(f"note: {windows} are left out, whose rows do not have one label to nine in ten")
        return found


def recordings(
    *, period: bool = True, required: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command the argument STREAMS and its options; it gets `streams`, some `Recordings`."""
    options = {**OPTIONS, **({"period": PERIOD} if period else {})}

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def with_recordings(streams: Sequence[Path], **others: Any) -> Any:
            given = {name: value for name in options if (value := others.pop(name)) is not None}
            return command(streams=Recordings(streams, given), **others)

        wrapped: Callable[..., Any] = with_recordings
        for option in reversed(options.values()):
            wrapped = option(wrapped)
        return click.argument("streams", nargs=-1, required=required, type=click.Path(path_type=Path))(wrapped)

    return decorate


def flags(layout: Mapping[str, Any]) -> list[str]:
    """Return fields of a layout as words of the command line, in the order of its help.

    Examples
    --------
    >>> flags({"max_age": 20.0, "stream": "device", "columns": ("x", "y")})
    ['--stream', 'device', '--columns', 'x,y', '--max-age', '20']
    """
    given = [name for name in (*OPTIONS, "period") if name in layout]
    fields = {
        **layout,
        **{name: (layout[name],) for name in ("stream", "time") if isinstance(layout.get(name), str)},
    }
    return [word for name in given for word in (flag(name), _word(fields[name]))]


def _word(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.12g}"
    if isinstance(value, str | Path):
        return str(value)
    if isinstance(value, Mapping):
        value = [
            f"{word}={number if isinstance(number, str) else f'{number:g}'}" for word, number in value.items()
        ]
    return ",".join('"{}"'.format(name.replace('"', '""')) if _QUOTED.search(name) else name for name in value)
