"""Write recordings as people have them: a folder for each class, a file for each stream, zoned and jittered times.

    python examples/activities.py [FOLDER [N_EACH [SEED]]]

The battery's charge falls from class to class, and would tell them: it leaks.
"""

import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np

NAMES = ("cycling", "running", "sitting", "stairs", "standing", "walking")


def main(folder: str = "activities", n_each: str = "20", seed: str = "0") -> None:
    """Write streams of two accelerations, each of 16 readings in 8 s; the mote is always the same."""
    rng, charge = np.random.default_rng(int(seed)), 100.0
    begin = datetime(2026, 11, 2, 9, tzinfo=timezone(timedelta(hours=1)))
    for kind, name in enumerate(NAMES):
        Path(folder, name).mkdir(parents=True, exist_ok=True)
        for number in range(int(n_each)):
            seconds = np.arange(16) * 0.5 + rng.uniform(-0.08, 0.08, 16) + rng.uniform(0, 36_000)
            wave = np.sin(2 * np.pi * seconds * (0.1 + 0.15 * kind)) * (0.3 + 0.4 * (kind % 2))
            x = kind % 3 + wave + rng.normal(0, 0.2, 16)
            y = kind // 3 * 1.5 + rng.normal(0, 0.3, 16)
            charge -= 0.2
            times = [(begin + timedelta(seconds=each)).isoformat(timespec="milliseconds") for each in seconds]
            left = charge - 0.01 * np.arange(16)
            rows = [f"{t},{a:.3f},{b:.3f},{c:.2f},7" for t, a, b, c in zip(times, x, y, left, strict=True)]
            Path(folder, name, f"{number:02d}.csv").write_text("\n".join(["when,x,y,battery,mote", *rows, ""]))


if __name__ == "__main__":
    main(*sys.argv[1:])
