"""Mutation tests: change one place of a room at a time, and see whether the tests of that room notice.

    python tests/house/mutants.py [--seed 1] [--size 25] [room ...]

cosmic-ray finds the places and changes them; the room's tests then run alone, up to the first failure. Mutants are
ranked by a hash of the seed and of the line that they change, not by place: while the source changes, mutants of
unchanged lines stay in the sample, and a smaller sample is the start of a larger one.
"""

import argparse
import ast
import difflib
import hashlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.plugins import get_operator
from test_rooms import PACKAGES, ROOT, imported

TESTS = {
    "relief": ("tests/relief", "streamfs/relief"),
    "training/promises": ("tests/training/promises", "streamfs/training/promises"),
    "engine": ("tests/engine", "streamfs/engine"),
    "gateway/core": ("tests/gateway/core", "streamfs/gateway/core"),
}
"""The rooms that are mutated, and what runs for each: its tests and its doctests."""

SWAPS = {
    "ReplaceBinaryOperator": "Add_Sub Sub_Add Mul_Div Div_Mul FloorDiv_Mul Mod_Mul Pow_Mul BitAnd_BitOr "
    "BitOr_BitAnd",
    "ReplaceComparisonOperator": "Eq_NotEq NotEq_Eq Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt "
    "GtE_Lt Is_IsNot IsNot_Is",
    "ReplaceUnaryOperator": "USub_UAdd Delete_Not Delete_Invert",
}
PLAIN = (
    "AddNot",
    "NumberReplacer",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceBreakWithContinue",
    "ReplaceContinueWithBreak",
    "ZeroIterationForLoop",
)
OPERATORS = (*PLAIN, *(f"{kind}_{swap}" for kind, swaps in SWAPS.items() for swap in swaps.split()))
"""Slips that a programmer makes and a compiler lets pass: without type errors, which any test would find."""

MEMORY = 16 << 30
"""Bytes that a run may map."""


class Mutant(NamedTuple):
    """One change of a module, ranked by its key."""

    key: str
    path: Path
    line: int
    operator: str
    occurrence: int

    def text(self) -> str:
        """Return the module's text with the change."""
        return mutate_code(original(self.path), operator_of(self.operator), self.occurrence)

    def diff(self) -> str:
        lines = original(self.path).splitlines(), self.text().splitlines()
        return "\n".join(difflib.unified_diff(*lines, str(self.path), "mutant", lineterm="", n=1))


