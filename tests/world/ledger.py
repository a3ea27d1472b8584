"""A ledger of campaigns: what came of simulated worlds, and of which sources."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from campaign import Report

ROOT = Path(__file__).parents[2]
SOURCES = ("streamfs", "feature_extractors", "tests/world", "tests/oracles", "tests/helpers")


def digest() -> str:
    """Return a digest of what worlds are made of."""
    content = hashlib.sha256()
    for path in sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py")):
        content.update(path.relative_to(ROOT).as_posix().encode() + path.read_bytes())
    return content.hexdigest()[:16]


def note(ledger: Path, sources: str, report: Report) -> None:
    """Append what came of some worlds."""
    wrong = [(seed, sorted(kinds), problems) for seed, kinds, problems in report.wrong]
    with ledger.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"sources": sources, **report._replace(wrong=wrong)._asdict()}) + "\n")


def noted(ledger: Path) -> Iterator[tuple[str, Report]]:
    """Yield the sources of worlds, and what came of these."""
    for line in ledger.read_text(encoding="utf-8").splitlines() if ledger.exists() else ():
        said = json.loads(line)
        wrong = [(seed, set(kinds), problems) for seed, kinds, problems in said.pop("wrong")]
        yield said.pop("sources"), Report(**said | {"tried": Counter(said["tried"]), "wrong": wrong})


def next_seed(ledger: Path) -> int:
    """Return the first seed after those in a ledger."""
    return max((report.first + report.n_worlds for _, report in noted(ledger)), default=0)
