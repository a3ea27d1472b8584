"""A program in C that takes recorded streams to a translated model, and compares what it decides."""

from collections.abc import Sequence
from typing import NamedTuple

from feature_extractors.base import Array
from streamfs.translation.model import Sources
from streamfs.translation.precision import Precision
from streamfs.translation.unit import wrapped

UNLABELLED = {"closed": -1, "timeout": -2, "given_up": -3}
"""The answers of a model in C by the reason of a decision without a label; one that is closed still waits."""


class Expected(NamedTuple):
    """A stream's readings, shape (n_ticks, n_columns) in the order of the model's columns, and what it is decided.

    Parameters
    ----------
    readings : ndarray
        NaN is a missing reading.
    answer : int
        The number of the class, or one of `UNLABELLED`.
    n_taken : int
        Ticks until then.
    """

    readings: Array
    answer: int
    n_taken: int


def self_test(sources: Sources, precision: Precision, streams: Sequence[Expected]) -> str:
    """Return a program that prints how many streams are decided as expected, and fails unless all are."""
    readings = (precision.literal(x) for stream in streams for x in stream.readings.ravel().tolist())
    rows = (f"{{{len(stream.readings)}, {stream.answer}, {stream.n_taken}}}" for stream in streams)
    return _PROGRAM.format(
        name=sources.name,
        upper=sources.name.upper(),
        readings=wrapped(readings),
        rows=wrapped(rows),
        n=len(streams),
    )


def makefile(name: str, sources: str = ".") -> str:
    """Return a Makefile that builds and runs the program, with the model's files in a folder."""
    return _MAKEFILE.format(name=name, sources=sources)


_PROGRAM = """\
/* Take recorded streams to the model, and compare what it decides with what streamfs decides. */
#include "{name}.h"

#include <math.h>
#include <stdio.h>

static const {name}_real readings[] = {{{readings}}};

/* The ticks of each stream, and what is expected: the answer, and the ticks until then. */
static const struct {{
  int32_t n_ticks, answer, n_taken;
}} streams[] = {{{rows}}};

int main(void) {{
  {name}_stream stream;
  const {name}_real *next = readings;
  int n_equal = 0;
  int k;
  for (k = 0; k < {n}; k++) {{
    int32_t answer = {upper}_WAIT, n_taken = 0;
    {name}_begin(&stream);
    while (answer == {upper}_WAIT && n_taken < streams[k].n_ticks) {{
      answer = {name}_take(&stream, next + n_taken * {upper}_N_COLUMNS, 0);
      n_taken++;
    }}
    next += streams[k].n_ticks * {upper}_N_COLUMNS;
    if (answer == streams[k].answer && n_taken == streams[k].n_taken) {{
      n_equal++;
    }} else {{
      printf("stream %d: %ld after %ld ticks, expected %ld after %ld\\n", k, (long)answer, (long)n_taken,
             (long)streams[k].answer, (long)streams[k].n_taken);
    }}
  }}
  printf("%d of {n} streams are decided as expected\\n", n_equal);
  return n_equal == {n} ? 0 : 1;
}}
"""

_MAKEFILE = """\
CFLAGS ?= -std=c99 -O2 -Wall -Wextra -pedantic
# A multiplication and an addition in one would round otherwise, and change decisions.
EXACT = -ffp-contract=off

.PHONY: test
test: self_test
\t./self_test

self_test: self_test.c {sources}/{name}.c {sources}/{name}.h
\t$(CC) $(CFLAGS) $(EXACT) -I {sources} -o $@ self_test.c {sources}/{name}.c -lm
"""
