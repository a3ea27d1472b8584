"""The time from a message to the arrival of the decision that it triggers; used by `gateway.py`.

Fifty nodes publish twenty readings a second each, a thousand a second in all, and the grid has twenty ticks a second. In
each tick one node, in turn, has a value that is decided at once; the tick falls due with the node's next message, and the
decision is published once it is committed. Half a second later the stream opens anew.
"""

import time

import numpy as np
import orjson
from gateway_runs import Broker, Way, expect, publish, scratch, started, sudden, write_config
from paho.mqtt.client import CallbackAPIVersion, Client, MQTTMessage

N_NODES = 50
PERIOD = 0.05  # seconds
ROUNDS = 400


def measure() -> np.ndarray:
    """Return the seconds from the message to the decision's arrival, for every decision of a run."""
    arrivals: dict[float, float] = {}  # by the decision's event time
    with scratch() as folder, Broker() as broker:
        config = write_config(
            folder,
            sudden(period=PERIOD),
            broker.url,
            Way(1, keeps=True, lateness=0.0),
            streams="reopen_after = 0.5",
        )
        arguments = {"config": str(config), "counts": [N_NODES, (ROUNDS - 1) * N_NODES]}
        with started("gateway_subscriber.py", arguments) as lines:
            expect(lines, "ready")
            watcher = watch(broker, arrivals)
            published = {"port": broker.port, "qos": 1, "form": "single", "n_nodes": N_NODES, "spikes": True}
            published |= {"rounds": [0, ROUNDS], "rate": N_NODES / PERIOD}
            stamps = publish(published)["stamps"]
            expect(lines, "cpu")
            time.sleep(0.2)  # for the last decisions; one that comes later does not count
            watcher.disconnect()
            watcher.loop_stop()
    return latencies(np.array(stamps), arrivals)


def watch(broker: Broker, arrivals: dict[float, float]) -> Client:
    """Note when decisions arrive."""

    def note(_client: Client, _data: object, message: MQTTMessage) -> None:
        arrivals.setdefault(orjson.loads(message.payload)["time"], time.time())

    client = Client(CallbackAPIVersion.VERSION2)
    client.on_message = note
    client.on_connect = lambda client, *_: client.subscribe("streamfs/decision/+")
    client.connect(broker.host, broker.port)
    client.loop_start()
    return client


def latencies(stamps: np.ndarray, arrivals: dict[float, float]) -> np.ndarray:
    """Seconds from the stamp of the node's next message after that of a decision to the decision's arrival."""
    found = []
    for event, arrival in arrivals.items():
        following = int(np.abs(stamps - event).argmin()) + N_NODES
        if following < len(stamps):
            found.append(arrival - stamps[following])
    if len(found) < ROUNDS // 4:
        raise RuntimeError(f"{len(found)} decisions have come, expected at least {ROUNDS // 4}")
    return np.array(found)


if __name__ == "__main__":
    print(np.percentile(measure() * 1e3, (50, 90, 99, 100)))
