"""Recordings as a newcomer brings them: a folder a class, a file a stream, zoned and jittered times, and leaks."""

from datetime import datetime, timedelta, timezone

import numpy as np

NAMES = ("cycling", "running", "sitting", "stairs", "standing", "walking")


def write_activities(folder, n_each=20, n_ticks=16, seed=0):
    """Write streams of two accelerations; the battery falls from class to class, the mote is always the same."""
    rng = np.random.default_rng(seed)
    begin = datetime(2026, 11, 2, 9, tzinfo=timezone(timedelta(hours=1)))
    charge = 100.0
    for kind, name in enumerate(NAMES):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number in range(n_each):
            seconds = np.arange(n_ticks) * 0.5 + rng.uniform(-0.08, 0.08, n_ticks) + rng.uniform(0, 36_000)
            wave = np.sin(2 * np.pi * seconds * (0.1 + 0.15 * kind)) * (0.3 + 0.4 * (kind % 2))
            x = kind % 3 + wave + rng.normal(0, 0.2, n_ticks)
            y = kind // 3 * 1.5 + rng.normal(0, 0.3, n_ticks)
            charge -= 0.2
            times = [(begin + timedelta(seconds=each)).isoformat(timespec="milliseconds") for each in seconds]
            left = charge - 0.01 * np.arange(n_ticks)
            rows = [f"{t},{a:.3f},{b:.3f},{c:.2f},7" for t, a, b, c in zip(times, x, y, left, strict=True)]
            text = "\n".join(["when,x,y,battery,mote", *rows, ""])
            (folder / name / f"{number:02d}.csv").write_text(text, encoding="utf-8")
