"""What happens in a simulated world: messages of nodes, options of a gateway, and faults, drawn from a seed."""

from functools import cache
from random import Random
from typing import NamedTuple

import orjson
from devices import Present, device_bindings, draw_devices, draw_restarts
from fault import DEATHS, Fault
from helpers.procedures import channels_procedure
from helpers.records import Models, make_options

from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.options import KEEP, SAFE, Commits

WALL = 1e9  # seconds since 1970 as the world begins
FIRST = 2.0  # seconds until the first message
LATENESS = 2.0  # seconds
REST = 30.0  # seconds from the last message or fault to the end
COLUMNS = {
    "alone": ("x", "door@flag:0.5"),
    "paired": ("a.x", "b.x", "b.door@flag:0.5"),
    "later": ("x@from:3", "door@flag:0.5"),
    "devices": ("temperature@delta:0.5",),
}
OTHERS = {  # columns of the second model
    "alone": ("x",),
    "paired": ("a.x", "b.x"),
    "later": ("x",),
    "devices": ("temperature@delta:0.2",),
}
PAIRS = {"p": {"a": "n0", "b": "n1"}, "q": {"a": "n1", "b": "n2"}, "r": {"a": "n0", "b": "n3"}}
NODES = ("n0", "n1", "n2", "n3")
HOSTILE = "evil"
COMMANDS = "streamfs/command/gateway"
DEVICES = 20  # in 1 world in 20 there are devices in place of nodes
WILD = (0.0, 1.0, -3.0, 60.0, 9000.0, -9000.0, 3e8, 4e9)


class Sent(NamedTuple):
    """A message of a node, and when it is sent."""

    time: float
    topic: str
    payload: bytes
    qos: int


class Scenario(NamedTuple):
    """A world: it always goes the same way.

    Parameters
    ----------
    seed : int
        Of what is drawn on the way, such as latencies.
    kind : str
        Whether nodes are streams ``alone`` or ``paired``; ``later``: alone, with a channel that opens later; or
        whether they are ``devices``.
    options : dict
        Of the gateway's core.
    commits : dict
        When the gateway commits; with the bytes of a segment of the log, and how many messages may wait.
    receive_maximum : int
        Messages that broker and gateway send ahead of their acknowledgement.
    messages : tuple of Sent
        What the nodes send.
    faults : tuple of Fault
        What goes wrong.
    is_mirrored : bool
        Whether the state has a mirror.
    devices : tuple of Present
        Devices of other makers.
    """

    seed: int
    kind: str
    options: dict
    commits: dict
    receive_maximum: int
    messages: tuple[Sent, ...]
    faults: tuple[Fault, ...]
    is_mirrored: bool
    devices: tuple[Present, ...] = ()

    @property
    def end(self):
        """Time of the end, in seconds."""
        spoken = [sent.time for sent in self.messages]
        timed = [max(fault.begin, fault.end) for fault in self.faults if fault.kind not in UNTIMED]
        return max([0.0, *spoken, *timed]) + REST


COUNTED = (*DEATHS, "error", "double", "hang_up")
"""Faults whose begin is no time, but a number."""

UNTIMED = (*COUNTED, "restart")
"""Faults that the end does not wait for: after it devices go on for a while."""


@cache
def models(kind):
    """The models of a kind of streams, the first and one more."""
    settings = {"confidence": 0.85, "threshold": 0.537}
    return Models(
        channels_procedure(*COLUMNS[kind], time_limit=6, **settings),
        channels_procedure(*OTHERS[kind], time_limit=4, **settings),
    )


@cache
def bindings(kind):
    columns = COLUMNS[kind]
    if kind == "devices":
        return device_bindings(columns)
    return Bindings.pairs(columns, PAIRS) if kind == "paired" else Bindings.single(columns, [*NODES, HOSTILE])


def honest_streams(kind):
    """Return the streams that the node without sense does not feed."""
    bound = bindings(kind)
    return [stream for stream in bound.streams if HOSTILE not in {node for node, _ in bound.sources(stream)}]


def options_of(scenario):
    return make_options(**scenario.options)


def commits_of(scenario):
    others = ("segment_bytes", "max_queue")
    return Commits(**{name: value for name, value in scenario.commits.items() if name not in others})


def draw(seed):
    """Draw a world from a seed."""
    random = Random(seed)  # noqa: S311 - no secret
    kind = random.choice(("alone", "alone", "paired", "paired", "later"))
    options = {
        "lateness": LATENESS,
        "grace": random.choice([None, None, 4.0]),
        "reopen_after": random.choice([None, None, 2.0]),
    }
    commits = {
        "messages": random.choice([1, 3, 50]),
        "seconds": random.choice([0.0, 0.02, 0.5]),
        "snapshot_seconds": random.choice([1.0, 5.0, 20.0, 1e9]),
        "segment_bytes": random.choice([300, 1000, 100_000]),
        "max_queue": random.choice([2, 10, 10_000, 10_000]),
    }
    n_ticks = random.choice([3, 6, 10])
    messages = [*readings(random, n_ticks), *disturbances(random, n_ticks)]
    receive_maximum = random.choice([1, 3, 20])
    faults = draw_faults(random, FIRST + n_ticks)
    is_mirrored = random.random() < 0.1
    scenario = Scenario(
        seed,
        kind,
        options,
        commits,
        receive_maximum,
        tuple(sorted(messages)),
        tuple([*faults, *burning(random, FIRST + n_ticks)] if is_mirrored else faults),
        is_mirrored,
    )
    return with_devices(scenario, random) if seed % DEVICES == 0 else scenario


