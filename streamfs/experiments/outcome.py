"""The methods that the paper's experiment compares, and what it measures of each."""

from dataclasses import dataclass

from streamfs.selection.by_name import SELECTORS
from streamfs.training.query_sensitive import NAMED

NAIVE, COST_BASED, RELIEF, LITERAL, STREAM_RELIEF = "naive", "cost-based", "Relief", "literal", "StreamRelief"
METHODS = (NAIVE, COST_BASED, RELIEF, LITERAL, STREAM_RELIEF)
"""The methods of section 3: C4.5 on all features; C4.5 that splits by gain over cost; C4.5 on the features that
Relief selects, that StreamRelief selects as printed, and that it selects with a relevance floor."""

NO_FLOOR = "no floor"
"""StreamRelief without its relevance floor, to show what the floor changes."""

PROMISE = "promise"
"""The cheapest features and threshold for which an accuracy, given in place of the threshold, can be promised at
`PROMISED_COMPLETENESS`; its measures are NaN if the promise is refused."""

PROMISED_COMPLETENESS = 0.9

OTHERS = (*(name for name in SELECTORS if name not in ("streamrelief", "literal", "relief")), *NAMED)
"""The other selections by name, each with C4.5 on its features, and the query-sensitive neighbours."""

MEASURES = ("completeness", "accuracy", "ticks", "cost", "sent", "offered_cost", "n_tested", "n_offered")


@dataclass(frozen=True)
class Outcome:
    """Result of one method on one split, at one confidence threshold (of `PROMISE`: at one promised accuracy).

    Completeness is the share of test streams that get a label, accuracy the share of those labels that are
    correct, NaN if there are none; ticks are the mean until the decision. `cost` is that of equation 1 for the
    features that the classifier tests, `offered_cost` for all that it is offered; query-sensitive neighbours pay
    while they request. `sent` is the mean cost of a stream's messages until its decision, each channel that is
    read counting once.
    """

    method: str
    confidence: float
    seed: int
    completeness: float
    accuracy: float
    ticks: float
    cost: float
    sent: float
    offered_cost: float
    n_tested: int
    n_offered: int


def check_method(method: str) -> None:
    """Raise a ValueError unless a method is known."""
    methods = (*METHODS, NO_FLOOR, PROMISE, *OTHERS)
    if method not in methods:
        raise ValueError(f"method is {method!r}, expected one of {', '.join(methods)}")
