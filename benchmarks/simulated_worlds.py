"""Run the gateway in simulated worlds, and tell of the bugs that were planted and found there.

python tests/world/planted.py > planted.jsonl
python benchmarks/simulated_worlds.py --bugs planted.jsonl [--worlds N] [--first SEED]

Writes its part of `benchmarks/RESULTS.md`; the others are left unchanged.
"""

import argparse
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from figures import processor

from streamfs.cli.console import progress

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "world")]

from campaign import Report, campaign  # noqa: E402

NAME = "simulated_worlds"

FAULTS = {
    "die": ("the process is killed", "counter `replayed`"),
    "power": ("the power fails: torn, reordered and missing writes", "counters `replayed`, `torn_bytes`"),
    "burn": (
        "the process is killed and its disk is gone; a standby goes on with the mirror",
        "counter `replayed`",
    ),
    "full": ("the disk is full", "`/readyz`: not storing; `commit_failures`"),
    "slow": ("the disk takes up to a second for each write", "gauge `lag_seconds`, `fsync_seconds`"),
    "error": ("a sync fails", "`/readyz`: not storing; `commit_failures`"),
    "lie": ("syncs do nothing", "the next start refuses the state, unless all fits"),
    "cut": ("the connection is lost", "`lost_connections`, `redelivered`"),
    "hang_up": ("the broker hangs up as it takes a publication", "`lost_connections`"),
    "lag": ("each packet takes up to five seconds more", "nowhere: decisions wait for what is on its way"),
    "stall": ("half-open connection: nothing gets through", "`lost_connections`"),
    "stop": ("the gateway is stopped for a while", "`/healthz` while it is"),
    "crash": ("the broker forgets its last second", "`redelivered`"),
    "forget": ("the broker loses session and retained messages", "control messages are published again"),
    "double": ("the broker delivers twice", "`duplicate`, `redelivered`"),
    "refuse": ("the broker refuses control messages or decisions", "`/readyz`: refused publications"),
    "step": ("the wall clock is set by a minute or a year", "`/readyz`: clocks"),
    "reload": ("another model is loaded", "counter `reloads`"),
    "hostile": ("a message with a wild stamp, value or no sense", "`future`, dead letters, `/readyz`: clocks"),
}
"""What each kind of fault is, and where an operator sees it."""

WAYS = ("lost", "doubled", "changed", "refused", "raised")


def section(n_worlds: int, first: int, bugs: list[dict[str, Any]]) -> str:
    """Run the campaign, and tell of it."""
    reports = []
    with progress() as report_progress:
        for report in campaign(first, n_worlds, float("inf"), os.cpu_count() or 1):
            reports.append(report)
            report_progress("worlds", sum(each.n_worlds for each in reports), n_worlds)
    n_recoveries = sum(report.n_recoveries for report in reports)
    rate = 60 * n_recoveries / sum(report.seconds for report in reports)
    n_wrong = sum(len(report.wrong) for report in reports)
    return f"""
## The gateway in simulated worlds

`python benchmarks/simulated_worlds.py --worlds {n_worlds} --first {first}`: broker, network, disk, clocks and nodes simulated in one process
(`tests/world`), the gateway real. {n_worlds} worlds, {n_recoveries} recoveries from deaths and failures of the power, {rate:.0f} a minute of a processor, all
checks included; something was wrong in {n_wrong} worlds. Each was compared with the naive gateway and with a core that nothing has befallen, 1 in 4 of
those whose faults lose nothing with the same world without faults. In the table, how often each fault was tried, in any mixture,
and in how many worlds that had it a message or decision was lost, a decision was published with two contents, anything was changed, or
a gateway refused to start or ended with an error.

| fault | tried | {" | ".join(WAYS)} | noticed where |
|---|---|{"---|" * len(WAYS)}---|
{fault_rows(reports)}

Bugs planted into copies of the gateway (`tests/world/planted.py`), and the worlds until something was wrong, at most 10 000:
{sum(bug["worlds"] is not None for bug in bugs)} of {len(bugs)} that were planted were found.

| bug | file | worlds | how it shows |
|---|---|---|---|
{chr(10).join(map(bug_row, bugs))}

{processor()}
"""


def fault_rows(reports: list[Report]) -> str:
    """Return a row for each kind of fault."""
    tried = sum((report.tried for report in reports), Counter[str]())
    found = Counter(
        (kind, problem.partition(":")[0])
        for report in reports
        for _, kinds, problems in report.wrong
        for kind in kinds
        for problem in {each.partition(":")[0]: each for each in problems}.values()
    )
    return "\n".join(
        f"| {what} | {tried[kind]} | {' | '.join(str(found[kind, way]) for way in WAYS)} | {where} |"
        for kind, (what, where) in FAULTS.items()
    )


def bug_row(bug: dict[str, Any]) -> str:
    """Return the row of a planted bug."""
    n = "not found" if bug["worlds"] is None else bug["worlds"]
    return f"| {bug['bug']} | `{bug['file'].removeprefix('../')}` | {n} | {bug['found'].partition(':')[0]} |"


def write(text: str) -> None:
    """Put the part in its place."""
    from soak import write as write_part  # noqa: PLC0415 - imports what the faults need

    write_part(text, NAME)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--bugs", type=Path, required=True, help="what tests/world/planted.py has printed")
    options = parser.parse_args()
    found = [json.loads(line) for line in options.bugs.read_text(encoding="utf-8").splitlines()]
    write(section(options.worlds, options.first, found))
