"""A count that several processes add to, reported while they work."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from streamfs.base.progress import Progress

_SECONDS = 0.5  # from one report to the next


@dataclass(frozen=True)
class Tally:
    """A count in a file, a byte for one; appending a byte is atomic."""

    path: Path

    def add(self) -> None:
        """Count one more."""
        with self.path.open("ab") as file:
            file.write(b".")

    def count(self) -> int:
        """Return how many were counted."""
        return self.path.stat().st_size


@contextmanager
def reported_tally(progress: Progress, what: str, total: int) -> Iterator[Tally]:
    """Yield a tally for other processes; what they count is reported from a thread."""
    with TemporaryDirectory() as folder:
        tally, is_over = Tally(Path(folder) / "tally"), Event()
        tally.path.touch()

        def report() -> None:
            while not is_over.wait(_SECONDS):
                progress(what, tally.count(), total)

        progress(what, 0, total)
        reporter = Thread(target=report, daemon=True)
        reporter.start()
        try:
            yield tally
        finally:
            is_over.set()
            reporter.join()
        progress(what, tally.count(), total)
