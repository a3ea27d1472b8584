"""Steps in C and in plain Python: equal to the bit to the compiled ones in double precision."""

import ctypes
import math

import numpy as np
import pytest
from helpers.compiled_c import address, compiled
from helpers.signals import N_TICKS, named_signals
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import feature_extractors as fx
from feature_extractors.base import LARGEST
from streamfs.translation.plain import Plain
from streamfs.translation.precision import DOUBLE, FLOAT
from streamfs.translation.unit import Unit
from streamfs.translation.values import POINTER, REAL

HEAD = "#include <math.h>\n#include <stdint.h>\n"
SMALL = {"window": 5.0, "lag": 3.0, "dilation": 2.0, "kernel": 17.0, "bias": 0.1}


def example_of(kind):
    params = {p.name: SMALL.get(p.name, 1.0) for p in kind.parameters if p.default is None}
    return fx.Feature(kind, ("a", "b")[: kind.n_columns], params)


FEATURES = [example_of(kind) for kind in fx.KINDS]


def translated(precision, folder):
    """Return the loop of each step over many samples, in C."""
    unit = Unit(precision)
    loops = []
    for place, feature in enumerate(FEATURES):
        step = unit.entry(feature.kind.step.function, (POINTER, POINTER, POINTER, REAL)).name
        known = " && ".join(f"fabs(x[{k}]) <= {LARGEST!r}" for k in range(feature.kind.n_columns)) or "1"
        loops.append(
            f"void loop{place}(real *state, const real *x, const real *params, real *values, int n) {{\n"
            f"  for (int i = 0; i < n; i++, x += 2) {{\n"
            f"    values[i] = {known} ? {step}(state, x, params, (real)i) : i > 0 ? values[i - 1] : (real)NAN;\n"
            f"  }}\n}}\n"
        )
    text = f"{HEAD}typedef {precision.text} real;\ntypedef int32_t whole;\n{unit.text()}\n{''.join(loops)}"
    library = compiled(folder, text)
    return [getattr(library, f"loop{place}") for place in range(len(FEATURES))]


@pytest.fixture(scope="module")
def loops(tmp_path_factory):
    return translated(DOUBLE, tmp_path_factory.mktemp("double"))


@pytest.fixture(scope="module")
def single_loops(tmp_path_factory):
    return translated(FLOAT, tmp_path_factory.mktemp("single"))


def in_c(loop, feature, signal, precision):
    state = np.zeros(feature.state_size + 1, precision.dtype)
    params = np.array([*feature.params.values(), 0.0], precision.dtype)
    samples = np.ascontiguousarray(signal, dtype=precision.dtype)
    values = np.zeros(len(signal), precision.dtype)
    loop(*map(address, (state, samples, params, values)), ctypes.c_int(len(signal)))
    return values


@pytest.fixture(scope="module")
def plain_steps():
    unit = Plain(DOUBLE)
    names, scope = [unit.entry(feature.kind.step.function) for feature in FEATURES], {}
    exec(unit.text(), scope)  # noqa: S102 - what we have written
    return [scope[name] for name in names]


def in_plain_python(step, feature, signal):
    state, params, value = [0.0] * feature.state_size, tuple(feature.params.values()), math.nan
    values = []
    for tick, row in enumerate(signal[:, : feature.kind.n_columns].tolist()):
        if all(abs(x) <= LARGEST for x in row):
            value = step(state, row, params, float(tick))
        values.append(value)
    return values


def by_python(feature, signal):
    width = max(1, feature.kind.n_columns)
    return fx.scan([feature], signal[None, :, :width], columns=["a", "b"][:width])[0, :, 0]


def assert_equal(loops, signal):
    for loop, feature in zip(loops, FEATURES, strict=True):
        got = in_c(loop, feature, signal, DOUBLE)
        assert np.array_equal(got, by_python(feature, signal), equal_nan=True), feature.name


@pytest.mark.parametrize("name", named_signals())
def test_every_kind_on_named_signals(loops, name):
    assert_equal(loops, named_signals()[name])


@pytest.mark.parametrize("name", named_signals())
def test_every_kind_in_plain_python(plain_steps, name):
    signal = named_signals()[name]
    for step, feature in zip(plain_steps, FEATURES, strict=True):
        got = in_plain_python(step, feature, signal)
        assert np.array_equal(got, by_python(feature, signal), equal_nan=True), feature.name


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(arrays(np.float64, (N_TICKS, 2), elements=st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf, 0.0])))
def test_every_kind_on_any_signal(loops, signal):
    assert_equal(loops, signal)


@pytest.mark.parametrize("name", ["noise", "random walk", "sine"])
def test_single_precision_is_within_a_thousandth_of_the_range(single_loops, name):
    signal = named_signals()[name].astype(np.float32).astype(np.float64)
    for loop, feature in zip(single_loops, FEATURES, strict=True):
        got, wanted = in_c(loop, feature, signal, FLOAT), by_python(feature, signal)
        assert np.array_equal(np.isnan(got), np.isnan(wanted)), feature.name
        greatest = np.abs(wanted[~np.isnan(wanted)]).max(initial=1e-9)
        assert np.nanmax(np.abs(got - wanted), initial=0.0) < 1e-3 * greatest, feature.name
