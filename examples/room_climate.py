"""Same-source detection on real motes: tell whether two of them were in one room at one time.

Four motes measured a room sixty times (Morgner and others, ESORICS 2017). A pair is two motes of one measurement,
or of two. Each is followed for its first 20 minutes, 10 seconds a tick, on the four sensor columns alone: what
people did in the room would give the answer away, and so would absolute levels, hence only features of both motes.

    STREAMFS_DATA=... python examples/room_climate.py --out room
"""

import argparse
import os
from pathlib import Path

import numpy as np
import polars as pl

import feature_extractors as fx
from streamfs import StreamSet, evaluate, train
from streamfs.console import print_table, progress
from streamfs.training import default_channels

PERIOD, N_TICKS = 10.0, 120
QUANTITIES = ("temp", "rh", "light1", "light2")


def read_pairs(folder: Path, fold: str, every: int = 1) -> StreamSet:
    """Read each `every`-th labelled pair of a fold, aligned by the time since each measurement's first row."""
    names = {"measurement": pl.String, "measurement_a": pl.String, "measurement_b": pl.String}
    rows = pl.read_csv(folder / "room_climate_A.csv.gz", schema_overrides=names)
    pairs = pl.read_csv(folder / "pairs_A.csv", schema_overrides=names)
    pairs = pairs.filter(pl.col("fold") == fold).gather_every(every)
    elapsed = pl.col("abs_ms") - pl.col("abs_ms").min().over("measurement")
    ticks = rows.with_columns(tick=(elapsed // (1000 * int(PERIOD)))).filter(pl.col("tick") < N_TICKS)
    recorded = {}
    for (measurement, node), part in ticks.group_by("measurement", "node"):
        means = part.group_by("tick").agg(pl.col(*QUANTITIES).mean())
        series = np.full((N_TICKS, len(QUANTITIES)), np.nan)
        series[means["tick"].to_numpy()] = means.select(QUANTITIES).to_numpy()
        recorded[measurement, node] = series
    a = np.array([recorded[key] for key in pairs.select("measurement_a", "node_a").iter_rows()])
    b = np.array([recorded[key] for key in pairs.select("measurement_b", "node_b").iter_rows()])
    columns = [f"{role}.{quantity}" for role in "ab" for quantity in QUANTITIES]
    labels = np.where(pairs["same_source"].to_numpy() == 1, "same", "different")
    return StreamSet(np.concatenate([a, b], axis=2), labels, columns, PERIOD, [f"pair-{p}" for p in pairs["pair"]])


def pair_features(streams: StreamSet) -> list[fx.Feature]:
    """All features of both motes, under every report policy that is tried by default."""
    return [feature for feature in fx.catalogue(default_channels(streams)) if len(feature.columns) == 2]


def main() -> None:
    """Train on the one fold, replay the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=os.environ.get("STREAMFS_DATA"), help="folder of the data sets")
    parser.add_argument("--every", type=int, default=1, help="take each so-many-th pair only")
    parser.add_argument("--out", type=Path, help="folder for the streams and the model")
    options = parser.parse_args()
    if options.data is None:
        parser.error("where is the data? Set STREAMFS_DATA, or give --data")
    folder = Path(options.data) / "sensors" / "room_climate"
    training, test = (read_pairs(folder, fold, options.every) for fold in ("train", "test"))
    with progress() as report:
        procedure = train(training, features=pair_features(training), confidence=0.9, progress=report)
    print(procedure.text())
    print_table([evaluate(procedure.with_confidence(c), test).summary() for c in (0.8, 0.85, 0.9, 0.95)])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        procedure.save(options.out / "room_climate.streamfs")
        test.write(options.out / "test.parquet")


if __name__ == "__main__":
    main()
