"""The lease: a gateway serves only what no other live one serves, as the statuses at the broker say."""

from collections.abc import Callable

from streamfs.errors import ServedError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.statuses import Status, status_topic, troubles
from streamfs.gateway.transport.transport import Transport

SETTLING = 1.0
"""Seconds from the loss of a connection until the statuses show who has taken it over."""

_GOODBYE = 0.2  # seconds for disconnecting


class Lease:
    """Let a gateway connect once all statuses are known and none speaks against it, and end it if one does later.

    All statuses are heard on a connection of their own, the `watch`, which may be made before the gateway's:
    that one takes over the connection of another gateway with its client id, and must not do so in vain.

    Parameters
    ----------
    own : Status
        What this gateway says of itself.
    prefix : str
        The first part of topics.
    watch : Transport
        The connection for statuses; the lease closes it.
    previous : str
        The last run on the same state folder, which has ended, whatever its status says.
    on_grant : callable, optional
        Called before the first connection is allowed.
    """

    def __init__(
        self,
        own: Status,
        prefix: str,
        watch: Transport,
        previous: str = "",
        on_grant: Callable[[], object] | None = None,
    ) -> None:
        self.own = own
        self.statuses: dict[str, Status] = {}
        self._prefix = prefix
        self._watch = watch
        self._previous = previous
        self._on_grant = on_grant
        self._topic = status_topic(prefix, own.gateway)
        self._since = watch.clock.now()  # a moment after which all must be known
        self._is_granted = False
        self._is_up = False
        watch.subscribe([status_topic(prefix, "+")])

    def permits(self) -> bool:
        """Return whether the gateway may connect now; raise a ServedError if another serves."""
        if self._is_up:  # the connection was lost, perhaps to another
            self._is_up = self._is_granted = False
            self._since = self._watch.clock.now() + SETTLING
        self._hear()
        if not self._is_granted and self._watch.silence > self._since:
            self._check(is_new=True)
            if self._on_grant is not None:
                self._on_grant()
            self._is_granted = True
        elif not self._is_granted:
            self._watch.prove_silence()
        return self._is_granted

    def keep(self, transport: Transport) -> None:
        """Hear of others, and say on each connection of the gateway that it serves."""
        if transport.counters["taken_over"]:
            raise ServedError(f"another gateway has taken over {self.own.gateway}: this one ends")
        if not transport.is_connected:
            return
        self._hear()
        self._check(is_new=False)
        known = self.statuses.get(self._topic)
        is_denied = known is not None and not known.is_online  # by the will of a connection before
        if not self._is_up or is_denied:
            self._say(transport)

    def follow(self, bindings: Bindings, transport: Transport) -> None:
        """Say that other streams are served."""
        self.own = self.own.of_bindings(bindings)
        self._say(transport)

    @property
    def troubles(self) -> list[str]:
        """What is wrong between the gateways that share streams."""
        return troubles(self.statuses.values())

    def close(self) -> None:
        """Close the connection for statuses."""
        self._watch.close(_GOODBYE)

    def _say(self, transport: Transport) -> None:
        if transport.publish(self.own.publication(self._prefix)):
            self._is_up = True
            self.statuses[self._topic] = self.own

    def _hear(self) -> None:
        """Take the statuses that have arrived."""
        for message in self._watch.poll(0.0):
            self._watch.acknowledge(1)
            status = Status.read(message.payload)
            if status is None:
                self.statuses.pop(message.topic, None)
            else:
                self.statuses[message.topic] = status

    def _check(self, *, is_new: bool) -> None:
        """Raise a ServedError if another serves; of two that began at once, the later one yields."""
        own, mine = self.own, self.statuses.get(self._topic)
        if mine is not None and mine.run not in (own.run, self._previous):
            if mine.epoch > own.epoch:
                raise ServedError(
                    f"a standby has taken over {own.gateway} since (epoch {mine.epoch}, and that of the state is "
                    f"{own.epoch}): make this machine its standby, or clear the retained {self._topic}"
                )
            if mine.is_online:
                raise ServedError(f"another gateway {own.gateway} is online, run {mine.run}")
        for status in self.statuses.values():
            is_rival = status.is_online and status.shard == own.shard != "" and status.gateway != own.gateway
            if is_rival and (is_new or (status.since, status.run) < (own.since, own.run)):
                raise ServedError(f"shard {own.shard} is served by {status.gateway}, which is online")
