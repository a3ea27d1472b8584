"""What may happen to a gateway, at random."""

from random import Random

from helpers.procedures import channels_procedure
from helpers.records import EVICTING, Models, batch, command, label, message, raw

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record, model_record

ALONE = Models(
    channels_procedure("x"),
    channels_procedure("x", "door@flag:0.5", time_limit=9),
    channels_procedure("x", "y@every:2", confidence=0.8, time_limit=4),
)
PAIRED = Models(
    channels_procedure("a.x", "b.x"),
    channels_procedure("a.x", "b.x", "b.door@flag:0.5", time_limit=9),
    channels_procedure("b.x", "a.y@every:2", confidence=0.8, time_limit=4),
)
PAIRS = {"p": {"a": "n0", "b": "n1"}, "q": {"a": "n1", "b": "n2"}, "r": {"a": "n0", "b": "n3"}}
BINDINGS = {
    ALONE: Bindings.single(ALONE.first.channels),
    PAIRED: Bindings.pairs(PAIRED.first.channels, PAIRS),
}
CHANNELS = ("x", "x", "x", "x", "door@flag:0.5", "y@every:2", "z")
PAYLOADS = (b"", b"{", b'{"v":"1"}', b'{"v":NaN}', b"\xff", b"9" * 100)
COMMANDS = ({"reopen": "*"}, {"reopen": "n0"}, {"reopen": "p"}, {"close": "n0"}, [])
CASES = {
    "refusing": (ALONE, {"streams": 2, "lateness": 0.0, "payload_bytes": 64}),
    "evicting": (ALONE, {"streams": 3, **EVICTING, "reopen_after": 3.0}),
    "expiring": (ALONE, {"expire_after": 3.0, "lateness": 1.0, "profile": "sx1276_lora_sf9"}),
    "crowded": (ALONE, {"pending": 5, "lateness": 4.0, "ahead": 4, "reopen_after": 1.0}),
    "paired": (PAIRED, {"reopen_after": 2.0}),
}


def story_of(models, seed, n_records=100):
    """Return records of what may happen to a few nodes, as time goes on."""
    kinds = ("reading", "batch", "malformed", "label", "command", "clock", "model")
    random, now, digests = Random(seed), 100.0, list(models)  # noqa: S311 - no secret
    speakers, nodes = random.sample(range(5), 2), range(5)
    for count, kind in enumerate(random.choices(kinds, (80, 8, 4, 4, 3, 3, 2), k=n_records)):
        node = random.choice(speakers if random.random() < 0.8 else nodes)
        if kind in ("reading", "batch"):
            now += random.choice([0.0, 0.25, 0.5, 1.0])
            stamp = now - random.choice([0.0, 0.0, 0.0, 0.75, 2.0, 6.0])
            value, sequence = random.choice([0.0, 0.0, 0.25, 1.0]), random.choice([None, None, count, count - 7])
            reported, new = ([value, None, 0.5], batch) if kind == "batch" else (value, message)
            yield new(f"n{node}", stamp, reported, sequence, random.choice(CHANNELS), arrival=now)
        elif kind == "malformed":
            yield raw(f"sensors/n{node}/x", random.choice(PAYLOADS), now)
        elif kind == "label":
            yield label(random.choice([f"n{node}", "p", "nobody"]), random.choice(["on", "odd", "{"]), now)
        elif kind == "command":
            yield command(random.choice(COMMANDS), now)
        elif kind == "clock":
            now += random.choice([0.5, 2.0, 5.0, 20.0])
            yield clock_record(now)
        else:
            yield model_record(random.choice(digests), now)
