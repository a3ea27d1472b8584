"""The fuzzers' corpus goes through each parser, whole and with bytes changed at random."""

from pathlib import Path

import pytest
from fuzz_targets import TARGETS, run
from hypothesis import given, settings
from hypothesis import strategies as st

CORPUS = Path(__file__).parent / "corpus"
INPUTS = [(name, path.read_bytes()) for name in TARGETS for path in sorted((CORPUS / name).iterdir())]


@settings(max_examples=20)
@given(st.data())
@pytest.mark.parametrize(("name", "whole"), INPUTS, ids=[f"{name}-{i}" for i, (name, _) in enumerate(INPUTS)])
def test_any_bytes_are_read_or_refused(name, whole, data):
    run(name, whole)
    changed = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 8))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    run(name, bytes(changed))
