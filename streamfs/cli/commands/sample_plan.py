"""Plan which streams get an expensive sensor next."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from streamfs.base.progress import step
from streamfs.cli.parameters import JSON, example_text
from streamfs.cli.recordings import Recordings, recordings

if TYPE_CHECKING:
    from streamfs.selection.sample_plan import SamplePlan


ROUNDING = 1e-12  # nats: a benefit up to this is a rounding error
MOST_SHOWN = 2  # columns of a region that fit on a line; JSON has all


@click.command(
    "sample-plan",
    epilog=example_text(
        "streamfs sample-plan fields.csv --sensor soil --column air --column rain",
        "streamfs sample-plan fields.parquet --sensor soil --number 20 --json",
    ),
)
@recordings()
@click.option("--sensor", required=True, metavar="COLUMN", help="Column of the expensive sensor.")
@click.option(
    "--column",
    "shared",
    multiple=True,
    metavar="COLUMN",
    help="A column that all streams have; may be repeated; by default all others.",
)
@click.option(
    "--number", default=10, show_default=True, type=click.IntRange(1), help="Maximum number of streams to name."
)
@click.option(
    "--bins",
    default=3,
    show_default=True,
    type=click.IntRange(2, 20),
    help="Number of bins of equal width for the mean of a column over a stream.",
)
@JSON
def sample_plan(
    streams: Recordings, sensor: str, shared: Sequence[str], number: int, bins: int, as_json: bool
) -> None:
    """Plan which streams get an expensive sensor next.

    Only the streams that
    carry the sensor have readings in its column. The streams whose reading is expected to change the probabilities
    of the labels most come first. The more columns and bins, the more streams are needed.
    """
    if sensor in shared:
        raise click.UsageError(f"--column {sensor} is the sensor")
    from streamfs.cli import console
    from streamfs.selection.sample_plan import plan_samples

    console.announce_compiling()
    with console.progress() as report, step(report, "reading the streams"):
        recorded = streams.read()
    plan = plan_samples(recorded, sensor, shared or None, number, bins)
    if as_json:
        console.print_json(plan.to_json())
        return
    console.say(
        f"{plan.n_known} of {plan.n_known + plan.n_unknown} streams carry {sensor}, in {plan.n_regions} regions; "
        f"uncertainty of the label {plan.uncertainty:.4g} nats"
    )
    console.print_table(_rows(plan))
    if plan.streams[0].benefit <= ROUNDING:
        console.say(
            f"no reading of {sensor} is expected to change anything: name fewer columns, or take fewer bins"
        )


def _rows(plan: "SamplePlan") -> list[dict[str, object]]:
    """Return the table: the streams, the likeliest reading of each, and its region if that has few columns."""
    return [
        {
            "stream": planned.stream,
            "label": planned.label,
            "benefit": planned.benefit,
            f"expected_{plan.sensor}": plan.likeliest(planned),
            **{
                f"in_{column}": text
                for column, text in planned.region.items()
                if len(planned.region) <= MOST_SHOWN
            },
        }
        for planned in plan.streams
    ]
