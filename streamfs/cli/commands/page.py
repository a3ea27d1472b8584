"""Show gateways to people."""

from contextlib import suppress
from pathlib import Path

import click

from streamfs.cli.parameters import OLD_FILE, example_text


@click.command(
    epilog=example_text(
        "streamfs page state",
        "streamfs page http://attic:9464 http://cellar:9464",
        "streamfs page state --host 0.0.0.0 --password page.password",
    )
)
@click.argument("gateways", metavar="GATEWAY...", nargs=-1, required=True)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65_535), default=9465, show_default=True, help="Port to listen on.")
@click.option("--password", type=OLD_FILE, metavar="FILE", help="Ask visitors for the password in this file.")
@click.option("--name", "names", multiple=True, help="A further name under which browsers ask for the page.")
def page(gateways: tuple[str, ...], host: str, port: int, password: Path | None, names: tuple[str, ...]) -> None:
    """Show gateways in the browser until stopped (Ctrl-C).

    A GATEWAY is the folder of its state or of its view, or the address of its HTTP. The page only reads: no
    visitor costs the gateway a message. Labels, reopening, muting and reload are passed on to gateways whose
    settings name a token, and need it.
    """
    from streamfs.page.server import read_password, server

    try:
        serving = server(
            gateways, host, port, password=None if password is None else read_password(password), names=names
        )
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    click.echo(f"the page is at http://{host}:{port}/; stop with Ctrl-C", err=True)
    with suppress(KeyboardInterrupt):  # it is stopped so, or by SIGTERM
        serving.run()
