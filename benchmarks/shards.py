"""What it costs to receive and drop a message of a stream that another gateway serves.

Dropping alone is measured without a broker. With receipt, a gateway runs as in `gateway.py`: one that serves all nodes
alternates with one that serves an eighth of them, and one that serves hardly any.
"""

from dataclasses import replace
from statistics import median
from time import process_time

from gateway_runs import N_NODES as N_PUBLISHING
from gateway_runs import Way, run

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, Share
from streamfs.gateway.foreign import Foreign
from streamfs.gateway.messages.message import Message

N_NODES, N_ROUNDS, AT_ONCE = 1000, 500, 500
N_TURNS, N_RECEIVED = 3, 50

SHARDS = ("", "1/8", "1/512")
WAYS = {"nothing kept, quality of service 0": Way(0), "log and journal kept, 1": Way(1, keeps=True)}


def main() -> None:
    """Print microseconds of processor time a message, by the share of foreign ones."""
    drop()
    receive()


def receive() -> None:
    """Receive and drop."""
    for name, way in WAYS.items():
        spent: dict[str, list[float]] = {shard: [] for shard in SHARDS}
        for _ in range(N_TURNS):
            for shard in SHARDS:
                found = run(replace(way, shard=shard), N_RECEIVED)
                spent[shard].append(1e6 * found.cpu / (N_RECEIVED * N_PUBLISHING))
        for shard in SHARDS:
            print(f"{name}, shard {shard or 'none'}: {median(spent[shard]):.1f} us a message with its receipt")


def drop() -> None:
    """Drop messages that were received."""
    nodes = [f"n{i}" for i in range(N_NODES)]
    messages = [
        Message(f"sensors/{node}/light", b'{"t": 12.0, "v": 230.5, "seq": 3}', False, 0.0) for node in nodes
    ]
    for of in (2, 8):
        foreign = Foreign(Bindings.single(("light",), nodes).of_share(Share(Shard(1, of))), "streamfs")
        foreign.drop(messages)  # whose topics are whose is known from now on
        begun = process_time()
        for _ in range(N_ROUNDS):
            for first in range(0, N_NODES, AT_ONCE):
                foreign.drop(messages[first : first + AT_ONCE])
        spent = (process_time() - begun) / (N_ROUNDS * N_NODES)
        print(f"shard 1/{of}: {1e6 * spent:.3f} us a message to drop it")


if __name__ == "__main__":
    main()
