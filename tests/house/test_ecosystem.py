"""What docs/ecosystem.md shows runs as it stands, each block in at most five lines of code."""

import re
from pathlib import Path

import numpy as np
import pytest
from helpers.own_classifier import Nearest
from helpers.peers import require
from helpers.procedures import labelled_streams

from streamfs import StreamSet, train

PAGE = (Path(__file__).parents[2] / "docs" / "ecosystem.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
BLOCKS = {name: re.findall(r"```python\n(.*?)```", text, re.DOTALL) for name, text in SECTIONS.items()}
WITH_CODE = [name for name, blocks in BLOCKS.items() if blocks]


@pytest.mark.parametrize("name", WITH_CODE)
def test_a_section_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name.startswith("aeon"):
        require("aeon")
    found = labelled_streams(40, 10)
    columns = ["a.level", "b.level", "a.noise", "b.noise"]
    known = {"streams": StreamSet(found.values, found.labels, columns), "X": found.values, "y": found.labels}
    known["Nearest"] = Nearest
    known["groups"] = np.arange(40) // 2
    if any("procedure" in block for block in BLOCKS[name]):
        known["procedure"] = train(known["streams"], features=["mean(a.level)"])
    for block in BLOCKS[name]:
        exec(compile(block, f"{name} of docs/ecosystem.md", "exec"), known)  # noqa: S102 - our own page


def test_each_block_is_short():
    for name, blocks in BLOCKS.items():
        for block in blocks:
            lines = [line for line in block.splitlines() if not line.startswith(("from ", "import "))]
            assert len(lines) <= 5, name
