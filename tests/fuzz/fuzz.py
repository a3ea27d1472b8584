"""Fuzz a parser, guided by coverage, from its corpus on: ``python tests/fuzz/fuzz.py TARGET [SECONDS]``."""

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import atheris

from streamfs.gateway.core import joiner, model_streams  # noqa: F401 - first: compiled kernels cannot be measured

PARSERS = (
    "streamfs.base.container",
    "streamfs.engine.snapshot_checks",
    "streamfs.gateway.core.conduct",
    "streamfs.gateway.core.device_answers",
    "streamfs.gateway.core.feedback",
    "streamfs.gateway.core.intake",
    "streamfs.gateway.core.sparkplug_host",
    "streamfs.gateway.core.speech",
    "streamfs.gateway.messages",
    "streamfs.gateway.operations",
    "streamfs.gateway.settings",
    "streamfs.gateway.statuses",
    "streamfs.gateway.storage",
    "streamfs.procedure",
)
"""What coverage is measured of."""

with atheris.instrument_imports(include=PARSERS):
    import fuzz_targets

CORPUS = Path(__file__).parent / "corpus"
LONGEST = 4096  # bytes of an input


def main() -> None:
    """Run the fuzzer; new inputs are kept in a scratch folder, the one that fails in the current one."""
    target, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    with TemporaryDirectory() as found:
        options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", "-print_final_stats=1"]
        atheris.Setup(["fuzz", *options, found, str(CORPUS / target)], partial(fuzz_targets.run, target))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
