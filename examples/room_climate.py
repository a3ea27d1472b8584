"""Same-source detection on real motes: whether two of them were in one room at the same time.

Four motes measured a room sixty times (Morgner and others, ESORICS 2017). A pair is two motes of one measurement,
or of two different ones. Each is followed for its first 20 minutes, 10 seconds a tick, by the four sensor columns
only: what people did in the room would give the answer away, and so would absolute levels, so only features of
both motes are used.

    STREAMFS_DATA=... python examples/room_climate.py --out room
"""

import argparse
from pathlib import Path

from streamfs import evaluate, train
from streamfs.cli.console import print_table, progress
from streamfs.data import default_features
from streamfs.data.datasets import room_climate_fold
from streamfs.errors import StreamfsError

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="use only each EVERY-th pair")
    parser.add_argument("--out", type=Path, help="folder for the streams and the model")
    options = parser.parse_args()
    try:
        training, test = (room_climate_fold(fold, every=options.every) for fold in ("train", "test"))
    except StreamfsError as error:
        parser.exit(1, f"{error}\n")
    of_both_motes = [feature for feature in default_features(training) if len(feature.columns) == 2]
    with progress() as report:
        procedure = train(training, features=of_both_motes, confidence=0.9, progress=report, select="streamrelief")
    print(procedure.text())
    print_table([evaluate(procedure.with_confidence(c), test).summary() for c in (0.8, 0.85, 0.9, 0.95)])
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        procedure.save(options.out / "room_climate.streamfs")
        test.write(options.out / "test.parquet")
