"""The file of the model that a gateway is to follow: read when asked, and refused where it is no good."""

import logging
from collections import Counter
from collections.abc import Callable
from threading import Event

from streamfs.errors import ModelError, StreamfsError
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.recovery import last_model
from streamfs.gateway.rehearsal import rehearse
from streamfs.gateway.storage.state import State
from streamfs.procedure.procedure import Procedure

_log = logging.getLogger(__name__)

_NO_GOOD = (StreamfsError, OSError, ValueError)


class ModelFile:
    """Gives the model that is to be followed; one that cannot be is refused, and the one before followed on.

    Parameters
    ----------
    read : callable
        Returns the model that the file has now.

    Attributes
    ----------
    counters : Counter of str
        ``reloads``, and ``reload_failures``: how often the file was refused.
    refused : str
        What stands in the way of following the model in the file; empty if nothing does.

    Examples
    --------
    >>> def read():
    ...     raise StreamfsError("rooms.streamfs is damaged")
    >>> file = ModelFile(read)
    >>> file.first(None)
    Traceback (most recent call last):
    streamfs.errors.StreamfsError: rooms.streamfs is damaged
    """

    def __init__(self, read: Callable[[], Procedure]) -> None:
        self.counters = Counter(reloads=0, reload_failures=0)
        self.refused = ""
        self._read = read
        self._requested = Event()

    def first(self, state: State | None, *, trust: bool = False) -> Procedure:
        """Return what a run begins with: the model in the file, or the last run's if the file is no good.

        Parameters
        ----------
        state : State, optional
            What the last run has kept.
        trust : bool
            Whether a pickled River model in the state may be loaded.

        Raises
        ------
        StreamfsError
            If there is no good model in the file, and there was no run, or its model is no good either.
        """
        try:
            return self._read()
        except _NO_GOOD as error:
            last = None if state is None else _last(state, error, trust=trust)
            if last is None:
                raise
            self._refuse(error, last)
            return last

    def request(self) -> None:
        """Have the file read anew; to be called from any thread, and from a signal handler."""
        self._requested.set()

    def take_request(self) -> bool:
        """Whether the file is to be read anew, as was asked since this was last called."""
        is_requested = self._requested.is_set()
        self._requested.clear()
        return is_requested

    def newest(self, roster: Roster, keep: Callable[[Procedure], object]) -> Procedure | None:
        """Return the model that the file has now; None if it is refused.

        Parameters
        ----------
        roster : Roster
            The streams that are to follow it.
        keep : callable
            Puts it where a replay finds it.
        """
        try:
            procedure = self._read()
            rehearse(procedure, roster)
            keep(procedure)
        except _NO_GOOD as error:
            self._refuse(error, roster.newest.procedure)
            return None
        self.refused = ""
        self.counters["reloads"] += 1
        return procedure

    def accepted(self, procedure: Procedure, roster: Roster) -> Procedure:
        """Return the model that a run begins with, or the last run's if its streams cannot follow that one."""
        last = roster.newest.procedure
        if procedure.digest == last.digest:
            return procedure
        try:
            rehearse(procedure, roster)
        except _NO_GOOD as error:
            self._refuse(error, last)
            return last
        return procedure

    def _refuse(self, error: Exception, followed: Procedure) -> None:
        self.counters["reload_failures"] += 1
        self.refused = str(error)
        _log.error("the model file is refused, and model %s of before is followed on: %s", followed.digest, error)


def _last(state: State, error: Exception, *, trust: bool) -> Procedure | None:
    try:
        return last_model(state, trust=trust)
    except ModelError as other:
        raise ModelError(f"{error}; and of the last run's model: {other}") from other
