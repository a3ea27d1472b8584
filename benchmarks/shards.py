"""What it costs to drop a message of a stream that another gateway serves, without its receipt."""

from time import process_time

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.shards import Shard, Share
from streamfs.gateway.foreign import Foreign
from streamfs.gateway.messages.message import Message

N_NODES, N_ROUNDS, AT_ONCE = 1000, 500, 500


def main() -> None:
    """Print microseconds of processor time a message, by the share of foreign ones."""
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
        print(f"1/{of}: {1e6 * spent:.3f} us a message")


if __name__ == "__main__":
    main()
