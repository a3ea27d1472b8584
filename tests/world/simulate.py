"""Run simulated worlds with fresh seeds, and shrink those in which something is wrong.

python tests/world/simulate.py [--seconds SECONDS | --worlds N] [--first SEED] [--processes N]
python tests/world/simulate.py --seed SEED

With `--ledger FILE` a campaign goes on where the last one in the file has ended, and counts them together.
"""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from math import inf
from pathlib import Path

from campaign import Report, campaign, smallest
from ledger import digest, next_seed, note, noted
from scenario import Scenario

from streamfs.cli.console import progress

SHOWN = 3  # worlds that are shrunk


def show(seed: int) -> bool:
    """Print what is wrong with a seed's world, and the smallest world in which something still is."""
    scenario, problems = smallest(seed)
    print(f"seed {seed}:", *(problems or ["nothing is wrong"]), sep="\n  ")
    if problems:
        print("smallest:", described(scenario), sep="\n")
    return bool(problems)


def described(scenario: Scenario) -> str:
    """Return a scenario in lines."""
    lines = [f"  {name}: {getattr(scenario, name)}" for name in ("kind", "options", "commits", "receive_maximum")]
    lines += [f"  {fault.kind} {fault.begin:g} {fault.end:g} {fault.value:g}" for fault in scenario.faults]
    lines += [f"  {device}" for device in scenario.devices]
    lines += [f"  at {sent.time:.3f} s {sent.topic} {sent.payload!r}" for sent in scenario.messages]
    return "\n".join(lines)


def run(
    first: int, n_worlds: float, seconds: float, n_processes: int, ledger: Path | None, *, until_wrong: bool
) -> bool:
    """Run worlds, perhaps until something is wrong, and print what came of them; return whether something is."""
    reports, sources = [], digest()
    with progress() as report_progress:
        for report in campaign(first, n_worlds, seconds, n_processes):
            reports.append(report)
            if ledger is not None:
                note(ledger, sources, report)
            done = sum(each.n_worlds for each in reports)
            for seed, _, problems in report.wrong:
                print(f"seed {seed}: {problems[0][:200]}", flush=True)
            if until_wrong and report.wrong:
                break
            report_progress("worlds", done, 0 if n_worlds == inf else int(n_worlds))
    print(f"{summary(reports)}, from seed {first} on")
    if ledger is not None:
        print(
            f"in {ledger}: {summary([report for of, report in noted(ledger) if of == sources])} of these sources"
        )
    wrong = [seed for report in reports for seed, *_ in report.wrong]
    for seed in wrong[: 0 if until_wrong else SHOWN]:
        show(seed)
    if wrong:
        print(f"something is wrong in {len(wrong)} worlds: seeds {', '.join(map(str, wrong))}")
    return bool(wrong)


def summary(reports: Sequence[Report]) -> str:
    """Return in words what came of some worlds."""
    n_recoveries = sum(report.n_recoveries for report in reports)
    rate = 60 * n_recoveries / sum(report.seconds for report in reports)
    n_worlds, n_wrong = sum(report.n_worlds for report in reports), sum(len(report.wrong) for report in reports)
    return f"{n_worlds} worlds, {n_wrong} wrong, {n_recoveries} recoveries, {rate:.0f} a minute of a processor"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, unless --worlds says how many")
    parser.add_argument("--worlds", type=float, help="how many worlds")
    parser.add_argument("--first", type=int, help="first seed; by default one of the clock's")
    parser.add_argument("--ledger", type=Path, help="file of campaigns, which this one continues")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--until-wrong", action="store_true", help="end with the first world that goes wrong")
    parser.add_argument("--seed", type=int, help="show and shrink the world of this seed")
    options = parser.parse_args()
    if options.seed is not None:
        sys.exit(show(options.seed))
    first = next_seed(options.ledger) if options.ledger else time.time_ns() // 10**6
    first = first if options.first is None else options.first
    seconds = options.seconds if options.worlds is None else inf
    sys.exit(
        run(
            first,
            options.worlds or inf,
            seconds,
            options.processes,
            options.ledger,
            until_wrong=options.until_wrong,
        )
    )


if __name__ == "__main__":
    main()
