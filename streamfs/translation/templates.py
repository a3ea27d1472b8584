"""The texts of a model's files in C, with places for what differs: whether nodes decide, or send features."""

HEADER = """\
/* {about}

   Columns, in the order of readings:
{columns}   {what}:
{listed}*/
#ifndef {upper}_H
#define {upper}_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

typedef {real} {name}_real;

{declared}
#ifdef __cplusplus
}}
#endif

#endif
"""

DECISION = """\
enum {{
  {upper}_N_COLUMNS = {n_columns},
  {upper}_N_CLASSES = {n_classes},
  {upper}_WAIT = -1, /* not yet decided: go on */
  {upper}_NO_LABEL = -2, /* the time is up, after {limit} ticks */
  {upper}_GIVEN_UP = -3 /* will not become sure */
}};

typedef struct {{
  {name}_real values[{n_reals}];
  int32_t tick;
  int32_t answer;
}} {name}_stream;

extern const char *const {name}_columns[{upper}_N_COLUMNS];
extern const char *const {name}_classes[{upper}_N_CLASSES];

/* Begin an episode. */
void {name}_begin({name}_stream *stream);

/* Take the readings of a tick; NAN is one that is missing. Ticks are {period} s apart. Return the number of the
   class once the stream is decided, or why it ends without one, else {upper}_WAIT; after the end, the same again.
   The episode opens with the first tick at which every column has a value. The probability of the likeliest class
   is written to confidence, if that is not null, while the episode is open. */
int32_t {name}_take({name}_stream *stream, const {name}_real *readings, {name}_real *confidence);
"""

MESSAGES = """\
enum {{
  {upper}_N_COLUMNS = {n_columns},
  {upper}_N_CHANNELS = {n_channels}
}};

typedef struct {{
  {name}_real values[{n_reals}];
  int32_t tick;
}} {name}_stream;

extern const char *const {name}_columns[{upper}_N_COLUMNS];
extern const char *const {name}_channels[{upper}_N_CHANNELS];

/* Begin an episode: when a gateway asks for channels of a node that was silent. */
void {name}_begin({name}_stream *stream);

/* Take the readings of a tick; NAN is one that is missing. Ticks are {period} s apart. Write what is to be sent of
   each channel, NAN if that is nothing, and return the number of messages. The first are sent at the first tick at
   which every column has a value. */
int32_t {name}_take({name}_stream *stream, const {name}_real *readings, {name}_real *messages);
"""

READINGS = """\
/* {about} */
#include "{name}.h"

#include <math.h>

/* A multiplication and an addition in one would round otherwise, and change decisions. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#endif

typedef {name}_real real;
typedef int32_t whole;
typedef char real_has_{n_bytes}_bytes[sizeof(real) == {n_bytes} ? 1 : -1];

enum {{
  N_COLUMNS = {n_columns},
  N_CHANNELS = {channels},
  N_INPUTS = {width},
  N_VALUES = {n_values},
  N_REPORTED = {state},
  N_REALS = {n_reals}
}};

{functions}
{tables}

const char *const {name}_columns[N_COLUMNS] = {{{column_names}}};

/* Return whether a value counts as a reading. */
static int is_reading(real x) {{
  return fabs{suffix}(x) <= {largest};
}}

/* Return a reading, or that it is missing. */
static real reading_of(real x) {{
  return isfinite(x) ? x : NAN;
}}

/* Write what the model sees of the readings. */
static void see(real *reports, const real *readings, real *sample) {{
  (void)reports;
{seen}}}

/* Update the features. */
static void advance(real *values, const real *sample, real seconds) {{
  real inputs[N_INPUTS];
{steps}}}

void {name}_begin({name}_stream *stream) {{
  real *reports = stream->values + (N_REALS - N_REPORTED);
  int32_t k;
  for (k = 0; k < N_REALS; k++) {{
    stream->values[k] = k < N_VALUES ? NAN : 0;
  }}
  for (k = 0; k < N_REPORTED; k += {report_size}) {{
    reports[k] = NAN;
  }}
  stream->tick = 0;
{begun}}}
"""
"""What nodes do with readings, and how they begin."""

DECIDES = """\

static const {tick_type} threshold_ticks[] = {{{ticks}}};
static const real threshold_levels[] = {{{levels}}};
static const real threshold_floors[] = {{{floors}}};

const char *const {name}_classes[{n_classes}] = {{{class_names}}};

/* Return the likeliest class, and write its probability. */
static int32_t ask(const real *values, real *confidence) {{
{ask}  *confidence = result[best];
  return best;
}}

/* Return what ends a stream at a tick: a class, or its end without one; else to wait. */
static int32_t stop(int32_t tick, int32_t best, real confidence) {{
  int32_t k = -1;
  while (k + 1 < {n_thresholds} && threshold_ticks[k + 1] <= tick) {{
    k++;
  }}
  if (k >= 0 && confidence >= threshold_levels[k]) {{
    return best;
  }}
  if (k >= 0 && confidence < threshold_floors[k]) {{
    return {upper}_GIVEN_UP;
  }}
  return tick == {limit} ? {upper}_NO_LABEL : {upper}_WAIT;
}}

int32_t {name}_take({name}_stream *stream, const real *readings, real *confidence) {{
  real *reports = stream->values + (N_REALS - N_REPORTED);
  real sample[N_CHANNELS], likelihood;
  int32_t k, best;
  if (stream->answer != {upper}_WAIT) {{
    return stream->answer;
  }}
  see(reports, readings, sample);
  for (k = 0; stream->tick == 0 && k < N_CHANNELS; k++) {{
    if (!is_reading(sample[k])) {{
      return {upper}_WAIT;
    }}
  }}
  stream->tick++;
  advance(stream->values, sample, (real)(stream->tick - 1) * {period});
  best = ask(stream->values, &likelihood);
  if (confidence != 0) {{
    *confidence = likelihood;
  }}
  stream->answer = stop(stream->tick, best, likelihood);
  return stream->answer;
}}
"""
"""What follows `READINGS` where nodes decide."""

SENDS = """\

const char *const {name}_channels[{upper}_N_CHANNELS] = {{{channel_names}}};

/* Write what is to be sent of the features. */
static void send(real *reports, const real *values, real *messages) {{
{sent}}}

int32_t {name}_take({name}_stream *stream, const real *readings, real *messages) {{
  real *reports = stream->values + (N_REALS - N_REPORTED);
  real sample[N_CHANNELS];
  int32_t k, n = 0;
  for (k = 0; k < {upper}_N_CHANNELS; k++) {{
    messages[k] = NAN;
  }}
  see(reports, readings, sample);
  for (k = 0; stream->tick == 0 && k < N_CHANNELS; k++) {{
    if (!is_reading(sample[k])) {{
      return 0;
    }}
  }}
  stream->tick++;
  advance(stream->values, sample, (real)(stream->tick - 1) * {period});
  send(reports, stream->values, messages);
  for (k = 0; k < {upper}_N_CHANNELS; k++) {{
    n += !isnan(messages[k]);
  }}
  return n;
}}
"""
"""What follows `READINGS` where nodes send features."""
