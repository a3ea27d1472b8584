"""Active sampling as a deployment plan: the streams to equip next with an expensive sensor."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from feature_extractors.arrays import Array, Integers
from streamfs.base.estimators import require_whole
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.selection._benefit import Estimate, count_value
from streamfs.selection._sampling import draw, make_pools, open_pools, renew
from streamfs.selection.discretise import EqualWidthDiscretiser
from streamfs.selection.regions import Regions, class_uncertainty, make_regions

MAX_BINS = 20


@dataclass(frozen=True)
class Planned:
    """A stream to equip with the sensor.

    `benefit` is the expected change of the entropy of the class given all columns, in nats; `region` the bin of
    each other column, and `expected` the probability of each bin of the sensor.
    """

    stream: str
    label: str
    benefit: float
    region: dict[str, str]
    expected: tuple[float, ...]


@dataclass(frozen=True)
class SamplePlan:
    """Streams to equip next with an expensive sensor, the most informative first.

    `bins` are the bounds of the bins of its readings, empty if fewer than two different readings are known;
    `uncertainty` estimates the entropy of the class given the bins of all columns, in nats.
    """

    sensor: str
    bins: tuple[float, ...]
    n_known: int
    n_unknown: int
    n_regions: int
    uncertainty: float
    streams: tuple[Planned, ...]

    def likeliest(self, planned: Planned) -> str:
        """Format the most probable bin of a stream's reading, with its probability."""
        code = int(np.argmax(planned.expected))
        return f"{_text(self.bins, code)} ({planned.expected[code]:.0%})" if self.bins else "-"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON objects."""
        return asdict(self)


def plan_samples(
    streams: StreamSet, sensor: str, columns: Sequence[str] | None = None, n_streams: int = 10, n_bins: int = 3
) -> SamplePlan:
    """Plan which of the streams without readings of a sensor to equip with it, given other columns.

    Veeramachaneni and Avesani, Active sampling for feature selection, ICDM 2003. Streams of one class and equal
    bins, of equal width, of their columns' mean readings form a region. The next stream is the first, in the order
    of the file, of those without the sensor in the region of the largest benefit. It then counts as if it had been
    read, each value by its expected frequency, so that several can be equipped at once: expectations are
    unchanged, but a planned region has a smaller benefit from then on.
    """
    columns = [c for c in streams.columns if c != sensor] if columns is None else list(columns)
    _check(streams, sensor, columns, n_streams, n_bins)
    bins = EqualWidthDiscretiser(n_bins=n_bins)
    binned = bins.fit_transform(np.stack([_means(streams, column) for column in (*columns, sensor)], axis=1))
    codes = np.nan_to_num(binned[:, -1], nan=-1.0).astype(np.int64)
    unknown = np.flatnonzero(codes < 0)
    if not len(unknown):
        raise DataError(f"all {len(streams)} streams carry {sensor}, expected some that do not")
    regions = make_regions(np.unique(streams.labels, return_inverse=True)[1], binned[:, :-1])
    known = regions.estimate_of(codes, n_bins)
    uncertainty = class_uncertainty(known)
    edges = [_edges(bins, index) for index in range(len(columns) + 1)]
    planned = tuple(
        Planned(
            stream=streams.names[stream],
            label=str(streams.labels[stream]),
            benefit=benefit,
            region={column: _text(edges[index], binned[stream, index]) for index, column in enumerate(columns)},
            expected=tuple(expected.tolist()),
        )
        for stream, benefit, expected in _draw(regions, known, unknown, n_streams)
    )
    return SamplePlan(
        sensor=sensor,
        bins=edges[-1],
        n_known=len(streams) - len(unknown),
        n_unknown=len(unknown),
        n_regions=len(np.unique(regions.region_of)),
        uncertainty=uncertainty,
        streams=planned,
    )


def _draw(
    regions: Regions, known: Estimate, unknown: Integers, n_streams: int
) -> Iterator[tuple[int, float, Array]]:
    """Yield streams one by one, with benefit and expected values; each then counts as expected."""
    pools = make_pools(regions.region_of, unknown, *regions.weights.shape)
    open_pools(known, pools)
    n_values = known.counts.shape[2]
    for _ in range(min(n_streams, len(unknown))):
        stream = draw(pools)
        label, joint = int(regions.labels[stream]), int(regions.joint[stream])
        expected = (known.counts[label, joint] + 1.0) / (known.sizes[label, joint] + n_values)
        yield stream, float(pools.benefits[label, joint]), expected
        for value in range(n_values):
            count_value(known, label, joint, value, expected[value])
        renew(known, pools, joint)


def _means(streams: StreamSet, column: str) -> Array:
    """Return the mean of a column's readings over each stream, NaN if there are none."""
    readings = streams.column(column)
    n_known = np.isfinite(readings).sum(axis=1)
    means: Array = np.where(n_known, np.nansum(readings, axis=1) / np.maximum(n_known, 1), np.nan)
    return means


def _edges(bins: EqualWidthDiscretiser, feature: int) -> tuple[float, ...]:
    """Return the bounds of the bins of a column; empty if there is only one bin."""
    n_bins = int(bins.n_bins_[feature])
    return tuple(np.linspace(bins.lows_[feature], bins.highs_[feature], n_bins + 1).tolist()) if n_bins > 1 else ()


def _text(edges: tuple[float, ...], code: float) -> str:
    """Format a bin for people."""
    if np.isnan(code):
        return "unknown"
    return f"{edges[int(code)]:.4g} to {edges[int(code) + 1]:.4g}" if edges else "all alike"


def _check(streams: StreamSet, sensor: str, columns: Sequence[str], n_streams: int, n_bins: int) -> None:
    """Refuse what cannot be planned."""
    for column in (sensor, *columns):
        streams.column(column)
    if sensor in columns:
        raise ValueError(f"columns hold {sensor!r}, the sensor, expected those that are known of all streams")
    require_whole("n_streams", n_streams, 1)
    if not 2 <= n_bins <= MAX_BINS:
        raise ValueError(f"n_bins is {n_bins}, expected 2 to {MAX_BINS}")
    if len(streams.classes) < 2:
        classes = ", ".join(streams.classes) or "none"
        raise DataError(
            f"the {len(streams)} streams are of {len(streams.classes)} classes ({classes}), expected 2"
        )
