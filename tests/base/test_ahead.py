"""Work that is done ahead."""

from itertools import islice
from threading import Event, current_thread

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


def test_a_part_alone_needs_no_thread():
    assert list(map_ahead(lambda _: current_thread(), [1])) == [current_thread()]
    assert current_thread() not in list(map_ahead(lambda _: current_thread(), [1, 2]))


def test_what_fails_after_the_first_is_raised_after_it():
    results = map_ahead(lambda part: 6 // part, (3 // part for part in (1, 0)))
    assert next(results) == 2
    with pytest.raises(ZeroDivisionError):
        next(results)


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
