"""The pages of the reference, made of the code when the documentation is built; also a hook of mkdocs."""

import ast
import inspect
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import feature_extractors
from streamfs import Pricing, Promise, SearchSettings, train, train_promised
from streamfs.cli.app import TOPICS as COMMAND_TOPICS
from streamfs.cli.app import cli
from streamfs.data.recordings.layout import Layout
from streamfs.gateway.core.option_declaration import Option, declared
from streamfs.gateway.core.options import AfterWithdrawal, Commits, DeviceReturn, Drift, Limits, Time
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.metrics import GAUGES, HELP, Metrics
from streamfs.gateway.settings.broker import Broker
from streamfs.gateway.settings.sections import HomeAssistant, Http, Logging, TopLevel, ViewTimes
from streamfs.gateway.settings.sources import InputSource
from streamfs.gateway.settings.streams import Streams
from streamfs.gateway.storage.journal_schema import migrate
from streamfs.training import NodeLimits

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]

ROOMS: Mapping[str, str] = {
    "data": "Recorded streams and tables",
    "costs": "Costs",
    "relief": "Relief",
    "selection": "Selection",
    "classifiers": "Classifiers",
    "procedure": "Procedures",
    "engine": "The engine",
    "evaluation": "Evaluation",
    "training": "Training",
    "training.promises": "Promises",
}
"""The rooms with public names, and their titles."""

MORE: Mapping[str, tuple[str, ...]] = {
    "evaluation": (
        "streamfs.base.progress_bars.show_progress",
        "streamfs.evaluation.report.measure.measure",
        "streamfs.evaluation.report.page.html",
        "streamfs.experiments.report_plots",
    ),
    "procedure": (
        "streamfs.procedure.drift_detectors.SameDistributionDetector",
        "streamfs.procedure.drift_detectors.ShareDetector",
    ),
    "training.promises": ("streamfs.training.promises.recertified.streams_needed",),
}
"""What is public beside the names of a room's stub."""

SECTIONS: Mapping[str, type] = {
    "": TopLevel,
    "[broker]": Broker,
    "[time]": Time,
    "[streams]": Streams,
    "[limits]": Limits,
    "[commit]": Commits,
    "[http]": Http,
    "[view]": ViewTimes,
    "[log]": Logging,
    "[homeassistant]": HomeAssistant,
    "[promise]": AfterWithdrawal,
    "[drift]": Drift,
    "[devices]": DeviceReturn,
    "[[source]]": InputSource,
}

PYTHON: Mapping[str, Callable[..., object]] = {
    "train": train,
    "train_promised": train_promised,
    "Promise": Promise,
    "SearchSettings": SearchSettings,
    "Pricing": Pricing,
    "NodeLimits": NodeLimits,
    "Layout": Layout,
}
"""Where options of `streamfs train` are in Python."""

OTHERWISE: Mapping[str, str] = {
    "--feature": "`train(features=)`, all of them",
    "--channel": "`train(features=fx.catalogue(channels))`",
    "--catalogue": "`fx.ESSENTIAL`, `fx.KINDS`",
    "--extrapolation": "`StreamRelief(extrapolation=)`",
    "--split": "`NodeLimits(sends=)`",
    "--river": "`train(classifier=)`, the classifier itself",
    "--sklearn": "`train(classifier=)`, the estimator itself",
    "--price": "`Pricing(prices=)`, all of them",
    "--promise": "`Promise(accuracy=)`",
    "--explore": "`explore(streams)`, and `Front.write`",
    "--point": "`Front.procedure`, which counts from 0",
    "--out": "`Procedure.save`",
    "--png": "`streamfs.experiments.plots`",
}
"""What is called otherwise there, for a reason: an option that may be repeated is one, a file is a value."""

OF_THE_COMMAND = ("--devices", "--json")

SAME_KEYS = ("profile",)
"""What of `gateway.toml` means the same."""

TOPICS: Mapping[str, tuple[str, str]] = {
    "decision/{stream}": (
        "yes",
        "a decision, of a stream's newest episode: [the gateway](../gateway.md#decisions)",
    ),
    "control/{node}": ("yes", "what a node sends from now on: [control messages](../gateway.md#control-messages)"),
    "status/{gateway}": (
        "yes",
        'its `status`, `"online"` or, as its last will, `"offline"`, and what a gateway with a shard serves',
    ),
    "promise/{gateway}": (
        "yes",
        "whether the promise is kept: [operations](../operations.md#is-the-promise-kept-here)",
    ),
    "alert/{gateway}": ("no", "a drift that was detected: [operations](../operations.md#labels-and-drift)"),
    "deadletter/{gateway}": ("no", "a message that could not be read, with the reason"),
    "label-wanted/{stream}": ("yes", "a decision whose true label is wanted, until it comes"),
    "asked/{gateway}/{device}": ("yes", "what a device was asked, for the guard: [devices](../devices.md)"),
    "guard/{gateway}": ("yes", "the guard's own status"),
    "guarded/{gateway}": ("yes", "what the guard asked of devices in the gateway's place"),
    "label/{stream}": ("read", "the true label of a stream, as text or JSON"),
    "command/{gateway}": ("read", '`{"reopen": STREAM}`, or `"*"` for all'),
}
"""Topics below the prefix: whether they are retained, or read; and what is published there."""

