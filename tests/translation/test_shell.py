"""What Python calls refuses arguments that the kernels in C cannot take, and sources that have changed."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

from feature_extractors import _compiled
from feature_extractors._compiled import digest_of, in_c

pytestmark = pytest.mark.skipif(in_c() is None, reason="there is no extension module of these kernels")

REALS = np.zeros(3)
READ_ONLY = np.zeros(3)
LOADED = """
import sys
from importlib.metadata import packages_distributions
from streamfs.translation.source import source
source()
known = packages_distributions()
print(*{known[name][0] for name in {name.partition(".")[0] for name in sys.modules} & set(known)})
"""
"""Prints the packages that the translation of the kernels loads."""
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((REALS,), "write_logits takes 2 arguments, got 1"),
        ((REALS, np.zeros((3, 1))), "argument 2 of write_logits has not one dimension"),
        ((np.zeros(3, np.float32), REALS), "argument 1 of write_logits has items of 4 bytes, expected 8"),
        ((np.zeros(3, np.int64), REALS), "argument 1 of write_logits has items of another type"),
        ((np.zeros(6)[::2], REALS), "argument 1 of write_logits is no array without gaps"),
        ((REALS, READ_ONLY), "argument 2 of write_logits is no writeable array"),
        ((1.0, REALS), "argument 1 of write_logits is no array"),
    ],
)
def test_a_wrong_argument_is_named(arguments, message):
    kernel = getattr(in_c(), "streamfs.classifiers._calibration.write_logits")
    with pytest.raises(TypeError, match=message):
        kernel(*arguments)


def test_kernels_of_other_sources_are_not_used_and_it_is_said(monkeypatch, caplog):
    assert digest_of(in_c().SOURCES.split()) == in_c().DIGEST
    monkeypatch.setattr(_compiled, "digest_of", lambda _files: "other")
    monkeypatch.setenv("STREAMFS_KERNELS", "")
    assert in_c.__wrapped__() is None
    module = sys.modules["feature_extractors._serving"]
    assert caplog.messages == [_compiled.STALE % module.__file__]
    monkeypatch.setenv("STREAMFS_KERNELS", "c")
    with pytest.raises(ImportError, match="no kernels were built from these sources"):
        in_c.__wrapped__()


def test_a_build_needs_what_it_says():
    text = Path(__file__).parents[2].joinpath("pyproject.toml").read_text(encoding="utf-8")
    needed = {
        re.split(r"\W", each.replace("-", "_"))[0] for each in tomllib.loads(text)["build-system"]["requires"]
    }
    ended = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    assert set(ended.stdout.replace("-", "_").split()) - {"streamfs"} <= needed
