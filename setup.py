"""Build the kernels that serve as an extension module in C, where there is a compiler."""

import os
import shutil
import sys
from pathlib import Path
from platform import machine

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = Path(__file__).parent
FLAGS = [
    "-std=gnu11",
    "-O3",
    "-g0",
    "-ffp-contract=off",
    "-fno-strict-aliasing",
    "-fwrapv",
    "-fno-sanitize=undefined",
]
"""The results are those of Python to the bit: nothing is contracted, and memory may be read as several types."""


class BuildKernels(build_ext):
    """Translate the kernels, and compile them with the system's compiler, else with that of ziglang."""

    def build_extension(self, ext: Extension) -> None:
        """Write the source, and compile it."""
        sys.path.insert(0, str(ROOT))
        from streamfs.translation.source import source  # noqa: PLC0415 - only a build needs it

        file = Path(self.build_temp) / "serving.c"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source(), encoding="utf-8")
        ext.sources = [str(file)]
        super().build_extension(ext)


def choose_compiler() -> None:
    """Choose ziglang's compiler if the system has none."""
    if "CC" not in os.environ and not any(map(shutil.which, ("cc", "gcc", "clang"))):
        # else Zig compiles for this machine's processor alone, and inlines nothing into the loops of other widths
        baseline = " -mcpu=baseline" * (machine() == "x86_64")
        os.environ["CC"] = f"{sys.executable} -m ziglang cc{baseline}"
        os.environ["LDSHARED"] = f"{os.environ['CC']} -shared"


choose_compiler()
IS_ZIG = "zig" in os.environ.get("CC", "")
setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            "feature_extractors._serving",
            ["setup.py"],  # until the source is written
            extra_compile_args=[*FLAGS, *["-DOTHER_LIBM"] * IS_ZIG],
            libraries=["m"],
            py_limited_api=True,
            optional=True,  # without it, numba compiles the kernels
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)
