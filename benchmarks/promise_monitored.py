"""Whether a promise that is no longer kept is noticed, and how soon.

STREAMFS_DATA=... python benchmarks/promise_monitored.py [PART ...]
"""

import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from math import inf
from typing import Any, NamedTuple

import numpy as np
from figures import Figure, Parts, main, measure, processor, table, versus
from joblib import Parallel, delayed
from scipy.stats import binom

import feature_extractors as fx
from feature_extractors.arrays import Array
from streamfs import C45Classifier, Costs, Procedure, Promise, PromiseError, StreamSet, train_promised
from streamfs.cli.console import say
from streamfs.data.datasets import load
from streamfs.errors import TrainingError
from streamfs.evaluation.evaluation import evaluate, replay_with_values
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import MESSAGE, Record, start_record
from streamfs.procedure.asked_labels import AskedLabels
from streamfs.procedure.betting import ShareTest
from streamfs.procedure.expectation import OF_ACCURACY, OF_ERRORS
from streamfs.procedure.group_tests import GroupTests
from streamfs.procedure.procedure import Decision
from streamfs.procedure.promise_monitor import KEPT, RISK, PromiseMonitor
from streamfs.procedure.reference import reference_of
from streamfs.procedure.stopping import TickThresholds
from streamfs.training.promises import recertify

PROMISE = Promise(0.8)
ROOMS = {"A": "room_climate", "B": "room_B"}
FIRST_DIVISION = 4000
N_DIVISIONS = 10  # whose promise is certified
MOST_DIVISIONS = 40
MOST_DECISIONS, MOST_LABELS = 50, 30
N_ORDERS = 10  # of the unseen streams of a room, beside the first
N_MONTHS, N_DECISIONS = 1000, 1000
N_CERTIFYING = 150  # streams
N_FALLS, MOST_UNTIL_FOUND = 1000, 10_000
POWER = 0.8
OF_LABELS = RISK * (OF_ACCURACY + OF_ERRORS)
N_ASKED, SHARE_ASKED = 200, 0.2
N_LABELLED = 100
MESSAGES = 60  # of a decision
N_GROUPS = 2000


class Trained(NamedTuple):
    """A model with a promise, and streams of its room that it has not seen."""

    division: int
    procedure: Procedure
    unseen: StreamSet


@cache
def trained(room: str) -> list[Trained]:
    """Return the models of the first divisions in which the promise is certified."""
    found: list[Trained] = []
    for division in range(FIRST_DIVISION, FIRST_DIVISION + MOST_DIVISIONS):
        training, unseen = load(ROOMS[room]).split(division)
        try:
            procedure = train_promised(training, PROMISE, seed=division, n_jobs=1)
        except PromiseError:
            say(f"room {room}, division {division}: refused")
            continue
        say(f"room {room}, division {division}: certified")
        found.append(Trained(division, procedure, unseen))
        if len(found) == N_DIVISIONS:
            break
    return found


def both_halves(room: str, division: int) -> StreamSet:
    """Return all streams of a room."""
    one, other = load(ROOMS[room]).split(division)
    return StreamSet(
        np.concatenate([one.values, other.values]),
        np.concatenate([one.labels, other.labels]),
        one.columns,
        one.period,
        [f"{half}.{name}" for half, streams in enumerate((one, other)) for name in streams.names],
    )


class Noticed(NamedTuple):
    """Decisions, and labels, until a promise was no longer kept so far; infinite if it was to the end."""

    decisions: float
    labels: float
    accuracy: float


def noticed(procedure: Procedure, streams: StreamSet, seed: int, *, is_in_turn: bool = False) -> Noticed:
    """Show a monitor the decisions of streams in random order, another their labels; or a measurement at a time."""
    decided = list(replay_with_values(procedure, streams))
    truth = dict(zip(streams.names, streams.labels, strict=True))
    order = np.random.default_rng(seed).permutation(len(decided)).tolist()
    if is_in_turn:
        measured = [made.stream.partition(".")[0] for made, _ in decided]
        turns = list(dict.fromkeys(measured[index] for index in order))
        order.sort(key=lambda index: turns.index(measured[index]))
    shuffled = [decided[index] for index in order]
    unlabelled, labelled = PromiseMonitor(procedure), PromiseMonitor(procedure)
    labels = [
        (made.label == truth[made.stream], made.confidence) for made, _ in shuffled if made.label is not None
    ]

    def take(number: int) -> None:
        made, values = shuffled[number]
        unlabelled.decided(made, values)
        unlabelled.finish()

    def show(number: int) -> None:
        is_right, confidence = labels[number]
        labelled.labelled(is_right, 0.0, confidence=confidence)

    return Noticed(
        first(unlabelled, take, len(shuffled)),
        first(labelled, show, len(labels)),
        float(np.mean([is_right for is_right, _ in labels])),
    )


