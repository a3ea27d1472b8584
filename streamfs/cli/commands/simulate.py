"""Record simulated pairs of nodes."""

from pathlib import Path

import click

from streamfs.cli.parameters import NEW_FILE, SEED, Number, example_text, typed

_DECIMALS = 4  # of the finest step of a simulated sensor, 0.0625; further decimals are rounding errors


@click.command(
    epilog=example_text(
        "streamfs simulate pairs.parquet --pairs 300 --ticks 60 --seed 1",
        "streamfs simulate pairs.csv --period 10 --uncalibrated",
    )
)
@click.argument("out", type=NEW_FILE)
@click.option("--pairs", default=200, show_default=True, type=click.IntRange(1, 100_000), help="Pairs of nodes.")
@click.option(
    "--ticks", default=60, show_default=True, type=click.IntRange(1, 100_000), help="Ticks of each pair."
)
@click.option(
    "--period", default=1.0, show_default=True, type=Number(1e-6, 1e6), help="Length of a tick in seconds."
)
@click.option(
    "--uncalibrated",
    is_flag=True,
    help="Motes that are not calibrated against each other: their levels say little, only time tells.",
)
@SEED
def simulate(out: Path, pairs: int, ticks: int, period: float, uncalibrated: bool, seed: int) -> None:
    """Record simulated pairs of nodes that sense one source or two.

    OUT is a CSV or Parquet file. The labels are same and different.
    """
    from sensors_sim.same_source import SameSource
    from streamfs.cli.console import say
    from streamfs.data.streams import StreamSet

    law = SameSource().uncalibrated() if uncalibrated else SameSource()
    sampled = law.sample(pairs, ticks, period, seed=seed)
    streams = StreamSet(sampled.values.round(_DECIMALS), *sampled[1:])
    streams.write(out)
    say(f"wrote {out}: {streams!r}; next: streamfs train {typed(out)} -o MODEL")