def with_devices(scenario, random):
    """Return a world with devices in place of nodes; some start anew on the way, and models come and go."""
    devices, loads = draw_devices(random), there_and_back(random, scenario.end - REST)
    scenario = scenario._replace(
        kind="devices",
        options=scenario.options | {"on_stop": random.choice((SAFE, KEEP))},
        messages=tuple(sent for sent in scenario.messages if sent.topic == COMMANDS),
        faults=(*scenario.faults, *loads),
        devices=devices,
    )
    restarts = draw_restarts(random, devices, scenario.end - REST)
    faults = (*scenario.faults, *(Fault("restart", at, value=number) for at, number in restarts))
    return scenario._replace(faults=faults)


def there_and_back(random, end):
    """Return faults that load the other model, and soon the first again, perhaps before a device is heard."""
    for _ in range(random.choice([0, 1, 3])):
        at = random.uniform(0.0, end)
        yield Fault("reload", at, value=1.0)
        yield Fault("reload", at + random.uniform(0.0, 0.5), value=0.0)


def readings(random, n_ticks):
    """Return what honest nodes send: with jitter, some of it at quality of service 0, until some fall silent."""
    sent = []
    for node in NODES:
        ends, offset = random.choice([n_ticks, n_ticks, n_ticks // 2]), random.choice([0.0, 0.0, 3600.0, -0.05])
        is_counted = random.random() < 0.7
        for channel, rate in (("x", 0.95), ("door@flag:0.5", 0.2)):
            sequence = 0
            for tick in range(ends):
                if random.random() < rate:
                    stamp, value = FIRST + tick + random.uniform(-0.4, 0.4), random.choice([0.0, 0.25, 0.5, 1.0])
                    payload = {"t": WALL + offset + stamp, "v": value} | ({"seq": sequence} if is_counted else {})
                    time = stamp + random.uniform(0.0, LATENESS / 2)
                    sent.append(Sent(time, f"sensors/{node}/{channel}", orjson.dumps(payload), 1))
                    sequence += 1
    return sent


def disturbances(random, n_ticks):
    """Return what is sent besides: commands, labels, and what a node sends that has no clock or no sense."""
    sent = []
    end = FIRST + n_ticks
    if random.random() < 0.3:
        sent.append(Sent(random.uniform(FIRST, end), COMMANDS, b'{"reopen":"*"}', 1))
    if random.random() < 0.2:
        sent.append(Sent(random.uniform(FIRST, end), "streamfs/label/n0", b"on", 1))
    if random.random() < 0.5:
        stamp = WALL
        for _ in range(random.choice([1, 5, 15])):
            time = random.uniform(FIRST, end)
            stamp = random.choice([stamp + random.choice([1.0, *WILD]), WALL + time, random.uniform(0.0, 4e9)])
            payload = {"t": min(max(stamp, 0.0), 4e9), "v": random.choice([0.0, 1.0, -1e300])}
            payload |= {"seq": random.randint(0, 2**40)} if random.random() < 0.5 else {}
            content = orjson.dumps(payload) if random.random() < 0.8 else random.choice([b"", b"{", b"\xff"])
            sent.append(Sent(time, f"sensors/{HOSTILE}/x", content, random.choice([0, 1])))
    return sent


def draw_faults(random, end):
    """Return the faults of a world that lasts for some seconds."""
    kinds = random.choices(
        tuple(FAULTS), [weight for weight, _ in FAULTS.values()], k=random.choice([0, 1, 2, 3, 5])
    )
    return [*deaths(random), *(FAULTS[kind][1](random, end) for kind in kinds)]


def deaths(random):
    """Return deaths: any number, soon after another or late."""
    at, apart = 0, random.choice([5, 20, 60])
    for _ in range(random.choice([0, 1, 3, 8, 20])):
        at += random.randint(1, apart)
        yield Fault(random.choice(("die", "power")), float(at))


def burning(random, end):
    """Return when the disk of a gateway that has a mirror is gone."""
    return [Fault("burn", random.uniform(0.0, end)) for _ in range(random.choice([1, 1, 3]))]


def span(kind, longest, values=(0.0,)):
    def draw_span(random, end):
        begin = random.uniform(0.0, end)
        return Fault(kind, begin, begin + random.uniform(0.0, longest), random.choice(values))

    return draw_span


def moment(kind, values=(0.0,)):
    return lambda random, end: Fault(kind, random.uniform(0.0, end), 0.0, random.choice(values))


def number(kind, most, values=(0.0,)):
    return lambda random, _: Fault(kind, float(random.randint(1, most)), 0.0, random.choice(values))


FAULTS = {
    "cut": (3, moment("cut")),
    "crash": (2, moment("crash")),
    "forget": (1, moment("forget")),
    "hang_up": (3, number("hang_up", 40, (0.0, 1.0))),
    "lag": (3, span("lag", 10.0, (0.2, 2.0, 5.0))),
    "stall": (3, span("stall", 20.0, (0.0, 1.0))),
    "stop": (2, span("stop", 20.0)),
    "full": (2, span("full", 8.0)),
    "slow": (2, span("slow", 10.0, (0.001, 0.05, 1.0))),
    "error": (2, number("error", 60)),
    "double": (2, number("double", 60)),
    "refuse": (2, span("refuse", 10.0, (0.0, 1.0))),
    "step": (2, moment("step", (60.0, -60.0, 3e7, -3e7))),
    "reload": (1, moment("reload", (0.0, 1.0))),
    "lie": (1, span("lie", 10.0)),
}
"""How often each kind of fault is drawn, and how."""
