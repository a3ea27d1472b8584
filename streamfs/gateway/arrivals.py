"""Messages as they arrive: which nodes their payloads name, and which of them are records of this gateway."""

from collections import Counter

from streamfs.base.counters import summed
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.core import Core
from streamfs.gateway.core.records import MESSAGE, RETAINED, Record
from streamfs.gateway.foreign import Foreign
from streamfs.gateway.operations.announcer import Announcer
from streamfs.gateway.redeliveries import Redeliveries
from streamfs.gateway.transport.transport import Message


class Arrivals:
    """Turns messages into records.

    Left out, and counted, are those of streams that other gateways serve, retained ones that state nothing, and
    what the broker sends again. What is for the announcer goes there.
    """

    def __init__(self, core: Core, bindings: Bindings, announcer: Announcer) -> None:
        self._core = core
        self._announcer = announcer
        self._redeliveries = Redeliveries(core, bindings)
        self._foreign = Foreign(bindings, core.options.prefix)
        self._retained = Counter(retained=0)

    @property
    def counters(self) -> Counter[str]:
        """What was left out, by cause."""
        return summed((self._retained, self._redeliveries.counters, self._foreign.counters))

    def follow(self, core: Core, bindings: Bindings) -> None:
        """Go by another core, and its bindings."""
        self._core = self._redeliveries.core = core
        self._foreign.follow(bindings)

    def records_of(self, received: list[Message], n_connections: int) -> list[Record]:
        """Return the records of messages, given the number of connections so far."""
        has_state, messages = self._core.conduct.has_state, self._foreign.drop(self.addressed(received))
        records = [
            Record(RETAINED if retained else MESSAGE, arrival, topic, payload, content_type)
            for topic, payload, retained, arrival, content_type in messages
            if topic not in self._announcer.topics and (not retained or has_state(topic))
        ]
        if len(records) < len(messages):
            for message in messages:
                if not self._announcer.receive(message.topic, message.payload):
                    self._retained["retained"] += message.retained and not has_state(message.topic)
        return self._redeliveries.drop(records, n_connections)

    def addressed(self, messages: list[Message]) -> list[Message]:
        """Return messages, with the nodes that payloads name in their topics: one for each of these.

        What devices answer comes before, as it is: a part of it may lack what it answers.
        """
        bindings, most = self._core.roster.routes, self._core.options.limits.payload_bytes
        if not bindings.has_senders:
            return messages
        addressed = []
        for message in messages:
            if self._core.has_feedback(message.topic) or len(message.payload) > most:
                addressed.append(message)
                continue
            parts = bindings.addressed(message.topic, message.payload)
            conduct, is_parted = self._core.conduct, parts[0].topic != message.topic
            if is_parted and conduct.asks and conduct.listens(message.topic):
                addressed.append(message)
            addressed += [message._replace(topic=topic, payload=payload) for topic, payload in parts]
        return addressed
