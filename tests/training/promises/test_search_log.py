"""The search log: read as it was written, torn or not; foreign files are left unchanged."""

import math
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.errors import DataError
from streamfs.training.promises.search_log import BEGINNING, SearchLog

names = st.lists(st.sampled_from(["mean(t)", "max(t@delta:0.5)", "count()", 'last("ä b")']), unique=True)
finite = st.floats(0, 1e300)
scores = st.tuples(st.floats(0, 1), finite | st.just(math.inf), finite, st.integers(1, 99))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "search.jsonl"


@given(st.lists(st.tuples(names, scores), max_size=6))
def test_logged_scores_are_found_by_the_next_search(tmp_path_factory, scored):
    path = tmp_path_factory.mktemp("search") / "search.jsonl"
    first = SearchLog(path, "1f")
    for subset, score in scored:
        first.add(subset, *score)
    again = SearchLog(path, "1f")
    for subset, score in {frozenset(subset): (subset, score) for subset, score in scored}.values():
        assert again.find(subset[::-1]) == first.find(subset) == score
    assert again.find(["mean(other)"]) is None


def test_each_is_written_as_it_is_scored(path):
    log = SearchLog(path, "1f")
    assert not path.exists()
    log.add(["b", "a"], 0.5, math.inf, 0.25, 1)
    assert orjson.loads(path.read_bytes()) == {
        "problem": "1f",
        "features": ["a", "b"],
        "chance": 0.5,
        "cost": None,
        "shortfall": 0.25,
        "start": 1,
    }
    assert path.read_bytes().startswith(BEGINNING)


def test_problems_share_a_file_and_do_not_know_of_each_other(path):
    SearchLog(path, "1f").add(["a"], 0.5, 1.0, 0.0, 1)
    other = SearchLog(path, "2a")
    assert other.find(["a"]) is None
    other.add(["a"], 0.75, 2.0, 0.0, 1)
    assert SearchLog(path, "1f").find(["a"]) == (0.5, 1.0, 0.0, 1)
    assert SearchLog(path, "2a").find(["a"]) == (0.75, 2.0, 0.0, 1)


@pytest.mark.parametrize("whole", [0, 1, 2])
def test_a_line_torn_anywhere_is_dropped_and_scored_again(path, whole):
    for i in range(whole + 1):
        SearchLog(path, "1f").add([f"f{i}"], 0.5, float(i), 0.0, 1)
    lines = path.read_bytes().splitlines(keepends=True)
    for end in range(len(lines[-1])):
        path.write_bytes(b"".join(lines[:-1]) + lines[-1][:end])
        log = SearchLog(path, "1f")
        assert [log.find([f"f{i}"]) is not None for i in range(whole + 1)] == [True] * whole + [False]
        log.add([f"f{whole}"], 0.5, float(whole), 0.0, 1)
        assert path.read_bytes().splitlines(keepends=True) == lines


def test_whole_lines_are_never_rewritten(path, monkeypatch):
    SearchLog(path, "1f").add(["a"], 0.5, 1.0, 0.0, 1)
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    monkeypatch.setattr(Path, "write_bytes", None)
    assert SearchLog(path, "1f").find(["a"]) == (0.5, 1.0, 0.0, 1)
    assert path.read_bytes() == whole


@pytest.mark.parametrize(
    ("line", "number"),
    [
        (b"stream,time,label,t", 1),
        (b"3", 1),
        (b"{}", 1),
        (b"[1]", 1),
        (b"", 1),
        (b'{"problem":"1f","features":["a"],"chance":"high","cost":1.0,"shortfall":0.0,"start":1}', 1),
        (b'{"problem":"1f","features":3,"chance":1.0,"cost":1.0,"shortfall":0.0,"start":1}', 1),
        (b'{"problem":"1f","features":["a"],"cost":1.0,"shortfall":0.0,"start":1}', 1),
        (b'{"problem":"1f","features":["a"],"chance":1.0,"cost":1.0,"shortfall":0.0}', 1),
        (b"\xff\xfe", 1),
    ],
)
def test_a_malformed_line_is_named_and_the_file_unchanged(path, line, number):
    path.write_bytes(line + b"\n")
    with pytest.raises(
        DataError, match=rf"line {number} of .*search\.jsonl is b'.*, expected the score of a subset"
    ):
        SearchLog(path, "1f")
    assert path.read_bytes() == line + b"\n"
    SearchLog(path.with_name("other"), "1f").add(["a"], 0.5, 1.0, 0.0, 1)
    path.write_bytes(path.with_name("other").read_bytes() + line + b"\n")
    with pytest.raises(DataError, match="line 2 of"):
        SearchLog(path, "1f")


@pytest.mark.parametrize(
    "content", [b'{"my": "data"}', b"PK\x03\x04", b"x", b'{"problem" : 1', b'{"problem": 3}', b'{"problem":3}']
)
def test_another_file_without_an_end_of_line_is_no_torn_line(path, content):
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"line 1 of .* expected the score of a subset"):
        SearchLog(path, "1f")
    assert path.read_bytes() == content


def test_the_beginning_of_a_long_malformed_line_is_named(path):
    path.write_bytes(b"stream" * 1000)
    with pytest.raises(DataError) as refused:
        SearchLog(path, "1f")
    assert len(str(refused.value)) < 200 + len(str(path))


def test_an_empty_file_is_a_beginning(path):
    path.touch()
    SearchLog(path, "1f").add([], 0.5, 1.0, 0.0, 1)
    assert SearchLog(path, "1f").find([]) == (0.5, 1.0, 0.0, 1)


def test_an_unwritable_file_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        SearchLog(tmp_path / "nowhere" / "search.jsonl", "1f").add(["a"], 0.5, 1.0, 0.0, 1)
    with pytest.raises(IsADirectoryError):
        SearchLog(tmp_path, "1f")
