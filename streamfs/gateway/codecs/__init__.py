"""What is in a payload: readings from nodes, decisions for everybody."""

from streamfs.gateway.codecs.array import ArrayCodec, encode_array
from streamfs.gateway.codecs.chirpstack import ChirpStackCodec
from streamfs.gateway.codecs.decisions import encode_decision
from streamfs.gateway.codecs.named import FORMATS, AutoCodec, codec_for, codec_of_content_type
from streamfs.gateway.codecs.plain import FieldsCodec, PlainCodec
from streamfs.gateway.codecs.reading import MAX_SAMPLES, Batch, Codec, Reading, Reported, Series, Several
from streamfs.gateway.codecs.senml import SenmlCodec, encode_senml

__all__ = [
    "FORMATS",
    "MAX_SAMPLES",
    "ArrayCodec",
    "AutoCodec",
    "Batch",
    "ChirpStackCodec",
    "Codec",
    "FieldsCodec",
    "PlainCodec",
    "Reading",
    "Reported",
    "SenmlCodec",
    "Series",
    "Several",
    "codec_for",
    "codec_of_content_type",
    "decode",
    "encode_array",
    "encode_decision",
    "encode_senml",
]

decode = PlainCodec().decode
"""Reads plain JSON that reports on one channel; see `PlainCodec`."""