PICTURES: Mapping[str, Path] = {"ideas/figure2.png": ROOT / "benchmarks" / "figure2.png"}
"""Pictures from outside of docs/."""

TABLES: Mapping[str, str] = {
    "decisions": "a decision, once for each stream and episode",
    "energy": "a line of the energy log, as JSON",
    "outbox": "a publication that the broker has not confirmed",
    "snapshots": "the whole state at a position of the log",
    "marks": "the last sequence number and time of each node's channel, at the newest snapshot",
    "totals": "one row: the position, the highest number of the outbox, and the sum of each table's checksums",
}


def pages() -> dict[str, str]:
    """Return the pages by their path below docs/."""
    rooms = {f"reference/{room.replace('.', '_')}.md": _room(room, title) for room, title in ROOMS.items()}
    return rooms | {
        "reference/features.md": _names("Features: `feature_extractors`", _features()),
        "reference/commands.md": _commands(),
        "reference/names.md": _one_name(),
        "reference/settings.md": _settings(),
        "reference/metrics.md": _metrics(),
        "reference/topics.md": _topics(),
        "reference/tables.md": _tables(),
    }


def on_files(files: "Files", config: "MkDocsConfig") -> "Files":
    """Add the pages to those that mkdocs builds."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - it is there when the documentation is built alone

    for path, text in pages().items():
        files.append(File.generated(config, path, content=text))
    for path, source in PICTURES.items():
        files.append(File.generated(config, path, abs_src_path=str(source)))
    return files


def public_names(room: str) -> list[str]:
    """Return the full names of what a room's stub makes public."""
    package = f"streamfs.{room}"
    stub = ROOT / package.replace(".", "/") / "__init__.pyi"
    return [
        f"{package}.{node.module}.{alias.name}"
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def _room(room: str, title: str) -> str:
    return _names(f"{title}: `streamfs.{room}`", [*public_names(room), *MORE.get(room, ())])


def _names(title: str, names: list[str]) -> str:
    return f"# {title}\n\n" + "".join(f"::: {name}\n\n" for name in names)


def _features() -> list[str]:
    homes = {
        name: getattr(inspect.unwrap(getattr(feature_extractors, name)), "__module__", None)
        for name in feature_extractors.__all__
    }
    return [f"{_home(name, home)}.{name}" for name, home in homes.items()] + [
        "feature_extractors.checks.check_feature"
    ]


def _home(name: str, module: str | None) -> str:
    """Return the module that defines a name: of a constant, the one that has it in its own text."""
    if module is not None and hasattr(import_module(module), name):
        return module
    return "feature_extractors.catalogue"


def _commands() -> str:
    """Return what each command says of itself, by topic."""
    top = click.Context(cli, info_name="streamfs", max_content_width=100)
    lines = ["# Commands", "", "What `streamfs COMMAND --help` prints.", ""]
    for topic, names in COMMAND_TOPICS.items():
        lines += [f"## {topic}", ""]
        for name in names:
            for words, command in _with_subcommands(name, cli.get_command(top, name)):
                shown = click.Context(command, info_name=f"streamfs {words}", max_content_width=100)
                lines += [f"### streamfs {words}", "", "```text", command.get_help(shown), "```", ""]
    return "\n".join(lines)


def option_names() -> list[tuple[str, str, str]]:
    """Return for each option of `streamfs train` its name in Python and the key in gateway.toml; "" if it has none."""
    command = cli.get_command(click.Context(cli), "train")
    keys = {key for section in SECTIONS.values() for key in declared(section)}
    rows = []
    for option in command.params if command is not None else ():
        if isinstance(option, click.Option):
            word = option.opts[-1].lstrip("-").replace("-", "_")
            homes = [name for name, function in PYTHON.items() if word in inspect.signature(function).parameters]
            python = OTHERWISE.get(option.opts[-1], f"`{homes[0]}({word}=)`" if homes else "")
            rows.append((option.opts[-1], python, f"`{word}`" if word in keys and word in SAME_KEYS else ""))
    return rows


def _one_name() -> str:
    """Return what options are called in Python and in gateway.toml."""
    lines = [
        "# Names",
        "",
        "What an option of `streamfs train` is called in Python, and in `gateway.toml` where it is there.",
        "",
    ]
    lines += ["| option | Python | gateway.toml |", "|---|---|---|"]
    lines += [
        f"| `{option}` | {python or 'of the command alone'} | {key} |" for option, python, key in option_names()
    ]
    return "\n".join(lines) + "\n"


def _with_subcommands(words: str, command: click.Command | None) -> Iterator[tuple[str, click.Command]]:
    if command is None:
        raise LookupError(f"there is no command {words}")
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from _with_subcommands(f"{words} {name}", command.get_command(context, name))


def _settings() -> str:
    """Return all settings of `gateway.toml`."""
    lines = [
        "# Settings",
        "",
        "The keys of `gateway.toml`; the [gateway](../gateway.md) and [sources](../sources.md) show them in use.",
        "",
    ]
    for section, owner in SECTIONS.items():
        lines += [
            f"## {section or 'Outside of sections'}",
            "",
            "| key | type | default | meaning |",
            "|---|---|---|---|",
        ]
        for key, kind, option, default in declared(owner).values():
            lines.append(f"| `{key}` | {_type(kind)} | {_default(option, default)} | {_cell(option.sentence)} |")
        lines.append("")
    return "\n".join(lines)


def _type(kind: Any) -> str:
    words = {
        Path: "path",
        str: "text",
        int: "whole number",
        float: "number",
        bool: "true or false",
        tuple: "list",
        dict: "table",
    }
    return words.get(kind, words.get(getattr(kind, "__origin__", None), "text"))


def _default(option: Option, value: object) -> str:
    if value is MISSING and "by default" not in option.sentence:
        return "required"
    shown = str(value).lower() if isinstance(value, bool) else value
    return "-" if value in (None, MISSING, (), {}) else f"`{shown}`"


def _metrics() -> str:
    """Return all metrics of `/metrics`."""
    lines = ["# Metrics", "", "What `/metrics` serves; [operations](../operations.md) says what to watch.", ""]
    lines += ["| metric | kind | meaning |", "|---|---|---|"]
    rows = {_metric(name): (_kind(name), _cell(text)) for name, text in HELP.items()} | _labelled()
    lines += [f"| `{name}` | {kind} | {text} |" for name, (kind, text) in sorted(rows.items())]
    return "\n".join(lines) + "\n"


def _metric(name: str) -> str:
    return f"streamfs_{name}" if name in GAUGES else f"streamfs_{name}_total"


def _kind(name: str) -> str:
    return "gauge" if name in GAUGES else "counter"


def _labelled() -> dict[str, tuple[str, str]]:
    """Return the metrics that are not plain counters or gauges, as the gateway declares them."""
    health = Health(connected=True, subscribed=True, storing=True, loop_age=0.0, lag=0.0)
    promise = {"status": "kept so far", "accuracy_at_least": 0.0}
    statistics = Statistics({}, {}, {("", ""): 0}, {"": 0}, 0.0, "joules", {"": 0}, {}, {("", ""): 0}, promise)
    found = {}
    for family in Metrics(lambda: statistics, lambda: health).families():
        if family.name.removeprefix("streamfs_") in HELP:
            continue
        labels = sorted({label for sample in family.samples for label in sample.labels})
        suffix = {"counter": "_total", "info": "_info"}.get(family.type, "")
        shown = f"{{{', '.join(labels)}}}" if labels else ""
        found[f"{family.name}{suffix}{shown}"] = (family.type, _cell(family.documentation))
    return found


def _topics() -> str:
    lines = [
        "# Topics",
        "",
        "Below `prefix`, by default `streamfs`. [Sources](../sources.md) say how nodes publish.",
        "",
    ]
    lines += ["| topic | retained | what it has |", "|---|---|---|"]
    lines += [f"| `{{prefix}}/{topic}` | {retained} | {text} |" for topic, (retained, text) in TOPICS.items()]
    return "\n".join(lines) + "\n"


def _tables() -> str:
    """Return the tables of the journal, as they are made."""
    lines = [
        "# Tables",
        "",
        "Those of `journal.sqlite`, in a gateway's [state](../storage.md). `streamfs journal` shows what",
    ]
    lines += ["they have, also while the gateway runs.", ""]
    with sqlite3.connect(":memory:", isolation_level=None) as journal:
        migrate(journal, Path("journal.sqlite"))
        for table, text in TABLES.items():
            lines += [f"## {table}", "", f"A row is {text}.", "", "| column | type | |", "|---|---|---|"]
            for _, name, kind, required, _, key in journal.execute(f"PRAGMA table_info({table})"):
                lines.append(f"| `{name}` | {kind} | {'key' if key else '' if required else 'or nothing'} |")
            lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
