"""Measure what translated functions take of microcontrollers, for estimates, and how far these are off.

python benchmarks/node_sizes.py [PART ...]

Each function of the catalogue is compiled by itself, with -Os: by Zig's clang for ARM and RISC-V without an operating
system, and by avr-gcc. Weights of the sums are fitted on 40 models of random features and shapes; the error is that on
40 others. `streamfs/translation/sizes.json` keeps both, and is written anew.

- ``sizes``: error of the estimated flash, by processor and precision, as a share
"""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from struct import iter_unpack, unpack_from
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from figures import Figure, Parts, described, main

ROOT = Path(__file__).parents[1]
sys.path[1:1] = [str(ROOT), str(ROOT / "tests")]

from helpers.random_models import boosted, random_forest, random_tree  # noqa: E402

import feature_extractors as fx  # noqa: E402
from feature_extractors.report import SENDS  # noqa: E402
from streamfs import Costs, Procedure  # noqa: E402
from streamfs.base.optional import load_optional  # noqa: E402
from streamfs.classifiers import Calibration  # noqa: E402
from streamfs.errors import StreamfsError  # noqa: E402
from streamfs.procedure import TickThresholds  # noqa: E402
from streamfs.procedure.split import split  # noqa: E402
from streamfs.translation import on_node  # noqa: E402
from streamfs.translation.estimate import terms_of  # noqa: E402
from streamfs.translation.model import translate  # noqa: E402
from streamfs.translation.parts import Sources  # noqa: E402
from streamfs.translation.precision import DOUBLE, FLOAT, Precision  # noqa: E402
from streamfs.translation.sending import translate_sending  # noqa: E402
from streamfs.translation.unit import Unit  # noqa: E402

FILE = ROOT / "streamfs/translation/sizes.json"
ZIG = (sys.executable, "-m", "ziglang", "cc")
COMPILERS = {
    "cortex-m0plus": (*ZIG, "-target", "thumb-linux-musleabi", "-mcpu=cortex_m0plus"),
    "cortex-m4": (*ZIG, "-target", "thumb-linux-musleabihf", "-mcpu=cortex_m4+vfp4d16sp"),
    "riscv32": (*ZIG, "-target", "riscv32-linux-musl", "-mcpu=generic_rv32+m+c"),
    "avr": ("avr-gcc", "-mmcu=atmega328p"),
}
N_MODELS = 40


class Compiled(NamedTuple):
    """Bytes of an object file that stay in flash, those of its functions, and their frames on the stack."""

    flash: int
    functions: dict[str, int]
    frames: dict[str, int]


def compiled(processor: str, text: str) -> Compiled:
    """Compile a text, and measure it."""
    with TemporaryDirectory() as folder:
        Path(folder, "model.c").write_text(text, encoding="utf-8")
        flags = ("-std=c99", "-Os", "-ffp-contract=off", "-c", "model.c", "-o", "model.o")
        frames = ("-fstack-usage",) if processor == "avr" else ("-Wframe-larger-than=1",)
        command = [*COMPILERS[processor], *flags, *frames]
        said = subprocess.run(command, check=True, cwd=folder, capture_output=True, text=True).stderr  # noqa: S603 - our own
        usage = Path(folder, "model.su")
        if usage.exists():
            lines = (line.split("\t") for line in usage.read_text(encoding="utf-8").splitlines())
            found = {name.rpartition(":")[2]: int(size) for name, size, *_ in lines}
        else:
            found = {name: int(size) for size, name in re.findall(r"frame size \((\d+)\) .* in '(\w+)'", said)}
        return Compiled(*measured(Path(folder, "model.o").read_bytes()), found)


def measured(elf: bytes) -> tuple[int, dict[str, int]]:
    """Return the bytes of sections that are kept, and of each function, in an object file of 32 bits."""
    at, size, n = unpack_from("<I", elf, 32)[0], *unpack_from("<HH", elf, 46)
    sections = [unpack_from("<10I", elf, at + k * size) for k in range(n)]
    flash = sum(s[5] for s in sections if s[1] == 1 and s[2] & 2 and not _is_unwinding(elf, sections, s))
    functions = {}
    for s in sections:
        if s[1] == 2:  # symbols
            names = sections[s[6]][4]
            for name, _, length, info, _, _ in iter_unpack("<IIIBBH", elf[s[4] : s[4] + s[5]]):
                if info & 15 == 2:
                    functions[_text(elf, names + name)] = length
    return flash, functions


def _is_unwinding(elf: bytes, sections: list[tuple[int, ...]], section: tuple[int, ...]) -> bool:
    names = sections[unpack_from("<H", elf, 50)[0]][4]
    return _text(elf, names + section[0]).startswith((".ARM.ex", ".eh_frame", ".comment", ".note"))


def _text(data: bytes, at: int) -> str:
    return data[at : data.index(b"\0", at)].decode()


