"""Real recordings for same-source detection: labelled pairs of nodes, for training and testing.

The label of a stream is "same" if its two nodes were in one place at one time, else "different". The files are not
part of streamfs; the environment variable ``STREAMFS_DATA`` names their folder.

============  ======================================================  ==============================  =======
recording     the two nodes of a stream                               is split into                   streams
============  ======================================================  ==============================  =======
room_climate  two motes, each of temperature, humidity and two of     60 measurements, the first      360
              light, in one measurement of one room or in two         20 minutes: 120 ticks of 10 s
room_B        the same of three other motes in another room           44 measurements                 132
sml2010       temperature and CO2, humidity and light; two rooms      102 blocks of 10 hours:         204
              of a house                                              40 ticks of 15 minutes
appliances    temperature, humidity; two places, drawn at random,     164 blocks of 20 hours:         328
              of nine in and at a house                               120 ticks of 10 minutes
uncg_wsn      two motes, each of temperature and humidity; indoors    143 blocks of 5 minutes:        284, 288
              and outdoors                                            60 ticks of 5 s
============  ======================================================  ==============================  =======

The last column is the number of training streams and of test streams. Blocks are long enough for the climate to
change, and short enough to yield hundreds of streams. A block with a missing reading is left out.

Possible leaks of the label, and what is done about them:

- *Time.* Training and test streams share no measurement and no block. A test block may directly follow a
  training block, as in deployment.
- *Single nodes.* "Different" streams are "same" streams whose second nodes have been rotated. So each node's
  recording occurs equally often in both classes, and a single column says nothing about the label.
- *Folds.* A node's recording is in several streams, of either class. If the training streams are cut into folds,
  to choose the number of features, both sides share readings, and that choice is optimistic. The test streams
  share none with them.
- *Levels.* Training and test streams share the few places of the last three recordings, whose levels would
  identify the places rather than show whether two of them are the same. So every column is the deviation from
  its block's first value: a node can compute that, and it keeps how two columns vary together. The amplitude of
  a quantity still differs between places, and a tree that reads single columns may exploit that; normalising it
  would need the block's future. The places of room_climate are measurements, none of which is in both sets, so
  its levels stay.
- *Order.* Among the pairs that come with room_climate (`room_climate_fold`), those of one place name the mote of
  the lower number first, others are in either order. As sensors have offsets, the sign of a difference is then
  more informative than elsewhere. The pairs of `load` have their motes in the same order in both classes.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl

from feature_extractors.arrays import Array
from streamfs.data.node_pairs import Pair, Recording
from streamfs.data.recordings.tables import numbers_of, read_table, texts_of
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError

NAMES = ("room_climate", "room_B", "sml2010", "appliances", "uncg_wsn")

QUANTITIES = ("temp", "rh", "light1", "light2")
"""Columns of a mote of room_climate: degrees Celsius, per cent of humidity, and lux of two sensors."""

MOTE_COLUMNS = tuple(f"{role}.{quantity}" for role in "ab" for quantity in QUANTITIES)
MOTE_PERIOD, MOTE_TICKS = 10.0, 120

ROOMS = ("kitchen", "living", "laundry", "office", "bathroom", "outside", "ironing", "teenager", "parents")
"""Places of the nodes of appliances, in the order of their numbers."""

_Rooms = dict[str, tuple[list[str], list[str]]]  # columns of the two nodes of each room


def folder() -> Path:
    """Return the folder of the data sets, named by the environment variable ``STREAMFS_DATA``."""
    named = os.environ.get("STREAMFS_DATA")
    if not named:
        raise DataError(
            "STREAMFS_DATA is not set: set it to the folder of the data sets, with 'sensors', 'uci' and 'madelon'"
        )
    return Path(named)


def load(name: str, folder: str | Path | None = None) -> Recording:
    """Load one of the recordings `NAMES`, by default from the folder that ``STREAMFS_DATA`` names."""
    loaders: dict[str, Callable[[str | Path | None], Recording]] = {
        "room_climate": partial(_room_climate, room="A"),
        "room_B": partial(_room_climate, room="B"),
        "sml2010": _sml2010,
        "appliances": _appliances,
        "uncg_wsn": _uncg_wsn,
    }
    if name not in loaders:
        raise ValueError(f"recording is {name!r}, expected one of {', '.join(NAMES)}")
    return loaders[name](folder)


def room_climate_fold(fold: str, folder: str | Path | None = None, every: int = 1, room: str = "A") -> StreamSet:
    """Read the labelled pairs of motes that come with room_climate, or every `every`-th of them.

    There are those of room "A", and those of room "B", with other motes. The folds "train" and "test" share no
    measurement. The folder is by default that of ``STREAMFS_DATA``.
    """
    if every < 1:
        raise ValueError(f"every is {every}, expected at least 1")
    if room not in ("A", "B"):
        raise ValueError(f"room is {room!r}, expected 'A' or 'B'")
    path, nodes = (
        _path(f"room_climate/pairs_{room}.csv", folder),
        ("measurement_a", "node_a", "measurement_b", "node_b"),
    )
    pairs = _read(path, ("pair", "fold", *nodes, "same_source"))
    folds = pairs["fold"].unique().sort().to_list()
    if fold not in folds:
        raise DataError(f"{path} has no fold {fold!r}, expected one of {', '.join(folds)}")
    pairs = pairs.filter(pl.col("fold") == fold).gather_every(every)
    motes = _motes(folder, room)
    values = []
    for measurement_a, node_a, measurement_b, node_b in pairs.select(nodes).iter_rows():
        both = [(measurement_a, node_a), (measurement_b, node_b)]
        for measurement, node in both:
            if (measurement, node) not in motes:
                raise DataError(f"mote {node!r} of {path} has no readings in measurement {measurement!r}")
        values.append(np.concatenate([motes[mote] for mote in both], axis=1))
    labels = np.where(pairs["same_source"].to_numpy() == "1", "same", "different")
    return StreamSet(values, labels, MOTE_COLUMNS, MOTE_PERIOD, [f"pair-{pair}" for pair in pairs["pair"]])


def _room_climate(given: str | Path | None, room: str) -> Recording:
    pairs = (
        Pair(measurement, (node, other), (readings, others), f"{node}-{other}")
        for ((measurement, node), readings), ((second, other), others) in combinations(
            _motes(given, room).items(), 2
        )
        if second == measurement
    )
    return Recording(tuple(pairs), MOTE_COLUMNS, MOTE_PERIOD)


def _motes(given: str | Path | None, room: str) -> dict[tuple[str, str], Array]:
    """Return mean readings per tick of each mote and measurement, from the measurement's first row on."""
    path = _path(f"room_climate/room_climate_{room}.csv.gz", given)
    rows = _read(path, ("measurement", "node"), ("abs_ms", *QUANTITIES))
    elapsed = pl.col("abs_ms") - pl.col("abs_ms").min().over("measurement")
    ticks = rows.with_columns(tick=elapsed // (1000 * MOTE_PERIOD)).filter(pl.col("tick") < MOTE_TICKS)
    motes, key = {}, ("measurement", "node")
    for (measurement, node), part in ticks.sort(key, maintain_order=True).group_by(key, maintain_order=True):
        means = part.group_by("tick").agg(pl.col(*QUANTITIES).mean())
        readings = np.full((MOTE_TICKS, len(QUANTITIES)), np.nan)
        readings[means["tick"].cast(pl.Int64).to_numpy()] = means.select(QUANTITIES).to_numpy()
        motes[str(measurement), str(node)] = readings
    return motes


def _sml2010(given: str | Path | None) -> Recording:
    path = _path("sml2010/sml2010.csv.gz", given)
    rooms = {
        room: (
            [f"Temperature_{word}_Sensor", f"CO2_{word}_Sensor"],
            [f"Humedad_{word}_Sensor", f"Lighting_{word}_Sensor"],
        )
        for room, word in (("dining", "Comedor"), ("bedroom", "Habitacion"))
    }
    rows = _read(path, ("Date", "Time"), _columns_of(rooms))
    try:
        seconds = (rows["Date"] + " " + rows["Time"]).str.to_datetime("%d/%m/%Y %H:%M").dt.epoch("s")
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{path} has a Date and Time not of the form 31/12/2012 and 23:45") from error
    ticks = rows.with_columns(tick=(seconds - seconds.min()) // 900).drop("Date", "Time")
    return Recording(_pairs(ticks, 40, rooms), ("temperature", "co2", "humidity", "lighting"), 900.0)


def _appliances(given: str | Path | None) -> Recording:
    rooms = {room: ([f"T{number}"], [f"RH_{number}"]) for number, room in enumerate(ROOMS, start=1)}
    rows = _read(_path("appliances/appliances.csv.gz", given), (), ("t10min", *_columns_of(rooms)))
    ticks = rows.rename({"t10min": "tick"})
    return Recording(_pairs(ticks, 120, rooms), ("temperature", "humidity"), 600.0, n_drawn=2)


def _uncg_wsn(given: str | Path | None) -> Recording:
    """Pair the two motes of each place, in the blocks that all motes of a hop have.

    The number of a reading is the only clock. Blocks with an injected event are left out: steam that reached one
    mote and not the other.
    """
    path = _path("uncg_wsn/uncg_hops.csv.gz", given)
    rows = _read(path, ("hop", "place", "mote"), ("reading", "label", "temperature", "humidity"))
    calm = rows.filter(pl.col("label") == 0).rename({"reading": "tick"}).sort("hop", "place", "mote")
    pairs: list[Pair] = []
    for (hop,), part in calm.group_by("hop", maintain_order=True):
        motes = {
            (str(place), str(mote)): dict(_blocks(ticks.select("tick", "temperature", "humidity"), 60))
            for (place, mote), ticks in part.group_by("place", "mote", maintain_order=True)
        }
        shared = sorted(set.intersection(*(set(blocks) for blocks in motes.values())))
        for (first, blocks), (second, others) in combinations(motes.items(), 2):
            if first[0] == second[0]:
                nodes = "".join(first), "".join(second)
                pairs += [_pair(f"{hop}{block}", nodes, blocks[block], others[block]) for block in shared]
    return Recording(tuple(pairs), ("a.temperature", "a.humidity", "b.temperature", "b.humidity"), 5.0)


def _columns_of(rooms: _Rooms) -> list[str]:
    return [column for nodes in rooms.values() for columns in nodes for column in columns]


def _pairs(ticks: pl.DataFrame, n_ticks: int, rooms: _Rooms) -> tuple[Pair, ...]:
    """Pair the two nodes of each room, in each block of time."""
    return tuple(
        _pair(time, (room, room), block.select(first), block.select(second))
        for time, block in _blocks(ticks, n_ticks)
        for room, (first, second) in rooms.items()
    )


def _pair(time: str, nodes: tuple[str, str], first: pl.DataFrame, second: pl.DataFrame) -> Pair:
    """Make a pair of one place, whose pool is its block of time."""
    return Pair(time, nodes, (first.to_numpy(), second.to_numpy()), pool=time)


def _blocks(ticks: pl.DataFrame, n_ticks: int) -> Iterator[tuple[str, pl.DataFrame]]:
    """Iterate over named complete blocks of consecutive ticks, as deviations from the block's first values."""
    whole = (
        ticks.drop_nulls()
        .unique("tick", keep="none")
        .sort("tick")
        .with_columns(block=pl.col("tick") // n_ticks)
        .filter(pl.len().over("block") == n_ticks)
    )
    for (block,), part in whole.group_by("block", maintain_order=True):
        readings = part.drop("tick", "block")
        yield f"{block:03.0f}", readings.select(pl.all() - pl.all().first())


def _path(file: str, given: str | Path | None) -> Path:
    path = (folder() if given is None else Path(given)) / "sensors" / file
    if not path.is_file():
        raise DataError(f"{path} does not exist: STREAMFS_DATA, or the given folder, must be the one that has it")
    return path


def _read(path: Path, texts: Sequence[str], numbers: Sequence[str] = ()) -> pl.DataFrame:
    """Read some columns of a file; an empty number is null."""
    table = read_table(path)
    for column in (*texts, *numbers):
        if column not in table.columns:
            raise DataError(f"{path} has no column {column!r}, only {', '.join(table.columns)}")
    cells = {column: texts_of(table[column], path) for column in texts}
    readings = {column: numbers_of(table[column], path) for column in numbers}
    return pl.DataFrame({**cells, **readings}).with_columns(pl.selectors.float().fill_nan(None))
