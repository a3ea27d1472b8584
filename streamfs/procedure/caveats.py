"""Why held-out streams, or those of a test, may promise more than new ones keep."""

from collections.abc import Iterator, Mapping
from typing import Any

AS_ALONE = "count as if each was recorded on its own"


def caveats(facts: Mapping[str, Any]) -> Iterator[str]:
    """Yield sentences, without a full stop, about streams that are not independent, and about later ones.

    Parameters
    ----------
    facts : mapping
        The numbers of `copies`, of streams that were kept together as they are `sharing` a node's readings, and of
        those that were `torn` apart though they share some; and how `later` streams fare. Any may be missing.

    Examples
    --------
    >>> list(caveats({"sharing": 4}))
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
    if "later" in facts:
        later = facts["later"]
        right, mixed = (later[name] / later["streams"] for name in ("right", "mixed"))
        yield (
            f"of the {later['streams']} latest streams {right:.3f} are right if only earlier ones are learned, "
            f"{mixed:.3f} if those of all times are: what tells the classes apart drifts, so record for longer"
        )
