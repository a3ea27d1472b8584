"""What is said of streams that are not independent of others, of which each tells less than one alone."""

from collections.abc import Iterator, Mapping
from typing import Any

AS_ALONE = "count as if each was recorded on its own"


def ties_text(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences about streams that are copies, or share a node's readings, without a full stop.

    Parameters
    ----------
    facts : mapping
        The numbers of `copies`, of streams that were kept together as they are `sharing` a node's readings, and of
        those that were `torn` apart though they share some; missing ones are 0.

    Examples
    --------
    >>> list(ties_text({"sharing": 4}))
    ["4 streams share a node's readings with others: kept together, they count as if each was recorded on its own"]
    """
    copies, sharing, torn = (facts.get(name) or 0 for name in ("copies", "sharing", "torn"))
    if copies:
        yield f"{copies} streams are equal, or nearly equal, to others: kept together, they {AS_ALONE}"
    if sharing:
        yield f"{sharing} streams share a node's readings with others: kept together, they {AS_ALONE}"
    if torn:
        yield (
            f"{torn} streams share a node's readings with others, and no division keeps all of these together: "
            "other nodes, and other times, may fare worse"
        )
