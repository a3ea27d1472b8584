"""What to do about a promise that is not kept, or in doubt."""

from collections.abc import Mapping
from typing import Any

STATUSES = KEPT, IN_DOUBT, WITHDRAWN = "kept so far", "in doubt", "withdrawn"
"""As `PromiseMonitor.status` has them."""

MOST_NAMED = 3
"""Quantities that the warning names."""


def promise_warnings(promise: Mapping[str, Any] | None, labels: str) -> list[str]:
    """Return the warning of what `PromiseMonitor.to_json` has returned, None if nothing is expected.

    >>> found = {"what": "confidence", "number": 12, "time": 0.0}
    >>> known = {"status": "in doubt", "promised": {"accuracy": 0.8}, "findings": [found]}
    >>> (warning,) = promise_warnings(known, "streamfs/label/{stream}")
    >>> warning[:60]
    'the promise is in doubt: decisions differ from those that it'
    """
    if promise is None or promise["status"] == KEPT:
        return []
    if promise["status"] == IN_DOUBT:
        found, is_promised = promise["findings"], bool(promise["promised"])
        named = ", ".join(f"{each['what']} (after {each['number']})" for each in found[:MOST_NAMED])
        named += ", ..." if len(found) > MOST_NAMED else ""
        what, before = (
            ("the promise is in doubt", "those that it was certified on")
            if is_promised
            else ("the model may be wrong here", "those on held-out streams in training")
        )
        purpose = "whether it is kept" if is_promised else "how often it is right"
        advice = f"publish true labels to {labels} to learn {purpose}, or train again with streams from here"
        return [f"{what}: decisions differ from {before}, in {named}; {advice}"]
    promised = promise["promised"]
    of_all = [each for each in promise["findings"] if each["what"] in promised]
    of_classes = [each for each in promise["findings"] if each["what"].startswith("accuracy of ")]
    broken = (of_all or of_classes)[0]
    what, number = broken["what"], broken["number"]
    right = f"{promise['right']} of {promise['labels']} labels are right"
    shown = right if what == "accuracy" else f"shown by {number} {'decisions' if of_all else 'labels'}"
    least = promised.get(what, promised["accuracy"])
    broken = f"the promise is withdrawn: {what} is less than {least:g} here"
    return [f"{broken} ({shown}); recertify it with labelled streams of this place, or train again"]