def first(monitor: PromiseMonitor, take: Callable[[int], None], n: int) -> float:
    """Return after how many of n a monitor has found something; infinite if it does not."""
    for number in range(n):
        take(number)
        if monitor.status != KEPT:
            return number + 1
    return inf


def rooms() -> list[Figure]:
    """Models of one room in the other, and on unseen streams of their own."""
    figures = []
    alarms = n_own = in_other_orders = in_turn = 0
    for room, other in (("A", "B"), ("B", "A")):
        models = trained(room)
        there = [noticed(each.procedure, both_halves(other, each.division), each.division) for each in models]
        broken = [each for each in there if each.accuracy < PROMISE.accuracy]
        own = [noticed(each.procedure, each.unseen, each.division) for each in models]
        alarms += sum(map(is_alarmed, own))
        n_own += len(own)
        in_other_orders += sum(
            is_alarmed(noticed(each.procedure, each.unseen, seed)) for each in models for seed in range(N_ORDERS)
        )
        in_turn += sum(
            is_alarmed(noticed(each.procedure, each.unseen, seed, is_in_turn=True))
            for each in models
            for seed in range(N_ORDERS)
        )
        figures += _elsewhere(f"{room}'s models in room {other}", broken, len(there))
        accuracies = [each.accuracy for each in own]
        figures.append(Figure(f"accuracy on {room}'s own unseen streams, least", min(accuracies)))
    what = "false alarms on their own unseen streams"
    return [
        *figures,
        Figure(what, alarms, at_most=0, detail=f"of {n_own}"),
        Figure(f"{what}, in {N_ORDERS} other orders of each", in_other_orders, detail=f"of {n_own * N_ORDERS}"),
        Figure(
            f"{what}, one measurement after the other, in {N_ORDERS} orders",
            in_turn,
            detail=f"of {n_own * N_ORDERS}",
        ),
    ]


def is_alarmed(noticed: Noticed) -> bool:
    """Whether a promise was no longer kept at some decision or label."""
    return min(noticed.decisions, noticed.labels) < inf


def _elsewhere(name: str, broken: list[Noticed], n_models: int) -> list[Figure]:
    accuracies = [each.accuracy for each in broken]
    decisions, labels = ([getattr(each, what) for each in broken] for what in ("decisions", "labels"))
    either = [min(each.decisions, each.labels) for each in broken]
    span = f"accuracy {min(accuracies):.2f} to {max(accuracies):.2f}"
    best = [power_of_best(accuracy) for accuracy in accuracies]
    small = [each for each in broken if power_of_best(each.accuracy) < POWER]
    large = [each.labels for each in broken if each not in small]
    return [
        Figure(f"{name}: promise not kept", len(broken), detail=f"of {n_models}; {span}"),
        _share(
            f"{name}: share with an alarm within {MOST_DECISIONS} unlabelled decisions", decisions, MOST_DECISIONS
        ),
        _share(f"{name}: within {MOST_LABELS} decisions, all labelled", either, MOST_LABELS),
        _share(f"{name}: by the labels alone, within {MOST_LABELS}", labels, MOST_LABELS),
        Figure(
            f"{name}: share that the best test finds that looks once, at {MOST_LABELS} labels",
            float(np.mean(best)),
            detail=f"expected, at risk {OF_LABELS:g}; with probability {POWER:g} or more in {len(large)} of {len(best)}",
        ),
        Figure(
            f"{name}: of these {len(large)}, ours by the labels alone, within {MOST_LABELS}",
            sum(number <= MOST_LABELS for number in large) / max(len(large), 1),
            detail=f"of the {len(small)} others {sum(each.labels <= MOST_LABELS for each in small)}",
        ),
    ]


