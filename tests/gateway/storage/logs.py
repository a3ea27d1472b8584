"""Logs and their records."""

import resource
from contextlib import closing, contextmanager

from hypothesis import strategies as st

from streamfs.gateway.core.records import Record
from streamfs.gateway.storage.log import Log

CHARACTERS = st.sampled_from("ab/+\0é☂𝄞")  # of one to four bytes
RECORDS = st.builds(
    Record,
    kind=st.integers(0, 255),
    arrival=st.floats(allow_nan=False),
    topic=st.text(CHARACTERS, max_size=12),
    payload=st.binary(max_size=40),
    content_type=st.text(CHARACTERS, max_size=4),
)


def record(number, n_bytes=20):
    return Record(0, float(number), f"sensors/n{number}/light", b"%d" % number * n_bytes)


def filled(folder, n_frames=4, *, size=3, **options):
    """Make a log with some frames of records, and close it; return the records."""
    records = [record(i) for i in range(n_frames * size)]
    with closing(Log(folder, **options)) as log:
        for start in range(0, len(records), size):
            log.append(records[start : start + size])
            log.sync()
    return records


def append_each(log, records):
    for each in records:
        log.append([each])


def contents(folder, start=0, **options):
    with closing(Log(folder, **options)) as log:
        return [record for _, record in log.read(start)]


@contextmanager
def file_limit(n_bytes):
    """Let no file grow beyond a size."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
