"""Run simulated worlds with fresh seeds, and shrink those in which something is wrong.

python tests/world/simulate.py [--seconds SECONDS | --worlds N] [--first SEED] [--processes N]
python tests/world/simulate.py --seed SEED
"""

import argparse
import os
import sys
import time
from math import inf

from campaign import campaign, smallest
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
    lines += [f"  at {sent.time:.3f} s {sent.topic} {sent.payload!r}" for sent in scenario.messages]
    return "\n".join(lines)


def run(first: int, n_worlds: float, seconds: float, n_processes: int, *, until_wrong: bool) -> bool:
    """Run worlds, perhaps until something is wrong, and print what came of them; return whether something is."""
    reports = []
    with progress() as report_progress:
        for report in campaign(first, n_worlds, seconds, n_processes):
            reports.append(report)
            done = sum(each.n_worlds for each in reports)
            for seed, _, problems in report.wrong:
                print(f"seed {seed}: {problems[0][:200]}", flush=True)
            if until_wrong and report.wrong:
                break
            report_progress("worlds", done, 0 if n_worlds == inf else int(n_worlds))
    n_recoveries = sum(report.n_recoveries for report in reports)
    rate = 60 * n_recoveries / sum(report.seconds for report in reports)
    print(f"{done} worlds from seed {first} on: {n_recoveries} recoveries, {rate:.0f} a minute of a processor")
    wrong = [seed for report in reports for seed, *_ in report.wrong]
    for seed in wrong[: 0 if until_wrong else SHOWN]:
        show(seed)
    if wrong:
        print(f"something is wrong in {len(wrong)} worlds: seeds {', '.join(map(str, wrong))}")
    return bool(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, unless --worlds says how many")
    parser.add_argument("--worlds", type=float, help="how many worlds")
    parser.add_argument("--first", type=int, help="first seed; by default one of the clock's")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--until-wrong", action="store_true", help="end with the first world that goes wrong")
    parser.add_argument("--seed", type=int, help="show and shrink the world of this seed")
    options = parser.parse_args()
    if options.seed is not None:
        sys.exit(show(options.seed))
    first = time.time_ns() // 10**6 if options.first is None else options.first
    seconds = options.seconds if options.worlds is None else inf
    sys.exit(run(first, options.worlds or inf, seconds, options.processes, until_wrong=options.until_wrong))


if __name__ == "__main__":
    main()
