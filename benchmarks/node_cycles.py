"""Measure the cycles that exported models take a tick, fit the cost of each kind of operation, and state the error.

python benchmarks/node_cycles.py [PART ...]

A model's operations are counted in its plain form (`streamfs/translation/operations.py`). Models of random features and
shapes are compiled by Zig's clang with -Os and run by qemu-user, whose plugin `cycles_plugin.c` adds up the documented
timing of each instruction that is executed, software arithmetic included; for AVR by avr-gcc, and by simavr, which knows
the cycles. Costs by kind of operation are fitted on half of the models, and the error is that on the other half.
`streamfs/translation/cycles.json` keeps both, and is written anew.

- ``cycles``: error of the estimated cycles a tick, by processor and precision, as a share; and the part of the estimated
  stack that was used, arithmetic by software included
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from figures import Figure, Parts, described, main
from node_sizes import ZIG, frames_of, models, whole
from scipy.optimize import nnls

from streamfs.base.optional import load_optional
from streamfs.errors import StreamfsError
from streamfs.translation.estimate import reached
from streamfs.translation.model import translate
from streamfs.translation.operations import KINDS, noise, operations
from streamfs.translation.precision import DOUBLE, FLOAT, Precision

FILE = Path(__file__).parents[1] / "streamfs/translation/cycles.json"
PLUGIN = Path(__file__).parent / "cycles_plugin.c"
N_MODELS = 48
"""Models on which costs are fitted, and on which the error is measured."""


MARGIN = 1.5
"""Times the most that a stack was deeper than the sum of frames is allowed for."""
PAINTED = 1600
"""Bytes of the stack in which traces are looked for."""


class Core(NamedTuple):
    """How a model is compiled for a core, and what runs it."""

    compiler: tuple[str, ...]
    emulator: str
    timing: str  # a word that the plugin knows


CORES = {
    "cortex-m0plus": Core((*ZIG, "-target", "thumb-freestanding-eabi", "-mcpu=cortex_m0plus"), "qemu-arm", "m0"),
    "cortex-m4": Core(
        (*ZIG, "-target", "thumb-freestanding-eabihf", "-mcpu=cortex_m4+vfp4d16sp"), "qemu-arm", "m4"
    ),
    "riscv32": Core((*ZIG, "-target", "riscv32-freestanding", "-mcpu=generic_rv32+m+c"), "qemu-riscv32", "riscv"),
    "avr": Core(("avr-gcc", "-mmcu=atmega1284p"), "simavr", ""),
}

CALLS = {name: f"{name}@(x)" for name in ("sqrt", "exp", "log", "sin", "cos", "floor")}
CALLS |= {name: f"{name}@(x, y)" for name in ("fmod", "pow", "hypot")}
CALLS |= {"frexp": "frexp@(x, &n)", "ldexp": "ldexp@(x, 3)"}
"""The functions of `streamfs.translation.unit.LIBRARY`, of a real x; @ stands for the suffix of the precision."""

MATHEMATICS = """\
#define NAN __builtin_nanf("")
#define INFINITY __builtin_inff()
#define isnan(x) __builtin_isnan(x)
#define isfinite(x) __builtin_isfinite(x)
#define copysign(a, b) __builtin_copysign(a, b)
#define copysignf(a, b) __builtin_copysignf(a, b)
#define BOTH(name) double name(double); float name##f(float);
BOTH(sqrt) BOTH(fabs) BOTH(exp) BOTH(log) BOTH(sin) BOTH(cos) BOTH(floor) BOTH(ceil)
double fmod(double, double);
float fmodf(float, float);
#define TOGETHER(real, f) \\
  static inline real pow##f(real x, real y) { return exp##f(y * log##f(x)); } \\
  static inline real hypot##f(real x, real y) { return sqrt##f(x * x + y * y); } \\
  static inline real ldexp##f(real x, int n) { for (; n > 0; n--) x *= 2; for (; n < 0; n++) x /= 2; return x; } \\
  static inline real frexp##f(real x, int *n) { \\
    real a = x < 0 ? -x : x; \\
    for (*n = 0; a >= 1; ++*n) a /= 2; \\
    for (; a > 0 && a < (real)0.5; --*n) a *= 2; \\
    return x < 0 ? -a : a; \\
  }
