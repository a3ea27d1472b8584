"""Whether a model labels streams better than by a guess."""

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple

STATED = 0.001
"""What is stated of labels that are guesses exceeds the share of the commonest class by this at most."""


class Guess(NamedTuple):
    """The commonest class, and the share of streams that are of it."""

    label: str
    share: float


def guess_as_good(held_out: Mapping[str, Any]) -> Guess | None:
    """Return the guess that was right of held-out streams about as often, or None if labels tell more.

    About as often is within a standard error of what luck makes of guesses, or two if no more is stated than of
    guesses.

    Parameters
    ----------
    held_out : mapping
        How many `streams` were `labelled`, and of these `right`, the mean confidence `stated`, and `streams_of`
        each class, as in a model file.

    Examples
    --------
    >>> found = {"streams": 40, "labelled": 40, "streams_of": {"busy": 20, "calm": 20}}
    >>> guess_as_good({**found, "right": 22, "stated": 0.6})
    Guess(label='busy', share=0.5)
    >>> guess_as_good({**found, "right": 30, "stated": 0.7})
    """
    streams_of, labelled = held_out["streams_of"], held_out["labelled"]
    commonest = max(streams_of, key=streams_of.__getitem__)
    share = streams_of[commonest] / held_out["streams"]
    luck = sqrt(share * (1.0 - share) * labelled)
    errors = 2.0 if held_out["stated"] <= share + STATED else 1.0
    return Guess(commonest, share) if held_out["right"] <= share * labelled + errors * luck else None
