"""Early classification beside other packages and other rules for when to decide, as JSON lines and a table.

STREAMFS_DATA=... python benchmarks/early.py [--quick] [--seeds N ...] [--sets SET ...] [--methods METHOD ...] [--out FILE]

Official splits of the UCR and UEA archives: those in the folder ``ucr`` of the data, and those that come with aeon. Each
also *disturbed*: every series starts late by up to 30 %, on noise, with a scale and an offset of its own, train and test.

- ``streamfs``: ``train(streams, seed=seed)``, nothing else set; for another price of errors, ``error_cost`` and ``delay_cost``
- ``aeon PT``: ProbabilityThresholdEarlyClassifier with time series forests of 50, on 150 test series; ``aeon TEASER``, with the same, if named
- ``tslearn NonMyopic``: NonMyopicEarlyClassifier, on 100 test series
- ``RF fixed``, ``RF tuned``: a random forest of 50 for each of 20 prefixes, decided at 0.9, or at the threshold of the least
  cost out of bag
- ``threshold``, ``SR``, ``ECONOMY-gamma``, ``CALIMERA``: triggers (`streamfs.experiments.early.triggers`) on the probabilities of streamfs'
  own forest, fitted to its out-of-fold trajectories; at each alpha on the features that streamfs chose there. They decide at 20
  prefixes of equal steps, as their papers and the survey have it, fitted to series that are held out once; ``SR, our ticks`` and so on
  at the ticks at which streamfs may decide, fitted to series that are held out as often as for it

`streamfs.experiments.early.protocol` says what is measured; `streamfs bench early DIR` does the same with a user's sets.
Methods that can are given alpha; aeon, tslearn and RF fixed decide alike at each. All other figures are those with nothing set, which
is alpha = 0.5 for triggers.
Each seed and method is a line of JSON; ``--from FILE`` makes the table from such lines.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path

from early_sets import BUNDLED, sets
from early_table import report
from figures import load_peer, processor

from streamfs.cli.console import progress, say
from streamfs.experiments.early.methods import ALPHAS, AT_OURS, METHODS, NEEDED, OURS, USUAL, is_installed
from streamfs.experiments.early.protocol import Row, measure
from streamfs.experiments.early.series import Split
from streamfs.experiments.early.triggers import TRIGGERS

SEEDS = (0, 1, 2, 3, 4)
OTHER_SEEDS = (20, 21, 22, 23, 24)
QUICK_SETS = ("UnitTest", "ItalyPowerDemand", "GunPoint")
QUICK_METHODS = (OURS, "threshold", "ECONOMY-gamma", "CALIMERA")


def rows(seeds: Sequence[int], names: Sequence[str], methods: Sequence[str]) -> Iterator[Row]:
    """Measure methods on sets; leave out those whose package is not installed."""
    known = available()
    for name in methods:
        if not is_installed(name):
            say(f"{NEEDED[name]} is not installed, {name} is left out: pip install 'streamfs[bench]'")
    with progress() as bar:
        yield from measure({name: known[name] for name in names}, seeds, [*filter(is_installed, methods)], bar)


def available() -> Mapping[str, Callable[[int], Split]]:
    """How each available set is loaded, by its name; say which are not."""
    has_aeon = is_installed("aeon PT")
    if not has_aeon:
        say(f"aeon is not installed, its sets are left out: {', '.join(BUNDLED)}")
    if "STREAMFS_DATA" not in os.environ:
        say("STREAMFS_DATA is not set, the sets of its folder ucr are left out")
    return sets(has_aeon)


def section(found: Sequence[Row] | None = None) -> str:
    """Measure all, or take rows that were measured before."""
    load_peer("aeon")
    found = list(rows(SEEDS, tuple(available()), USUAL)) if found is None else found
    seeds, methods = len({row["seed"] for row in found}), {row["method"] for row in found}
    missing = [name for name in METHODS if name not in methods and not name.endswith(AT_OURS)]
    not_run = ", ".join([*missing, "aeon's default forests (DrCIF)", "ml_edm"])
    return f"""
## Early classification beside aeon, tslearn and other rules for when to decide