TOGETHER(double, ) TOGETHER(float, f)
"""
"""What stands for math.h where there is no operating system; the functions come with the compiler."""

TICKS = """
static const model_real readings[] = {%s};
static void __attribute__((noinline)) run(void) {
  static model_stream stream;
  int k;
  model_begin(&stream);
  for (k = 0; k < %d; k++) {
    if (stream.answer != MODEL_WAIT) {
      model_begin(&stream);
    }
    model_take(&stream, readings + k * MODEL_N_COLUMNS, 0);
  }
}
"""

NOTHING = """
static void __attribute__((noinline)) run(void) {
  __asm__ volatile("");
}
"""

BARE = """
void _start(void) {
  char *top;
  volatile unsigned *painted, *next;
  int used;
#if defined(__riscv)
  __asm__ volatile("mv %0, sp" : "=r"(top));
#else
  __asm__ volatile("mov %0, sp" : "=r"(top));
#endif
  painted = (unsigned *)(((unsigned long)top - PAINTED) & ~7ul);
  for (next = painted; next < (unsigned *)top - 8; next++) {
    *next = 0x5a5a5a5a;
  }
  run();
  for (next = painted; *next == 0x5a5a5a5a; next++) {
  }
  used = (int)(top - (char *)next + 7) / 8;
#if defined(__riscv)
  register long a0 __asm__("a0") = used, a7 __asm__("a7") = 94;
  __asm__ volatile("ecall" : : "r"(a0), "r"(a7));
#else
  register long r0 __asm__("r0") = used, r7 __asm__("r7") = 248;
  __asm__ volatile("svc 0" : : "r"(r0), "r"(r7));
#endif
  for (;;) {
  }
}
"""

TIMED = """
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/sleep.h>
static volatile unsigned high;
ISR(TIMER1_OVF_vect) { high++; }
static char *told(char *next, unsigned long number) {
  for (*--next = ' '; number > 0; number /= 10) {
    *--next = (char)('0' + number % 10);
  }
  return next;
}
int main(void) {
  unsigned long cycles;
  char text[24], *next = text + 23;
  volatile char *painted = (char *)SP - PAINTED, *used;
  for (used = painted; used < (char *)SP - 8; used++) {
    *used = 0x5a;
  }
  TCCR1B = 1;
  TIMSK1 = 1;
  sei();
  run();
  cli();
  cycles = ((unsigned long)high << 16) + TCNT1;
  for (used = painted; *used == 0x5a; used++) {
  }
  *next = 0;
  *--next = '\\n';
  next = told(told(next, (unsigned long)((char *)SP - used)), cycles);
  UCSR0B = 1 << TXEN0;
  for (; *next; next++) {
    while (!(UCSR0A & (1 << UDRE0))) {
    }
    UDR0 = (uint8_t)*next;
  }
  sleep_mode();
  return 0;
}
"""


def ran(core: Core, plugin: Path, text: str) -> tuple[int, int]:
    """Compile and run a text; return its cycles, and the bytes of the stack that it used, rounded to 8."""
    is_avr, folder = core.emulator == "simavr", plugin.parent
    (folder / "model.c").write_text(text + (TIMED if is_avr else BARE), encoding="utf-8")
    flags = ("-std=gnu99", "-Os", "-ffp-contract=off", f"-DPAINTED={PAINTED}", "model.c", "-o", "model.elf")
    own = ("-lm",) if is_avr else ("-static", "-I", ".")
    subprocess.run([*core.compiler, *flags, *own], check=True, cwd=folder, capture_output=True)  # noqa: S603 - our own
    run = (
        ["simavr", "-m", "atmega1284p", "-f", "16000000", "model.elf"]
        if is_avr
        else [core.emulator, "-plugin", f"{plugin},core={core.timing}", "./model.elf"]
    )
    done = subprocess.run(run, check=False, cwd=folder, capture_output=True, text=True, timeout=120)  # noqa: S603 - our own
    said = re.sub(r"\x1b\[[\d;]*m", "", done.stdout + done.stderr)
    found = re.search(r"^(\d+) (\d+) \.$" if is_avr else r"cycles (\d+)", said, re.MULTILINE)
    if found is None or (done.returncode < 0 if is_avr else not done.returncode):
        raise StreamfsError(f"{core.emulator} said {said!r}, expected cycles, and the stack that was used")
    return int(found[1]), int(found[2]) if is_avr else 8 * done.returncode


def library_of(core: Core, plugin: Path, precision: Precision) -> dict[str, int]:
    """Return the bytes of the stack that functions of libm take, and, by the empty name, arithmetic."""
    base, found = _stack_of(core, plugin, precision, "x"), dict[str, int]()
    for name, call in CALLS.items():
        found[name] = max(0, _stack_of(core, plugin, precision, call.replace("@", precision.suffix)) - base)
    arithmetic = (_stack_of(core, plugin, precision, each) for each in ("x + y", "x * y", "x / y", "x > y"))
    return {**found, "": max(0, *(each - base for each in arithmetic))}


def _stack_of(core: Core, plugin: Path, precision: Precision, expression: str) -> int:
    """Return the bytes of the stack that an expression of two reals takes."""
    lines = f"volatile {precision.text} x = 1.5, y = 2.5; int n; (void)n; (void)y; x = {expression};"
    text = f"#include <math.h>\nstatic void __attribute__((noinline)) run(void) {{ {lines} }}\n"
    return ran(core, plugin, text)[1]


class Took(NamedTuple):
    """What models took: operations, cycles a tick, bytes of the stack, and those that are known of it."""

    operations: npt.NDArray[np.float64]
    cycles: npt.NDArray[np.float64]
    stack: npt.NDArray[np.float64]
    reached: npt.NDArray[np.float64]


def taken(name: str, plugin: Path, precision: Precision, library: dict[str, int]) -> Took:
    """Run models of random features and shapes."""
    core, frames, rows = CORES[name], frames_of(name, precision), []
    nothing, _ = ran(core, plugin, NOTHING)
    for procedure in models(2 * N_MODELS, seed=1):
        readings, sources = noise(procedure), translate(procedure, precision=precision)
        numbers = ", ".join(map(precision.literal, readings.ravel().tolist()))
        n_cycles, stack = ran(core, plugin, whole(sources) + TICKS % (numbers, len(readings)))
        counted = operations(procedure, readings)
        known = reached(sources, precision, frames, library)
        rows.append([(n_cycles - nothing) / len(readings), stack, known, *(counted[kind] for kind in KINDS)])
    table = np.array(rows, dtype=np.float64)
    return Took(table[:, 3:], table[:, 0], table[:, 1], table[:, 2])


def fitted(name: str, plugin: Path, precision: Precision) -> tuple[dict[str, Any], list[Figure]]:
    """Fit the cost of each kind of operation on half of the models; return it, and the errors on the others."""
    library, what = library_of(CORES[name], plugin, precision), f"{name}, {precision.text}"
    found = taken(name, plugin, precision, library)
    half = slice(N_MODELS), slice(N_MODELS, None)
    scaled = found.operations[half[0]] / found.cycles[half[0], np.newaxis]  # errors are shares
    weights, _ = nnls(scaled, np.ones(N_MODELS))
    errors = np.abs(found.operations[half[1]] @ weights / found.cycles[half[1]] - 1)
    own = round(MARGIN * float((found.stack - found.reached)[half[0]].max()))
    shares = (found.stack / (found.reached + own))[half[1]]
    figures = [
        Figure(f"error of the estimated cycles a tick, {what}, mean", float(errors.mean())),
        Figure(f"error of the estimated cycles a tick, {what}, largest", float(errors.max())),
        Figure(f"stack that was used, of its estimate, {what}, largest", float(shares.max()), at_most=1),
    ]
    costs = [round(float(each), 2) for each in weights]
    return {"weights": costs, "error": round(float(errors.max()), 3), "stack": own, "library": library}, figures


def needed() -> Iterator[str]:
    """Yield the programs that are missing."""
    for name, package in (("avr-gcc", "gcc-avr avr-libc"), ("simavr", "simavr"), ("qemu-arm", "qemu-user")):
        if shutil.which(name) is None:
            yield f"there is no {name}: on Debian, apt-get install {package}"


def cycles() -> list[Figure]:
    """Measure all, and write the file."""
    load_optional("ziglang", "bench")
    for missing in needed():
        raise StreamfsError(missing)
    figures, found = [], dict[str, dict[str, Any]]()
    with TemporaryDirectory() as place:
        plugin = Path(place, "plugin.so")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O2", PLUGIN, "-o", plugin], check=True)  # noqa: S603, S607 - our own
        Path(place, "math.h").write_text(MATHEMATICS, encoding="utf-8")
        for name in CORES:
            for precision in (DOUBLE, FLOAT)[name == "avr" :]:
                found.setdefault(name, {})[precision.text], errors = fitted(name, plugin, precision)
                figures += errors
    FILE.write_text(json.dumps(found, separators=(",", ":")) + "\n", encoding="utf-8")
    return figures


PARTS: Parts = {"cycles": cycles}


section = partial(described, "Cycles of exported models, estimated", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
