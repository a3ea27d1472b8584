"""What models want of devices, which know no control messages, for those who ask them."""

from collections.abc import Iterable

from streamfs.gateway.core.conduct import Conduct
from streamfs.gateway.core.effects import Effects
from streamfs.gateway.core.intake import Heard
from streamfs.gateway.core.roster import Roster
from streamfs.gateway.messages.publication import Publication


class Wishes:
    """Tell the conduct of devices what models want of them, in place of control messages to their nodes.

    What is wanted is noted when a message or time brings it about, not as a take ends, or it would matter where
    records are cut.
    """

    def __init__(self, conduct: Conduct, roster: Roster, effects: Effects, control: str) -> None:
        self._conduct, self._roster, self._effects, self._control = conduct, roster, effects, control

    def of_others(self, publications: Iterable[Publication]) -> list[Publication]:
        """Return the publications that are no control messages to devices."""
        return [each for each in publications if not self._conduct.has(self._node(each))]

    def set_aside(self) -> None:
        """Keep from the control messages to devices who is to be asked something else."""
        if not (self._conduct.devices and self._effects.publications):
            return
        others = []
        for publication in self._effects.publications:
            node = self._node(publication)
            if self._conduct.has(node):
                self._conduct.unnoted[node, bool(publication.payload)] = None
            else:
                others.append(publication)
        self._effects.publications = others

    def note(self) -> None:
        """Want of devices what models want now."""
        self.set_aside()
        unnoted, self._conduct.unnoted = self._conduct.unnoted, {}
        for node, is_followed in unnoted:
            if is_followed:
                self._want(node)
            else:
                self._effects.publications += self._conduct.forget(node)

    def note_all(self) -> None:
        """Want of all devices what models want now, whatever they were asked as the last run ended."""
        self.note()
        for node in self._conduct.nodes:
            self._want(node)

    def attend(self, heard: Iterable[Heard], now: float) -> None:
        """Ask the devices that were heard, as the intake notes them, for what models want of them."""
        self.note()
        for (node, name, profile, topic), factor in heard:
            if self._conduct.meet(node, name, profile, now):
                self._want(node)
            self._effects.publications += self._conduct.hear(name, profile, now, topic, factor)

    def _node(self, publication: Publication) -> str:
        """Return the node of a control message, "" of another publication."""
        node = publication.topic.removeprefix(self._control)
        return "" if node == publication.topic else node

    def _want(self, node: str) -> None:
        self._conduct.want(node, self._roster.requested(node), self._roster.routes.channels_of(node))
