"""The form of a view, and of the course of streams."""

import os

import numpy as np
import pytest

from streamfs.errors import StateError
from streamfs.gateway.operations import courses
from streamfs.gateway.operations.view_file import pack, unpack

FACTS = {"name": 'a"<b>\n', "problems": []}
ARRAYS = {
    "tick": np.arange(6, dtype=np.int32).reshape(3, 2),
    "none": np.zeros((0, 4)),
    "wide": np.arange(5.0)[::2],
}


def packed():
    return b"".join(bytes(part) for part in pack(FACTS, ARRAYS))


def test_what_is_packed_comes_back():
    seen = unpack(packed())
    assert {name: seen.facts[name] for name in FACTS} == FACTS
    assert seen.arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(seen.arrays[name], array)


def test_a_view_that_is_cut_is_damaged():
    whole = packed()
    for length in range(len(whole)):
        with pytest.raises(StateError):
            unpack(whole[:length])


@pytest.mark.parametrize(
    "damaged",
    [
        b"[]\n",
        b'{"version": 2, "arrays": {}}\n',
        b'{"version": 1, "arrays": {"a": ["O", [1]]}}\n' + bytes(8),
        b'{"version": 1, "arrays": {"a": ["<f8", [1152921504606846976]]}}\n' + bytes(8),
        b'{"version": 1, "arrays": {"a": ["<f8", [-1]]}}\n' + bytes(8),
        b'{"version": 1, "arrays": {"a": "<f8"}}\n',
    ],
)
def test_a_view_that_is_strange_is_refused(damaged):
    with pytest.raises(StateError):
        unpack(damaged)


def records(stream, episode, ticks, n_classes=2):
    made = np.zeros(len(ticks), courses.record_type(n_classes, 1))
    made["key"], made["episode"], made["tick"] = courses.key_of(stream), episode, ticks
    made["probabilities"] = 1.0 / n_classes
    return made


def opened(path):
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab")


def test_the_course_of_a_stream_is_found_among_others(tmp_path):
    writer = courses.CourseWriter(tmp_path, opened)
    names = ("off", "on"), ("mean(x)",)
    writer.write("one", names, np.concatenate([records("a", 1, [1, 2]), records("b", 1, [1])]))
    writer.write("one", names, records("a", 2, [1]))
    writer.write("two", (("off", "on", "odd"), ("mean(y)",)), records("a", 3, [4, 4, 5], 3))
    files = courses.course_files(tmp_path)
    assert [path.name for path in files] == ["course-0", "course-1"]
    found = courses.courses_of((path.read_bytes() for path in files), "a")
    assert [(course.episode, course.ticks.tolist(), len(course.classes)) for course in found] == [
        (1, [1, 2], 2),
        (2, [1], 2),
        (3, [4, 5], 3),
    ]
    again = courses.from_json(courses.to_json(found))
    assert [course.ticks.tolist() for course in again] == [course.ticks.tolist() for course in found]
    damaged = [b"", b"{}\n", files[0].read_bytes()[:-3]]
    assert len(courses.courses_of(damaged, "a")) == 1


def test_only_the_newest_files_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(courses, "FILE_BYTES", 1)
    writer = courses.CourseWriter(tmp_path, opened)
    for tick in range(2 * courses.MOST_FILES):
        writer.write("one", (("off", "on"), ("mean(x)",)), records("a", 1, [tick]))
    assert [path.name for path in courses.course_files(tmp_path)] == [
        "course-4",
        "course-5",
        "course-6",
        "course-7",
    ]
    (found,) = courses.courses_of((path.read_bytes() for path in courses.course_files(tmp_path)), "a")
    assert found.ticks.tolist() == [4, 5, 6, 7]


@pytest.mark.parametrize("damaged", [b"", b"{}", b"[1]", b'[{"classes": []}]'])
def test_a_course_that_is_strange_is_refused(damaged):
    with pytest.raises(StateError):
        courses.from_json(damaged)
