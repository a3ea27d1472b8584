"""How soon the page shows what happens, in a real Chromium: run ``PYTHONPATH=.:tests python benchmarks/page.py``.

Decisions are counted from the moment at which they are safe on disk, a broker from the moment at which it is asked to
stop or has started; what is done with 100 000 streams from the click or the key. Then the memory of `streamfs page` with as
many streams of 20 000 nodes, after each of its pages was asked for: all, and without what it maps of files.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path
from time import sleep
from urllib.error import HTTPError
from urllib.request import urlopen

from helpers.broker import free_port
from helpers.browser import chromium
from helpers.page_stories import ACTS, happenings, many_streams
from helpers.views import now_facts, rows_of, write_view

from streamfs.page.pages import PAGES

WANTED = {"decision": 1.0, "broker stopped": 5.0, **dict.fromkeys(ACTS, 0.2)}
ROUNDS = 3
MEMORY = 60  # MB


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
    with tempfile.TemporaryDirectory() as folder:
        whole, own = memory(Path(folder))
    print(f"memory: {whole} MB (at most {MEMORY}), of which {own} MB are not of files")


def memory(folder: Path) -> tuple[int, int]:
    """Return the megabytes of the page's process with many streams, and those that are its own."""
    rows = rows_of([f"room-{i:06d}/pair" for i in range(100_000)], [f"node-{i:05d}" for i in range(20_000)])
    write_view(folder / "view", now_facts(rows_written=rows[0]["written"]), rows)
    port = free_port()
    command = [Path(sys.executable).with_name("streamfs"), "page", folder, "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as page:  # noqa: S603 - our own program
        try:
            for path in ("", *PAGES, "streams?q=77", "streams?sort=-tick", "stream?name=room-000007/pair"):
                _ask(f"http://127.0.0.1:{port}/1/{path}")
            status = Path(f"/proc/{page.pid}/status").read_text(encoding="utf-8")
        finally:
            page.terminate()
    whole, own = (int(re.search(rf"{name}:\s+(\d+) kB", status)[1]) // 1000 for name in ("VmRSS", "RssAnon"))
    return whole, own


def _ask(url: str) -> None:
    for _ in range(100):
        try:
            with urlopen(url, timeout=20) as answer:  # noqa: S310 - of this machine
                answer.read()
        except HTTPError:
            return  # a page that needs a name
        except OSError:
            sleep(0.1)  # it is not there yet
        else:
            return


if __name__ == "__main__":
    main()
