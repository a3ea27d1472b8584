"""No reader of files waits for a pipe or a device, or takes the memory that a huge file would need."""

import os
import resource
from contextlib import contextmanager
from pathlib import Path

import pytest
from helpers.keys import make_keys
from helpers.patience import refusal
from helpers.procedures import channels_procedure

from streamfs import Instances, Procedure, StreamSet
from streamfs.base.csv_rows import read_rows
from streamfs.cli.histories.find import history
from streamfs.errors import DataError
from streamfs.gateway.settings.moved_zones import FILE as ZONES
from streamfs.gateway.settings.moved_zones import read_moved
from streamfs.gateway.settings.pairs_file import read_pairs
from streamfs.gateway.settings.profiles import read_profile
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.journal_reader import JournalReader
from streamfs.gateway.storage.last_run import FILE as LAST_RUN
from streamfs.gateway.storage.last_run import LastRun
from streamfs.gateway.storage.models import check_model
from streamfs.gateway.storage.segment import find_end, segment_name
from streamfs.gateway.transport.broker_address import Tls, resolve
from streamfs.page.server import read_password
from streamfs.procedure.signature import check_signature, sign, signature_path

HUGE = 20 << 30  # bytes, of a file that has none on disk
LITTLE = 400 << 20  # bytes of memory


@contextmanager
def memory_limit(n_bytes):
    """Let the process have at most this many bytes of addresses more."""
    used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def check_key(path):
    check_signature("model.streamfs", b"", path)


def load_signed(path):
    """Load a model whose signature is elsewhere than it was."""
    model, (private, public) = path.with_suffix(""), make_keys(path.parent)
    channels_procedure("x").save(model)
    path.replace(path.with_name("aside"))
    sign(model, private)
    path.with_name("aside").replace(signature_path(model))
    Procedure.load(model, public_key=public)


READERS = {
    "model.streamfs": Procedure.load,
    "model.streamfs.sig": load_signed,
    "models.pub": check_key,
    "gateway.toml": read_settings,
    "thing.toml": read_profile,
    "pairs.csv": read_pairs,
    "password": lambda path: resolve("mqtt://localhost", "u", password_file=path),
    "ca.pem": lambda path: Tls(ca=path),
    "page password": read_password,
    ZONES: lambda path: read_moved(path.parent),
    LAST_RUN: lambda path: LastRun.read(path.parent),
    "0123456789abcdef.streamfs": check_model,
    segment_name(0): find_end,
    "journal.sqlite": JournalReader,
    "journal.sqlite of a gateway": Journal,
    "history.csv": lambda path: StreamSet.read(path) if history(path) is None else None,
    "groups.csv": lambda path: list(read_rows(path)),
    "streams.csv": StreamSet.read,
    "streams.ts": StreamSet.read,
    "streams.parquet": StreamSet.read,
    "instances.arff": Instances.read,
}


@pytest.mark.parametrize("name", READERS)
def test_a_pipe_is_not_waited_for(tmp_path, name):
    os.mkfifo(tmp_path / name)
    told = refusal(READERS[name], tmp_path / name)
    assert str(tmp_path / name) in told
    assert "it is a pipe, expected a file" in told


@pytest.mark.parametrize("name", READERS)
def test_a_huge_file_takes_no_memory(tmp_path, name):
    (tmp_path / name).touch()
    os.truncate(tmp_path / name, HUGE)
    with memory_limit(LITTLE):
        assert str(tmp_path / name) in refusal(READERS[name], tmp_path / name)


@pytest.mark.parametrize(
    "name", ["model.streamfs", "groups.csv", "streams.parquet", "instances.arff", "gateway.toml"]
)
@pytest.mark.parametrize("letter", ["\0", "\ud800"])
def test_a_name_that_no_file_can_have_is_refused(tmp_path, name, letter):
    told = refusal(READERS[name], tmp_path / f"{letter}{name}")
    assert name in told
    assert "no file can have this name" in told or "No such file" in told


def test_labels_and_groups_in_a_file_of_such_a_name_are_refused(tmp_path):
    (tmp_path / "log.csv").write_text("stream,time,x\na,0,1\n")
    for field in ("labels", "groups"):
        with pytest.raises(DataError, match=r"some\0\.csv cannot be read: no file can have this name"):
            StreamSet.read(tmp_path / "log.csv", labelled=field == "labels", **{field: "some\0.csv"})
