"""Inspection: what is wrong with a column or a stream is found, and what is sound is left alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs import StreamSet
from streamfs.data.alone import N_NEIGHBORS, alone
from streamfs.data.inspection import inspect
from streamfs.data.units import guessed_unit

NAN = float("nan")
RNG = np.random.default_rng(0)
LABELS = np.repeat(["calm", "busy"], 30)
NOISE = RNG.normal(size=(60, 12))


def inspected(column, groups=None, starts=None, labels=LABELS):
    return inspect(StreamSet(np.stack([NOISE, column], axis=2), labels, ["x", "y"]), groups, None, starts)


def naive_alone(numbers, classes):
    """The definition, one stream at a time."""
    names = sorted({c for c in classes if list(classes).count(c) >= 2})
    known = [(v, c) for v, c in zip(numbers, classes, strict=True) if not np.isnan(v) and c in names]
    known = [(v, c) for v, c in known if [k for _, k in known].count(c) >= 2]
    names = sorted({c for _, c in known})
    if len(names) < 2:
        return NAN
    right = {name: [] for name in names}
    for i, (value, actual) in enumerate(known):
        others = [(abs(v - value), c) for j, (v, c) in enumerate(known) if j != i]
        reach = sorted(distance for distance, _ in others)[: min(N_NEIGHBORS, len(others))][-1]
        votes = {
            name: sum(
                1 / sum(k == name for _, k in known) for distance, c in others if distance <= reach and c == name
            )
            for name in names
        }
        best = max(votes.values())
        right[actual].append(next(name for name in names if votes[name] >= best - 1e-12) == actual)
    recall = np.mean([np.mean(each) for each in right.values()])
    return max(0.0, (recall - 1 / len(names)) / (1 - 1 / len(names)))


@given(
    st.lists(
        st.tuples(st.integers(0, 9).map(float) | st.just(NAN), st.sampled_from("aab")), min_size=1, max_size=30
    )
)
def test_alone_is_as_defined(pairs):
    numbers, classes = np.array([value for value, _ in pairs]), [name for _, name in pairs]
    counts = {name: sum(c == name for v, c in pairs if not np.isnan(v)) for name in "ab"}
    found, expected = alone(numbers, classes), naive_alone(numbers, classes)
    if counts["a"] == counts["b"] or np.isnan(expected):
        np.testing.assert_equal(found, expected)
    else:  # ties of votes may be broken by rounding
        assert 0 <= found <= 1


def test_noise_is_at_chance_and_order_is_not():
    assert alone(RNG.normal(size=2000), RNG.integers(0, 3, 2000)) < 0.1
    assert alone(np.arange(100.0), np.repeat(["a", "b"], 50)) > 0.9


@pytest.mark.parametrize(
    ("column", "fault"),
    [
        (np.full((60, 12), NAN), "has no readings"),
        (np.full((60, 12), 7.0), "is 7 always"),
        (NOISE, "repeats x"),
        (np.arange(60)[:, np.newaxis] * np.ones(12), "never changes within a stream, and tells label or group"),
        (
            100 - np.arange(60)[:, np.newaxis] - np.arange(12) / 12,
            "only falls, and tells label or group: it leaks",
        ),
        (1.79e9 + 60 * np.arange(60)[:, np.newaxis] + np.arange(12), "only rises, and tells label or group"),
        (RNG.permutation(60)[:, np.newaxis] * 12 + np.arange(12.0), "counts the rows"),
        (RNG.permutation(60)[:, np.newaxis] * 12 + np.arange(12.0) * 2, ""),
        (np.where(LABELS == "busy", 9.0, 0.0)[:, np.newaxis] + RNG.normal(size=(60, 12)), ""),
        (RNG.permutation(60)[:, np.newaxis] * np.ones(12), ""),
        (RNG.normal(size=(60, 12)), ""),
    ],
)
def test_a_column_with_a_fault_is_found(column, fault):
    sound, report = inspected(column).columns
    assert sound.fault == ""
    assert report.fault.startswith(fault)
    assert bool(report.fault) == bool(fault)
    assert ("y" in inspected(column).sound_columns) == (not fault)


def test_a_telling_column_is_noted():
    level = np.where(LABELS == "busy", 9.0, 0.0)[:, np.newaxis] + RNG.normal(size=(60, 12))
    assert "y alone tells the label: would it be known before the label is?" in inspected(level).notes()
    rooms = [f"room {k % 3}" for k in range(60)]
    level = 5.0 * (np.arange(60) % 3)[:, np.newaxis] + RNG.normal(size=(60, 12))
    assert any(note.startswith("y alone tells the group") for note in inspected(level, rooms).notes())


def test_streams_recorded_class_by_class_are_noted():
    noted = "recorded at one time"
    assert any(noted in note for note in inspected(NOISE + 1, starts=np.arange(60.0)).notes())
    assert not any(noted in note for note in inspected(NOISE + 1, starts=1.0 * RNG.permutation(60)).notes())


def test_duplicates_gaps_and_small_classes_are_noted():
    values = RNG.normal(size=(6, 5, 1))
    values[4], values[2, 1:4] = values[1], NAN
    names = list("abcdef")
    found = inspect(StreamSet(values, ["u", "u", "u", "v", "v", "v"], ["x"], names=names))
    assert found.duplicates == [("b", "e")]
    assert found.longest_gap == ("c", 3)
    assert found.empty == 3 / 30
    assert [*found.notes()] == [
        "streams b and e have the same readings",
        "the longest gap is of 3 ticks, in stream c",
        "little can be shown with fewer than 20 streams of a class: u 3, v 3",
    ]
    assert found.to_json()["ticks"] == {"least": 5, "median": 5.0, "most": 5}


def test_streams_that_are_too_short_are_noted():
    streams = StreamSet(NOISE[:, :, None], LABELS, ["x"], lengths=np.repeat([2, 12], [31, 29]))
    assert any(note.startswith("half of the streams have 2 ticks at most") for note in inspect(streams).notes())
    assert not any("half of" in note for note in inspect(streams.take(np.arange(20, 60))).notes())


def test_numbers_that_stand_for_no_reading_and_times_that_rows_share_are_noted():
    streams = StreamSet([[[20.0]], [[-999.0]]], ["a", "b"], ["x"])
    assert {
        "x is -999 somewhere: if that means missing, --values -999=missing",
        "rows share their times: were these cut short, as 1.79537E+12, or are they days without hours?",
    } <= {*inspect(streams).notes()}


def test_a_tick_of_many_days_is_noted():
    for period, n_notes in ((86400.0, 0), (5e7, 1)):
        streams = StreamSet(NOISE[:, :, np.newaxis], ["a"] * len(NOISE), ["x"], period)
        notes = [note for note in inspect(streams).notes() if note.startswith("a tick is")]
        assert len(notes) == n_notes
    assert notes[0].startswith("a tick is 579 days: if times are in ms, us or ns")


def test_a_single_class_is_noted():
    assert "all streams have the label 'u': there is nothing to tell apart" in [
        *inspect(StreamSet(NOISE[:, :, np.newaxis], ["u"] * 60, ["x"])).notes()
    ]


@given(n_streams=st.integers(0, 3), n_ticks=st.integers(0, 3))
def test_sets_without_readings_are_inspected(n_streams, n_ticks):
    found = inspect(StreamSet(np.full((n_streams, n_ticks, 1), NAN), ["u"] * n_streams, ["x"]))
    assert [report.fault for report in found.columns] == ["has no readings"]
    assert found.longest_gap[1] == (n_ticks if n_streams else 0)


@pytest.mark.parametrize(
    ("column", "low", "high", "unit"),
    [
        ("T1 (K)", 0, 1, "K"),
        ("temperature", 280, 300, "K"),
        ("outdoorTemp", 20, 90, "°F"),
        ("temp", 20, 900, ""),
        ("rh", 0.2, 0.6, "1"),
        ("a.humidity", 20, 60, "%"),
        ("battery", 2.7, 3.1, "V"),
        ("light_2", 0, 900, "lx"),
    ],
)
def test_units_are_guessed_by_name_and_readings(column, low, high, unit):
    assert guessed_unit(column, low, high) == unit


def test_bookkeeping_is_left_out_by_its_name_and_what_is_still_is_named():
    rng = np.random.default_rng(1)
    charge, place = (np.repeat(rng.integers(0, 9, 40), 5).reshape(40, 5) for _ in range(2))
    streams = StreamSet(
        np.stack([rng.normal(size=(40, 5)), charge, place], axis=2), ["a", "b"] * 20, ["x", "batteryLevel", "y"]
    )
    found = inspect(streams)
    assert found.sound_columns == ["x", "y"]
    assert found.columns[1].fault == "never changes within a stream, and is no measurement by its name"
    notes = [note for note in found.notes() if note.startswith("y never changes within a stream")]
    assert [note.endswith("name what was recorded, such as a room? Then --groups y") for note in notes] == [True]