def power_of_best(accuracy: float) -> float:
    """Return the probability with which the best test of a fixed size finds that an accuracy is less than promised."""
    return float(binom.cdf(_most_right(MOST_LABELS, PROMISE.accuracy, OF_LABELS), MOST_LABELS, accuracy))


def _share(what: str, numbers: list[float], most: int) -> Figure:
    within = sum(number <= most for number in numbers) / len(numbers)
    return Figure(what, within, at_least=0.9, detail=f"median {np.median(numbers):g}, most {max(numbers):g}")


def simulated(accuracy: float, seed: int) -> tuple[Procedure, Callable[[int], Iterator[tuple[Decision, Array]]]]:
    """Return a procedure with a promise, certified on drawn decisions, and what draws more of them."""
    rng = np.random.default_rng(seed)
    features = tuple(fx.get(f"last({column})") for column in "uvwxy")
    tree = C45Classifier().fit([[0.0] * 5, [1.0] * 5], ["off", "on"]).tree_
    procedure = Procedure(features, tree, ("off", "on"), Costs([1.0] * 5), 0.9, time_limit=60)

    def draw(n: int) -> Iterator[tuple[Decision, Array]]:
        for i in range(n):
            level, tick = rng.normal(), min(int(rng.geometric(0.1)), 60)
            label = None if tick == 60 else ("off", "on")[int(level > 0)]
            reason = "timeout" if label is None else "confident"
            sure = 0.9 + 0.1 * rng.beta(2, 1)
            yield Decision(f"s{i}", 1, label, sure, tick, tick, reason, i * 60.0 + tick), rng.normal(level, 1, 5)

    promise = {"accuracy": accuracy, "completeness": 0.9, "risk": RISK, "threshold": 0.9, "streams": N_CERTIFYING}
    certifying = [*draw(N_CERTIFYING)]
    labels = {made.stream: made.label for made, _ in certifying if made.label is not None}
    truth = {stream: label if rng.random() < accuracy else "neither" for stream, label in labels.items()}
    right = sum(truth[stream] == label for stream, label in labels.items())
    evidence = {"labelled": len(labels), "right": right, "cost": 1.0, "ticks": 10.0}
    about: dict[str, Any] = {
        "promise": promise | evidence,
        "reference": reference_of(procedure, certifying, truth),
    }
    return replace(procedure, about=about), draw


def alarms_in_a_month(seed: int) -> bool:
    """Whether anything is said against a promise that is just kept in a month, each decision labelled."""
    procedure, draw = simulated(0.8, seed)
    monitor, rng = PromiseMonitor(procedure), np.random.default_rng((seed, 1))
    for decision, values in draw(N_DECISIONS):
        monitor.decided(decision, values)
        if decision.label is not None:
            monitor.labelled(rng.random() < 0.8, decision.time, confidence=decision.confidence)
    monitor.finish()
    return bool(monitor.findings)


def months() -> list[Figure]:
    """Count false alarms where nothing has changed."""
    n_alarms = sum(Parallel(n_jobs=2)(delayed(alarms_in_a_month)(seed) for seed in range(N_MONTHS)))
    detail = f"{N_DECISIONS} decisions each, all labelled, accuracy just as promised; {N_CERTIFYING} certified it"
    what = f"share of {N_MONTHS} simulated months with a false alarm"
    return [Figure(what, n_alarms / N_MONTHS, at_most=RISK, detail=detail)]


def fixed_sample(promised: float, accuracy: float, risk: float, power: float) -> int:
    """Return the labels with which the best test of one fixed size, which is binomial, finds a fall."""
    for n in range(1, 10_000):
        if binom.cdf(_most_right(n, promised, risk), n, accuracy) >= power:
            return n
    raise ValueError(f"accuracy is {accuracy}, expected less than {promised}")


def _most_right(n: int, promised: float, risk: float) -> int:
    """Return with how many right ones of n labels the best test of that size rejects; -1 if with none."""
    most = int(binom.ppf(risk, n, promised))  # or one less
    while most >= 0 and binom.cdf(most, n, promised) > risk:
        most -= 1
    return most


