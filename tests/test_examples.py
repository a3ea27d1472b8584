"""The examples run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from streamfs import Procedure, StreamSet, evaluate

ROOT = Path(__file__).parents[1]


def test_room_climate_trains_on_one_fold_and_replays_the_other(tmp_path):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA is not set: room_climate is not there")
    script = [sys.executable, ROOT / "examples" / "room_climate.py", "--every", "2", "--out", tmp_path]
    printed = subprocess.run(script, capture_output=True, text=True, check=True)
    assert "confidence" in printed.stdout
    test = StreamSet.read(tmp_path / "test.parquet")
    assert len(test) == 144
    assert not any(word in column for column in test.columns for word in ("occ", "act", "door", "win"))
    procedure = Procedure.load(tmp_path / "room_climate.streamfs")
    evaluation = evaluate(procedure.with_confidence(0.8), test)
    assert evaluation.completeness > 0.8
    assert evaluation.accuracy > 0.8
