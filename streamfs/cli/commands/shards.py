"""Show which gateways share streams."""

from pathlib import Path

import click

from streamfs.cli.parameters import JSON, OLD_FILE, example_text

PATIENCE = 10.0  # seconds to reach the broker


@click.command(epilog=example_text("streamfs shards gateway.toml", "streamfs shards gateway.toml --json"))
@click.argument("settings", type=OLD_FILE)
@JSON
@click.pass_context
def shards(context: click.Context, settings: Path, as_json: bool) -> None:
    """Show which gateways share streams, and what nobody serves, or two do.

    SETTINGS is the TOML file of one of them; the statuses of all are read from its broker. Exits with 1 if
    anything is wrong.
    """
    from contextlib import closing
    from secrets import token_hex
    from time import gmtime, strftime

    from streamfs.cli import console
    from streamfs.gateway.host import watch
    from streamfs.gateway.settings.settings import read_settings
    from streamfs.gateway.statuses import read_statuses, troubles

    found = read_settings(settings)
    with closing(watch(found, token_hex(8))) as transport:
        statuses = read_statuses(transport, found.prefix, PATIENCE)
    wrong = troubles(statuses)
    rows = [
        {
            "shard": status.shard or "-",
            "gateway": status.gateway,
            "status": status.status,
            "since": strftime("%Y-%m-%d %H:%M:%S UTC", gmtime(status.since)) if status.since else "-",
            "zones": status.zones,
            "came": ", ".join(status.came) or "-",
            "left": ", ".join(status.left) or "-",
        }
        for status in statuses
    ]
    if as_json:
        console.print_json({"gateways": [vars(status) for status in statuses], "troubles": wrong})
    else:
        console.print_table(rows)
        for text in wrong:
            console.say(f"warning: {text}")
    if wrong:
        context.exit(1)