def models(n: int, seed: int) -> Iterator[Procedure]:
    """Make procedures of random features, with trees and forests of random shapes."""
    rng = np.random.default_rng(seed)
    policies = ("", "", "@delta:0.5", "@every:3", "@mean:4", "@quantised:0.3", "@flag:1")
    for _ in range(n):
        features = {}
        while len(features) < rng.integers(1, 13):
            kind = fx.KINDS[rng.integers(len(fx.KINDS))]
            params = {p.name: float(rng.integers(4, 9)) for p in kind.parameters if p.default is None}
            channels = [f"{column}{policies[rng.integers(len(policies))]}" for column in "ab"][: kind.n_columns]
            feature = fx.Feature(kind, channels, params)
            features[feature.name] = feature
        size = len(features)
        is_tree = rng.random() < 0.5
        classifier = (
            random_tree(rng, size, n_tests=int(rng.integers(3, 30)))
            if is_tree
            else random_forest(int(rng.integers(2**32)), size, n_trees=int(rng.integers(1, 20)))
        )
        stopping = TickThresholds((1, 5), (0.9, 0.7))
        costs = Costs(np.ones(size))
        yield Procedure(tuple(features.values()), classifier, tuple("tuv"), costs, 0.6, 99, 0.5, stopping=stopping)


def covering(precision: Precision) -> Iterator[Sources]:
    """Translate procedures in which each function of the catalogue, of policies and of classifiers occurs."""
    policies = [f"a@{kind}:2" for kind in on_node.POLICIES]
    apart, together = [fx.get(f"last({channel})") for channel in policies], []
    for k, kind in enumerate(fx.KINDS):
        params = {p.name: 8.0 for p in kind.parameters if p.default is None}
        apart.append(fx.Feature(kind, (f"x{k}", f"y{k}")[: kind.n_columns], params))
        together.append(fx.Feature(kind, ("a", "b")[: kind.n_columns], params))
    forest = random_forest(1, len(together)).calibrated(Calibration(1.5, -0.3, 0.4, clock=0))
    for features, classifier in (
        (apart, random_tree(np.random.default_rng(0), len(apart))),
        (together, forest),
        (together[::-1], boosted(forest, np.random.default_rng(0))),
    ):
        costs = Costs(np.ones(len(features)))
        procedure = Procedure(tuple(features), classifier, tuple("tuv"), costs, 0.6, 99, 0.5)
        yield translate(procedure, precision=precision)
    for sends in SENDS:
        procedure = Procedure((fx.get("mean(a)"),), random_forest(1, 1), tuple("tuv"), Costs([1.0]), 0.6, 99, 0.5)
        yield translate_sending(procedure, split(procedure, sends), precision=precision)


def parts_apart(processor: str, precision: Precision) -> dict[str, tuple[int, int]]:
    """Return the bytes of each function, and of its frame, none being compiled into another."""
    found = {}
    Unit.storage = "__attribute__((noinline))"
    try:
        texts = list(covering(precision))
    finally:
        Unit.storage = "static"
    for sources in texts:
        got = compiled(processor, whole(sources))
        found |= {part: (got.functions[name], got.frames.get(name, 0)) for part, name in sources.parts.items()}
    return found


def whole(sources: Sources) -> str:
    """Return the header and the body as one text."""
    return sources.body.replace(f'#include "{sources.name}.h"\n', sources.header)


def fitted(processor: str, precision: Precision) -> dict[str, Any]:
    """Measure functions, and fit the weights of the terms of flash on random models."""
    parts = parts_apart(processor, precision)
    sizes = {part: size for part, (size, _) in parts.items()}
    sources = [translate(procedure, precision=precision) for procedure in models(2 * N_MODELS, seed=0)]
    terms = np.array([terms_of(each, precision, sizes) for each in sources])
    got = [compiled(processor, whole(each)) for each in sources]
    flash = np.array([each.flash for each in got], dtype=float)
    scaled = terms[:N_MODELS] / flash[:N_MODELS, np.newaxis]  # errors are shares
    weights = np.linalg.lstsq(scaled, np.ones(N_MODELS), rcond=None)[0]
    errors = terms[N_MODELS:] @ weights / flash[N_MODELS:] - 1
    return {
        "weights": [round(float(each), 4) for each in weights],
        "error": round(float(np.abs(errors).max()), 3),
        "mean_error": round(float(np.abs(errors).mean()), 3),
        "parts": parts,
    }


def sizes() -> list[Figure]:
    """Measure all, and write the file."""
    load_optional("ziglang", "bench")
    if shutil.which("avr-gcc") is None:
        raise StreamfsError("there is no avr-gcc: on Debian, apt-get install gcc-avr avr-libc")
    figures, found = [], dict[str, dict[str, Any]]()
    for name in COMPILERS:
        for precision in (DOUBLE, FLOAT)[name == "avr" :]:
            each = fitted(name, precision)
            found.setdefault(name, {})[precision.text] = each
            what = f"error of the estimated flash, {name}, {precision.text}"
            figures.append(Figure(f"{what}, mean", each.pop("mean_error")))
            figures.append(Figure(f"{what}, largest", each["error"]))
    parts = sorted({part for by in found.values() for each in by.values() for part in each["parts"]})
    for by in found.values():
        for each in by.values():
            own = each.pop("parts")
            each["sizes"] = [own[part][0] for part in parts]
            each["frames"] = [own[part][1] for part in parts]
    FILE.write_text(
        json.dumps({"parts": parts, "processors": found}, separators=(",", ":")) + "\n", encoding="utf-8"
    )
    return figures


def frames_of(processor: str, precision: Precision) -> dict[str, int]:
    """Return the bytes of each function's frame, as they were measured."""
    found = json.loads(FILE.read_text(encoding="utf-8"))
    return dict(zip(found["parts"], found["processors"][processor][precision.text]["frames"], strict=True))


PARTS: Parts = {"sizes": sizes}


section = partial(described, "Sizes of exported models, estimated", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
