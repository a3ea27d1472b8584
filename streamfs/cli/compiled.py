"""A translated model, compiled on this machine, to compare what it decides."""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from streamfs.errors import StreamfsError, TranslationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from streamfs.procedure.procedure import Procedure
    from streamfs.translation.precision import Precision
    from streamfs.translation.self_test import Expected

MOST_SHOWN = 5


def require_equal(
    procedure: "Procedure", reals: "Precision", expected: "Sequence[Expected]", resolutions: dict[str, float]
) -> None:
    """Raise a TranslationError, with the differences, unless a model in C decides streams as is expected."""
    from streamfs.translation.model import translate  # noqa: PLC0415 - help does not wait
    from streamfs.translation.self_test import makefile, self_test  # noqa: PLC0415 - the same

    sources = translate(procedure, precision=reals, resolutions=resolutions)
    files = {
        "model.c": sources.body,
        "model.h": sources.header,
        "self_test.c": self_test(sources, reals, expected),
    }
    with TemporaryDirectory() as folder:
        for file, text in {**files, "Makefile": makefile("model")}.items():
            Path(folder, file).write_text(text, encoding="utf-8")
        command = [
            *_compiler(),
            "-std=c99",
            "-O2",
            "-ffp-contract=off",
            "self_test.c",
            "model.c",
            "-o",
            "test",
            "-lm",
        ]
        subprocess.run(command, cwd=folder, check=True)  # noqa: S603 - our own words
        found = subprocess.run([Path(folder, "test")], capture_output=True, text=True, check=False)  # noqa: S603
    if found.returncode:
        *differences, summary = found.stdout.splitlines()
        shown = "; ".join(differences[:MOST_SHOWN])
        raise TranslationError(f"in {reals.text} precision {summary}: {shown}")


def _compiler() -> list[str]:
    """Return the command of a C compiler: the system's, else ziglang's."""
    for name in ("cc", "gcc", "clang"):
        if shutil.which(name):
            return [name]
    if find_spec("ziglang"):
        return [sys.executable, "-m", "ziglang", "cc"]
    raise StreamfsError("there is no C compiler, which --exact needs: install gcc, or pip install ziglang")
