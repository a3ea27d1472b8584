"""The rooms of the house: what each is for, what it may import directly, and what it may not touch."""

from typing import NamedTuple

WORLD = (
    "asyncio",
    "multiprocessing",
    "os",
    "paho",
    "select",
    "socket",
    "sqlite3",
    "subprocess",
    "threading",
    "time",
)
"""Clock, threads, network and disk."""

LEARNING = ("matplotlib", "polars", "sklearn")
"""What a gateway does without."""


class Room(NamedTuple):
    """A row of the table.

    Parameters
    ----------
    purpose : str
        What the room is for.
    imports : tuple of str
        Rooms that its files may import directly, beside `streamfs.errors`; all stand further down in the table.
    forbidden : tuple of str
        Modules of the standard library and of third parties that its files may not import.
    """

    purpose: str
    imports: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()


ROOMS = {
    "cli": Room(
        "what a person types",
        (
            "cluster",
            "experiments",
            "sensors_sim",
            "training",
            "evaluation",
            "selection",
            "page",
            "gateway",
            "gateway.settings",
            "gateway.transport",
            "gateway.storage",
            "gateway.core",
            "translation",
            "procedure",
            "relief",
            "classifiers",
            "costs",
            "data",
            "base",
            "feature_extractors",
        ),
    ),
    "cluster": Room(
        "the same engine and core on Spark",
        (
            "gateway.transport",
            "gateway.storage",
            "gateway.core",
            "gateway.messages",
            "engine",
            "procedure",
            "data",
            "base",
            "feature_extractors",
        ),
        ("paho", "sqlite3", *LEARNING),
    ),
    "page": Room(
        "the operator's page: reads what gateways write, a process of its own",
        ("gateway.operations", "gateway.storage", "procedure", "base"),
        ("paho", *LEARNING),
    ),
    "experiments": Room(
        "the papers' experiments and the figures",
        (
            "sensors_sim",
            "training",
            "evaluation",
            "selection",
            "relief",
            "classifiers",
            "costs",
            "data",
            "base",
            "feature_extractors",
        ),
        ("paho",),
    ),
    "sensors_sim": Room("simulated sources, nodes, links and fleets", ("costs", "feature_extractors"), LEARNING),
    "training": Room(
        "from labelled streams to a procedure; promises: with an accuracy shown on streams set apart",
        (
            "evaluation",
            "translation",
            "selection",
            "procedure",
            "relief",
            "classifiers",
            "costs",
            "data",
            "base",
            "feature_extractors",
        ),
        ("matplotlib", "paho", "polars", "socket", "sqlite3"),
    ),
    "evaluation": Room(
        "how well a procedure does on recorded streams; its card, a report on it",
        ("engine", "procedure", "classifiers", "costs", "data", "base", "feature_extractors"),
        ("matplotlib", "paho", "polars", "socket", "sqlite3"),
    ),
    "translation": Room(
        "steps, classifiers and stopping rules in C for nodes, and the kernels that serve as an extension module",
        ("gateway.core", "engine", "procedure", "selection", "relief", "classifiers", "feature_extractors"),
        (*WORLD, *LEARNING),
    ),
    "selection": Room(
        "which features are worth having",
        ("relief", "classifiers", "costs", "data", "base", "feature_extractors"),
        ("matplotlib", "paho", "polars", "socket", "sqlite3"),
    ),
    "gateway": Room(
        "many streams over MQTT: the loop",
        (
            "gateway.operations",
            "gateway.settings",
            "gateway.transport",
            "gateway.storage",
            "gateway.core",
            "gateway.messages",
            "engine",
            "procedure",
            "base",
        ),
        ("paho", "sqlite3", *LEARNING),
    ),
    "gateway.operations": Room(
        "what operators see: health, metrics, logs",
        ("gateway.core", "gateway.messages"),
        ("paho", "sqlite3", *LEARNING),
    ),
    "gateway.settings": Room(
        "`gateway.toml`: read, checked, previewed",
        (
            "gateway.transport",
            "gateway.core",
            "gateway.messages",
            "procedure",
            "base",
            "feature_extractors",
        ),
        ("paho", "socket", "sqlite3", "threading", *LEARNING),
    ),
    "gateway.transport": Room(
        "the connection to the broker", ("gateway.messages", "base"), ("sqlite3", "threading", *LEARNING)
    ),
    "gateway.storage": Room(
        "log, journal and models on disk",
        ("gateway.core", "gateway.messages", "procedure", "base"),
        ("paho", "socket", *LEARNING),
    ),
    "gateway.core": Room(
        "what records do to streams: no clock, no thread, no network, no disk",
        ("gateway.messages", "engine", "procedure", "costs", "base", "feature_extractors"),
        (*WORLD, *LEARNING),
    ),
    "gateway.messages": Room("what goes over the wire", ("procedure", "feature_extractors"), (*WORLD, *LEARNING)),
    "engine": Room(
        "a procedure run on many streams, tick by tick: no clock, no thread, no input or output",
        ("procedure", "classifiers", "base", "feature_extractors"),
        (*WORLD, *LEARNING),
    ),
    "procedure": Room(
        "what training returns, a file holds, an engine runs",
        ("classifiers", "costs", "data", "base", "feature_extractors"),
        ("paho", "socket", "sqlite3", "threading", *LEARNING),
    ),
    "relief": Room(
        "Relief's weights at every position: the core of the mission",
        ("costs", "data", "base", "feature_extractors"),
        ("paho", "polars", "socket", "sqlite3"),
    ),
    "classifiers": Room(
        "trees, forests, neighbours, densities, River and scikit-learn",
        ("base", "feature_extractors"),
        ("matplotlib", "paho", "polars", "socket", "sqlite3"),
    ),
    "costs": Room(
        "what messages, features and batteries cost",
        ("data", "feature_extractors"),
        ("paho", "socket", "sqlite3", *LEARNING),
    ),
    "data": Room(
        "recorded streams, files, tables of feature values",
        ("base", "feature_extractors"),
        ("matplotlib", "paho", "sklearn", "socket", "sqlite3"),
    ),
    "base": Room(
        "private ground: containers, estimators, kernels, charts",
        ("feature_extractors",),
        ("matplotlib", "paho", "polars", "socket", "sqlite3"),
    ),
    "feature_extractors": Room(
        "functions from stream prefixes to numbers",
        (),
        ("paho", "socket", "sqlite3", "threading", "time", *LEARNING),
    ),
}
"""The rooms from the top floor down; those of one dot are rooms within a room."""


def picture() -> str:
    """Return the table as docs/design.md has it."""
    head = "| room | what it is for | may import, beside `errors` | may not touch |\n|---|---|---|---|\n"
    return head + "".join(
        f"| `{name}` | {room.purpose} | {', '.join(room.imports) or '-'} | {', '.join(room.forbidden) or '-'} |\n"
        for name, room in ROOMS.items()
    )


if __name__ == "__main__":
    print(picture(), end="")  # noqa: T201 - for docs/design.md
