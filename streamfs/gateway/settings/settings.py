"""The settings of a gateway, and how ``gateway.toml`` is read."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any

from streamfs.base.plain_files import not_utf8, read_text
from streamfs.errors import SettingsError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.feeds import Feed
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.core.options import RECERTIFY, AfterWithdrawal, Commits, DeviceReturn, Drift, Limits, Time
from streamfs.gateway.core.routes import Route
from streamfs.gateway.core.shards import Shard, Share, zone_by_node
from streamfs.gateway.settings.broker import Broker
from streamfs.gateway.settings.device_sources import read_source
from streamfs.gateway.settings.moved_zones import Moved, read_moved
from streamfs.gateway.settings.nodes import NodeSettings, aliases_of, read_nodes, zones_of
from streamfs.gateway.settings.profiles import FOLDER
from streamfs.gateway.settings.sections import HomeAssistant, Http, Logging, TopLevel, ViewTimes
from streamfs.gateway.settings.sources import STANDARD_SOURCE, InputSource
from streamfs.gateway.settings.streams import Streams
from streamfs.gateway.settings.toml_lines import Place, line_of, lines_of
from streamfs.gateway.settings.toml_problems import Problems
from streamfs.gateway.settings.toml_section import Section
from streamfs.gateway.settings.toml_syntax import syntax_error

_SECTIONS = {
    "time": Time,
    "limits": Limits,
    "commit": Commits,
    "http": Http,
    "view": ViewTimes,
    "log": Logging,
    "homeassistant": HomeAssistant,
    "promise": AfterWithdrawal,
    "drift": Drift,
    "devices": DeviceReturn,
}
"""The plain sections; those that are missing stay as `Settings` has them."""

_MARK = AfterWithdrawal()


@dataclass(frozen=True, kw_only=True)
class Settings(TopLevel):
    """The settings of a gateway: the options of its core, and all else.

    Parameters
    ----------
    file : pathlib.Path
        Where they are from.
    lines : mapping of tuple to int
        The lines of the file's keys; see `lines_of`.
    sources : tuple of InputSource
        Topics and what they carry; the first that matches a topic counts.
    nodes : mapping of str to NodeSettings
        What is particular to single nodes, by name.

    Other parameters are the top-level keys and the sections of ``gateway.toml``.
    """

    file: Path
    broker: Broker
    streams: Streams = field(default_factory=Streams)
    sources: tuple[InputSource, ...] = (STANDARD_SOURCE,)
    commit: Commits = field(default_factory=Commits)
    http: Http | None = None
    view: ViewTimes = field(default_factory=ViewTimes)
    log: Logging = field(default_factory=Logging)
    homeassistant: HomeAssistant | None = None
    nodes: Mapping[str, NodeSettings] = field(default_factory=dict)
    lines: Mapping[Place, int] = field(default_factory=dict, repr=False, compare=False)

    def where(self, *place: str | int) -> str:
        """Return the file and the line of a key, for messages; settings made by code have no lines."""
        return f"{self.file}, line {line_of(place, self.lines)}" if self.lines else str(self.file)

    @property
    def own_routes(self) -> tuple[Route, ...]:
        """The routes of the sources that the file has; none if it has that of own nodes by default."""
        own = () if self.sources == (STANDARD_SOURCE,) else self.sources
        return tuple(source.route(self.limits.batch_samples) for source in own)

    def bindings(self, channels: Sequence[str]) -> Bindings:
        """Bind nodes and topics for a model's channels.

        Raise a SettingsError if the streams cannot be bound or no source has a channel, and a DataError if the
        file of pairs cannot be read.
        """
        routes = tuple(source.route(self.limits.batch_samples) for source in self.sources)
        try:
            bindings = self.streams.bindings(channels, routes, self.limits.streams)
            devices = {source.key: source.profile for source in self.sources if source.profile and source.key}
            zones = zones_of(self.nodes)
            bindings = replace(bindings, aliases=aliases_of(self.nodes), devices=devices, zones=zones)
            bindings = self._own(bindings)
        except StreamfsError:
            raise
        except ValueError as error:
            raise SettingsError(f"{self.where('streams')}: streams cannot be bound: {error}") from error
        if zones and not any(route.takes_zone for route in routes):
            node, name = next(iter(zones.items()))
            raise SettingsError(
                f"{self.where('node', node, 'time_zone')}: node.{node}.time_zone is {name!r}, but no source has "
                f"times in text (time_unit iso or any)"
            )
        if all(source.channels is not None for source in self.sources):
            fed = {feed.channel for source in self.sources for feed in _fed(bindings, source)}
            missing = [channel for channel in bindings.node_channels if channel not in fed]
            if missing:
                where = self.where("source", 0)
                raise SettingsError(f"{where}: no source has channel {', '.join(missing)}, which the model reads")
        return bindings

    def share(self) -> Share | None:
        """Return the share of the streams that the gateway serves, with the zones that were moved; None is all."""
        if self.shard is None:
            return None
        moved = Moved() if self.state is None else read_moved(self.state)
        return Share(Shard.parse(self.shard), moved.came, moved.left)

    def _own(self, bindings: Bindings) -> Bindings:
        """Return the part of the bindings that the gateway serves."""
        share = self.share()
        if share is None:
            return bindings
        own = bindings.of_share(share)
        if not (own.discovers or own.streams):
            n_zones = len(set(zone_by_node(bindings.nodes_of).values()))
            raise SettingsError(f"{self.where('shard')}: none of the {n_zones} zones is of shard {self.shard}")
        return own

    def unread_sources(self, bindings: Bindings) -> list[str]:
        """Return an error for each source of which the model reads no channel."""
        fed = {source.number for source in self.sources if source.channels is None or _fed(bindings, source)}
        unread: dict[int, list[str]] = {}
        for source in self.sources:
            if source.number not in fed:
                unread.setdefault(source.number, []).extend(source.channels or ())
        return [
            f"{self.where('source', number)}: source has {', '.join(dict.fromkeys(channels))}, which the model "
            f"does not read; its channels are {', '.join(bindings.node_channels)}"
            for number, channels in unread.items()
        ]


def _fed(bindings: Bindings, source: InputSource) -> list[Feed]:
    """Return what a source with channels of its own feeds."""
    return [feed for channel in source.channels or () for feed in bindings.fed_by(channel)]


def read_settings(path: str | PathLike[str]) -> Settings:
    """Read a gateway's settings.

    Parameters
    ----------
    path : path
        A TOML file; its relative paths are resolved against its folder.

    Returns
    -------
    Settings
        The settings, with defaults for missing keys.

    Raises
    ------
    SettingsError
        If the file cannot be read, or keys are unknown, missing, of the wrong type, out of range or contradictory:
        all errors, one per line, with file, line and key.
    """
    file = Path(path)
    try:
        text = read_text(file)
        values = tomllib.loads(text)
    except UnicodeDecodeError as error:
        raise SettingsError(f"{file} is {not_utf8(error)}, expected a gateway.toml, saved as UTF-8") from error
    except OSError as error:
        raise SettingsError(f"{file} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(syntax_error(file, text, error)) from error
    lines = lines_of(text)
    problems = Problems(file, lines, tuple(declared(TopLevel)))
    found = _sections(Section(values, (), problems), file.parent / FOLDER)
    problems.report()
    return Settings(file=file, lines=lines, **found)


def _sections(top: Section, folder: Path) -> dict[str, Any]:
    """Return the file's values by the names of `Settings`."""
    tables = {key: top.section(key) for key in ("broker", "streams", *_SECTIONS)}
    nodes = read_nodes(top.section("node"))
    sections = top.sections("source")
    sources = tuple(
        source for number, section in enumerate(sections) for source in read_source(section, number, folder)
    )
    found = vars(top.read(TopLevel)) | {
        key: tables[key].read(kind) for key, kind in _SECTIONS.items() if tables[key].exists
    }
    found["broker"] = tables["broker"].read(Broker, client_id=f"streamfs-{found['name']}")
    found["streams"] = Streams.read(tables["streams"])
    if sources:
        found["sources"] = sources
    found["nodes"] = nodes
    _note_own_topics(sections, sources, found["prefix"])
    if found["require_signature"] is not None and found.get("promise", _MARK).on_withdrawal == RECERTIFY:
        tables["promise"].note("on_withdrawal", f"is {RECERTIFY!r}, expected another with require_signature")
    if found["drift"] is not None and not found["drift"].enabled:
        found["drift"] = None
    return found


def _note_own_topics(sections: Sequence[Section], sources: Sequence[InputSource], prefix: str) -> None:
    """Note sources that name what the gateway itself publishes."""
    own = f"{prefix}/"
    for source in sources:
        if str(source.topic).startswith(own):  # one that is missing is noted already
            expected = f"expected one outside {own}: what the gateway publishes is never a reading"
            sections[source.number].note("topic", f"is {source.topic!r}, {expected}")
