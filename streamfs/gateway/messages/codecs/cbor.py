"""CBOR (RFC 8949), decoded with care: costly, ambiguous or non-plain data is refused."""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from streamfs.errors import MissingExtraError, PayloadError
from streamfs.gateway.messages.codecs.checks import shown

_DECIMAL_FRACTION = 4


class _OnlyDecimals(dict[int, Any]):
    """Decoders of tagged values: the library's for decimal fractions, none for others."""

    def __missing__(self, tag: int) -> Any:
        if tag == _DECIMAL_FRACTION:
            raise KeyError(tag)
        raise ValueError(f"tag {tag}")


def cbor_reader() -> Callable[[bytes], Any]:
    """Return a decoder of CBOR: one item, no repeated keys, no tags but decimal fractions; else a PayloadError."""
    cbor2 = _cbor2()
    tags = _OnlyDecimals()

    def load(payload: bytes) -> Any:
        stream = BytesIO(payload)
        try:
            document = cbor2.load(stream, semantic_decoders=tags, allow_duplicate_keys=False)
        except cbor2.CBORError as error:
            reason = error if error.__cause__ is None else f"{error}: {error.__cause__}"
            raise PayloadError(f"payload is {shown(payload)}, expected CBOR ({reason})", "syntax") from error
        if stream.tell() < len(payload):
            message = f"payload is {shown(payload)}, expected CBOR that ends after {stream.tell()} bytes"
            raise PayloadError(message, "syntax")
        return document

    return load


def dump_cbor(document: object) -> bytes:
    """Encode CBOR; raise a MissingExtraError if the package for it is missing."""
    written: bytes = _cbor2().dumps(document)
    return written


def _cbor2() -> Any:
    try:
        import cbor2  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError("cbor2", "gateway") from error
    return cbor2
