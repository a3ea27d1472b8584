"""A procedure with a promise, and decisions as it makes them."""

from dataclasses import replace

import numpy as np
from helpers.procedures import channels_procedure

from streamfs.procedure.procedure import Decision
from streamfs.procedure.reference import reference_of

EVIDENCE = {"risk": 0.05, "threshold": 0.9, "streams": 100, "labelled": 90, "right": 85, "cost": 1.0, "ticks": 3.0}
PROMISE = {**EVIDENCE, "accuracy": 0.8, "completeness": 0.7}
PLAIN = channels_procedure("x", "y")


def decisions(rng, n, level=0.0, completeness=0.9):
    """Decisions and their feature values, of which the first has a level."""
    for i in range(n):
        label = "on" if rng.random() < completeness else None
        reason = "timeout" if label is None else "confident"
        decision = Decision(
            f"s{i}", 1, label, 0.9 + 0.1 * rng.random(), int(rng.integers(1, 6)), 1.0, reason, float(i)
        )
        yield decision, rng.normal([level, 0.0])


def promised(promise=PROMISE, **about):
    reference = reference_of(PLAIN, decisions(np.random.default_rng(0), 150))
    return replace(PLAIN, about={"promise": promise, "reference": reference, **about})
