"""What the gateway tells the nodes: which channels to send, and when to fall silent."""

import orjson

from streamfs.gateway.bindings import Bindings

Published = tuple[str, bytes]
"""A topic and the payload that is retained there."""


class Control:
    """Keeps account of what each node shall send; it publishes nothing itself.

    A node shall send its channels until all the streams that it feeds are decided.

    Parameters
    ----------
    bindings : Bindings
        Which node feeds which stream.
    prefix : str
        First part of the topics.

    Examples
    --------
    >>> control = Control(Bindings.single(["light"], ["n1"]))
    >>> control.start()
    [('streamfs/control/n1', b'{"channels":["light"]}')]
    >>> control.decided("n1")
    [('streamfs/control/n1', b'{"channels":[]}')]
    """

    def __init__(self, bindings: Bindings, prefix: str = "streamfs") -> None:
        self._bindings = bindings
        self._prefix = prefix
        self._open: dict[str, set[str]] = {}  # node -> its undecided streams

    def start(self) -> list[Published]:
        """Tell every node that is bound by name what to send."""
        return [message for node in self._bindings.nodes for message in self.met(node)]

    def met(self, node: str) -> list[Published]:
        """Tell a node what to send, if it was not told before."""
        if node in self._open:
            return []
        streams = self._bindings.streams_of(node)
        if not streams:
            return []
        self._open[node] = set(streams)
        return [self._message(node, self._bindings.channels_of(node))]

    def current(self) -> list[Published]:
        """Tell every node that was told anything where it stands, for a broker that has forgotten."""
        return [
            self._message(node, self._bindings.channels_of(node) if undecided else ())
            for node, undecided in self._open.items()
        ]

    def decided(self, stream: str) -> list[Published]:
        """Tell the stream's nodes to fall silent, if no other stream needs them."""
        silent = []
        for node in dict.fromkeys(source.node for source in self._bindings.sources(stream)):
            undecided = self._open.get(node, set())
            if stream in undecided:
                undecided.remove(stream)
                if not undecided:
                    silent.append(self._message(node, ()))
        return silent

    def _message(self, node: str, channels: tuple[str, ...]) -> Published:
        return f"{self._prefix}/control/{node}", orjson.dumps({"channels": channels})
