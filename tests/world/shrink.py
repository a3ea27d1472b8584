"""Shrinking: a small world in which something still goes wrong."""

ATTEMPTS = 300
"""Worlds that are tried."""


def shrink(scenario, goes_wrong):
    """Return a world from which no fault and no message can be left out, if that is soon found."""
    attempts = iter(range(ATTEMPTS))

    def still_goes_wrong(other):
        return next(attempts, None) is not None and goes_wrong(other)

    for name in ("faults", "messages"):
        scenario = without(scenario, name, still_goes_wrong)
    return scenario


def without(scenario, name, goes_wrong):
    """Leave out as many items as possible: halves at first, then ever smaller parts."""
    items = getattr(scenario, name)
    size = max(1, len(items) // 2)
    while items:
        at = 0
        while at < len(items):
            fewer = items[:at] + items[at + size :]
            if goes_wrong(scenario._replace(**{name: fewer})):
                items = fewer
            else:
                at += size
        if size == 1:
            break
        size = max(1, size // 2)
    return scenario._replace(**{name: items})
