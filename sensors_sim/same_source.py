"""Same-source detection: labelled pairs of nodes that sense one source or two."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from sensors_sim.nodes import NodeModel
from sensors_sim.sources import Autoregressive, EventBursts, Source, Sum

_ROLES = ("a", "b")

OFFSETS = {"temperature": 0.3, "humidity": 2.0, "light": 30.0}
"""Standard deviations of offsets of motes that are not calibrated against each other: degrees, per cent, lux."""


@dataclass(frozen=True)
class Quantity:
    """A quantity that nodes measure: `level`, in its unit, plus a process, with the errors of `node`."""

    name: str
    level: float
    source: Source
    node: NodeModel


class Pairs(NamedTuple):
    """Recorded pairs of nodes; ``values`` has shape (n_pairs, n_ticks, n_columns)."""

    values: Array
    labels: npt.NDArray[np.str_]
    columns: tuple[str, ...]
    period: float
    names: tuple[str, ...]


def _building() -> tuple[Quantity, ...]:
    """Return the quantities of one building, which `SameSource` motivates."""
    clock = {"clock_offset_spread": 0.2, "clock_drift_spread": 50.0}
    return (
        Quantity(
            "temperature",
            level=21.0,
            source=Autoregressive(deviation=1.2, memory=1000.0),
            node=NodeModel(gain_spread=0.002, offset_spread=0.1, noise=0.15, quantum=0.0625, **clock),
        ),
        Quantity(
            "humidity",
            level=45.0,
            source=Autoregressive(deviation=5.0, memory=1000.0),
            node=NodeModel(gain_spread=0.005, offset_spread=0.4, noise=0.6, quantum=0.1, **clock),
        ),
        Quantity(
            "light",
            level=230.0,
            source=Sum((Autoregressive(60.0, memory=1000.0), EventBursts(rate=0.025, height=80.0, decay=20.0))),
            node=NodeModel(gain_spread=0.02, offset_spread=7.0, noise=11.0, quantum=1.0, **clock),
        ),
    )


@dataclass(frozen=True)
class SameSource:
    """Distribution of pairs of nodes in one building, which sense the same place or two different ones.

    A place is ``sqrt(common) * building + sqrt(1 - common) * own``, where the building and the place's own part
    both follow the quantity's source. So the two nodes of a "different" pair have the same distribution and rise
    and fall together to some extent, as in one building; those of a "same" pair differ only by their sensors.

    The defaults model rooms of one building with calibrated sensors: two places differ by about a degree, six per
    cent of humidity and a hundred lux, and a sensor's offset and noise are about a tenth of that. The climate of a
    room changes slowly, over a quarter of an hour; lamps and doors cause short bursts of light. So the first tick
    distinguishes most places. For similar ones, time averages out the noise, and brings bursts at only one place.

    Parameters
    ----------
    quantities : tuple of Quantity
        The columns of each node.
    common : float
        Share of the variance that all places of a building have in common.
    share_same : float
        Share of the pairs that are labelled "same".

    Examples
    --------
    >>> pairs = SameSource().sample(n_pairs=4, n_ticks=60, seed=1)
    >>> pairs.values.shape, pairs.columns[:2], pairs.names[0]
    ((4, 60, 6), ('a.temperature', 'b.temperature'), 'pair-0000')
    """

    quantities: tuple[Quantity, ...] = field(default_factory=_building)
    common: float = 0.3
    share_same: float = 0.5

    def __post_init__(self) -> None:
        if not self.quantities:
            raise ValueError("quantities is empty, expected at least one")
        for name in ("common", "share_same"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}, expected 0 to 1")

    def uncalibrated(self, noise: float = 1.0, offsets: float = 1.0) -> "SameSource":
        """Return the law for motes that are not calibrated against each other: offsets are those of `OFFSETS`.

        `noise` and `offsets` are factors on the noise and the offsets of every sensor.
        """
        nodes = [
            replace(each.node, noise=noise * each.node.noise, offset_spread=offsets * OFFSETS[each.name])
            for each in self.quantities
        ]
        pairs = zip(self.quantities, nodes, strict=True)
        return replace(self, quantities=tuple(replace(quantity, node=node) for quantity, node in pairs))

    def sample(
        self, n_pairs: int, n_ticks: int, period: float = 1.0, seed: int | np.random.Generator = 0
    ) -> Pairs:
        """Record pairs at ticks that are `period` seconds apart."""
        for name, number in (("n_pairs", n_pairs), ("n_ticks", n_ticks)):
            if number < 1:
                raise ValueError(f"{name} is {number}, expected at least 1")
        if not period > 0:
            raise ValueError(f"period is {period}, expected seconds, more than 0")
        rng = np.random.default_rng(seed)
        same = rng.permutation(n_pairs) < round(self.share_same * n_pairs)
        clock = self.quantities[0].node
        times = [clock.sampling_times(n_pairs, n_ticks, period, rng) for _ in _ROLES]
        columns = []
        for quantity in self.quantities:
            places = self._places(quantity, same, n_ticks, period, rng)
            for place, sampled in zip(places, times, strict=True):
                columns.append(quantity.node.sense(place, period, rng, sampled).values)
        return Pairs(
            np.stack(columns, axis=-1),
            np.where(same, "same", "different"),
            tuple(f"{role}.{quantity.name}" for quantity in self.quantities for role in _ROLES),
            period,
            tuple(f"pair-{index:04d}" for index in range(n_pairs)),
        )

    def _places(
        self,
        quantity: Quantity,
        same: npt.NDArray[np.bool_],
        n_ticks: int,
        period: float,
        rng: np.random.Generator,
    ) -> tuple[Array, Array]:
        """Return the truth at both nodes of each pair, each of shape (n_pairs, n_ticks)."""
        building, own, other = (quantity.source.sample(len(same), n_ticks, period, rng) for _ in range(3))
        other = np.where(same[:, np.newaxis], own, other)
        shared = quantity.level + np.sqrt(self.common) * building
        return shared + np.sqrt(1 - self.common) * own, shared + np.sqrt(1 - self.common) * other


def nodes_of(pairs: Pairs) -> dict[str, dict[str, Array]]:
    """Return values of shape (n_ticks,) by node, such as ``pair-0007-a``, and column, such as ``light``."""
    nodes: dict[str, dict[str, Array]] = {f"{name}-{role}": {} for name in pairs.names for role in _ROLES}
    for index, text in enumerate(pairs.columns):
        role, _, column = text.partition(".")
        for name, values in zip(pairs.names, pairs.values[..., index], strict=True):
            nodes[f"{name}-{role}"][column] = values
    return nodes
