"""Check whether a machine is fit."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli import parameters
from streamfs.cli.parameters import JSON, OLD_FILE, Parsed, example_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamfs.cli.doctor import Diagnosis


@click.command(
    epilog=example_text(
        "streamfs doctor",
        "streamfs doctor --broker mqtt://localhost",
        "streamfs doctor --config gateway.toml --json",
    )
)
@click.option(
    "--config", type=OLD_FILE, metavar="SETTINGS", help="Check what these settings of a gateway need, too."
)
@click.option(
    "--broker",
    "url",
    type=Parsed("url", parameters.broker),
    help="Check whether this broker accepts a connection, such as mqtt://localhost.",
)
@JSON
@click.pass_context
def doctor(context: click.Context, config: Path | None, url: str | None, as_json: bool) -> None:
    """Check whether this machine is fit for training or a gateway.

    Looked at are the versions of what is installed, the folder of compiled code, the clock, the disk, and the
    broker of SETTINGS or --broker. Exits with 1 if there is an error.
    """
    from streamfs.cli import console
    from streamfs.cli.doctor import ERROR

    if config is not None and url is not None:
        raise click.UsageError("--config and --broker exclude each other: settings name a broker.")
    found = list(_findings(config, url))
    if as_json:
        console.print_json([finding._asdict() for finding in found])
    else:
        console.print_table([finding._asdict() for finding in found])
    if any(finding.status == ERROR for finding in found):
        context.exit(1)


def _findings(config: Path | None, url: str | None) -> "Iterator[Diagnosis]":
    """Yield what is found, from the machine to the broker."""
    from streamfs.cli import doctor as checks
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.gateway.transport.broker_address import parse_url

    settings = None if config is None else read_settings(config)
    yield from checks.packages()
    yield checks.compiled_code()
    yield checks.clock(time.time())
    yield from checks.disk("this folder", Path.cwd())
    if settings is not None and settings.state is not None:
        yield from checks.disk("state", settings.state)
    if settings is not None:
        yield checks.broker(settings.broker.address())
    elif url is not None:
        yield checks.broker(parse_url(url))