def labels_until(promised: float, accuracy: float, seed: int) -> float:
    """Return the labels until a fall is found."""
    procedure, draw = simulated(promised, seed)
    monitor, rng = PromiseMonitor(procedure), np.random.default_rng((seed, 2))
    for made, _ in draw(MOST_UNTIL_FOUND):
        monitor.labelled(rng.random() < accuracy, made.time, confidence=made.confidence)
        if monitor.status != KEPT:
            return monitor.n_labels
    return inf


def falls() -> list[Figure]:
    """Count labels until a fall of the accuracy is found."""
    figures = []
    for promised in (0.8, 0.9):
        seeds = range(N_FALLS)
        small = Parallel(n_jobs=2)(delayed(labels_until)(promised, promised - 0.05, seed) for seed in seeds)
        large = Parallel(n_jobs=2)(delayed(labels_until)(promised, promised - 0.3, seed) for seed in seeds)
        best = fixed_sample(promised, promised - 0.05, OF_LABELS, POWER)
        late = np.quantile(small, POWER)
        figures += [
            Figure(
                f"promised {promised:g}, 5 points less: mean labels over those of the best test of a fixed size",
                float(np.mean(small)) / best,
                at_most=1.5,
                detail=f"{np.mean(small):.0f} : {best}, both at risk {OF_LABELS:g}; the fixed test finds {POWER:g} of falls,"
                f" ours as many within {late:.0f}, all in the end",
            ),
            Figure(
                f"promised {promised:g}, 30 points less: median labels",
                float(np.median(large)),
                at_most=20,
                detail=f"nine of ten within {np.quantile(large, 0.9):.0f}",
            ),
        ]
    return figures


def asked_until(beta: tuple[float, float], seed: int) -> tuple[float, float]:
    """Return how many labels that are asked for, and how many random ones, find that 5 points are missing."""
    rng = np.random.default_rng(seed)
    wrong = rng.beta(*beta, 30_000)
    right = rng.random(len(wrong)) >= wrong
    limit = 1 / (RISK * OF_ACCURACY)
    plain, asked = ShareTest(0.8), AskedLabels(0.8, SHARE_ASKED)
    for is_right in right:
        plain.add(bool(is_right))
        if plain.bets.wealth >= limit:
            break
    for number, (each, is_right) in enumerate(zip(wrong.tolist(), right.tolist(), strict=True)):
        if asked.wants(f"s{number}", 1 - each / 2, rng.random()):  # ranks what is wrong, and is far too sure
            asked.answered(f"s{number}", is_right)
        if asked.bets.wealth >= limit:
            break
    return asked.n, plain.n


def asked() -> list[Figure]:
    """Compare labels that are asked for with random ones."""
    figures = []
    for name, beta, at_most in (
        ("well", (0.3, 0.9), 0.6),
        ("half as well", (0.6, 1.8), None),
        ("badly", (2, 6), None),
    ):
        runs = Parallel(n_jobs=2)(delayed(asked_until)(beta, seed) for seed in range(N_ASKED))
        ours, random = np.mean(runs, axis=0)
        detail = f"{ours:.0f} : {random:.0f}; probabilities of being wrong drawn from Beta{beta}"
        what = f"5 points less, confidence tells {name} what is wrong: labels asked for over random ones"
        figures.append(Figure(what, ours / random, at_most=at_most, detail=detail))
    return figures


def recertified() -> list[Figure]:
    """Certify room A's models anew by some labelled streams of room B, and evaluate them on the others."""
    outcomes = []
    for each in trained("A"):
        streams = both_halves("B", each.division)
        order = np.random.default_rng(each.division).permutation(len(streams))
        labelled, others = streams.take(order[:N_LABELLED]), streams.take(order[N_LABELLED:])
        try:
            new = recertify(each.procedure, labelled, seed=each.division, n_jobs=1)
        except TrainingError:
            outcomes.append(("refused", inf))
            continue
        outcomes.append((new.about["recertified"][-1]["how"], evaluate(new, others).accuracy))
    how = Counter(what for what, _ in outcomes)
    kept = sum(accuracy >= PROMISE.accuracy for _, accuracy in outcomes)
    found = [accuracy for _, accuracy in outcomes if accuracy < inf]
    detail = f"{', '.join(f'{what}: {n}' for what, n in sorted(how.items()))} of {len(outcomes)}"
    least = f"; least accuracy {min(found):.3f}" if found else ""
    what = f"A's models after {N_LABELLED} labels in room B: share that keeps the promise, or is refused"
    return [
        Figure(what, kept / len(outcomes), at_least=0.9, detail=detail + least),
        Figure("of these certified", len(found), detail=f"accuracies {', '.join(f'{a:.2f}' for a in found)}"),
    ]


