"""What a gateway warns of: clocks, data, its promise, devices, and gateways that share its streams."""

from typing import TYPE_CHECKING

from streamfs.gateway.core.core import Core
from streamfs.gateway.core.routes import unnamed
from streamfs.gateway.dead_letters import DeadLetters
from streamfs.gateway.operations.clock_warnings import clock_warnings
from streamfs.gateway.operations.data_warnings import DataWarnings
from streamfs.gateway.operations.device_warnings import device_warnings, unguarded_warning
from streamfs.gateway.operations.health import Statistics
from streamfs.gateway.operations.numbering_notes import NumberingNotes
from streamfs.gateway.operations.promise_warnings import promise_warnings
from streamfs.gateway.settings.proposals import suggestion
from streamfs.gateway.transport.transport import Transport

if TYPE_CHECKING:
    from streamfs.gateway.core.routes import Route
    from streamfs.gateway.lease import Lease


class AllWarnings:
    """The warnings of the last update: of `clocks`, and all `others`."""

    def __init__(self, prefix: str) -> None:
        self.clocks: list[str] = []
        self.others: list[str] = []
        self._labels = f"{prefix}/label/{{stream}}"
        self._routes: tuple[Route, ...] = ()
        self._of_data = DataWarnings(self._suggest)
        self._of_numbers = NumberingNotes()

    def update(
        self,
        now: float,
        core: Core,
        statistics: Statistics,
        dead_letters: DeadLetters,
        transport: Transport,
        lease: "Lease | None",
    ) -> None:
        """Look again, at a monotonic time."""
        self._routes = core.roster.routes.routes
        if self._of_numbers.is_due(now):
            self._of_numbers.update(core.numbering(), core.roster.names, now)
        self.clocks = clock_warnings(core.clocks_astray(transport.clock.now()), transport.clock.step)
        of_data = self._of_data.update(
            now,
            statistics.counters,
            dead_letters.last,
            core.orphans,
            core.unheard(),
            is_connected=transport.is_connected,
        )
        self.others = [
            *([] if lease is None else lease.troubles),
            *promise_warnings(statistics.promise, self._labels),
            *device_warnings(core.conduct.devices.values()),
            *unguarded_warning(core.conduct.unguarded),
            *of_data,
            *self._of_numbers.warnings,
        ]

    def _suggest(self, topic: str) -> str:
        """Return what could be done about a topic that feeds no stream."""
        if any(route.find(topic) is not None for route in self._routes):
            return ""
        if why := unnamed(self._routes, topic):
            return why
        name = suggestion(topic)
        return f'a source with device = "{name}" may read it' if name else "no source has such a topic"
