"""Work that is done ahead."""

from itertools import islice
from threading import Event

import pytest

from streamfs.base.ahead import map_ahead


@pytest.mark.parametrize("n", [0, 1, 2, 7, 100])
def test_results_come_in_the_order_of_the_parts(n):
    assert list(map_ahead(lambda part: -part, range(n))) == [-part for part in range(n)]


def test_parts_are_begun_before_they_are_asked_for_but_few():
    taken, begun = [], Event()
    parts = (taken.append(part) or part for part in range(1000))
    results = map_ahead(lambda part: begun.set() if part else part, parts)
    assert next(results) == 0
    assert begun.wait(10.0) or len(taken) == 1
    assert len(taken) < 100
    results.close()


@pytest.mark.parametrize("fails", ["function", "parts"])
def test_what_fails_is_raised_in_its_place(fails):
    def part(number, *, fail):
        if fail and number == 3:
            raise ValueError("the third")
        return number

    parts = (part(number, fail=fails == "parts") for number in range(9))
    results = map_ahead(lambda number: part(number, fail=fails == "function"), parts)
    assert list(islice(results, 3)) == [0, 1, 2]
    with pytest.raises(ValueError, match="the third"):
        next(results)
    assert list(results) == []
