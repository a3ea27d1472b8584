"""Whether a model can be followed from now on."""

import numpy as np

from streamfs.engine.engine import Engine
from streamfs.errors import ModelError
from streamfs.gateway.core.roster import Roster
from streamfs.procedure.procedure import Procedure


def rehearse(procedure: Procedure, roster: Roster) -> None:
    """Try a model before any stream depends on it.

    Raises
    ------
    ModelError
        If its ticks are not those of the models before, no node has a channel's role, or it gives no
        probabilities.
    """
    period = roster.newest.procedure.period
    if procedure.period != period:
        raise ModelError(f"the model has a period of {procedure.period:g} s, expected {period:g} s, as before")
    try:
        roster.bindings.with_channels(procedure.channels)
    except ValueError as error:
        raise ModelError(f"the model does not fit the bindings: {error}") from error
    samples = np.zeros((2, len(procedure.channels)))
    samples[1] = np.nan
    Engine(procedure).push_batch(["zeros", "nothing"], [0.0, 0.0], samples)
    probabilities = procedure.classifier.probabilities(np.full((1, len(procedure.features)), np.nan))
    if not (np.isfinite(probabilities).all() and (probabilities >= 0).all()):
        raise ModelError(
            f"the model gives {probabilities.tolist()} for undefined features, expected probabilities"
        )