def cost() -> list[Figure]:
    """Compare what a monitor takes for a decision with what the core takes for its messages."""
    procedure, draw = simulated(0.8, 0)
    decided = list(draw(2000))
    messages = [
        Record(MESSAGE, float(tick), f"sensors/n{node}/{channel}", b'{"t": %d, "v": 0.5}' % tick)
        for tick in range(MESSAGES // 5)
        for node in range(200)
        for channel in "uvwxy"
    ]

    def monitor() -> None:
        promise = PromiseMonitor(procedure)
        for decision, values in decided:
            promise.decided(decision, values)

    def core() -> None:
        waiting = replace(procedure, stopping=TickThresholds((60,), (1.0,)), about={})
        Core(waiting, Bindings.single(list("uvwxy"))).take([start_record(waiting.digest, 0.0), *messages])

    both = versus(monitor, core)
    of_decision, of_message = 1e6 * both.ours / len(decided), 1e6 * both.peer / len(messages)
    detail = f"{of_decision:.0f} us a decision with five features; core {of_message:.1f} us a message, {MESSAGES} a decision"
    return [
        Figure(
            "CPU of the monitor over that of the core", of_decision / (MESSAGES * of_message), 0.02, None, detail
        ),
        Figure("bytes of a group", bytes_of_a_group(), 200, None, f"{N_GROUPS} groups with ten labels each"),
    ]


def bytes_of_a_group() -> float:
    """Return the memory that the test of a group takes."""
    tracemalloc.start()
    tests = GroupTests(PROMISE.accuracy, RISK)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(10 * N_GROUPS):
        tests.add(f"room{number % N_GROUPS}", is_right=True)
    taken = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    return taken / N_GROUPS


PARTS: Parts = {
    "rooms": rooms,
    "recertified": recertified,
    "months": months,
    "falls": falls,
    "asked": asked,
    "cost": cost,
}


def section() -> str:
    """The figures as a section of the results."""
    return f"""
## Promises that are monitored

`benchmarks/promise_monitored.py`. Models with a promise of {PROMISE.accuracy:g}, trained and certified on a random half of the
measurements of one room, pairs of motes of `streamfs.data.datasets`, in the first {N_DIVISIONS} of at most {MOST_DIVISIONS} divisions in which it is
certified. They decide on all streams of the other room, and on those of the other half of their own, in random order. A model of B that
keeps its promise in room A is not counted there.

These divisions, from {FIRST_DIVISION} on, were measured once, when all was settled on others, 2000 to 2019 and 3000 to 3012. What is bet on, and what
a decision counts, follow from those: bets on powers of ranks noticed B's models late in room A, where the share of a label and differences in
the middle of their distribution change, not its ends; and levels, which all pairs of one measurement have in common, raised alarms at home.
Parts of the risk and stakes were chosen on simulated decisions.

- Whether a fall is too small for {MOST_LABELS} labels is what the best test of one fixed size says: the binomial one, at the risk that labels have here.
- An alarm without labels says that the promise is in doubt. So does one by labels where errors are worse than those of the certificate, long
  before the accuracy is disproved: where it is .74 instead of .8, the best test of a fixed size needs
  {fixed_sample(0.8, 0.74, OF_LABELS, POWER)} labels to find it in {POWER:g} of all cases.
- A's models that are noticed late in room B lean on levels of light, which differ between measurements nearly as much as between rooms.
- For the recertification, {N_LABELLED} streams of the other room are drawn with their labels, and the model is evaluated on the others, which share
  motes and measurements with them.
- Labels are asked for of a share of {SHARE_ASKED:g} of the decisions. A month is simulated: {N_CERTIFYING} streams certify, with five features at the
  decision.

{table(measure(PARTS))}

{processor()}
"""


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
