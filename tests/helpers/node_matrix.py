"""Compile exported models for many processors, check them, and run their tests where there is an emulator.

python tests/helpers/node_matrix.py

Trees and forests of random shapes over all kinds of features, in both precisions, without a warning. What is not
installed is said, and left out: Debian has gcc-avr avr-libc clang cppcheck qemu-user; ziglang comes from pip.
"""

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np
from helpers.random_models import any_forest, random_forest, random_tree

import feature_extractors as fx
from streamfs import Costs, Procedure, StreamSet
from streamfs.cli.app import main

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic")
SANITIZED = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
ZIG = (sys.executable, "-m", "ziglang", "cc")
PRECISIONS = ("double", "float")
SPLIT = 2
"""The place of the model that is split, too."""


class Way(NamedTuple):
    """A compiler with its flags, what runs its programs, and the precisions that it has."""

    compiler: tuple[str, ...]
    runner: tuple[str, ...] | None = ()
    precisions: tuple[str, ...] = PRECISIONS


WAYS = {
    "gcc": Way(("gcc", "-O2")),
    "gcc, sanitized": Way(("gcc", *SANITIZED)),
    "clang": Way(("clang", "-O2")),
    "zig, ARM without floats (run on ARMv7)": Way((*ZIG, "-target", "arm-linux-musleabi", "-Os"), ("qemu-arm",)),
    "zig, ARM with floats": Way((*ZIG, "-target", "arm-linux-musleabihf", "-Os"), ("qemu-arm",)),
    "zig, aarch64": Way((*ZIG, "-target", "aarch64-linux-musl", "-Os"), ("qemu-aarch64",)),
    "zig, RISC-V of 32 bits": Way((*ZIG, "-target", "riscv32-linux-musl", "-Os"), ("qemu-riscv32",)),
    "zig, Cortex-M0+": Way((*ZIG, "-target", "thumb-linux-musleabi", "-mcpu=cortex_m0plus", "-Os"), None),
    "zig, Cortex-M4": Way((*ZIG, "-target", "thumb-linux-musleabihf", "-mcpu=cortex_m4+vfp4d16sp", "-Os"), None),
    "zig, wasm": Way((*ZIG, "-target", "wasm32-wasi", "-Os"), None),
    "avr-gcc, ATmega328P": Way(("avr-gcc", "-mmcu=atmega328p", "-Os"), None, ("float",)),
}


def models():
    """Return a tree and two forests over each kind of feature and report policy; the last can be split."""
    rng = np.random.default_rng(7)
    policies = ("delta:0.5", "flag:1", "quantised:0.3", "every:3", "mean:4")
    features = [fx.get(f"last(a@{policy})") for policy in policies]
    for kind in fx.KINDS:
        params = {p.name: 5.0 for p in kind.parameters if p.default is None}
        features.append(fx.Feature(kind, ("a", "b")[: kind.n_columns], params))
    n = len(features)
    for classifier in random_tree(rng, n, n_tests=40), any_forest(rng, n), random_forest(7, n):
        classes, costs = tuple("tuvwxyz"[: classifier.n_classes]), Costs(np.ones(len(features)))
        yield Procedure(tuple(features), classifier, classes, costs, 0.6, 60, 0.5)


def exported(folder):
    """Export the models with streams in both precisions; return the folders."""
    values = np.random.default_rng(0).normal(1, 1, (20, 70, 2))
    values[values > 2.5] = np.nan
    StreamSet(values, ["t"] * 20, ("a", "b"), 0.5).write(folder / "streams.csv")
    for place, procedure in enumerate(models()):
        procedure.save(folder / f"{place}.streamfs")
        for precision in PRECISIONS:
            out = folder / f"{place}_{precision}"
            streams = [folder / "streams.csv"] if precision == "double" else []
            given = [folder / f"{place}.streamfs", *streams, "-o", out, "--precision", precision]
            main(["export", *map(str, given)])
            yield precision, out
            if place == SPLIT:
                split = folder / f"{place}_{precision}_split"
                main(["export", *map(str, [given[0], *streams, "-o", split, *given[-2:], "--split", "crossings"])])
                yield precision, split


def lacks(*commands):
    """Return the first command that is not installed."""
    for command in commands:
        if command == sys.executable and find_spec("ziglang") is None:
            return "ziglang"
        if shutil.which(command) is None:
            return command
    return None


def tried(way, folders):
    """Compile and run what a way has; return what was done."""
    if missing := lacks(way.compiler[0]):
        return f"left out: there is no {missing}"
    is_run = way.runner is not None and not lacks(*way.runner)
    n_compiled = n_run = 0
    for precision, folder in folders:
        if precision not in way.precisions:
            continue
        command = [*way.compiler, *STRICT]
        subprocess.run([*command, "-c", "model.c", "-o", "model.o"], cwd=folder, check=True)
        n_compiled += 1
        if is_run and precision == "double":
            static = ["-static"] if way.runner else []
            linked = [*command, *static, "model.c", "self_test.c", "-o", "self_test", "-lm"]
            subprocess.run(linked, cwd=folder, check=True)
            subprocess.run([*way.runner, "./self_test"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
            n_run += 1
    return f"{n_compiled} compiled, {n_run} run"


def linted(folders):
    """Check the files by cppcheck; return what was done."""
    if missing := lacks("cppcheck"):
        return f"left out: there is no {missing}"
    flags = ["--std=c99", "--enable=warning,performance,portability", "--error-exitcode=1", "--quiet"]
    for _, folder in folders:
        subprocess.run(["cppcheck", *flags, "--inline-suppr", "model.c"], cwd=folder, check=True)  # noqa: S607
    return f"{len(folders)} checked"


if __name__ == "__main__":
    with TemporaryDirectory() as place:
        folders = list(exported(Path(place)))
        for name, way in WAYS.items():
            print(f"{name}: {tried(way, folders)}", flush=True)
        print(f"cppcheck: {linted(folders)}")
