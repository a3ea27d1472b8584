"""Readings of nodes as those of the streams that have them."""

from collections.abc import Iterable, Iterator, Mapping

from streamfs.cli.histories.past_reading import PastReading
from streamfs.errors import DataError


def of_pairs(
    readings: Iterable[tuple[str, float, str, float]], pairs: Mapping[str, Mapping[str, str]]
) -> Iterator[PastReading]:
    """Yield each reading once for each stream of its node, its quantity by role; nodes of no stream are left out.

    Raise a DataError in the end if no node has a reading.

    Examples
    --------
    >>> readings = [("n1", 0.0, "light", 5.0), ("n2", 1.0, "light", 7.0), ("n3", 2.0, "light", 9.0)]
    >>> for reading in of_pairs(readings, {"desk": {"a": "n1", "b": "n2"}, "door": {"a": "n2", "b": "n1"}}):
    ...     print(*reading)
    desk 0.0 a.light 5.0
    door 0.0 b.light 5.0
    desk 1.0 b.light 7.0
    door 1.0 a.light 7.0
    """
    of_node: dict[str, list[tuple[str, str]]] = {}
    for stream, nodes in pairs.items():
        for role, node in nodes.items():
            of_node.setdefault(node, []).append((stream, role))
    is_any = False
    for node, time, quantity, value in readings:
        for stream, role in of_node.get(node, ()):
            is_any = True
            yield PastReading(stream, time, f"{role}.{quantity}", value)
    if not is_any:
        raise DataError(f"there are no readings of the nodes of pairs, such as {next(iter(of_node), 'any')!r}")
