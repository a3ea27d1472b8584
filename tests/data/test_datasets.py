"""Real recordings: labels match nodes and times, and nothing else reveals the label."""

import gzip
import os
from collections import Counter
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.data import datasets
from streamfs.data.datasets import NAMES, load, room_climate_fold
from streamfs.data.node_pairs import Pair, Recording
from streamfs.errors import DataError

PLACE = 10**6
BLOCKS = {"sml2010": 40, "appliances": 120, "uncg_wsn": 60}


def reading(place, row):
    """Return a reading whose change to the next row encodes both place and row."""
    return row * row + PLACE * place * row


def marks(column):
    """Return the places and first rows of blocks of such readings."""
    places, twice = np.divmod(column[:, 1], PLACE)
    return places, (twice - 1) / 2


def write(path, header, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join([header, *(",".join(str(cell) for cell in row) for row in rows)]) + "\n"
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_room_climate(folder, n_measurements=6, room="A"):
    """Write temperatures of 100 times the measurement plus the mote, a row every 4 s, for 21 minutes."""
    rows = [
        (f"{m:02d}", 1_458_031_648_545 + 10**8 * m + 4000 * i, mote, 100 * m + mote, i, 0, 1, 0, 0, 0, 0)
        for m in range(n_measurements)
        for i in range(315)
        for mote in (1, 2, 3)
    ]
    header = "measurement,abs_ms,node,temp,rh,light1,light2,occ,act,door,win"
    write(folder / f"sensors/room_climate/room_climate_{room}.csv.gz", header, rows)
    header = "pair,fold,measurement_a,node_a,measurement_b,node_b,same_source"
    rows = [(0, "train", "00", 1, "00", 2, 1), (1, "train", "00", 3, "01", 1, 0), (2, "test", "02", 1, "02", 3, 1)]
    write(folder / f"sensors/room_climate/pairs_{room}.csv", header, rows)


def write_second_room(folder):
    write_room_climate(folder, room="B")


def write_sml2010(folder, n_rows=240, left_out=()):
    rooms = ("Comedor", "Habitacion")
    columns = [f"{q}_{room}_Sensor" for q in ("Temperature", "CO2", "Humedad", "Lighting") for room in rooms]
    start = datetime(2012, 3, 13, 11, 45)  # noqa: DTZ001 - as in the file
    rows = [
        ((start + timedelta(minutes=15 * i)).strftime("%d/%m/%Y,%H:%M"), *[reading(p, i) for p in (0, 1) * 4])
        for i in range(n_rows)
        if i not in left_out
    ]
    write(folder / "sensors/sml2010/sml2010.csv.gz", ",".join(["Date,Time", *columns]), rows)


def write_appliances(folder, n_rows=1200):
    columns = [f"{quantity}{place}" for place in range(1, 10) for quantity in ("T", "RH_")]
    rows = [(i, *[reading(p // 2, i) for p in range(18)]) for i in range(n_rows)]
    write(folder / "sensors/appliances/appliances.csv.gz", ",".join(["t10min", *columns]), rows)


def write_uncg_wsn(folder, n_rows=360, event=-1):
    rows = [
        (hop, place, mote, i, reading(place == "indoor", i), reading(place == "indoor", i), int(i == event))
        for hop, places in (("single", ("indoor", "outdoor")), ("multi", ("outdoor", "indoor")))
        for mote, place in enumerate(np.repeat(places, 2), start=1)
        for i in range(n_rows)
    ]
    header = "hop,place,mote,reading,temperature,humidity,label"
    write(folder / "sensors/uncg_wsn/uncg_hops.csv.gz", header, rows)


WRITERS = dict(
    zip(
        NAMES,
        (write_room_climate, write_second_room, write_sml2010, write_appliances, write_uncg_wsn),
        strict=True,
    )
)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """Return a folder of small recordings whose readings encode place and time."""
    folder = tmp_path_factory.mktemp("recordings")
    for writer in WRITERS.values():
        writer(folder)
    return folder


def halves(streams):
    """Return the readings of the first nodes and of the second nodes."""
    middle = len(streams.columns) // 2
    return streams.values[..., :middle], streams.values[..., middle:]


@pytest.mark.parametrize("name", BLOCKS)
def test_a_stream_is_of_one_block_and_its_label_matches_its_places(tiny, name):
    for streams in load(name, tiny).split(seed=1):
        (places, starts), (other_places, other_starts) = (marks(node[..., 0]) for node in halves(streams))
        assert (starts == other_starts).all()
        assert (starts % BLOCKS[name] == 0).all()
        np.testing.assert_array_equal(places == other_places, streams.labels == "same")


@pytest.mark.parametrize("name", ["room_climate", "room_B"])
def test_a_stream_of_a_room_is_of_two_motes_and_its_label_matches_their_measurements(tiny, name):
    for streams in load(name, tiny).split(seed=1):
        (measurements, motes), (others, other_motes) = (divmod(node[:, 0, 0], 100) for node in halves(streams))
        assert (motes < other_motes).all()
        np.testing.assert_array_equal(measurements == others, streams.labels == "same")


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("name", NAMES)
def test_training_and_test_streams_share_no_time(tiny, name, seed):
    def times(streams):
        if name in ("room_climate", "room_B"):
            return {float(mark) // 100 for node in halves(streams) for mark in node[:, 0, 0]}
        hops = [text[:5] for text in streams.names] if name == "uncg_wsn" else [""] * len(streams)
        return set(zip(hops, marks(streams.values[..., 0])[1].tolist(), strict=True))

    training, testing = (times(streams) for streams in load(name, tiny).split(seed))
    assert training
    assert testing
    assert not training & testing


@pytest.mark.parametrize("name", NAMES)
def test_each_recording_of_a_node_is_equally_frequent_in_both_classes(tiny, name):
    for streams in load(name, tiny).split(seed=3):
        for node in halves(streams):
            same, different = (
                Counter(one.tobytes() for one in node[streams.labels == label]) for label in ("same", "different")
            )
            assert same == different


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_determines_the_split(tiny, name):
    recording = load(name, tiny)
    first, again, other = ([s.names for s in recording.split(seed)] for seed in (4, 4, 5))
    assert first == again
    assert first != other
    np.testing.assert_array_equal(*(recording.split(4)[0].values for _ in range(2)))


@pytest.mark.parametrize(
    ("name", "columns", "n_ticks", "period", "n_streams"),
    [
        ("room_climate", datasets.MOTE_COLUMNS, 120, 10.0, 2 * 3 * 3),
        ("room_B", datasets.MOTE_COLUMNS, 120, 10.0, 2 * 3 * 3),
        ("sml2010", ("temperature", "co2", "humidity", "lighting"), 40, 900.0, 4 * 3),
        ("appliances", ("temperature", "humidity"), 120, 600.0, 4 * 5),
        ("uncg_wsn", ("a.temperature", "a.humidity", "b.temperature", "b.humidity"), 60, 5.0, 4 * 6),
    ],
)
def test_streams_have_the_documented_shape(tiny, name, columns, n_ticks, period, n_streams):
    for streams in load(name, tiny).split(seed=0):
        assert streams.columns == columns
        assert streams.values.shape == (n_streams, n_ticks, len(columns))
        assert streams.period == period


@given(st.integers(0, 2**32), st.integers(4, 9), st.integers(2, 5), st.sampled_from([None, 2, 3]), st.booleans())
def test_any_recording_is_split_by_time_and_balanced(seed, n_times, n_places, n_drawn, across_times):
    pairs = tuple(
        Pair(f"{time}", (f"{place}", f"{place}"), (np.full((2, 1), time), np.full((2, 1), place)), f"{pool}")
        for time in range(n_times)
        for place in range(n_places)
        for pool in [place if across_times else time]
    )
    parts = Recording(pairs, ("time", "place"), 1.0, n_drawn).split(seed)
    sizes = [len(set(streams.column("time")[:, 0])) for streams in parts]
    assert not set(parts[0].column("time")[:, 0]) & set(parts[1].column("time")[:, 0])
    if n_drawn is None:
        assert sizes == [n_times // 2, n_times - n_times // 2]
        assert sum(len(streams) for streams in parts) == 2 * len(pairs)
    for streams in parts:
        assert (streams.labels == "same").sum() * 2 == len(streams)


def test_a_block_with_a_missing_reading_is_left_out(tmp_path):
    write_sml2010(tmp_path, left_out=(41,))
    starts = {start for part in load("sml2010", tmp_path).split(0) for start in marks(part.column("humidity"))[1]}
    assert starts == {0, 80, 120, 160, 200}


def test_a_block_with_an_event_is_left_out(tmp_path):
    write_uncg_wsn(tmp_path, event=70)
    starts = {
        start for part in load("uncg_wsn", tmp_path).split(0) for start in marks(part.column("b.humidity"))[1]
    }
    assert starts == {0, 120, 180, 240, 300}


def test_a_block_with_two_rows_at_one_tick_is_left_out(tmp_path):
    write_appliances(tmp_path, n_rows=600)
    path = tmp_path / "sensors/appliances/appliances.csv.gz"
    header, *rows = gzip.decompress(path.read_bytes()).decode().split()
    write(path, header, [[row] for row in (rows[7], *rows)])
    assert {pair.time for pair in load("appliances", tmp_path).pairs} == {"001", "002", "003", "004"}


def test_readings_of_room_climate_are_means_of_ticks_of_the_first_twenty_minutes(tiny):
    mote = load("room_climate", tiny).pairs[0].readings[0]
    np.testing.assert_array_equal(mote[:4, 1], [1.0, 3.5, 6.0, 8.5])  # rows 0 to 2, 3 and 4, 5 to 7, ...
    assert mote[-1, 1] == 298.5  # rows 298 and 299


def test_a_tick_without_a_row_is_missing(tmp_path):
    write_room_climate(tmp_path)
    path = tmp_path / "sensors/room_climate/room_climate_A.csv.gz"
    header, *rows = gzip.decompress(path.read_bytes()).decode().split()
    write(path, header, [[row] for row in rows[:9] + rows[15:]])
    mote = load("room_climate", tmp_path).pairs[0].readings[0]
    np.testing.assert_array_equal(np.flatnonzero(np.isnan(mote[:, 1])), [1])


def test_a_fold_of_room_climate_has_the_pairs_of_its_file(tiny):
    fold = room_climate_fold("train", tiny)
    assert fold.names == ("pair-0", "pair-1")
    assert fold.labels.tolist() == ["same", "different"]
    assert fold.column("a.temp")[:, 0].tolist() == [1.0, 3.0]
    assert fold.column("b.temp")[:, 0].tolist() == [2.0, 101.0]
    assert room_climate_fold("train", tiny, every=2).names == ("pair-0",)
    assert room_climate_fold("train", tiny, room="B").names == fold.names


def test_an_unknown_fold_is_refused(tiny):
    with pytest.raises(DataError, match="no fold 'third', expected one of test, train"):
        room_climate_fold("third", tiny)
    with pytest.raises(ValueError, match="every is 0, expected at least 1"):
        room_climate_fold("train", tiny, every=0)
    with pytest.raises(ValueError, match="room is 'C', expected 'A' or 'B'"):
        room_climate_fold("train", tiny, room="C")


def test_a_pair_without_readings_is_refused(tmp_path):
    write_room_climate(tmp_path, n_measurements=2)
    with pytest.raises(DataError, match=r"mote '1' of .* has no readings in measurement '02'"):
        room_climate_fold("test", tmp_path)


def test_an_unknown_name_is_refused(tiny):
    with pytest.raises(ValueError, match="recording is 'kitchen', expected one of room_climate, room_B"):
        load("kitchen", tiny)


def test_the_folder_of_the_data_is_required(monkeypatch, tiny):
    monkeypatch.setenv("STREAMFS_DATA", str(tiny))
    assert datasets.folder() == tiny
    assert len(load("sml2010").pairs) == 12
    monkeypatch.delenv("STREAMFS_DATA")
    with pytest.raises(DataError, match="STREAMFS_DATA is not set: set it to the folder"):
        load("sml2010")


@pytest.mark.parametrize("name", NAMES)
def test_a_missing_file_is_refused(tmp_path, name):
    with pytest.raises(DataError, match="does not exist: STREAMFS_DATA, or the given folder"):
        load(name, tmp_path)


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_file_is_refused(tmp_path, name):
    WRITERS[name](tmp_path)
    path = next(path for path in tmp_path.rglob("*.csv.gz"))
    header, row, *rows = gzip.decompress(path.read_bytes()).decode().split()
    write(path, header, [[row.replace(",0,", ",cold,")], *[[row] for row in rows]])
    with pytest.raises(DataError, match="is 'cold' in row 1, expected a number"):
        load(name, tmp_path)
    write(path, f"serial,{header.partition(',')[2]}", [[row] for row in rows])
    with pytest.raises(DataError, match="has no column"):
        load(name, tmp_path)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(DataError, match="cannot be read"):
        load(name, tmp_path)


def test_an_invalid_date_is_refused(tmp_path):
    write_sml2010(tmp_path)
    path = tmp_path / "sensors/sml2010/sml2010.csv.gz"
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()).replace(b"13/03/2012", b"31/02/2012")))
    with pytest.raises(DataError, match="not of the form 31/12/2012 and 23:45"):
        load("sml2010", tmp_path)


def test_a_recording_too_short_to_split_is_refused(tmp_path):
    write_room_climate(tmp_path, n_measurements=3)
    with pytest.raises(DataError, match="nothing to exchange in 1 times, expected two pairs of one pool"):
        load("room_climate", tmp_path).split(seed=0)


@pytest.mark.parametrize(
    ("name", "n_training", "n_testing"),
    [
        ("room_climate", 360, 360),
        ("room_B", 132, 132),
        ("sml2010", 204, 204),
        ("appliances", 328, 328),
        ("uncg_wsn", 284, 288),
    ],
)
def test_the_real_recordings_have_the_documented_number_of_streams(name, n_training, n_testing):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip(f"STREAMFS_DATA is not set: {name} is missing")
    parts = load(name).split(seed=0)
    assert [len(streams) for streams in parts] == [n_training, n_testing]
    for streams in parts:
        assert (streams.labels == "same").sum() * 2 == len(streams)
        assert np.isnan(streams.values).mean() < 0.01
        assert (np.nanstd(streams.values, axis=1) > 0).mean() > 0.9
