"""The constructs that are translated, and what is refused."""

import ctypes
import math

import pytest
from helpers.compiled_c import compiled
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamfs.errors import TranslationError
from streamfs.translation.precision import DOUBLE
from streamfs.translation.unit import Unit
from streamfs.translation.values import POINTER, REAL, WHOLE

FACTOR = 3


def whole_numbers(a, b):
    total = a // 7 + b % 5 - FACTOR * max(a, b)
    for k in range(a % 4 + 2, -1, -1):
        if k == 2:
            continue
        total += k
    return total + k


def reals(a, b):
    low, high = min(a, b), max(a, b)
    if not 0.0 < low <= high < 1e9:
        return a % b if b != 0.0 and not math.isnan(b) else -high
    while low < high:
        low *= 2.0
        if low > 1e6:
            break
    return low / 3 + low**2


def swap(a, b):
    a, b = b, a
    return a - b


def changes(state):
    state[0] += 1.0
    return state[0]


def changes_twice(state):
    return changes(state) - changes(state)


def makes_a_list(a):
    return [a]


def loops_over_pairs(a):
    for one, other in zip(a, a, strict=True):
        a[0] = one - other


def calls_the_unknown(a):
    return math.gamma(a)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    unit = Unit(DOUBLE)
    one, other = unit.entry(whole_numbers, (WHOLE, WHOLE)), unit.entry(reals, (REAL, REAL))
    text = "#include <math.h>\n#include <stdint.h>\ntypedef double real;\ntypedef int32_t whole;\n" + unit.text()
    text += f"int32_t of_whole(int32_t a, int32_t b) {{ return {one.name}(a, b); }}\n"
    text += f"real with_reals(real a, real b) {{ return {other.name}(a, b); }}\n"
    library = compiled(tmp_path_factory.mktemp("function"), text)
    library.with_reals.argtypes = ctypes.c_double, ctypes.c_double
    library.with_reals.restype = ctypes.c_double
    return library


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=st.integers(-(10**6), 10**6), b=st.integers(-(10**6), 10**6))
def test_whole_numbers_are_those_of_python(library, a, b):
    assert library.of_whole(a, b) == whole_numbers(a, b)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(a=st.floats(allow_nan=False, allow_infinity=False), b=st.floats(allow_nan=False, allow_infinity=False))
def test_reals_are_those_of_python(library, a, b):
    assert library.with_reals(a, b) == pytest.approx(reals(a, b), rel=0, abs=0, nan_ok=True)


@pytest.mark.parametrize(
    ("function", "kinds", "why"),
    [
        (swap, (REAL, REAL), r"swap: \(b, a\) reads what is assigned at once"),
        (
            changes_twice,
            (POINTER,),
            "changes_twice: return .* changes arrays twice, in an order",
        ),
        (makes_a_list, (REAL,), r"makes_a_list: \[a\] is not translated"),
        (loops_over_pairs, (POINTER,), r"loops_over_pairs: \(one, other\) is not translated"),
        (calls_the_unknown, (REAL,), r"calls_the_unknown: math.gamma\(a\) is not translated"),
    ],
)
def test_what_c_would_do_otherwise_is_refused(function, kinds, why):
    with pytest.raises(TranslationError, match=why):
        Unit(DOUBLE).entry(function, kinds)
