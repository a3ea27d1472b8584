"""A simulated disk: real files; a failure of the power leaves what was synced, and any part of the rest."""

import errno
import os
import shutil
import stat
from collections import defaultdict
from contextlib import suppress

from process import pause

from streamfs.errors import StorageError
from streamfs.gateway.storage.journal import Journal
from streamfs.gateway.storage.segment import Segment

SECTOR = 512  # bytes that a disk writes together
DATABASE = "journal.sqlite"  # begin of the names of files that SQLite takes care of


class Disk:
    """The files below a folder, and what of them is durable: files and folders as they were when last synced.

    SQLite syncs what it commits; a failure of the power may tear what it writes meanwhile. Files are told apart by
    their inodes, which the file system must not use again soon: tmpfs does not.
    """

    def __init__(self, root, spool, timeline, process, random, faults):
        self.root, self._spool = root, spool
        self._journal, self._wal, self._shared = (root / f"journal.sqlite{end}" for end in ("", "-wal", "-shm"))
        self._timeline, self._process, self._random, self._faults = timeline, process, random, faults
        process.on_death = self.put_aside
        self._contents = {}  # durable bytes by inode
        self._entries = {}  # durable inodes by name, by the inode of their folder
        self._may_fail = "power" in process.deaths.values()
        self._n_syncs = 0
        self._journal_before = None  # bytes of the write-ahead log before the commit under way
        self._honest_database = None  # the database when the disk began to lie
        self._aside = root / "journal.sqlite-aside"
        self._files = []

    # What the gateway does

    def open(self, file):
        """Return a file whose writing is simulated."""
        self._files.append(file)
        return File(file, self)

    def sync(self, descriptor):
        """Make a file or a folder durable."""
        self._process.deal()
        self._take_time()
        self._n_syncs += 1
        if self._n_syncs in self._faults.failing_syncs:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self._may_fail and not self._faults.lies(self._timeline.now):
            self._keep(descriptor)

    def write(self, file, data):
        """Write to a file; all of it, unless the disk is full or the process dies."""
        try:
            self._process.deal()
        except BaseException:
            file.write(data[: self._random.randrange(len(data) + 1)])
            raise
        self._take_time()
        if self._faults.is_full(self._timeline.now):
            n = self._random.randrange(len(data))
            if self._random.random() < 0.5 and n:
                return file.write(data[:n])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return file.write(data)

    def commit(self, journal, entry):
        """Commit to the journal."""
        self._process.deal()
        self._take_time()
        if self._faults.is_full(self._timeline.now):
            raise StorageError(f"{journal.path} cannot be used: database or disk is full")
        self._journal_before = size(self._wal)
        numbers = COMMIT(journal, entry)
        self._process.deal()
        self._journal_before = None
        return numbers

    def _keep(self, descriptor):
        found = os.fstat(descriptor)
        if stat.S_ISDIR(found.st_mode):
            self._entries[found.st_ino] = entries(descriptor)
        else:
            self._contents[found.st_ino] = content(descriptor, found.st_size)

    def _take_time(self):
        seconds = self._faults.disk_latency(self._timeline.now)
        if seconds:
            pause(self._timeline, seconds)
            if self._process.is_dead:
                self._process.deal()

    # What becomes of it

    def begin_to_lie(self):
        """Remember the database, which a failure of the power will bring back."""
        self._honest_database = self._database()

    def put_aside(self):
        """Put the database where closing it does not change it: a process that is killed does not close it."""
        with suppress(FileNotFoundError):
            self._journal.rename(self._aside)

    def restart(self, *, power_failed):
        """Leave the files as they are found after the process has died."""
        for file in self._files:
            file.close()
        self._files.clear()
        with suppress(FileNotFoundError):
            self._aside.rename(self._journal)
        self._shared.unlink(missing_ok=True)
        if power_failed:
            self._lose_database()
            for inode, folder in self._lose_entries().items():
                for name, own in self._entries[inode].items():
                    self._lose_content(folder / name, own)
        self._journal_before = None

    def replace(self, root):
        """Let the disk be gone, and the files of another one, all of them durable, be in its place."""
        shutil.rmtree(self.root)
        root.rename(self.root)
        files = [path for path in self.root.rglob("*") if path.is_file() and not path.name.startswith(DATABASE)]
        self._contents |= {path.stat().st_ino: path.read_bytes() for path in files}
        self._entries |= {inode: entries(folder) for inode, folder in folders_in(self.root).items()}

    def _database(self):
        return {path: path.read_bytes() if path.exists() else None for path in (self._journal, self._wal)}

    def _restore(self, database):
        self._shared.unlink(missing_ok=True)
        for path, content in database.items():
            if content is None:
                path.unlink(missing_ok=True)
            else:
                path.write_bytes(content)

    def _lose_database(self):
        if self._honest_database is not None and self._random.random() < 0.5:
            self._restore(self._honest_database)
        elif self._journal_before is not None and (after := size(self._wal)) > self._journal_before:
            os.truncate(self._wal, self._random.randint(self._journal_before, after))
        self._honest_database = None

    def _lose_entries(self):
        """Let what was done to folders since they were synced be undone, or not: each file as a whole.

        Return the folders.
        """
        folders = folders_in(self.root) | folders_in(self._spool)
        durable = by_inode({folder: self._entries.get(inode, {}) for inode, folder in folders.items()})
        self._entries = {inode: entries(folder) for inode, folder in folders.items()}
        found = by_inode({folder: self._entries[inode] for inode, folder in folders.items()})
        keeps = defaultdict(lambda: self._random.random() < 0.5)  # whether what was done to a path is kept
        undone = [
            inode
            for inode in sorted(
                durable.keys() | found.keys(), key=lambda inode: durable.get(inode) or found[inode]
            )
            if durable.get(inode) != found.get(inode) and not keeps[durable.get(inode) or found.get(inode)]
        ]
        for inode in undone:
            if inode in found:
                found[inode].unlink()
        for inode in undone:
            if inode in durable and inode in self._contents:
                durable[inode].write_bytes(self._contents[inode])
                self._contents[durable[inode].stat().st_ino] = self._contents[inode]
        if undone:
            self._entries = {inode: entries(folder) for inode, folder in folders.items()}
        return folders

    def _lose_content(self, path, inode):
        """Let each sector that was not synced be as it was before, as it was written, or, if it is new, zero."""
        durable, found = self._contents.get(inode, b""), path.read_bytes()
        if durable == found:
            return
        size = self._random.randint(min(len(durable), len(found)), max(len(durable), len(found)))
        left = bytearray(size)
        for at in range(0, size, SECTOR):
            part = self._random.choice((durable, found))[at : min(at + SECTOR, size)]
            left[at : at + len(part)] = part
        path.write_bytes(left)
        self._contents[inode] = bytes(left)


