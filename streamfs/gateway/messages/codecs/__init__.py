"""Payloads: readings from nodes, and decisions."""

from streamfs.gateway.messages.codecs.array import ArrayCodec, encode_array
from streamfs.gateway.messages.codecs.chirpstack import ChirpStackCodec
from streamfs.gateway.messages.codecs.decisions import encode_decision
from streamfs.gateway.messages.codecs.named import FORMATS, AutoCodec, codec_for, codec_of_content_type, own_codec
from streamfs.gateway.messages.codecs.plain import FieldsCodec, PlainCodec
from streamfs.gateway.messages.codecs.reading import (
    Codec,
    Reading,
    Reported,
    Series,
    Several,
    TimedSeries,
)
from streamfs.gateway.messages.codecs.senml import SenmlCodec, encode_senml

__all__ = [
    "FORMATS",
    "ArrayCodec",
    "AutoCodec",
    "ChirpStackCodec",
    "Codec",
    "FieldsCodec",
    "PlainCodec",
    "Reading",
    "Reported",
    "SenmlCodec",
    "Series",
    "Several",
    "TimedSeries",
    "codec_for",
    "codec_of_content_type",
    "decode",
    "encode_array",
    "encode_decision",
    "encode_senml",
    "own_codec",
]

decode = PlainCodec().decode
"""Decode plain JSON that reports on one channel; see `PlainCodec`."""
