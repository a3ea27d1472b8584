"""Faults of a simulated world: when, for how long, and what they do."""

from typing import NamedTuple

DEATHS = ("die", "power")
STALLS = ("stall", "stop")
REFUSED = ("/control/", "/decision/")
HARMLESS = (
    "die",
    "power",
    "burn",
    "cut",
    "hang_up",
    "lag",
    "stall",
    "stop",
    "full",
    "slow",
    "error",
    "step",
    "double",
    "refuse",
    "crash",
)
"""Faults after which everything arrives that was sent at quality of service 1."""


class Fault(NamedTuple):
    """A fault: from a time, or a dealing, to another; what the value is depends on the kind.

    - ``die``, ``power``: the process dies at its dealing ``begin``; with the second, the power fails too
    - ``burn``: the process dies at a time, its disk is gone, and a standby goes on with the mirror
    - ``cut``: the connection is lost at a time
    - ``crash``, ``forget``: the broker restarts without the last second; without session and retained messages
    - ``hang_up``: the broker cuts the connection at publication number ``begin``, which it has if the value is 1
    - ``stall``: nothing gets through; then the connection is cut if the value is 1
    - ``lag``: what is sent in either direction takes as many seconds more as the value
    - ``stop``: the gateway's process is stopped
    - ``full``, ``slow``, ``lie``: the disk is full; takes as many seconds as the value; syncs nothing
    - ``error``: sync number ``begin`` fails
    - ``double``: delivery number ``begin`` comes twice
    - ``refuse``: the broker refuses publications to topics that contain control (value 0) or decision (1)
    - ``step``: the wall clock is set forward by the value
    - ``restart``: the device of this number starts anew
    - ``reload``: the model file is loaded again, with the model of this number
    """

    kind: str
    begin: float
    end: float = 0.0
    value: float = 0.0


class Faults:
    """Answers what goes wrong at a time."""

    def __init__(self, faults):
        self._of = {}
        for fault in faults:
            self._of.setdefault(fault.kind, []).append(fault)
        self.deaths = {int(each.begin): kind for kind in DEATHS for each in self.of(kind)}
        self.failing_syncs = {int(each.begin) for each in self.of("error")}
        self.hang_ups = {int(each.begin): bool(each.value) for each in self.of("hang_up")}
        self.doubled = {int(each.begin) for each in self.of("double")}
        self._stalls = sorted((each.begin, each.end) for kind in STALLS for each in self.of(kind))
        self._stops = sorted((each.begin, each.end) for each in self.of("stop"))

    def of(self, kind):
        return self._of.get(kind, ())

    def after_stall(self, time):
        """The time at which something gets through that would arrive at a time."""
        return after(self._stalls, time)

    def after_stop(self, time):
        """The time at which the gateway goes on."""
        return after(self._stops, time)

    def is_full(self, time):
        return bool(self._during("full", time))

    def lies(self, time):
        return bool(self._during("lie", time))

    def disk_latency(self, time):
        return self._longest("slow", time)

    def network_latency(self, time):
        return self._longest("lag", time)

    def _longest(self, kind, time):
        return max((each.value for each in self._during(kind, time)), default=0.0) if kind in self._of else 0.0

    def refuses(self, topic, time):
        return any(REFUSED[int(each.value)] in topic for each in self._during("refuse", time))

    def _during(self, kind, time):
        spans = self._of.get(kind)
        return [each for each in spans if each.begin <= time < each.end] if spans else ()


def after(spans, time):
    for begin, end in spans:
        if begin <= time < end:
            time = end
    return time
