"""Plant bugs into copies of the gateway, and count the simulated worlds until each is found.

python tests/world/planted.py [--worlds N] [--first SEED] [--only WORDS]
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
GATEWAY = Path("streamfs/gateway")


class Bug(NamedTuple):
    """What goes wrong, the file, and a text that is there once, with what replaces it."""

    what: str
    file: str
    text: str
    planted: str


BUGS = (
    Bug("effects of replayed records are forgotten", "recovery.py", "effects.add(made)", "pass"),
    Bug("effects of replayed records are not committed", "service.py", "self._cycle.add([], 0, effects)", "pass"),
    Bug("a replay does not stop where the journal does", "recovery.py", "or position == known ", ""),
    Bug(
        "a record is replayed twice",
        "recovery.py",
        "return Core.from_state(snapshot, load), position",
        "return Core.from_state(snapshot, load), max(state.log.start, position - 1)",
    ),
    Bug("a restart forgets counters", "core/core.py", 'Counter(header["intake"])', "core._intake.counters"),
    Bug("the log is not synced", "storage/log.py", "                segment.sync()\n", "                pass\n"),
    Bug("what a sync lost is not written again", "storage/log.py", "segment.write(self._unsynced)", "pass"),
    Bug(
        "part of a frame stays",
        "storage/segment.py",
        "                self._cut(self.size)\n",
        "                pass\n",
    ),
    Bug(
        "a torn end stays",
        "storage/log.py",
        "Segment(path, self._whole_bytes)",
        "Segment(path, self._whole_bytes + self.torn_bytes)",
    ),
    Bug(
        "a new segment is not in its folder",
        "storage/log.py",
        "            sync_folder(self._folder)\n            segment",
        "            segment",
    ),
    Bug(
        "the spool is not synced",
        "storage/log.py",
        "[self._spool.folder, self._folder]",
        "[self._folder]",
    ),
    Bug(
        "commits are journalled before they are durable",
        "storage/committer.py",
        "        self._attempt(self._sync)\n",
        "",
    ),
    Bug(
        "what is acknowledged is not in the mirror",
        "storage/committer.py",
        "            self._attempt(lambda: mirror.append(commit.records))\n",
        "",
    ),
    Bug(
        "a mirror lacks new models",
        "storage/mirror.py",
        "        if any(record.kind in (MODEL, SETTINGS, START) for record in records):\n",
        "        if False:\n",
    ),
    Bug(
        "a mirror lets go of what its journal needs",
        "storage/mirror.py",
        "            journal.copy_to(partial)\n            partial.replace(path)\n",
        "",
    ),
    Bug(
        "a mirror lets go of what the spool lacks",
        "storage/mirror.py",
        "self._log.release(start)",
        "self._log.release(journal.oldest_snapshot_position)",
    ),
    Bug(
        "a segment of a mirror replaces one of the spool",
        "storage/spool_writer.py",
        "[] if self._is_passed else self._overlapping(path, end)",
        "[]",
    ),
    Bug(
        "a model has a name before it is durable", "../base/container.py", "        os.fsync(file.fileno())\n", ""
    ),
    Bug(
        "what a lost connection had under way is forgotten",
        "outbox.py",
        "self._waiting.extendleft(reversed(lost))",
        "pass",
    ),
    Bug(
        "what a lost connection had under way is in the wrong order",
        "outbox.py",
        "extendleft(reversed(lost))",
        "extend(lost)",
    ),
    Bug(
        "a publication leaves the outbox as it is sent",
        "outbox.py",
        "        self._under_way[number] = publication\n        self._waiting.popleft()\n",
        "        self._concluded.append(number)\n        self._waiting.popleft()\n",
    ),
    Bug(
        "a refused publication counts as delivered",
        "outbox.py",
        "self._refused.refuse(number, publication, reason, monotonic())",
        "self._concluded.append(number)",
    ),
    Bug(
        "what waits for a refused topic is forgotten",
        "refused_publications.py",
        "return iter(waiting)",
        "return iter(())",
    ),
    Bug(
        "a broker without its session learns nothing",
        "service.py",
        "        if is_reconnect and (is_lost or is_in_doubt):\n",
        "        if False:\n",
    ),
    Bug(
        "a run trusts that the broker has what earlier runs published",
        "service.py",
        "        if self._continues:\n            self._publish_control()\n",
        "",
    ),
    Bug(
        "a message is acknowledged a commit too early",
        "commit_cycle.py",
        "        self._batch.add(records, n_messages, effects)\n",
        "        self._transport.acknowledge(n_messages)\n        self._batch.add(records, 0, effects)\n",
    ),
    Bug("what has come is news", "core/_duplicates.py", "    if slot.seen & bit:\n", "    if False:\n"),
    Bug(
        "what is older than the newest has come",
        "core/_duplicates.py",
        "    bit = np.uint64(1)",
        "    if behind > 0:\n        return False, False\n    bit = np.uint64(1)",
    ),
    Bug(
        "messages of the same number pass",
        "core/_duplicates.py",
        "time > slot.newest if is_stamped",
        "time >= slot.newest if is_stamped",
    ),
    Bug(
        "whatever comes after a reconnect has come",
        "redeliveries.py",
        "if may_have and self.core.has_come(record, is_known=is_known):",
        "if record.topic.startswith('sensors/'):",
    ),
    Bug(
        "a decided stream rests a tick too long", "core/episodes.py", "timing.period - 1e-9)", "timing.period + 1)"
    ),
    Bug(
        "nobody waits for late readings",
        "core/_grid.py",
        "if not _emit(held, output, number, tick_of(streams[number].time - g.lateness, g.period)):",
        "if not _emit(held, output, number, tick_of(streams[number].time, g.period)):",
    ),
    Bug(
        "a stream follows the node that is ahead",
        "core/_grid.py",
        "time = min(time, present(g, node) - ",
        "time = max(time if time < np.inf else -np.inf, present(g, node) - ",
    ),
    Bug(
        "any silence counts",
        "core/_node_time.py",
        "grid.silence - node.live - patience",
        "grid.silence - node.live",
    ),
    Bug("a message delays silence for ever", "core/_node_time.py", "node.spread *= FADING", "node.spread *= 1.0"),
    Bug(
        "a ping proves silence whatever is held back",
        "transport/silence.py",
        "if n_open == 0 or n_open < self._most_open:",
        "if True:",
    ),
    Bug(
        "a ping proves silence before its messages are taken",
        "transport/silence.py",
        "self._n_behind <= 0",
        "True",
    ),
    Bug(
        "it matters for devices where records are cut",
        "core/core.py",
        "        self._wishes.set_aside()\n        self._effects.rejected",
        "        self._wishes.note()\n        self._effects.rejected",
    ),
    Bug("a restart forgets whom it has asked", "core/conduct.py", "self._put(device_of_state(values))", "pass"),
    Bug(
        "a device that starts anew is not asked again",
        "core/conduct.py",
        'self.counters["devices_born"] += 1\n            ask_anew(device)',
        'self.counters["devices_born"] += 1',
    ),
    Bug(
        "the clock goes back with the wall clock",
        "service.py",
        "        self._clock.start_after(self._core.joiner.latest)\n",
        "",
    ),
)


def plant(bug: Bug, root: Path) -> None:
    """Plant a bug into a copy of the project."""
    path = root / GATEWAY / bug.file
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(bug.text, bug.planted), encoding="utf-8")
    if "/_" in f"/{bug.file}":
        for cached in (root / GATEWAY / "core").rglob("*.nb[ci]"):  # numba does not see what others call
            cached.unlink()


def worlds_until_found(bug: Bug, first: int, most: int) -> tuple[int | None, str]:
    """Return how many worlds it takes until something is wrong, and what; None if nothing is in the most."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        for name in ("streamfs", "feature_extractors", "sensors_sim", "tests"):
            shutil.copytree(ROOT / name, copy / name)
        plant(bug, copy)
        command = [sys.executable, str(copy / "tests/world/simulate.py"), "--until-wrong", "--first", str(first)]
        ended = subprocess.run(
            [*command, "--worlds", str(most), "--processes", "1"],
            env=os.environ | {"PYTHONPATH": f"{copy}:{copy / 'tests'}"},
            cwd=copy,
            capture_output=True,
            text=True,
            check=False,
        )
    found = re.search(r"^seed (\d+): (.*)$", ended.stdout, re.MULTILINE)
    if found:
        return int(found[1]) - first + 1, found[2]
    if ended.returncode:
        raise RuntimeError(f"{bug.what}: {ended.stderr}")
    return None, ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=10_000, help="most worlds for a bug")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--only", default="", help="bugs whose description contains this")
    options = parser.parse_args()
    for bug in BUGS:
        if options.only in bug.what:
            n, problem = worlds_until_found(bug, options.first, options.worlds)
            print(json.dumps({"bug": bug.what, "file": bug.file, "worlds": n, "found": problem}), flush=True)


if __name__ == "__main__":
    main()