def size(path):
    """Return the bytes of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def content(descriptor, size):
    """Return the bytes of an open file, which may be open for writing alone."""
    try:
        return os.pread(descriptor, size, 0)
    except OSError:
        again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY)
        try:
            return os.pread(again, size, 0)
        finally:
            os.close(again)


def folders_in(root):
    """Return a folder and those in it, at any depth, by their inodes; none if it is not there."""
    try:
        with os.scandir(root) as found:
            below = [root / each.name for each in found if each.is_dir()]
    except FileNotFoundError:
        return {}
    return {root.stat().st_ino: root} | {inode: path for each in below for inode, path in folders_in(each).items()}


def entries(folder):
    """Return the inodes of a folder's files by name, except those of the database; it may be open, too."""
    with os.scandir(folder) as found:
        return {each.name: each.inode() for each in found if not (each.name.startswith(DATABASE) or each.is_dir())}


def by_inode(folders):
    """Return the paths of the entries of folders, by inode."""
    return {inode: folder / name for folder, known in folders.items() for name, inode in known.items()}


COMMIT, START = Journal.commit, Segment._start


class File:
    """An open file of a segment, written through the simulated disk."""

    def __init__(self, file, disk):
        self._file, self._disk = file, disk

    def __getattr__(self, name):
        return getattr(self._file, name)

    def fileno(self):
        return self._file.fileno()

    def write(self, data):
        return self._disk.write(self._file, data)
