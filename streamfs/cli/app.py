"""The command line."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from traceback import walk_tb

import click

from streamfs.cli.parameters import example_text
from streamfs.cli.recordings import flags
from streamfs.errors import LayoutError, StreamfsError

NO_CACHE = "there is no folder for compiled code: set NUMBA_CACHE_DIR to a writable one"


COMMANDS: Mapping[str, str] = {
    "bench": "Compare streamfs with other methods on your own sets.",
    "card": "Show what to know about MODEL before deploying it.",
    "check": "Check the SETTINGS of a gateway, and show what it would do.",
    "collect": "Write the readings in a gateway's STATE or spool to a file.",
    "demo": "Train, then follow a fleet of simulated nodes over MQTT.",
    "devices": "List device profiles, or explain and try one.",
    "evaluate": "Evaluate completeness, accuracy and cost on labelled STREAMS.",
    "export": "Write MODEL as C, for nodes that decide by themselves.",
    "figure2": "Repeat the StreamRelief paper's experiment (Figure 2).",
    "guard": "Ask devices for their safe interval while their gateway is offline.",
    "inspect": "Look at recorded STREAMS, and say how to train on them.",
    "journal": "Show the folder STATE of a gateway, which may be running.",
    "labels": "List the decisions of a gateway whose true label is wanted.",
    "recertify": "Certify MODEL anew by labelled STREAMS of the place where it serves.",
    "replay": "Run MODEL on recorded STREAMS and print each decision.",
    "run": "Follow the streams of an MQTT broker until stopped (Ctrl-C).",
    "sample-plan": "Plan which streams get an expensive sensor next.",
    "savings": "Say what devices would have saved on recorded STREAMS.",
    "sign": "Sign MODEL, for gateways that require a signature.",
    "simulate": "Record simulated pairs of nodes that sense one source or two.",
    "train": "Select features worth their cost, and train a classifier.",
}
"""What `streamfs --help` says of each command of `streamfs.cli.commands`."""


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

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write what each command does, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


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
    except (AttributeError, ImportError) as error:
        folder = _stale_cache(error)
        if folder is None:
            raise
        click.echo(f"streamfs: {folder} has code that an older version compiled: delete *.nbi there", err=True)
        sys.exit(1)


def _stale_cache(error: Exception) -> str | None:
    """Return the folder of compiled code that names what this version lacks; None for other errors.

    numba unpickles its index before it checks whether the source has changed.
    """
    frames = [frame for frame, _ in walk_tb(error.__traceback__) if frame.f_code.co_name == "_load_overload"]
    return frames[-1].f_locals["self"].cache_path if frames else None


def _reason(error: Exception) -> str:
    if isinstance(error, LayoutError) and error.proposal:
        return f"{error.problem}; try {shlex.join(flags(error.proposal))}"
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    return str(error)
