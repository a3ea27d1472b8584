"""What is expected of decisions where a procedure serves: what was promised, or what held-out streams showed."""

from typing import Any, NamedTuple

from streamfs.errors import ModelError
from streamfs.procedure.betting import share_at_least
from streamfs.procedure.card_schema import (
    HeldOutFacts,
    PromiseFacts,
    certified_rule,
    is_certified,
    read_held_out,
    read_promise,
)
from streamfs.procedure.procedure import Procedure

OF_ACCURACY, OF_ERRORS = 0.4, 0.2
"""Parts of the risk of a false alarm that the test of the accuracy has, and that of errors."""

LEAST = 0.01
"""Least accuracy that is expected."""


class Expectation(NamedTuple):
    """The least accuracy and completeness, whether the accuracy is that of each class, and what labels may risk.

    `has_reference` says whether decisions look as those of the model file's reference, of whose labels `right`
    were right and `wrong` wrong.
    """

    accuracy: float
    completeness: float | None
    per_class: str | None
    risk_of_labels: float
    is_promised: bool
    has_reference: bool
    right: int
    wrong: int

    def to_json(self) -> dict[str, Any]:
        """Return accuracy and completeness as a JSON object, by whether they were promised."""
        shares = {"accuracy": self.accuracy}
        if self.completeness is not None:
            shares["completeness"] = self.completeness
        return {"promised": shares if self.is_promised else {}} | (
            {} if self.is_promised else {"expected": shares}
        )


def expectation_of(procedure: Procedure, risk: float) -> Expectation | None:
    """Return what is expected of a procedure; None if nothing is known of its stopping rule.

    Labels have a part of the `risk` of a false alarm. If nothing was promised, half of that is the risk that the
    accuracy is less than the bound that held-out streams support. Of a procedure with a promise whose threshold
    was raised, the accuracy alone is expected.

    Raise a ModelError if its model file says what no training has written.
    """
    promise = read_promise(procedure.about.get("promise"))
    if promise is None:
        return _held_out(procedure, risk * OF_ACCURACY / 2)
    is_raised = _is_raised(procedure, promise)
    if not is_certified(procedure.rule, promise) and not is_raised:
        return None
    completeness = None if is_raised else promise["completeness"]
    per_class = promise.get("per_class")
    labels = _labels(promise, "promise")
    return Expectation(
        promise["accuracy"], completeness, per_class, risk * OF_ACCURACY, True, not is_raised, *labels
    )


def _held_out(procedure: Procedure, risk: float) -> Expectation | None:
    """Return what held-out streams let expect, if they were decided by the procedure's rule."""
    facts = read_held_out(procedure.about.get("held_out"))
    if facts is None or facts.get("stopping") != procedure.rule.to_json():
        return None
    labels = _labels(facts, "held_out")
    return Expectation(max(share_at_least(*labels, risk), LEAST), None, None, risk, False, True, *labels)


def _labels(facts: PromiseFacts | HeldOutFacts, name: str) -> tuple[int, int]:
    """Return how many labels were right and wrong."""
    right, labelled = facts["right"], facts["labelled"]
    if right > labelled:
        raise ModelError(
            f"the model is damaged: {name}.right is {right}, expected at most {name}.labelled, {labelled}"
        )
    return right, labelled - right


def _is_raised(procedure: Procedure, promise: PromiseFacts) -> bool:
    """Return whether a procedure decides by a higher threshold than the certified one, from the same tick on."""
    own, certified = procedure.rule.thresholds(), certified_rule(promise)
    if own is None or (own.ticks, own.floors) != (certified.ticks, certified.floors):
        return False
    pairs = [*zip(own.levels, certified.levels, strict=True)]
    return own != certified and all(level >= least for level, least in pairs)
