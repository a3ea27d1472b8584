"""Simulated devices of other makers on a real broker, in real time."""

import time
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from threading import Event

from sensors_sim._connection import Connection
from sensors_sim.devices import Messages, SimulatedDevice

_STEP = 0.05  # seconds from one look at all devices to the next


class DeviceFleet:
    """Devices that publish to a broker, and hear what is published to them.

    Parameters
    ----------
    devices : sequence of SimulatedDevice
        The devices; their names must differ.
    """

    def __init__(self, devices: Sequence[SimulatedDevice]) -> None:
        self._devices = tuple(devices)
        self._inbox: SimpleQueue[tuple[str, bytes]] = SimpleQueue()

    def run(self, host: str, port: int, stop: Event) -> None:
        """Send and hear until stopped; raise a TransportError if the broker cannot be reached, or refuses."""
        with Connection(host, port, "#", self._inbox.put) as connection:
            n_connects = connection.n_connects
            while not stop.wait(_STEP):
                now = time.time()
                said = self._heard(now)
                if connection.n_connects != n_connects:
                    n_connects = connection.n_connects
                    said += [each for device in self._devices for each in device.reconnect()]
                for device in self._devices:
                    said += device.turn(now)
                for topic, payload in said:
                    connection.publish(topic, payload)

    def _heard(self, now: float) -> Messages:
        """Let devices hear what has come, and return their answers."""
        answers: Messages = []
        while True:
            try:
                topic, payload = self._inbox.get_nowait()
            except Empty:
                return answers
            for device in self._devices:
                if topic in device.topics:
                    answers += device.hear(topic, payload, now)
