"""The command line."""

import shlex
import signal
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from traceback import walk_tb
from typing import Any

import click

from streamfs.base.optional import missing_extra
from streamfs.cli.parameters import example_text, flag
from streamfs.cli.recordings import flags
from streamfs.errors import LayoutError, StreamfsError

NO_CACHE = "there is no folder for compiled code: set NUMBA_CACHE_DIR to a writable one"


COMMANDS: Mapping[str, str] = {
    "backup": "Copy the folder STATE of a running gateway to a new folder COPY.",
    "bench": "Compare streamfs with other methods on your own sets.",
    "card": "Show what to know about MODEL before deploying it.",
    "check": "Check the SETTINGS of a gateway, and show what it would do.",
    "cluster": "Decide and follow streams on Apache Spark, and train there.",
    "collect": "Write the readings in SOURCE, which a gateway or another system has kept, to a file.",
    "completion": "Install the completion of commands and options.",
    "demo": "Train, then follow a fleet of simulated nodes over MQTT.",
    "devices": "List device profiles, or explain and try one.",
    "doctor": "Check whether this machine is fit for training or a gateway.",
    "evaluate": "Evaluate completeness, accuracy and cost on labelled STREAMS.",
    "export": "Write MODEL as C, for nodes that decide by themselves.",
    "figure2": "Repeat the StreamRelief paper's experiment (Figure 2).",
    "guard": "Ask devices for their safe interval while the gateway of SETTINGS is offline.",
    "inspect": "Look at recorded STREAMS, and say how to train on them.",
    "journal": "Show the folder STATE of a gateway, which may be running.",
    "labels": "List the decisions of a gateway whose true label is wanted.",
    "move": "Move ZONE, with its state, from one gateway to another that shares streams with it.",
    "page": "Show gateways in the browser until stopped (Ctrl-C).",
    "recertify": "Certify MODEL anew by labelled STREAMS of the place where it serves.",
    "replay": "Run MODEL on recorded STREAMS and print each decision.",
    "report": "Write a report on MODEL to pass on, as measured on labelled STREAMS.",
    "run": "Follow the streams of an MQTT broker until stopped (Ctrl-C).",
    "sample-plan": "Plan which streams get an expensive sensor next.",
    "savings": "Say what devices would have saved on recorded STREAMS.",
    "shards": "Show which gateways share streams, and what nobody serves, or two do.",
    "sign": "Sign MODEL, for gateways that require a signature.",
    "simulate": "Record simulated pairs of nodes that sense one source or two.",
    "standby": "Wait until the gateway of SETTINGS is gone, and go on in its place.",
    "train": "Select features worth their cost, and train a classifier.",
}
"""What `streamfs --help` says of each command of `streamfs.cli.commands`."""

TOPICS: Mapping[str, Sequence[str]] = {
    "First steps": ("demo", "simulate", "doctor", "completion"),
    "Streams and training": ("inspect", "train", "sample-plan"),
    "How good a model is": ("evaluate", "replay", "report", "card", "recertify", "savings"),
    "Gateways and nodes": (
        "check",
        "run",
        "page",
        "devices",
        "guard",
        "shards",
        "move",
        "standby",
        "cluster",
        "journal",
        "backup",
        "labels",
        "collect",
        "sign",
        "export",
    ),
    "Experiments": ("figure2", "bench"),
}
"""The commands in the order of `streamfs --help`."""


class Commands(click.Group):
    """The commands; each is imported when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - the same
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(import_module(f"streamfs.cli.commands.{name}"), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is called; of one that there is not, name those that are spelt alike."""
        name = args[0]
        if name in COMMANDS or name.startswith("-"):
            return super().resolve_command(ctx, args)
        alike = get_close_matches(name, COMMANDS, cutoff=0.5)
        hint = f" Did you mean {' or '.join(alike)}?" if alike else ""
        raise click.UsageError(f"There is no command {name!r}.{hint}", ctx)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; end with the code that it gives, or, if it was interrupted in whatever code, so."""
        try:
            return super().invoke(ctx)
        except click.exceptions.Exit as end:  # `main` of click would only return its code
            return sys.exit(end.exit_code) if end.exit_code else None
        except SystemError as error:
            if _is_interrupted(error):
                raise KeyboardInterrupt from error
            raise

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command does by topic, without importing it."""
        width = max(map(len, COMMANDS))
        for topic, names in TOPICS.items():
            with formatter.section(topic):
                formatter.write_dl([(name.ljust(width), COMMANDS[name]) for name in names])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    epilog=example_text(
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


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line, by default on the arguments of the process.

    Exit with 0 on success, 1 on an error and 2 on wrong usage.
    """
    _end_as_interrupted()
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
    except RuntimeError as error:
        if "no locator available" not in str(error):  # numba has no class for this error
            raise
        click.echo(f"streamfs: {NO_CACHE}", err=True)
        sys.exit(1)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        click.echo(f"streamfs: {missing}", err=True)
        sys.exit(1)
    except (AttributeError, ImportError) as error:
        folder = _stale_cache(error)
        if folder is None:
            raise
        click.echo(f"streamfs: {folder} has code that an older version compiled: delete *.nbi there", err=True)
        sys.exit(1)


def _end_as_interrupted() -> None:
    """Let SIGTERM end a command as Ctrl-C does: without a traceback, and with all its processes."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)


def _is_interrupted(error: BaseException | None) -> bool:
    """Return whether an error comes of an interruption, of which compiled code makes an error of its own."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _stale_cache(error: Exception) -> str | None:
    """Return the folder of compiled code that names what this version lacks; None for other errors.

    numba unpickles its index before it checks whether the source has changed.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "_load_overload"]
    return frames[-1].f_locals["self"].cache_path if frames else None


def _reason(error: Exception) -> str:
    if isinstance(error, LayoutError):
        given = shlex.join(flags(error.proposal))
        return f"{error.problem}; try {given}" if given else f"{error.problem}{error.advice(flag)}"
    if isinstance(error, OSError) and error.strerror:  # of what is printed, there is no file
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    return str(error)
