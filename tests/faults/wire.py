"""A network that counts packets, and can block those to the broker."""

from collections import Counter, defaultdict

from helpers.proxy import Proxy
from traffic import Sent

from streamfs.gateway.transport.packets import split_packets

PUBLISH, PUBACK, PINGREQ, DISCONNECT = 3, 4, 12, 14
"""Types of packets."""

AGAIN, QOS = 8, 6
"""The flag of a message that may have been sent before, and the bits of its quality of service."""


class Wiretap(Proxy):
    """A proxy that knows MQTT.

    Attributes
    ----------
    n_from_gateway, n_to_gateway : Counter of int
        Packets by their types.
    n_again : int
        Messages to the gateway that the broker has marked as sent before.
    delivered : list of Sent
        Messages to the gateway at quality of service 1, as often as they were sent.
    acknowledged : list of Sent
        Those that the gateway has acknowledged, in the order of that.
    """

    def __init__(self, port):
        super().__init__(port)
        self.n_from_gateway, self.n_to_gateway = Counter(), Counter()
        self.n_again = 0
        self.delivered, self.acknowledged = [], []
        self._under_way = defaultdict(dict)  # messages by packet id, by connection
        self._is_deaf = False
        self._cut_off = defaultdict(bytearray)  # the beginnings of packets, by way

    def deafen(self):
        """Drop what the gateway sends, and forward what the broker sends."""
        self._do(lambda: setattr(self, "_is_deaf", True))

    def undeafen(self):
        """Forward both again, on new connections, since the open ones have missed something."""
        self._do(lambda: setattr(self, "_is_deaf", False))
        self.cut()

    def _read(self, way, link):
        n_waiting, is_from_gateway = len(way.waiting), way.source is link.client
        super()._read(way, link)
        pieces = [way.waiting[i][1] for i in range(n_waiting, len(way.waiting))]
        if is_from_gateway and self._is_deaf:
            for piece in pieces:
                way.waiting.pop()
                self.n_swallowed += len(piece)
            return
        self._note(way, b"".join(pieces), self._under_way[link], is_from_gateway=is_from_gateway)

    def _note(self, way, data, under_way, *, is_from_gateway):
        self._cut_off[way] += data
        for command, body in split_packets(self._cut_off[way]):
            (self.n_from_gateway if is_from_gateway else self.n_to_gateway)[command >> 4] += 1
            if command >> 4 == PUBLISH and not is_from_gateway:
                self.n_again += bool(command & AGAIN)
                if command & QOS:
                    number, message = _read_message(body)
                    under_way[number] = message
                    self.delivered.append(message)
            elif command >> 4 == PUBACK and is_from_gateway:
                self.acknowledged.append(under_way.pop(bytes(body[:2])))


def _read_message(body):
    """Return packet id, and topic with payload, of a message of MQTT 5 whose properties are short."""
    end = 2 + int.from_bytes(body[:2])
    return bytes(body[end : end + 2]), Sent(body[2:end].decode(), bytes(body[end + 3 + body[end + 2] :]))
