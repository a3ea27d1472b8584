"""The experiments of `examples/papers` as sections of the results."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from runpy import run_path
from textwrap import fill
from typing import Any

import figure2

PAPERS = Path(__file__).parents[1] / "examples" / "papers"


def outcome(name: str, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run an experiment as a user would; return what it printed as JSON, and the functions of its script."""
    script = PAPERS / f"{name}.py"
    command = [sys.executable, script, "--json", *options]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603 - our own
    if str(PAPERS) not in sys.path:
        sys.path.append(str(PAPERS))
    return json.loads(printed), run_path(str(script))


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table of rows that have the same columns."""
    header = list(rows[0])
    return figure2.table(header, [[cell(row[column]) for column in header] for row in rows]).rstrip()


def cell(value: object) -> str:
    """Write a number with four digits, and a dash if it is missing."""
    if value is None or value != value:  # noqa: PLR0124 - NaN
        return "-"
    if isinstance(value, bool | str):
        return str(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def head(title: str, name: str, script: Mapping[str, Any]) -> str:
    """Return the head of a section: its title, the command, and the description of the script."""
    paragraphs = [
        f"`{paragraph.strip()}`" if paragraph.startswith("    ") else paragraph
        for paragraph in script["__doc__"].strip().split("\n\n")
    ]
    said = fill(f"`python examples/papers/{name}.py`. {' '.join(paragraphs)}", 124, break_on_hyphens=False)
    return f"\n## {title}\n\n{said}\n"


def dependency_aware() -> str:
    found, script = outcome("dependency_aware")
    every = [row for number, row in enumerate(found["checks"]) if number < 6 or number % 4 == 3]
    return f"""{head("Dependency-aware ranking", "dependency_aware", script)}
{table(found["rules"])}

{table(every)}

The paper's figures have no numbers in its text. Its two conclusions hold: accuracy rises quickly with few probes, and rules on
C^2 stop when there is little to gain. The standard error of these accuracies is about 0.012.
"""


def supervised_selection() -> str:
    found, script = outcome("supervised_selection")
    tables = "".join(
        f"\n{kernel} kernel: {title}\n\n{table(script['table'](found['outcomes'], kernel, what))}\n"
        for kernel in script["KERNELS"]
        for what, title in script["TABLES"].items()
    )
    return f"""{head("Wrappers and filters for kernel density classifiers", "supervised_selection", script)}{tables}
Per cent of the features that the filters select, by inconsistency level and tries, mean of the sets

{table(found["settings"])}

The concluding remarks of the slides

{table(found["remarks"])}
"""


def query_sensitive() -> str:
    parts, script, sizes = [], {}, {}
    for ties, said in (("first", "the first of equally near instances votes"), ("all", "all of them vote")):
        found, script = outcome("query_sensitive", "--ties", ties)
        accuracies, sizes = found["accuracies"], found["features"]
        paper = script["printed"](list(accuracies))
        parts += [
            f"Table {number}: accuracy in per cent (as printed in brackets); {said}\n\n"
            f"{table(script['table'](accuracies, selector, paper))}\n\n"
            f"Features by which a query is compared; {said}\n\n{table(script['table'](sizes, selector))}\n"
            for number, selector in enumerate(script["SELECTORS"], start=4)
        ]
        parts.append(f"The paired t tests of the four hypotheses; {said}\n\n{table(found['tests'])}\n")
    missing = ", ".join(name for name in script["PRINTED"] if name not in sizes)
    tables = "\n".join(parts)
    return f"""{head("Query-sensitive neighbours", "query_sensitive", script)}
{tables}
Not available: {missing}. On the available sets the printed figures would not be significant either.
"""


PARTS = {
    "dependency_aware": dependency_aware,
    "supervised_selection": supervised_selection,
    "query_sensitive": query_sensitive,
}
