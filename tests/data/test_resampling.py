"""What a tick holds if readings fall between ticks."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from recorded_files import NAN

from streamfs import StreamSet
from streamfs.data.recordings import csv_text


def naive_cells(times, numbers, period, rule, max_age):
    """Ticks of one stream by the definition, one at a time."""
    start, cells = min(times), []
    nearest = [int(np.floor((time - start) / period + 0.5)) for time in times]
    for tick in range(max(nearest) + 1):
        here = [i for i in range(len(times)) if nearest[i] == tick and not np.isnan(numbers[i])]
        if here and rule == "last":
            newest = max(times[i] for i in here)
            cells.append([numbers[i] for i in here if times[i] == newest][-1])
        elif here:
            cells.append(sum(numbers[i] for i in here) / len(here))
        else:
            before = [i for i in range(len(times)) if nearest[i] < tick and not np.isnan(numbers[i])]
            latest = max((nearest[i] for i in before), default=None)
            is_held = latest is not None and (tick - latest) * period <= max_age
            cells.append(cells[latest] if is_held else NAN)
    return cells


@given(
    rows=st.lists(
        st.tuples(st.integers(0, 40), st.integers(-9, 9).map(float) | st.just(NAN)), min_size=1, max_size=25
    ),
    rule=st.sampled_from(["last", "mean"]),
    max_age=st.sampled_from([0.0, 1.0, 3.0, 100.0]),
    batch=st.sampled_from([1, 9, 2**18]),
    is_long=st.booleans(),
)
def test_resampling_is_as_defined(tmp_path_factory, rows, rule, max_age, batch, is_long):
    times, numbers = [time / 4 for time, _ in rows], [number for _, number in rows]
    path = tmp_path_factory.mktemp("cells") / "log.csv"
    table = pl.DataFrame(
        {"stream": ["s"] * len(rows), "time": times, "sensor": ["x"] * len(rows), "value": numbers}
    )
    (table if is_long else table.drop("sensor")).write_csv(path)
    options = {"long": table.columns} if is_long else {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "BLOCK", 8 * batch)
        streams = StreamSet.read(path, 1.0, labelled=False, resample=rule, max_age=max_age, **options)
    assert_array_equal(streams.values[0, :, 0], naive_cells(times, numbers, 1.0, rule, max_age))


@settings(max_examples=10)  # each is read in many blocks
@given(batch=st.integers(1, 9), seed=st.integers(0, 99))
def test_wide_and_long_tables_hold_the_same(tmp_path_factory, batch, seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(3, 4, 2)).round(3)
    values[rng.random(values.shape) < 0.2] = NAN
    values[:, 0] = 1.0
    values[:, -1] = 2.0
    wide = StreamSet(values, ["on", "off", "on"], ["x", "y"], 2.0, ["a", "b", "c"])
    folder = tmp_path_factory.mktemp("both")
    wide.write(folder / "wide.csv")
    table = pl.read_csv(folder / "wide.csv").unpivot(index=["stream", "time", "label"]).sort("stream", "time")
    table.sample(fraction=1, shuffle=True, seed=seed).write_csv(folder / "long.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_text, "BLOCK", 8 * batch)
        found = StreamSet.read(
            folder / "long.csv", 2.0, long=("stream", "time", "variable", "value"), columns=["x", "y"]
        )
    found = found.take([found.names.index(name) for name in wide.names])
    assert_array_equal(found.values, wide.values)
    assert_array_equal(found.labels, wide.labels)
