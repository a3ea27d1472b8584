"""Whether a model labels streams better than by a guess."""

from collections.abc import Mapping
from math import sqrt
from typing import Any, NamedTuple


class Guess(NamedTuple):
    """The commonest class, and the share of streams that are of it."""

    label: str
    share: float


def guess_as_good(held_out: Mapping[str, Any]) -> Guess | None:
    """Return the guess that was right of held-out streams about as often, or None if labels tell more.

    About as often is within a standard error of what luck makes of guesses.

    Parameters
    ----------
    held_out : mapping
        How many `streams` were `labelled`, and of these `right`, and `streams_of` each class, as in a model file.

    Examples
    --------
    >>> guess_as_good({"streams": 40, "labelled": 40, "right": 22, "streams_of": {"busy": 20, "calm": 20}})
    Guess(label='busy', share=0.5)
    >>> guess_as_good({"streams": 40, "labelled": 40, "right": 30, "streams_of": {"busy": 20, "calm": 20}})
    """
    streams_of, labelled = held_out["streams_of"], held_out["labelled"]
    commonest = max(streams_of, key=streams_of.__getitem__)
    share = streams_of[commonest] / held_out["streams"]
    luck = sqrt(share * (1.0 - share) * labelled)
    return Guess(commonest, share) if held_out["right"] <= share * labelled + luck else None
