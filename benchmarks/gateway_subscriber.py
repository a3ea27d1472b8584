"""A subscriber that measures itself: the gateway, or bare paho; started by `gateway.py`.

python benchmarks/gateway_subscriber.py '{"bare": true, "port": 1883, "qos": 0, "counts": [1000, 9000]}'
python benchmarks/gateway_subscriber.py '{"config": "gateway.toml", "counts": [1000, 9000]}'

It says in lines of JSON when it is subscribed, when it has taken the first count of messages, and, once it has taken the
second count as well, what that has cost: seconds of CPU of the whole process, of the wall clock, and the latencies
from the stamp ``t`` in a payload to the end of the work on it, if they are asked for.
"""

import json
import resource
import sys
import time
from pathlib import Path
from threading import Event
from typing import Any

PATIENCE = 20.0  # seconds without a message after which a subscriber gives up


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def cpu_seconds() -> float:
    """Return the CPU seconds of this process, all threads."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


class Meter:
    """Measures from the last moment at which the first count was all that had come."""

    def __init__(self, counts: tuple[int, int]) -> None:
        self._warm, self._end = counts[0], sum(counts)
        self._start = 0.0, 0.0
        self._last = 0, time.monotonic()
        self._is_warm = False

    def has_all(self, count: int) -> bool:
        """Note how many have come; say whether that is all."""
        if count <= self._warm or not self._is_warm:
            self._start = cpu_seconds(), time.monotonic()
        if count >= self._warm and not self._is_warm:
            self._is_warm = True
            say(warm=count)
        now = time.monotonic()
        if count != self._last[0]:
            self._last = count, now
        elif now > self._last[1] + PATIENCE:
            raise TimeoutError(f"{count} messages have come, expected {self._end}")
        return count >= self._end

    def result(self) -> dict[str, float]:
        """Seconds since the start."""
        cpu, wall = self._start
        return {"cpu": cpu_seconds() - cpu, "wall": time.monotonic() - wall}


def bare(arguments: dict[str, Any]) -> None:
    """Run plain paho and orjson, as in its documentation: the callback only reads the payload."""
    import orjson  # noqa: PLC0415 - so that neither pays for what the other imports
    from paho.mqtt.client import CallbackAPIVersion, Client, MQTTMessage  # noqa: PLC0415

    warm, end = arguments["counts"][0], sum(arguments["counts"])
    meter = Meter(arguments["counts"])
    latencies: list[float] = []
    is_timed = arguments.get("latencies", False)
    count = 0

    def on_message(client: Client, _data: object, message: MQTTMessage) -> None:
        nonlocal count
        document = orjson.loads(message.payload)
        count += 1
        if count == warm:
            meter.has_all(count)
        elif count > warm:
            if is_timed:
                latencies.append(time.time() - document["t"])
            if count == end:
                say(**meter.result(), latencies=latencies)
                client.disconnect()

    client = Client(CallbackAPIVersion.VERSION2)
    client.on_message = on_message
    client.on_connect = lambda client, *_: client.subscribe("sensors/#", arguments["qos"])
    client.on_subscribe = lambda *_: say(ready=True)
    client.connect("127.0.0.1", arguments["port"])
    client.loop_forever()


def gateway(arguments: dict[str, Any]) -> None:
    """Run the gateway as ``streamfs run --config`` does."""
    from streamfs.gateway.host import hosted  # noqa: PLC0415
    from streamfs.gateway.settings.settings import read_settings  # noqa: PLC0415

    with hosted(read_settings(Path(arguments["config"]))) as running:
        observed = Observed(running, arguments["counts"])
        timed = Timed(running.core) if arguments.get("latencies") else None
        running.run(observed.stop, on_turn=observed.look)
    say(**observed.result, latencies=[] if timed is None else timed.latencies()[arguments["counts"][0] :])


class Observed:
    """Observes a gateway after each turn of its loop, and stops it when it has stored all messages."""

    def __init__(self, running: Any, counts: tuple[int, int]) -> None:
        self.stop = Event()
        self.result: dict[str, float] = {}
        self._running = running
        self._meter = Meter(counts)
        self._is_ready = False

    def look(self) -> None:
        if not self._is_ready and self._running.ready.is_set():
            self._is_ready = True
            say(ready=True)
        n_foreign = self._running._foreign.counters["foreign"]  # noqa: SLF001 - to sum all counters would cost
        count = int(self._running.core.joiner.nodes["messages"].sum()) + n_foreign
        if self._meter.has_all(count) and self._running.health().lag == 0:
            self.result = self._meter.result()
            self.stop.set()


class Timed:
    """Records when the core has taken each message."""

    def __init__(self, core: Any) -> None:
        self._taken: list[tuple[float, list[bytes]]] = []
        self._take = core.take
        core.take = self.take

    def take(self, records: Any) -> Any:
        effects = self._take(records)
        self._taken.append((time.time(), [record.payload for record in records if record.payload[:1] == b"{"]))
        return effects

    def latencies(self) -> list[float]:
        """Return the seconds from each message's stamp until it was taken, in order."""
        return [end - json.loads(payload)["t"] for end, payloads in self._taken for payload in payloads]


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    (bare if asked.get("bare") else gateway)(asked)
