"""How soon the page shows what happens, in a real Chromium: run ``PYTHONPATH=.:tests python benchmarks/page.py``.

Decisions are counted from the moment at which they are safe on disk, a broker from the moment at which it is asked to
stop or has started; what is done with 100 000 streams from the click or the key.
"""

import tempfile
from pathlib import Path

from helpers.browser import chromium
from helpers.page_stories import ACTS, happenings, many_streams

WANTED = {"decision": 1.0, "broker stopped": 5.0, **dict.fromkeys(ACTS, 0.2)}
ROUNDS = 3


def main() -> None:
    found: dict[str, list[float]] = {}
    with chromium() as browser:
        for _ in range(ROUNDS):
            for story in (happenings, many_streams):
                with tempfile.TemporaryDirectory() as folder:
                    for what, seconds in story(browser, Path(folder)).items():
                        found.setdefault(what, []).append(seconds)
    print("| what | seen after, s | at most |\n|---|---|---|")
    for what, seconds in found.items():
        times = ", ".join(f"{each:.2f}" for each in sorted(seconds))
        print(f"| {what} | {times} | {WANTED.get(what, '')} |")
    print()


if __name__ == "__main__":
    main()
