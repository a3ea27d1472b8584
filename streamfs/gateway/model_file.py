"""The model file of a gateway: loaded on request, and rejected if its model cannot be used."""

import logging
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from streamfs.base.container import DAMAGED
from streamfs.engine.engine import Engine
from streamfs.errors import ModelError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.recovery import last_model
from streamfs.gateway.storage.state import State
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.promise_monitor import monitor_of

_log = logging.getLogger(__name__)

_INVALID = (StreamfsError, OSError, *DAMAGED)


class Renewed(NamedTuple):
    """A model and, if the settings have changed, bindings and options; `accept` is called once they hold."""

    procedure: Procedure
    bindings: Bindings | None = None
    options: Options | None = None
    accept: Callable[[], object] | None = None


class ModelFile:
    """Loads the model for new episodes; if it is invalid, the gateway keeps using the previous model.

    `read_again` returns a model and, if the settings have changed, bindings and options: all are taken over, or
    none. `kept` returns an earlier model by its digest.
    """

    def __init__(
        self,
        read: Callable[[], Procedure],
        read_again: Callable[[], Renewed] | None = None,
        kept: Callable[[str], Procedure] | None = None,
    ) -> None:
        self.counters = Counter(reloads=0, reload_failures=0)
        self.refused = ""  # why the model in the file was rejected
        self._read = read
        self._read_again: Callable[[], Renewed] = (lambda: Renewed(read())) if read_again is None else read_again
        self._kept = kept
        self._wanted = ""
        self._is_requested = False  # no Event, whose lock a signal handler may find held by what it interrupts

    def first(self, state: State | None, *, trust: bool = False) -> Procedure:
        """Return the model of a new run: that of the file, or the last run's if the file is invalid.

        Raise the file's error if there was no run, and a ModelError if the last run's model is invalid too.
        """
        try:
            return self._read()
        except _INVALID as error:
            last = None if state is None else _last(state, error, trust=trust)
            if last is None:
                raise
            self._refuse(error, last)
            return last

    def request(self, digest: str = "") -> None:
        """Request a reload, or an earlier model; may be called from any thread, and from a signal handler."""
        self._wanted = digest
        self._is_requested = True

    def take_request(self) -> bool:
        """Return whether a reload was requested since the last call."""
        if not self._is_requested:
            return False
        self._is_requested = False
        return True

    def newest(self, roster: Roster, keep: Callable[[Procedure], object]) -> Renewed | None:
        """Load what is requested and ``keep`` it for replays; return None if it is rejected for these streams."""
        wanted, self._wanted = self._wanted, ""
        try:
            renewed = Renewed(self._earlier(wanted)) if wanted else self._read_again()
            rehearse(renewed.procedure, roster, renewed.bindings)
            keep(renewed.procedure)
        except _INVALID as error:
            self._refuse(error, roster.newest.procedure)
            return None
        if renewed.accept is not None:
            renewed.accept()
        self.refused = ""
        self.counters["reloads"] += 1
        return renewed

    def _earlier(self, digest: str) -> Procedure:
        if self._kept is None:
            raise ModelError(f"model {digest} is not kept: there is no state")
        return self._kept(digest)

    def accepted(self, procedure: Procedure, roster: Roster) -> Procedure:
        """Return the model of a new run, or the last run's if it is rejected for these streams."""
        last = roster.newest.procedure
        if procedure.digest == last.digest:
            return procedure
        try:
            rehearse(procedure, roster)
        except _INVALID as error:
            self._refuse(error, last)
            return last
        return procedure

    def _refuse(self, error: Exception, followed: Procedure) -> None:
        self.counters["reload_failures"] += 1
        self.refused = str(error)
        _log.error("new model or settings were rejected; model %s stays in use: %s", followed.digest, error)


def _last(state: State, error: Exception, *, trust: bool) -> Procedure | None:
    try:
        return last_model(state, trust=trust)
    except ModelError as other:
        raise ModelError(f"{error}; and the last run's model: {other}") from other


def rehearse(procedure: Procedure, roster: Roster, bindings: Bindings | None = None) -> None:
    """Try a model before any stream depends on it, by default with the roster's bindings.

    Raise a ModelError if its period is not that of the previous models, no node has a channel's role, its promise
    is damaged, or it returns no probabilities.
    """
    period = roster.newest.procedure.period
    if procedure.period != period:
        raise ModelError(
            f"the model has a period of {procedure.period:g} s, expected {period:g} s, that of the previous "
            "model; one of another period needs a state of its own"
        )
    bindings = roster.bindings if bindings is None else bindings
    try:
        bindings.with_channels(procedure.channels)
        bindings.with_channels(roster.routes.channels)
    except ValueError as error:
        raise ModelError(f"the model does not fit the bindings: {error}") from error
    monitor_of(procedure)
    samples = np.zeros((2, len(procedure.channels)))
    samples[1] = np.nan
    Engine(procedure).push_batch(["zeros", "nothing"], [0.0, 0.0], samples)
    probabilities = procedure.classifier.probabilities(np.full((1, len(procedure.features)), np.nan))
    if not (np.isfinite(probabilities).all() and (probabilities >= 0).all()):
        raise ModelError(
            f"the model gives {probabilities.tolist()} for undefined features, expected probabilities"
        )
