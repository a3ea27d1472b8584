"""Commands that tests run, and what they print."""

import subprocess
import sys
from typing import NamedTuple

import orjson

FEATURES = [
    "mean_absolute_difference(a.light@delta:40, b.light@delta:40)",
    "mean_absolute_difference(a.temperature, b.temperature)",
    "mean_absolute_difference(a.humidity, b.humidity)",
]
RANKED = ["--select", "streamrelief", "--n-features", "3"]
TRAIN = ["train", "pairs.csv", *RANKED, *(word for name in FEATURES for word in ("--feature", name))]


class Result(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def rows(self):
        return [orjson.loads(line) for line in self.out.splitlines()]


def process(folder, *args):
    """Run a command in a separate process."""
    words = [sys.executable, "-m", "streamfs", *map(str, args)]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=180)
    return Result(ended.returncode, ended.stdout, ended.stderr)
