"""What the sources of settings read, and leave out, of what was heard."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from feature_extractors.report import quantity_of, split_channel
from streamfs.errors import PayloadError
from streamfs.gateway.core.routes import Addressed, Route, addressed
from streamfs.gateway.messages.codecs import Several
from streamfs.gateway.messages.message import Message
from streamfs.gateway.settings.quantity_words import is_like
from streamfs.gateway.settings.unread import unread


@dataclass
class AlreadyRead:
    """What routes read of messages; of topics that they match no later source reads anything."""

    routes: Sequence[Route]
    wanted: Sequence[str]  # quantities
    nodes: dict[str, None] = field(default_factory=dict)  # those of which something wanted is read
    quantities: set[str] = field(default_factory=set)
    left_out: dict[tuple[str, str], str] = field(default_factory=dict)  # quantities, by path or name, and node
    refused: dict[str, str] = field(default_factory=dict)  # why nothing can be read, by topic

    def rest(self, messages: Iterable[Message]) -> list[Message]:
        """Note what is read of messages, and return those of topics that are left to other sources."""
        return [message for message in messages if not self._takes(message)]

    def _takes(self, message: Message) -> bool:
        parts = addressed(self.routes, message.topic, message.payload)
        taken = [self._takes_part(message, part) for part in parts]
        return any(taken) or any(route.ignores(message.topic) for route in self.routes)

    def _takes_part(self, message: Message, part: Addressed) -> bool:
        """Note what the first route that matches a part of a message reads there; return whether one does."""
        routes = [route for route in self.routes if not route.ignores(message.topic)]
        found = ((route, route.find(part.topic)) for route in routes)
        route, routed = next((each for each in found if each[1] is not None), (None, None))
        if route is None or routed is None:
            return any(self._leaves_out(route, part) for route in routes)
        try:
            decoded = routed.codec.decode(part.payload, message.arrival, message.content_type)
        except PayloadError as error:
            self.refused.setdefault(message.topic, str(error))
            return True
        named = [name for name, _ in decoded.parts] if isinstance(decoded, Several) else [routed.channel or ""]
        read = {quantity_of(split_channel(name)[0]) for name in named}.intersection(self.wanted)
        if read:
            self.nodes[routed.called] = None
            self.quantities |= read
        self._note_left_out((*named, *unread(route, part.payload)), routed.called, read)
        return True

    def _leaves_out(self, route: Route, part: Addressed) -> bool:
        """Note a channel that a route has no name for, in a topic that it matches else; return whether it does."""
        found = None if route.names is None else route.template.match(part.topic)
        if found is None:
            return False
        node, name = found
        self._note_left_out([name or ""], route.node or node, set())
        return True

    def _note_left_out(self, names: Iterable[str], node: str, read: Collection[str]) -> None:
        """Note those names at a node that are like quantities which were not read there."""
        rest = [quantity for quantity in self.wanted if quantity not in read]
        alike = ((name, quantity) for name in names for quantity in rest if is_like(name, quantity))
        self.left_out |= {(name, node): quantity for name, quantity in alike}
