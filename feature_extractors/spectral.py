"""Periodicity: correlation of a column with its own past, and with a sine of a given cycle."""

import math

from feature_extractors import _past, _welford, _window
from feature_extractors._past import LAG
from feature_extractors._window import WINDOW
from feature_extractors.base import Parameter, kernel, kind, sized

CYCLE = Parameter("cycle", default=8, low=2, high=1_000_000)

TICK, COSINE = range(2)
"""Places of the state of a band: number of samples so far, and start of its sums with the cosine; those with the
sine follow. Welford's sums of products are those of sine and cosine with the deviations from the mean, whatever
the initial phase."""

SINE = COSINE + _welford.STATE_SIZE


@kind("autocorrelation", 1, lambda lag: _welford.STATE_SIZE + _past.delay_size(lag), (LAG,))
def AUTOCORRELATION(state, inputs, params, t):
    """Pearson's correlation of the values with those `lag` samples earlier; NaN until both have varied."""
    lag = int(params[0])
    before = _past.delayed(state, _welford.STATE_SIZE, inputs[0], lag)
    if not math.isnan(before):
        _welford.update(state, 0, before, inputs[0])
    return _welford.correlation(state, 0)


@kernel
def _next_phase(state, cycle):
    """Count a sample; return its angle in the cycle, which is equally exact for all samples."""
    phase = 2.0 * math.pi * (state[TICK] % cycle / cycle)
    state[TICK] += 1.0
    return phase


@kernel
def _push(state, x, cycle):
    """Add a value to the sums over the whole prefix."""
    phase = _next_phase(state, cycle)
    _welford.update(state, COSINE, x, math.cos(phase))
    _welford.update(state, SINE, x, math.sin(phase))


@kernel
def _power(state, sine):
    """Return the power of the best-fitting sine, from the sums."""
    n = state[COSINE + _welford.N]
    if n < 2.0:
        return math.nan
    real = state[COSINE + _welford.XY] / n
    imaginary = state[sine + _welford.XY] / n
    return 2.0 * (real * real + imaginary * imaginary)


@kind("band_power", 1, sized(SINE + _welford.STATE_SIZE), (CYCLE,))
def BAND_POWER(state, inputs, params, t):
    """Goertzel's power of the sine of `cycle` samples in deviations from the mean; NaN before the second."""
    _push(state, inputs[0], params[0])
    return _power(state, SINE)


@kernel
def _share(state, sine):
    """Return the power as a share of the mean square deviation."""
    squares = state[COSINE + _welford.XX]
    if squares == 0.0:
        return math.nan
    real = state[COSINE + _welford.XY] / math.sqrt(squares)
    imaginary = state[sine + _welford.XY] / math.sqrt(squares)
    return min(1.0, 2.0 * (real * real + imaginary * imaginary) / state[COSINE + _welford.N])


@kind("band_share", 1, sized(SINE + _welford.STATE_SIZE), (CYCLE,))
def BAND_SHARE(state, inputs, params, t):
    """Band power over the mean square deviation, at most 1; NaN while all values are equal."""
    _push(state, inputs[0], params[0])
    return _share(state, SINE)


@kind(
    "autocorrelation",
    1,
    lambda lag, window: _past.delay_size(lag) + _window.state_size(max(window - lag, 0)),
    (LAG, WINDOW),
)
def WINDOWED_AUTOCORRELATION(state, inputs, params, t):
    """Autocorrelation within the last `window` values; always NaN if `lag` is at least `window`."""
    lag = int(params[0])
    sums = _past.VALUES + lag
    before = _past.delayed(state, 0, inputs[0], lag)
    n_pairs = int(params[1]) - lag
    if n_pairs > 0 and not math.isnan(before):
        _window.push(state, sums, before, inputs[0], n_pairs)
    return _welford.correlation(state, sums)


def _windowed_band_size(cycle: float, window: float) -> int:
    return COSINE + 2 * _window.state_size(window)


@kernel
def _push_window(state, x, cycle, window):
    """Add a value to the sums over a window; return the start of those with the sine."""
    phase = _next_phase(state, cycle)
    sine = COSINE + _window.SLOTS + _window.SLOT_SIZE * window
    _window.push(state, COSINE, x, math.cos(phase), window)
    _window.push(state, sine, x, math.sin(phase), window)
    return sine


@kind("band_power", 1, _windowed_band_size, (CYCLE, WINDOW))
def WINDOWED_BAND_POWER(state, inputs, params, t):
    """Band power of the last `window` values."""
    return _power(state, _push_window(state, inputs[0], params[0], int(params[1])))


@kind("band_share", 1, _windowed_band_size, (CYCLE, WINDOW))
def WINDOWED_BAND_SHARE(state, inputs, params, t):
    """Band share of the last `window` values."""
    return _share(state, _push_window(state, inputs[0], params[0], int(params[1])))
