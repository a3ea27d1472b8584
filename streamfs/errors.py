"""Errors about data and the outside world; a caller's mistake is a ValueError or a TypeError."""

from collections.abc import Callable, Mapping
from typing import Any


class StreamfsError(Exception):
    """Base class of the errors that streamfs raises about data or the outside world."""


class DataError(StreamfsError, ValueError):
    """Recorded streams that cannot be read, or that do not match the request."""


class LayoutError(DataError):
    """A recording that is laid out in another way than was said, with what to say instead.

    Parameters
    ----------
    problem : str
        What was found, and what was expected.
    proposal : dict, optional
        Fields of a `Layout` that fit the recording, by name; empty if none are known.
    needed : mapping of str to str, optional
        Fields of a `Layout` that only who recorded it can give, and what they are.

    Examples
    --------
    >>> print(LayoutError("log.csv has no column 'time', only t, x", {"time": "t"}))
    log.csv has no column 'time', only t, x; try time='t'
    >>> print(LayoutError("log.csv has no column 'time', only a, x", needed={"time": "the column of times"}))
    log.csv has no column 'time', only a, x; give time (the column of times)
    """

    def __init__(
        self, problem: str, proposal: Mapping[str, Any] | None = None, needed: Mapping[str, str] | None = None
    ) -> None:
        self.problem, self.proposal, self.needed = problem, dict(proposal or {}), dict(needed or {})
        fields = ", ".join(f"{name}={value!r}" for name, value in self.proposal.items())
        super().__init__(f"{problem}; try {fields}" if fields else f"{problem}{self.advice()}")

    def advice(self, spelt: Callable[[str], str] = str) -> str:
        """Return what to give, the names of fields as they are `spelt`; empty if nothing is needed."""
        given = " and ".join(f"{spelt(name)} ({what})" for name, what in self.needed.items())
        return f"; give {given}" if given else ""


class ModelError(StreamfsError):
    """A model file or a snapshot that is damaged, of another version, or not trusted."""


class TranslationError(StreamfsError):
    """A function or a model that cannot be translated to C."""


class TrainingError(DataError):
    """Streams from which a procedure cannot be trained."""


class PayloadError(StreamfsError):
    """A message whose payload cannot be read.

    Parameters
    ----------
    message : str
        What was found, and what was expected.
    cause : str
        What is wrong, in a word by which messages are counted: one of `CAUSES`.

    Examples
    --------
    >>> PayloadError("t is 'noon', expected a number of seconds", "time").cause
    'time'
    """

    CAUSES = ("channel", "command", "content", "label", "number", "sequence", "size", "syntax", "time")
    """Of these, ``content`` is whatever has no word of its own."""

    def __init__(self, message: str, cause: str = "content") -> None:
        super().__init__(message)
        self.cause = cause


class SettingsError(StreamfsError):
    """Invalid settings, with one line per error."""


class TransportError(StreamfsError):
    """A broker that cannot be reached or refuses."""


class ServedError(StreamfsError):
    """What a gateway is to serve is served by another one."""


class StorageError(StreamfsError):
    """A write that failed because the disk is full or failing; it may be retried."""


class StateError(StreamfsError):
    """State on disk that is in use, damaged, of another version, or inconsistent."""


class LogError(StateError):
    """A log that is damaged, or that lacks the requested records."""


class ClusterError(StreamfsError):
    """A cluster that cannot be reached, or lacks what it needs."""


class MissingExtraError(StreamfsError):
    """An optional package that is not installed, with the extra that installs it."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed; install it with: pip install 'streamfs[{extra}]'")