def original(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def operator_of(name: str) -> Operator:
    return get_operator(f"core/{name}")()


def inert(text: str) -> set[tuple[int, int]]:
    """Return the lines and columns on which no behaviour depends: annotations, decorators, what is for typing."""
    nodes = []
    for node in ast.walk(ast.parse(text)):
        nodes += getattr(node, "decorator_list", [])
        nodes += [getattr(node, name, None) for name in ("annotation", "returns")]
        nodes += [node.test] if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" else []
    return {
        (line, column)
        for node in nodes
        if node is not None
        for line in range(node.lineno, node.end_lineno + 1)
        for column in range(node.col_offset, node.end_col_offset)
    }


def mutants(path: Path, seed: int) -> Iterator[Mutant]:
    """Yield the mutants of a module."""
    text = original(path)
    nodes, lines, seen = [*ast_nodes(get_ast(text))], text.splitlines(), Counter()
    signs = {
        node.start_pos for node in nodes if node.parent and node.parent.type == "parameters"
    }  # a lone * is no product
    skipped = inert(text) | signs
    for name in OPERATORS:
        places = [start for node in nodes for start, _ in operator_of(name).mutation_positions(node)]
        for occurrence, place in enumerate(places):
            what = f"{seed} {name} {lines[place[0] - 1].strip()}"
            seen[what] += 1
            key = hashlib.sha256(f"{what} {seen[what]}".encode()).hexdigest()
            if place not in skipped:
                yield Mutant(key, path, place[0], name, occurrence)


def sample(room: str, seed: int, size: int) -> list[Mutant]:
    """Draw mutants of a room, at most one a line."""
    drawn = {}
    for path in sorted((ROOT / "streamfs" / room).glob("*.py")):
        for mutant in mutants(path.relative_to(ROOT), seed):
            place = mutant.path, mutant.line
            drawn[place] = min(mutant, drawn.get(place, mutant))
    return sorted(drawn.values())[:size]


def dependents(path: Path) -> set[str]:
    """Return a module and all that import it, directly or not: their compiled kernels may hold its code."""
    found = {".".join(path.with_suffix("").parts)}
    while more := {name for name, needed in imported().items() if found & needed} - found:
        found |= more
    return found


class Workshop:
    """A copy of the tree in which mutants are tried, with numba's cache of the unchanged tree beside it."""

    def __init__(self, folder: Path) -> None:
        self.tree, self.warm, self.cache = folder / "tree", folder / "warm", folder / "cache"
        for name in (*PACKAGES, "tests", "examples", "benchmarks", "docs"):
            shutil.copytree(ROOT / name, self.tree / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy2(ROOT / "pyproject.toml", self.tree)

    def test(self, tests: tuple[str, ...], cache: Path, seconds: int) -> tuple[str, str]:
        """Run tests; return what came of it and what they printed."""
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
        surroundings = {
            "PYTHONPATH": str(self.tree),
            "NUMBA_CACHE_DIR": str(cache),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        run = subprocess.run(
            command,
            cwd=self.tree,
            env=os.environ | surroundings | {"CI": "1"},  # examples that hypothesis draws are the same each time
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            preexec_fn=partial(limit, seconds),
        )
        outcome = {0: "survived", -signal.SIGXCPU: "timed out", -signal.SIGKILL: "timed out"}
        return outcome.get(run.returncode, "killed"), run.stdout

    def prove(self, tests: tuple[str, ...]) -> int:
        """Run tests on the unchanged tree, which fills numba's cache; return the CPU seconds a mutant may take."""
        before = cpu()
        outcome, output = self.test(tests, self.warm, 3600)
        if outcome != "survived":
            sys.exit(f"the tests fail without a mutant:\n{output}")
        return int(3 * (cpu() - before) + 60)

    def try_out(self, mutant: Mutant, tests: tuple[str, ...], seconds: int) -> str:
        """Change a module, run tests, those that bear its name first, and put the module back."""
        shutil.rmtree(self.cache, ignore_errors=True)
        shutil.copytree(self.warm, self.cache, copy_function=os.link)
        for name in dependents(mutant.path):
            for compiled in self.cache.glob(f"*/{name.rpartition('.')[2]}.*"):
                compiled.unlink()
        module = self.tree / mutant.path
        module.write_text(mutant.text(), encoding="utf-8")
        nearest = sorted(self.tree.glob(f"{tests[0]}/test_*{mutant.path.stem.strip('_')}*.py"))
        try:
            return self.test((*map(str, nearest), *tests), self.cache, seconds)[0]
        finally:
            shutil.copy2(ROOT / mutant.path, module)  # with its time, by which numba knows it


def limit(seconds: int) -> None:
    """Bound the CPU time and the memory of this process."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


def cpu() -> float:
    """Return the seconds of CPU that children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def try_room(workshop: Workshop, room: str, seed: int, size: int) -> Counter[str]:
    """Try the sample of a room, print each outcome and the survivors' changes, and count."""
    seconds = workshop.prove(TESTS[room])
    counts, survivors = Counter(), []
    for mutant in sample(room, seed, size):
        began = time.monotonic()
        outcome = workshop.try_out(mutant, TESTS[room], seconds)
        print(
            f"{outcome:9} {time.monotonic() - began:4.0f} s  {mutant.path}:{mutant.line} {mutant.operator}",
            flush=True,
        )
        counts[outcome] += 1
        if outcome == "survived":
            survivors.append(mutant)
    for mutant in survivors:
        print(f"\n{mutant.diff()}")
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description="Try a sample of mutants of each room on the room's tests.")
    parser.add_argument("rooms", nargs="*", choices=[[], *TESTS], help="by default all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--size", type=int, default=25, help="mutants a room")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        counts = {room: try_room(workshop, room, given.seed, given.size) for room in given.rooms or TESTS}
    print(f"\nseed {given.seed}; {cpu() / 60:.0f} minutes of CPU")
    for room, count in counts.items():
        print(
            f"{room:18} {count.total():3} mutants: "
            + ", ".join(f"{n} {what}" for what, n in sorted(count.items()))
        )


if __name__ == "__main__":
    main()
