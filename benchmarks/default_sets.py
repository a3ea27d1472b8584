"""Recorded sensors, divided into train and test streams at random."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import polars as pl

from streamfs import StreamSet
from streamfs.data.datasets import folder, load

OCCUPANCY_TICKS = 60
OCCUPANCY_COLUMNS = ("Temperature", "Humidity", "CO2")

SURE = 0.9
"""Share of an hour's readings that must say the same of it."""

Division = tuple[StreamSet, StreamSet]


def recorded_pairs(name: str, seed: int) -> Division:
    """Pairs of motes of half of the recorded time, and of the other half."""
    return load(name).split(seed)


def indoor_movement(seed: int) -> Division:
    """Walks that change the room or stay in it, by the strength of four anchors' radio, 8 readings a second."""
    path = folder() / "sensors" / "indoor_movement"
    labels = dict(pl.read_csv(path / "labels.csv").select("seq", "label").iter_rows())
    columns = ("rss1", "rss2", "rss3", "rss4")
    readings = pl.read_csv(path / "rss.csv.gz").sort("seq", "t").partition_by("seq", as_dict=True)
    walks = {seq: part.select(columns).to_numpy() for (seq,), part in readings.items()}
    values = np.full((len(walks), max(map(len, walks.values())), len(columns)), np.nan)
    for row, walk in zip(values, walks.values(), strict=True):
        row[: len(walk)] = walk
    names = ["changes" if labels[seq] == 1 else "stays" for seq in walks]
    lengths = [len(walk) for walk in walks.values()]
    return StreamSet(values, names, columns, 0.125, lengths=lengths).split(0.5, seed)


def occupancy(seed: int) -> Division:
    """Hours of an office, occupied or empty, 1 reading a minute; without light, which is switched on by who comes.

    An hour counts if nine in ten of its readings say the same; they are deviations from its first ones.
    """
    rows = pl.read_csv(folder() / "sensors" / "occupancy_detection" / "occupancy.csv.gz")
    values, labels = [], []
    for part in rows.partition_by("part", maintain_order=True):
        for start in range(0, len(part) - OCCUPANCY_TICKS + 1, OCCUPANCY_TICKS):
            hour = part[start : start + OCCUPANCY_TICKS]
            share = float(hour["Occupancy"].to_numpy().mean())
            if max(share, 1.0 - share) >= SURE:
                readings = hour.select(OCCUPANCY_COLUMNS).to_numpy()
                values.append(readings - readings[0])
                labels.append("occupied" if share > SURE / 2 else "empty")
    return StreamSet(values, labels, OCCUPANCY_COLUMNS, 60.0).split(0.5, seed)


SETS: Mapping[str, Callable[[int], Division]] = {
    "room A": partial(recorded_pairs, "room_climate"),
    "room B": partial(recorded_pairs, "room_B"),
    "uncg_wsn": partial(recorded_pairs, "uncg_wsn"),
    "indoor_movement": indoor_movement,
    "occupancy_detection": occupancy,
}
