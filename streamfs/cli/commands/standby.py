"""Stand by for a gateway."""

import signal
import threading
from pathlib import Path

import click

from streamfs.cli.parameters import JSON, OLD_FILE, example_text


@click.command(epilog=example_text("streamfs standby gateway.toml"))
@click.argument("settings", type=OLD_FILE)
@JSON
def standby(settings: Path, as_json: bool) -> None:
    """Wait until the gateway of SETTINGS is gone, and go on in its place.

    SETTINGS is that gateway's TOML file, but its state is the folder on this machine that the gateway has as its
    mirror. Once the broker says that the gateway is gone, it is fenced, and a gateway runs here until it is
    stopped (Ctrl-C). After a stop in order the standby does nothing.
    """
    from streamfs.cli import console
    from streamfs.gateway.host import hosted, systemd_notifier
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.gateway.standby import stand_by

    found, stop = read_settings(settings), threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    if not stand_by(found, stop, console.say):
        return
    announce = lambda decision: console.print_decision(decision, as_json=as_json)  # noqa: E731
    with hosted(found, on_decision=announce) as gateway:
        gateway.run(stop, on_turn=systemd_notifier(gateway, stop))
