"""Check the settings of a gateway."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli.parameters import JSON, OLD_FILE, POSITIVE, example_text

if TYPE_CHECKING:
    from streamfs.gateway.settings.preview import GatewayPreview

_SHOWN = 5  # streams


@click.command(
    epilog=example_text(
        "streamfs check gateway.toml",
        "streamfs check /etc/streamfs/gateway.toml --json",
        "streamfs check gateway.toml --listen 60",
        "streamfs check gateway.toml --topic tele/plug/SENSOR --payload plug.json",
    )
)
@click.argument("settings", type=OLD_FILE)
@click.option("--topic", help="Show how a message on this topic is read.")
@click.option("--payload", type=OLD_FILE, help="File with the payload of that message.")
@click.option(
    "--listen",
    type=POSITIVE,
    metavar="SECONDS",
    help="Listen to the broker for this long, publish nothing, and propose sources that read what was heard.",
)
@JSON
def check(settings: Path, topic: str | None, payload: Path | None, listen: float | None, as_json: bool) -> None:
    """Check the SETTINGS of a gateway, and show what it would do.

    SETTINGS is a TOML file; all errors in it are reported together.

    The model, the files that SETTINGS names and the password are read; nothing is connected to or written.
    Warnings say what others could read, change or send.
    """
    from streamfs.cli import console
    from streamfs.gateway.settings.preview import preview_gateway
    from streamfs.gateway.settings.settings import read_settings

    if (topic is None) != (payload is None):
        raise click.UsageError("--topic and --payload need each other: a message has both.")
    if listen is not None:
        _propose(settings, listen)
        return
    plan = preview_gateway(read_settings(settings))
    if topic is not None and payload is not None:
        _show_message(plan, topic, payload.read_bytes(), as_json=as_json)
        return
    if as_json:
        console.print_json(plan.to_json())
        return
    console.print_table([{"what": what, "is": text} for what, text in _summary(plan).items()])
    console.print_table(
        [
            {
                "subscribed_to": topic,
                "format": source["format"],
                "channels": ", ".join(
                    [
                        *source["channels"],
                        *(f"{name} (not read)" for name in source["unread"]),
                        *(f"nothing below {topic}" for topic in source["left_out"]),
                    ]
                ),
            }
            for source in plan.sources
            for topic in source["topics"]
        ]
    )
    console.print_table([{"limit": name, "is": value} for name, value in plan.to_json()["limits"].items()])
    for caution in plan.cautions:
        console.say(f"warning: {caution}")


def _summary(plan: "GatewayPreview") -> dict[str, str]:
    settings, streams = plan.settings, plan.bindings.streams
    named = ", ".join(streams[:_SHOWN]) + (", ..." if len(streams) > _SHOWN else "")
    encryption = "no TLS" if plan.address.tls is None else "TLS"
    return {
        "gateway": settings.name,
        "model": f"{settings.model}: {' or '.join(plan.procedure.classes)}",
        "channels": ", ".join(plan.procedure.channels),
        "broker": f"{plan.address}, {encryption}, user {plan.address.user or '-'}, {settings.broker.client_id}",
        "streams": "every node that sends" if plan.bindings.discovers else f"{len(streams)}: {named}",
        **({} if settings.shard is None else {"shard": settings.shard}),
        "state": "not kept" if settings.state is None else str(settings.state),
    }


def _show_message(plan: "GatewayPreview", topic: str, payload: bytes, *, as_json: bool) -> None:
    """Show how a message is read."""
    from time import time

    from streamfs.cli import message_table
    from streamfs.gateway.settings.message_preview import preview_message

    message_table.show(preview_message(plan.bindings, topic, payload, time()), as_json=as_json)


def _propose(path: Path, seconds: float) -> None:
    """Listen to the broker of some settings, and propose sources."""
    from contextlib import closing
    from time import monotonic

    from streamfs.cli import console
    from streamfs.gateway.settings.profiles import FOLDER
    from streamfs.gateway.settings.proposals import proposal
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.gateway.settings_file import load_model
    from streamfs.gateway.transport.transport import Transport

    settings = read_settings(path)
    channels = load_model(settings).channels
    heard = []
    with closing(Transport(settings.broker.address(), qos=0)) as transport:
        transport.connect()
        transport.subscribe(["#"])
        console.say(f"listening to {settings.broker.address()} for {seconds:g} s")
        until = monotonic() + seconds
        while (left := until - monotonic()) > 0:
            heard += transport.poll(min(left, 1.0))
    own = f"{settings.prefix}/"
    messages = [message for message in heard if not message.topic.startswith(own)]
    console.say(f"{len(messages)} messages on {len({message.topic for message in messages})} topics")
    click.echo(proposal(messages, channels, path.parent / FOLDER, settings.own_routes), nl=False)
