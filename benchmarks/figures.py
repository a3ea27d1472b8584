"""Figures: measurements and their targets, as JSON lines and as a table."""

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from platform import machine, release
from statistics import median
from time import process_time
from typing import Any, NamedTuple

from streamfs.base.optional import load_optional
from streamfs.errors import MissingExtraError

N_TURNS = 5
SHORTEST = 0.05  # minimum CPU seconds of a turn

Parts = Mapping[str, Callable[[], list["Figure"]]]


class Figure(NamedTuple):
    """A measurement and its target.

    Parameters
    ----------
    what : str
        What was measured.
    measured : float
        The figure.
    at_most, at_least : float, optional
        The target, if any.
    detail : str
        Where the figure comes from.
    """

    what: str
    measured: float
    at_most: float | None = None
    at_least: float | None = None
    detail: str = ""

    @property
    def verdict(self) -> str:
        if self.at_most is None and self.at_least is None:
            return "-"
        is_met = (self.at_most is None or self.measured <= self.at_most) and (
            self.at_least is None or self.measured >= self.at_least
        )
        return "met" if is_met else "missed"

    @property
    def target(self) -> str:
        if self.at_most is not None:
            return f"at most {self.at_most:g}"
        return "-" if self.at_least is None else f"at least {self.at_least:g}"


class Versus(NamedTuple):
    """Median CPU seconds of ours and of a peer for the same work, and the median ratio."""

    ours: float
    peer: float
    ratio: float

    @property
    def detail(self) -> str:
        return f"{1e3 * self.ours:.4g} : {1e3 * self.peer:.4g} ms"


def seconds(work: Callable[[], object], times: int = 1, clock: Callable[[], float] = process_time) -> float:
    """Measure the seconds of a piece of work, by default in CPU time."""
    start = clock()
    for _ in range(times):
        work()
    return (clock() - start) / times


def repeats(work: Callable[[], object]) -> int:
    """Find out how often a piece of work must be repeated to be long enough for the clock."""
    work()
    return max(1, round(SHORTEST / max(seconds(work), 1e-9)))


def versus(
    ours: Callable[[], object],
    peer: Callable[[], object],
    n_turns: int = N_TURNS,
    clock: Callable[[], float] = process_time,
) -> Versus:
    """Time ours and a peer alternately."""
    times = repeats(ours), repeats(peer)
    turns = [(seconds(ours, times[0], clock), seconds(peer, times[1], clock)) for _ in range(n_turns)]
    return Versus(
        median(turn[0] for turn in turns),
        median(turn[1] for turn in turns),
        median(turn[1] / turn[0] for turn in turns),
    )


load_peer = partial(load_optional, extra="bench")
"""Import a peer, which only the benchmarks need."""


def table(figures: Sequence[Figure]) -> str:
    rows = [("what", "target", "measured", "verdict", "from"), ("---",) * 5]
    rows += [(f.what, f.target, f"{f.measured:.3g}", f.verdict, f.detail) for f in figures]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def processor() -> str:
    """Describe the machine."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.partition(": ")[2] for line in lines if line.startswith("model name")), machine())
    return f"{model}, Linux {release()}"


def measure(parts: Parts, asked: Sequence[str] = ()) -> list[Figure]:
    """Measure some parts, by default all, and print each figure as a line of JSON."""
    figures = []
    for name in asked or tuple(parts):
        for figure in parts[name]():
            shown: dict[str, Any] = {"part": name, **figure._asdict(), "verdict": figure.verdict}
            print(json.dumps(shown), flush=True)
            figures.append(figure)
    return figures


def explained(doc: str | None) -> str:
    """Return what the help of a benchmark explains below its usage."""
    return (doc or "").partition("[PART ...]\n")[2].strip()


def described(title: str, script: str, doc: str | None, parts: Parts, about: Callable[[], str] = processor) -> str:
    """Measure the parts of a benchmark as a section of the results: its title, what its help explains, and a table."""
    head = f"## {title}", f"`benchmarks/{Path(script).name}`. {explained(doc)}"
    return "\n" + "\n\n".join((*head, table(measure(parts)), f"{about()}.")) + "\n"


def each_described(title: str, script: str, doc: str | None, parts: Parts) -> dict[str, Callable[[], str]]:
    """Return a section of the results for each part of a benchmark whose parts take long; the first explains them."""
    stem, first = Path(script).stem, next(iter(parts))
    docs = dict.fromkeys(parts, f"[PART ...]\nAs *{title}: {first}*.") | {first: doc}
    return {
        f"{stem}_{name}": partial(described, f"{title}: {name}", f"{stem}.py {name}", docs[name], {name: part})
        for name, part in parts.items()
    }


def main(doc: str, parts: Parts, about: Callable[[], str] = processor) -> None:
    """Measure the parts named on the command line, and print a table."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"by default all of: {', '.join(parts)}")
    asked = parser.parse_args().parts
    unknown = set(asked) - set(parts)
    if unknown:
        parser.error(f"there is no part {min(unknown)!r}, expected some of {', '.join(parts)}")
    try:
        print(f"\n{table(measure(parts, asked))}\n\n{about()}")
    except MissingExtraError as error:
        raise SystemExit(f"error: {error}") from error
