"""Show training and serving on one machine."""

from pathlib import Path

import click

from streamfs.cli.parameters import JSON, SEED, example_text, profile_option


@click.command(epilog=example_text("streamfs demo --out my-demo --pairs 60"))
@click.option(
    "--out",
    default="streamfs-demo",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder for the model, the energy log and the plots.",
)
@click.option("--pairs", default=40, show_default=True, type=click.IntRange(2), help="Pairs of nodes to follow.")
@profile_option("cc2420")
@SEED
@JSON
def demo(out: Path, pairs: int, profile: str, seed: int, as_json: bool) -> None:
    """Train, then follow a fleet of simulated nodes over MQTT.

    Everything runs on this machine, including the broker, and takes about a minute.
    """
    from streamfs.cli import console
    from streamfs.cli.demo import run_demo

    result = run_demo(out, pairs, profile, seed)
    if as_json:
        console.print_json(result)
    else:
        console.print_table([{"figure": name.replace("_", " "), "value": value} for name, value in result.items()])
