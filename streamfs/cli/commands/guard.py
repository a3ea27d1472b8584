"""Guard the devices of a gateway."""

import signal
import threading
from pathlib import Path

import click

from streamfs.cli.parameters import OLD_FILE, example_text


@click.command(epilog=example_text("streamfs guard gateway.toml"))
@click.argument("settings", type=OLD_FILE)
def guard(settings: Path) -> None:
    """Ask devices for their safe interval while the gateway of SETTINGS is offline.

    SETTINGS is the gateway's TOML file. Run it beside the broker, or wherever it survives the gateway: once that
    has been offline for devices.guard_after seconds, each device that it has asked is asked to go back, when it
    hears.
    """
    from streamfs.cli import console
    from streamfs.errors import StreamfsError
    from streamfs.gateway.guard import Guard, guard_transport, keep_guard
    from streamfs.gateway.settings.settings import read_settings

    found = read_settings(settings)
    if not any(source.key for source in found.sources):
        raise StreamfsError(f"{settings} has no source with a device profile whose devices can be asked")
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    keeper = Guard(found)
    console.say(f"guarding the devices of {found.name} at {found.broker.address()}; stop with Ctrl-C")
    keep_guard(keeper, guard_transport(found, keeper), stop)
