"""A program in C that takes recorded streams to a translated model, and compares what it decides."""

from collections.abc import Sequence
from typing import NamedTuple

from feature_extractors.arrays import Array
from streamfs.translation.parts import Sources
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


class ExpectedMessages(NamedTuple):
    """A stream's readings, and what a node that computes features is to send of it.

    Parameters
    ----------
    readings : ndarray of shape (n_ticks, n_columns)
        In the order of the model's columns; NaN is a missing reading.
    messages : ndarray of shape (n_ticks, n_channels)
        In the order of its channels; NaN is no message.
    """

    readings: Array
    messages: Array


def messages_test(sources: Sources, precision: Precision, streams: Sequence[ExpectedMessages]) -> str:
    """Return a program that prints how many streams send what is expected, and fails unless all do."""
    readings = (precision.literal(x) for stream in streams for x in stream.readings.ravel().tolist())
    messages = (precision.literal(x) for stream in streams for x in stream.messages.ravel().tolist())
    return _MESSAGES_PROGRAM.format(
        name=sources.name,
        upper=sources.name.upper(),
        readings=wrapped(readings),
        messages=wrapped(messages),
        ticks=wrapped(str(len(stream.readings)) for stream in streams),
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

_MESSAGES_PROGRAM = """\
/* Take recorded streams to the model, and compare what it sends with what streamfs expects. */
#include "{name}.h"

#include <math.h>
#include <stdio.h>

static const {name}_real readings[] = {{{readings}}};

/* What is sent of each channel at each tick; NAN is nothing. */
static const {name}_real messages[] = {{{messages}}};

static const int32_t ticks[] = {{{ticks}}};

int main(void) {{
  {name}_stream stream;
  const {name}_real *next = readings, *expected = messages;
  int n_equal = 0;
  int k, c;
  for (k = 0; k < {n}; k++) {{
    int32_t tick, n_other = 0;
    {name}_begin(&stream);
    for (tick = 0; tick < ticks[k]; tick++) {{
      {name}_real sent[{upper}_N_CHANNELS];
      int32_t n_sent = {name}_take(&stream, next, sent);
      for (c = 0; c < {upper}_N_CHANNELS; c++) {{
        n_other += !(sent[c] == expected[c] || (isnan(sent[c]) && isnan(expected[c])));
        n_sent -= !isnan(expected[c]);
      }}
      n_other += n_sent != 0;
      next += {upper}_N_COLUMNS;
      expected += {upper}_N_CHANNELS;
    }}
    if (n_other == 0) {{
      n_equal++;
    }} else {{
      printf("stream %d: %ld messages differ\\n", k, (long)n_other);
    }}
  }}
  printf("%d of {n} streams send what is expected\\n", n_equal);
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
