"""Check the settings of a gateway."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from streamfs.cli.parameters import JSON, OLD_FILE, example_text

if TYPE_CHECKING:
    from streamfs.gateway.settings.preview import GatewayPreview

_SHOWN = 5  # streams


@click.command(
    epilog=example_text(
        "streamfs check gateway.toml",
        "streamfs check /etc/streamfs/gateway.toml --json",
    )
)
@click.argument("settings", type=OLD_FILE)
@JSON
def check(settings: Path, as_json: bool) -> None:
    """Check the SETTINGS of a gateway, and show what it would do.

    SETTINGS is a TOML file; all errors in it are reported together.

    The model, the files that SETTINGS names and the password are read; nothing is connected to or written.
    Warnings say what others could read, change or send.
    """
    from streamfs.cli import console
    from streamfs.gateway.settings.preview import preview_gateway
    from streamfs.gateway.settings.settings import read_settings

    plan = preview_gateway(read_settings(settings))
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
        "state": "not kept" if settings.state is None else str(settings.state),
    }
