"""Reading a journal from a folder that its reader may not write to, in each state that a gateway leaves it in."""

import os
import shutil
import subprocess
import sys

import pytest

from streamfs.gateway.core.energy_account import EnergyAccount
from streamfs.gateway.storage.journal import Entry, Journal

READ = "from streamfs.gateway.storage.journal_reader import JournalReader\n\
from streamfs.errors import StreamfsError\n\
try:\n    with JournalReader('journal.sqlite') as reader:\n        print(reader.counts()['energy'])\n\
except StreamfsError as error:\n    print(error)"

BEGIN = "from streamfs.gateway.storage.journal import Journal\n\
from streamfs.errors import StreamfsError\n\
with Journal('journal.sqlite') as journal:\n    try:\n        journal.begin()\n\
    except StreamfsError as error:\n        print(error)"


@pytest.fixture
def bystander(tmp_path):
    """Read as somebody who may not write to the folder."""
    drop = []
    if os.geteuid() == 0:  # root may write anywhere, unless it gives up its capabilities
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv not found: root cannot be kept from writing")
        drop = ["setpriv", "--inh-caps=-all", "--bounding-set=-all"]

    def read(code=READ, mode=0o555):
        tmp_path.chmod(mode)
        command = [*drop, sys.executable, "-c", code]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        tmp_path.chmod(0o755)
        return found.stdout.strip()

    yield read
    tmp_path.chmod(0o755)


def test_a_journal_is_read_or_said_to_be_unreadable_but_never_read_wrongly(tmp_path, bystander):
    path = tmp_path / "journal.sqlite"
    line = EnergyAccount().node("n1", (1, 2, 3.0))
    with Journal(path) as journal:
        journal.commit(Entry(1, energy=[line, line]))
        assert bystander() == "2"  # the gateway runs
        for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
            shutil.copy(tmp_path / name, tmp_path / f"{name}.kept")
    assert sorted(file.name for file in tmp_path.glob("*-???")) == []
    assert bystander() == "2"  # it was stopped
    for name in ("journal.sqlite", "journal.sqlite-wal", "journal.sqlite-shm"):
        (tmp_path / f"{name}.kept").rename(tmp_path / name)
    assert bystander() == "2"  # it was killed
    (tmp_path / "journal.sqlite-shm").unlink()
    assert "unable to open database file" in bystander()  # part of the folder was copied


def test_a_journal_that_may_not_be_written_is_refused_as_it_is_begun(tmp_path, bystander):
    path = tmp_path / "journal.sqlite"
    with Journal(path) as journal:
        journal.begin()
    assert bystander(BEGIN, 0o755) == ""
    path.chmod(0o444)
    assert "journal.sqlite may not be written" in bystander(BEGIN, 0o755)
