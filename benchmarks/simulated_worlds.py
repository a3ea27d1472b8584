"""Run the gateway in simulated worlds, and tell of the bugs that were planted and found there.

python tests/world/planted.py > planted.jsonl
python tests/world/simulate.py --ledger worlds.jsonl --worlds N
python benchmarks/simulated_worlds.py --bugs planted.jsonl --ledger worlds.jsonl

Of the worlds in the ledger, those count that ran on the same sources as the newest. Writes its part of `benchmarks/RESULTS.md`; the others are left unchanged.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from figures import processor

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "tests"), str(HERE.parent / "tests" / "world")]

from campaign import Report  # noqa: E402
from ledger import noted  # noqa: E402
from planted import BUGS  # noqa: E402
from scenario import DEVICES  # noqa: E402
from simulate import summary  # noqa: E402

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
    "restart": (
        "a device starts anew, and reports as often as it was made to",
        "counters `devices_born`, `devices_asked_again`",
    ),
    "hostile": ("a message with a wild stamp, value or no sense", "`future`, dead letters, `/readyz`: clocks"),
}
"""What each kind of fault is, and where an operator sees it."""

WAYS = ("lost", "doubled", "changed", "refused", "raised")


def section(reports: list[Report], bugs: list[dict[str, Any]]) -> str:
    """Tell of a campaign."""
    first, last = (
        min(report.first for report in reports),
        max(report.first + report.n_worlds for report in reports),
    )
    return f"""
## The gateway in simulated worlds

`python tests/world/simulate.py --ledger worlds.jsonl`: broker, network, disk, clocks and nodes simulated in one process
(`tests/world`), the gateway real. {summary(reports)}, all checks included, and fewer where a machine does other work; seeds {first} to {last - 1}. Each was compared with a core that nothing has
befallen, with the naive gateway (where channels open later, first episodes alone), and 1 in 4 of those whose faults lose nothing with the
same world without faults. 1 in 10 has a mirror, 1 in {DEVICES}
devices of other makers, which obey or not, instead of nodes. In the table, how often each fault was tried, in any mixture,
and in how many worlds that had it a message or decision was lost, a decision was published with two contents, anything was changed, or
a gateway refused to start or ended with an error.

| fault | tried | {" | ".join(WAYS)} | noticed where |
|---|---|{"---|" * len(WAYS)}---|
{fault_rows(reports)}

Bugs planted into copies of the gateway (`tests/world/planted.py`), and the worlds until something was wrong, at most 10 000:
{sum(bug["worlds"] is not None for bug in bugs)} of {len(bugs)} that were planted were found; the script has {len(BUGS)}.

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
    parser.add_argument("--ledger", type=Path, required=True, help="what tests/world/simulate.py has noted")
    parser.add_argument("--bugs", type=Path, required=True, help="what tests/world/planted.py has printed")
    options = parser.parse_args()
    found = [json.loads(line) for line in options.bugs.read_text(encoding="utf-8").splitlines()]
    sources, _ = [*noted(options.ledger)][-1]
    write(section([report for of, report in noted(options.ledger) if of == sources], found))
