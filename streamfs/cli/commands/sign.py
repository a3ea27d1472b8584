"""Sign a model file."""

from pathlib import Path

import click

from streamfs.cli.parameters import MODEL, OLD_FILE, example_text


@click.command(
    epilog=example_text(
        "openssl genpkey -algorithm ed25519 -out models.key",
        "openssl pkey -in models.key -pubout -out models.pub",
        "streamfs sign rooms.streamfs --key models.key",
    )
)
@MODEL
@click.option("--key", required=True, type=OLD_FILE, help="Private Ed25519 key, a PEM file without a password.")
def sign(model: Path, key: Path) -> None:
    """Sign MODEL, for gateways that require a signature.

    The signature, Ed25519 of the whole file, is written beside it: rooms.streamfs.sig. A gateway whose settings
    name the public key (require_signature) loads no other model.
    """
    from streamfs.cli import console
    from streamfs.procedure import signature

    console.say(f"wrote {signature.sign(model, key)}")
