"""Whether a machine is fit: versions, compiled code, clock, disk and broker."""

import ctypes
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from shutil import disk_usage
from tempfile import NamedTemporaryFile
from typing import NamedTuple

from feature_extractors._compiled import in_c
from streamfs.errors import TransportError
from streamfs.gateway.transport.broker_address import BrokerAddress
from streamfs.gateway.transport.transport import Transport
from streamfs.relief._kernels import difference

OK, NOTE, WARNING, ERROR = "ok", "note", "warning", "error"

RELEASED = 1_760_000_000.0
"""Seconds since 1970 at which this version did not exist yet: a clock before is wrong."""

LEAST_FREE = 1e9
"""Bytes below which a disk is nearly full."""

SLOWEST_SYNC = 0.1
"""Seconds for making a small file durable, beyond which commits hold a gateway up."""

PATIENCE = 5.0
"""Seconds to reach a broker."""

EXTRAS = ("train", "gateway", "plot", "report", "sign", "sparkplug")
"""What may be installed beside what is always needed."""

_EXTRA = re.compile(r"extra == [\"'](\w+)")

_REPEATS = 5  # of a write, of which the median is told
_UNSYNCHRONISED = 5  # what adjtimex returns (TIME_ERROR)


class Diagnosis(NamedTuple):
    """What was looked at, how grave it is, and what was found, with what to do."""

    what: str
    status: str
    text: str


def packages() -> Iterator[Diagnosis]:
    """Yield the versions of Python and of what streamfs needs, and which extras are complete."""
    yield Diagnosis("python", OK, sys.version.split()[0])
    yield Diagnosis("streamfs", OK, version("streamfs"))
    lacks: dict[str, list[str]] = {}
    for requirement in requires("streamfs") or ():
        name, of_extra = re.split(r"[^\w.-]", requirement, maxsplit=1)[0], _EXTRA.search(requirement)
        installed = _installed(name)
        if of_extra is not None and installed is None:
            lacks.setdefault(of_extra[1], []).append(name)
        elif of_extra is None:
            text = "is not installed: install streamfs anew" if installed is None else installed
            yield Diagnosis(name, ERROR if installed is None else OK, text)
    for extra in EXTRAS:
        missing = lacks.get(extra, [])
        text = f"lacks {', '.join(missing)}: pip install 'streamfs[{extra}]'" if missing else "is complete"
        yield Diagnosis(f"extra {extra}", NOTE if missing else OK, text)


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def compiled_code() -> Diagnosis:
    """Say whether the kernels that serve are built, and others can be kept once they are compiled."""
    if in_c() is None:
        return Diagnosis("compiled code", NOTE, "lacks the kernels in C, so that a gateway starts late")
    try:
        folder = Path(difference.dispatcher.stats.cache_path)
    except ModuleNotFoundError:
        return Diagnosis("compiled code", OK, "has the kernels in C that serve; others are compiled for training")
    except RuntimeError:
        return Diagnosis("compiled code", ERROR, "has no folder: set NUMBA_CACHE_DIR to a writable one")
    n_files = sum(1 for _ in folder.glob("*.nbi"))
    return Diagnosis("compiled code", OK, f"is kept in {folder}" + ("" if n_files else ", which is empty so far"))


def clock(now: float) -> Diagnosis:
    """Say whether the clock of the machine is right, as far as the machine knows."""
    if now < RELEASED:
        shown = time.strftime("%Y-%m-%d %H:%M", time.gmtime(now))
        return Diagnosis("clock", ERROR, f"says {shown}, which is in the past: set it, or run an NTP client")
    if _is_unsynchronised():
        return Diagnosis("clock", WARNING, "is not synchronised: run an NTP client, such as systemd-timesyncd")
    return Diagnosis("clock", OK, time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(now)))


def _is_unsynchronised() -> bool:
    """Ask the kernel; a system without the call is taken to be synchronised."""
    asked = getattr(ctypes.CDLL(None), "adjtimex", None)
    return asked is not None and asked(ctypes.create_string_buffer(512)) == _UNSYNCHRONISED


def disk(what: str, folder: Path) -> Iterator[Diagnosis]:
    """Yield whether a folder, or the first above it that exists, can be written, has room, and is quick enough."""
    place = next((each for each in (folder, *folder.absolute().parents) if each.exists()), Path("/"))
    if not place.is_dir():
        yield Diagnosis(what, ERROR, f"{place} is not a folder")
        return
    if not os.access(place, os.W_OK | os.X_OK):
        yield Diagnosis(what, ERROR, f"{place} cannot be written by this user")
        return
    free = disk_usage(place).free
    status = OK if free >= LEAST_FREE else WARNING
    yield Diagnosis(what, status, f"{place} has {free / 1e9:.1f} GB free")
    try:
        seconds = _seconds_to_sync(place)
    except OSError as error:
        yield Diagnosis(what, ERROR, f"{place} takes no file: {error.strerror}")
        return
    slow = seconds > SLOWEST_SYNC
    advice = ": commits will hold a gateway up; use a quicker disk or card" if slow else ""
    yield Diagnosis(what, WARNING if slow else OK, f"makes a small file durable in {1e3 * seconds:.2g} ms{advice}")


def _seconds_to_sync(folder: Path) -> float:
    """Return the median time for writing a small file and making it durable."""
    found = []
    with NamedTemporaryFile(dir=folder, prefix=".streamfs-doctor-") as file:
        for _ in range(_REPEATS):
            start = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            found.append(time.perf_counter() - start)
    return sorted(found)[_REPEATS // 2]


def broker(address: BrokerAddress) -> Diagnosis:
    """Connect to a broker, and say whether it accepts the connection and the credentials."""
    try:
        with closing(Transport(address)) as transport:
            transport.connect(PATIENCE)
    except TransportError as error:
        return Diagnosis("broker", ERROR, str(error))
    return Diagnosis("broker", OK, f"{address} accepts the connection")
