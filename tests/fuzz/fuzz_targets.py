"""Parsers of what comes from outside: any bytes give a result, or the one error that each may raise."""

import hashlib
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

import orjson
from helpers.device_yard import MODELS, begun
from helpers.procedures import mean_procedure

from streamfs import Engine, Procedure
from streamfs.base import container
from streamfs.errors import LogError, ModelError, PayloadError, SettingsError, StateError
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import MESSAGE, RETAINED, Record, clock_record
from streamfs.gateway.messages.codecs import codec_for
from streamfs.gateway.operations.view_file import unpack
from streamfs.gateway.settings.moved_zones import read_moved
from streamfs.gateway.settings.profiles import read_profile
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.statuses import Status, troubles
from streamfs.gateway.storage.log_reader import read_segment
from streamfs.gateway.storage.segment import segment_name

CODECS = (
    codec_for("auto"),
    codec_for("json"),
    codec_for("json", value="a.b", time="a.t", time_unit="iso", sequence="n.s"),
    codec_for("json", fields={"a.b": "x", "v": "y"}, time="time", time_unit="ms"),
    codec_for("senml+json"),
    codec_for("senml+cbor"),
    codec_for("array"),
    codec_for("chirpstack"),
    codec_for("sparkplug"),
)
KINDS = ("zigbee2mqtt", "sparkplug", "shelly", "tasmota", "chirpstack")


@cache
def scratch() -> Path:
    """A folder for the files that parsers read, one a process."""
    return Path(mkdtemp(prefix="streamfs-fuzz-"))


@cache
def packed_snapshot() -> tuple[Procedure, bytes]:
    """A procedure, and the snapshot of an engine that follows it."""
    procedure = mean_procedure(confidence=0.99)
    engine = Engine(procedure)
    engine.admit("a")
    return procedure, engine.snapshot()


def decode(data: bytes) -> None:
    """The first byte draws a codec, the others are its payload."""
    CODECS[data[0] % len(CODECS) if data else 0].decode(data[1:], 0.0, "")


def load_model(data: bytes) -> None:
    """The archive of a model file, under a right checksum."""
    path = scratch() / "m.streamfs"
    path.write_bytes(b"streamfs model 2 " + hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
    Procedure.load(path)


def load_model_header(data: bytes) -> None:
    """The header of a model file that is right otherwise."""
    _, arrays, _ = container.unpack(mean_procedure().packed, "model", 2, "it", 1)
    header = orjson.loads(data)
    path = scratch() / "m.streamfs"
    path.write_bytes(container.pack("model", 2, header, arrays))
    Procedure.load(path)


def restore_snapshot(data: bytes) -> None:
    """The header of a snapshot that is right otherwise."""
    procedure, packed = packed_snapshot()
    _, arrays, _ = container.unpack(packed, "snapshot", 4, "it")
    Engine.restore(procedure, container.pack("snapshot", 4, orjson.loads(data), arrays))


def read_log_segment(data: bytes) -> None:
    """A segment of the log."""
    path = scratch() / segment_name(0)
    path.write_bytes(data)
    for _ in read_segment(path):
        pass


def read_toml(data: bytes) -> None:
    """The settings of a gateway."""
    path = scratch() / "gateway.toml"
    path.write_bytes(data)
    read_settings(path)


def hear_device(data: bytes) -> None:
    """The first bytes draw a kind of device, a topic, and whether it was retained; the others are what it says."""
    kind, place, is_retained, payload = data[:1], data[1:2], data[2:3], data[3:]
    snapshot, topics = device_snapshot(KINDS[int.from_bytes(kind) % len(KINDS)])
    core = Core.from_state(snapshot, MODELS)
    topic = topics[int.from_bytes(place) % len(topics)].replace("+", "d1").replace("#", "d1")
    heard = Record(RETAINED if int.from_bytes(is_retained) % 2 else MESSAGE, 60.0, topic, payload)
    core.take([heard, clock_record(120.0)])
    core.to_state()()


@cache
def device_snapshot(kind: str) -> tuple[bytes, list[str]]:
    """The state of a gateway that hears devices of a kind, and its topics."""
    core = begun(scratch(), kind)
    return core.to_state()(), sorted(core.topics)


def read_device_profile(data: bytes) -> None:
    """A profile of devices."""
    path = scratch() / "profile.toml"
    path.write_bytes(data)
    read_profile(path)


def read_zones(data: bytes) -> None:
    """The file of zones that were moved."""
    (scratch() / "zones.json").write_bytes(data)
    read_moved(scratch())


def unpack_view(data: bytes) -> None:
    """A view of a gateway."""
    unpack(data)


def read_status(data: bytes) -> None:
    """What another gateway says of itself, and what is wrong between it and one of ours."""
    status = Status.read(data)
    if status is not None:
        troubles([status, Status("ours", shard="1/2", came=("a",), left=("b",))])
        status.publication("streamfs")


TARGETS: dict[str, tuple[Callable[[bytes], None], type[Exception] | tuple[type[Exception], ...]]] = {
    "codecs": (decode, PayloadError),
    "model": (load_model, ModelError),
    "header": (load_model_header, (ModelError, orjson.JSONDecodeError)),
    "snapshot": (restore_snapshot, (ModelError, orjson.JSONDecodeError)),
    "segment": (read_log_segment, LogError),
    "settings": (read_toml, SettingsError),
    "device": (hear_device, ()),
    "profile": (read_device_profile, SettingsError),
    "view": (unpack_view, StateError),
    "status": (read_status, ()),
    "zones": (read_zones, StateError),
}
"""Each parser with what it may raise, by the name of the folder of its corpus."""


def run(name: str, data: bytes) -> None:
    """Give bytes to a parser; raise what it may not raise."""
    parse, refused = TARGETS[name]
    with suppress(refused):
        parse(data)
