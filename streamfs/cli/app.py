"""The command line."""

import sys
from collections.abc import Sequence
from traceback import walk_tb

import click

from streamfs.cli.commands.card import card
from streamfs.cli.commands.check import check
from streamfs.cli.commands.demo import demo
from streamfs.cli.commands.evaluate import evaluate
from streamfs.cli.commands.figure2 import figure2
from streamfs.cli.commands.journal import journal
from streamfs.cli.commands.replay import replay
from streamfs.cli.commands.run import run
from streamfs.cli.commands.sample_plan import sample_plan
from streamfs.cli.commands.simulate import simulate
from streamfs.cli.commands.train import train
from streamfs.cli.parameters import example_text
from streamfs.errors import StreamfsError

NO_CACHE = "there is no folder for compiled code: set NUMBA_CACHE_DIR to a writable one"


@click.group(
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


for command in (simulate, train, evaluate, card, replay, run, check, journal, sample_plan, figure2, demo):
    cli.add_command(command)


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
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"there is not enough memory: {error}"
    return str(error)