`STREAMFS_DATA=... python benchmarks/early.py --out FILE`, whose help describes the methods: ours is `train` with nothing set. aeon's,
tslearn's and the random forests were measured in runs of their own, by `--methods`; `--from FILE` makes the tables. Official splits, {seeds} seeds, where *seeds* has no other number. ± is half the
95 % interval of Student's t over the seeds: they vary what is random in the methods, and the disturbance, not the test series of a set,
which may be as few as 22. The harmonic mean (HM) of accuracy and 1 - earliness, and what
is not said to be over alpha, are with nothing set: then `train` balances both, where that is surely better than the least cost, and triggers, whose rules
are of costs, have alpha = 0.5; *over alpha* is the mean over {", ".join(f"{alpha:g}" for alpha in ALPHAS)}. The mean rank is that
of HM over the sets; a method that fails on a set is last there, and has no mean over sets. *fit s* and *us a tick* are CPU time on a
shared machine, the latter for all ticks of all test series at once, whenever they are decided; for triggers, fitting includes our
training and a forest for each fold.

UCR series were normalised over their whole length and start aligned, so that a prefix knows of its future: the disturbed series are
nearer to what a sensor sends. *threshold*, *SR*, *ECONOMY-gamma* and *CALIMERA* are written from their papers, on our own forest's
probabilities, with the features that `train` chose at the same alpha; at 20 prefixes of equal steps, as peers, and fitted to train
series that were held out once; or, where it is said, at *our ticks*, of which the first is one, and fitted to series that were held out
as often as for ours. aeon's and tslearn's classifiers are slow, and decide 150 and 100
test series, the same ones with each seed. `train` also chooses what is sent: on sets of one column a report on change may be chosen, which
sends less and says less; peers with classifiers of their own read every tick. That few streams are decided at the first tick all
or none, of fewer than forty, was decided on other sets, but after a look at these with the seeds 0 to 2; that they are held out
again and again on fifteen other sets, before a look at these. How sure a better balance must be was decided on other sets and made-up streams, after a look
at these with the seeds 0 and 1; what labels without skill lack, after a look at these, disturbed, with the seeds 0 to 2. How many
patterns are offered, how many trees compare choices, and that of about equal thresholds one sends least, was decided on Trace, made-up
streams, the last four of these sets with the seeds 5 to 9 and room B, after a look at aeon's five, disturbed, with the seeds 0 to 4. Not run:
{not_run}.
aeon 1.6.0 asks for numba below 0.64, and was run with the version below.
{report(found)}
aeon {version("aeon")}, tslearn {version("tslearn")}; {processor()}
"""


def triggers(found: Sequence[Row] | None = None) -> str:
    """Measure ours and the triggers with other seeds, or take rows that were measured before."""
    found = list(rows(OTHER_SEEDS, tuple(available()), (OURS, *TRIGGERS))) if found is None else found
    seeds = ", ".join(map(str, sorted({row["seed"] for row in found})))
    return f"""
## The default beside other rules for when to decide, with other seeds

`STREAMFS_DATA=... python benchmarks/early.py --seeds ... --methods streamfs threshold SR ECONOMY-gamma CALIMERA`: the part before, without
the methods that have classifiers of their own, and with the seeds {seeds}. That features of shape alone are compared with all was decided on
simulated sets, OSULeaf, ACSF1 and Trace, not on these. Aeon's five, disturbed, with these seeds were looked at once before more patterns were
offered.
{report(found)}
{processor()}
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one seed, two sets, no slow peer")
    parser.add_argument("--seeds", nargs="+", type=int, default=SEEDS)
    parser.add_argument("--sets", nargs="+", help="by default all that are there")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=USUAL)
    parser.add_argument("--out", type=Path, help="file for the lines of JSON, by default the screen")
    parser.add_argument("--from", type=Path, dest="lines", help="make the table from such lines, measure nothing")
    options = parser.parse_args()
    if options.lines:
        print(report([json.loads(line) for line in options.lines.read_text(encoding="utf-8").splitlines()]))
        return
    known = tuple(available())
    names = options.sets or known
    if options.quick:
        options.seeds, options.methods = (0,), QUICK_METHODS
        names = [name for name in QUICK_SETS if name in known][:2]
    if not names or set(names) - set(known):
        parser.error(
            f"sets are {', '.join(names) or 'none'}, expected some of {', '.join(known)}: set STREAMFS_DATA, install aeon"
        )
    found = []
    with options.out.open("a", encoding="utf-8") if options.out else nullcontext(sys.stdout) as out:
        for row in rows(options.seeds, names, options.methods):
            print(json.dumps(row), file=out, flush=True)
            found.append(row)
    print(f"{report(found)}\n{processor()}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of peers
    main()
