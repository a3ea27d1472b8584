"""Features that are computed of some whole streams at a time make the table of all."""

from random import Random

import numpy as np
import pyarrow as pa
from helpers.procedures import labelled_streams
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import feature_extractors as fx
from streamfs import StreamSet, tabulate
from streamfs.cluster.tables import TableRow, Tabulation, row_batch

FEATURES = tuple(map(fx.get, ("mean(a.level@delta:0.5)", "slope(b.level)", "count()")))


@given(st.integers(0, 2**32), st.integers(1, 5), st.none() | st.sets(st.integers(1, 12), min_size=1))
@settings(max_examples=15)
def test_parts_of_whole_streams_make_the_table_of_all(seed, n_parts, ticks):
    random = Random(seed)  # noqa: S311 - no secret
    streams = labelled_streams(20, 12, seed, gaps=0.2)
    streams = StreamSet(
        streams.values, streams.labels, streams.columns, names=streams.names, lengths=np.arange(20) % 12 + 1
    )
    wanted = Tabulation(FEATURES, 1.0, 3.0, None if ticks is None else tuple(sorted(ticks)))
    rows = pa.table(streams).to_pylist()
    random.shuffle(rows)
    part_of = {name: random.randrange(n_parts) for name in streams.names}
    found = []
    for part in range(n_parts):
        own = [row for row in rows if part_of[row["stream"]] == part]
        if own:
            batch = row_batch([*wanted.rows(pa.Table.from_pylist(own))])
            found += [TableRow(**row) for row in batch.to_pylist()]
    names, table = wanted.table(found)
    whole = tabulate(streams, FEATURES, 3.0, None if ticks is None else np.array(wanted.ticks))
    assert names == list(streams.names)
    assert_array_equal(table.values, whole.values[:, : table.n_ticks])
    assert np.isnan(whole.values[:, table.n_ticks :]).all()
    assert_array_equal(table.lengths, whole.lengths)
    assert_array_equal(table.labels, whole.labels)
