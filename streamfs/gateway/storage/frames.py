"""Frames: records on disk, each group with a checksum, so that a torn or damaged one is noticed."""

import os
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from struct import Struct, pack, unpack_from
from typing import IO, NamedTuple, Self, TypeVar
from zlib import crc32

from streamfs.errors import LogError
from streamfs.gateway.core.records import Record

MARK_BYTES = 4  # before each frame, drawn at random for each file, so that no payload looks like a frame
_HEADER = Struct("<IIQI")  # checksum of the rest, bytes of the body, first position, number of records
_COVERED = 4  # byte of the header at which the checksum begins to cover it
_MAX_BODY = 0xFFFF_FFFF  # bytes

Text = TypeVar("Text", bytes, str)


class Frame(NamedTuple):
    """Records that were appended together: the byte offset of the mark, the first position, the packed body."""

    offset: int
    first: int
    n_records: int
    body: bytes

    @classmethod
    def of(cls, data: bytes) -> Self:
        """Read a frame without its mark, as `pack_frame` returns it; raise a LogError if it is damaged."""
        header, body = data[: _HEADER.size], data[_HEADER.size :]
        if len(header) < _HEADER.size:
            raise LogError(f"a frame has {len(data)} bytes, expected at least {_HEADER.size}")
        checksum, n_bytes, first, n_records = _HEADER.unpack(header)
        if n_bytes != len(body) or crc32(body, crc32(header[_COVERED:])) != checksum:
            raise LogError(f"a frame of {len(body)} bytes from record {first} on is damaged")
        return cls(0, first, n_records, body)

    @property
    def end(self) -> int:
        """Byte offset of the frame's end."""
        return self.offset + MARK_BYTES + _HEADER.size + len(self.body)

    @property
    def position(self) -> int:
        """Position after the last record."""
        return self.first + self.n_records

    def records(self) -> Iterator[Record]:
        """Unpack the records, in order."""
        n, body = self.n_records, self.body
        numbers = unpack_from(f"<{n}d{3 * n}I", body, n)
        arrivals, lengths = numbers[:n], numbers[n:]
        payloads_at = n + 8 * n + 12 * n
        texts_at = payloads_at + sum(lengths[:n])
        payloads = _pieces(body[payloads_at:texts_at], lengths[:n])
        texts = _pieces(body[texts_at:].decode(), lengths[n:])
        return map(Record, body[:n], arrivals, texts[:n], payloads, texts[n:])


def pack_frame(first: int, records: Sequence[Record]) -> bytes:
    """Pack records, at least one, into a frame without its mark; `first` is the position of the first.

    Kinds, arrivals and lengths are stored side by side, then payloads, topics and content types. A kind that is
    not from 0 to 255, or more than 4 GiB of records, raises a ValueError.
    """
    kinds, arrivals, topics, payloads, content_types = zip(*records, strict=True)
    if not 0 <= min(kinds) <= max(kinds) <= 255:
        raise ValueError(f"kind is {min(kinds) if min(kinds) < 0 else max(kinds)}, expected 0 to 255")
    n = len(records)
    lengths = [*map(len, payloads), *map(len, topics), *map(len, content_types)]
    texts = "".join(topics + content_types).encode()
    body = b"".join((bytes(kinds), pack(f"<{n}d{3 * n}I", *arrivals, *lengths), *payloads, texts))
    if len(body) > _MAX_BODY:
        raise ValueError(f"{n} records fill {len(body)} bytes, expected at most {_MAX_BODY} at a time")
    covered = _HEADER.pack(0, len(body), first, n)[_COVERED:]
    return b"".join((crc32(body, crc32(covered)).to_bytes(_COVERED, "little"), covered, body))


def read_frame(file: IO[bytes], mark: bytes) -> Frame | None:
    """Read the frame at the file's position; None if there is no whole one."""
    offset = file.tell()
    head = file.read(MARK_BYTES + _HEADER.size)
    if head[:MARK_BYTES] != mark or len(head) < MARK_BYTES + _HEADER.size:
        return None
    checksum, n_bytes, first, n_records = _HEADER.unpack_from(head, MARK_BYTES)
    if n_bytes > os.fstat(file.fileno()).st_size - offset - len(head):
        return None
    body = file.read(n_bytes)
    if crc32(body, crc32(head[MARK_BYTES + _COVERED :])) != checksum:
        return None
    return Frame(offset, first, n_records, body)


def _pieces(whole: Text, lengths: Sequence[int]) -> list[Text]:
    return [whole[start:end] for start, end in pairwise(accumulate(lengths, initial=0))]
