"""A gateway's settings, as ``gateway.toml`` has them."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from os import PathLike
from pathlib import Path

from streamfs.costs.radio_profiles import PROFILES
from streamfs.errors import SettingsError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.messages.topics import check_name, check_topic
from streamfs.gateway.settings.broker import Broker
from streamfs.gateway.settings.sections import Commit, Drift, HomeAssistant, Http, Limits, Logging, Time
from streamfs.gateway.settings.sources import InputSource
from streamfs.gateway.settings.streams import Streams
from streamfs.gateway.settings.toml_lines import Place, line_of, lines_of
from streamfs.gateway.settings.toml_problems import Problems
from streamfs.gateway.settings.toml_section import Section


@dataclass(frozen=True)
class Settings:
    """All that a gateway is told.

    Parameters
    ----------
    file : pathlib.Path
        Where it stands.
    model : pathlib.Path
        The model file.
    broker : Broker
        The connection to the broker.
    name : str
        The gateway's name, in its client id and its topics.
    prefix : str
        First part of the topics that it publishes to.
    state : pathlib.Path, optional
        Folder of log and journal; None keeps nothing.
    spool : pathlib.Path, optional
        Folder for segments of the log that are not needed any more; None removes them.
    trust : bool
        Whether a pickled River model may be loaded.
    profile : str
        The nodes' radio, a key of `streamfs.costs.radio_profiles.PROFILES`.
    time : Time
        What time it is for the streams.
    streams : Streams
        Who the streams are.
    sources : tuple of InputSource
        Which topics carry what; the first that fits a topic counts.
    limits : Limits
        What the gateway bears.
    commit : Commit
        When what was received is made durable.
    http : Http, optional
        Where metrics and health are served; None serves none.
    log : Logging
        What is told on standard error.
    homeassistant : HomeAssistant, optional
        How streams introduce themselves; None if they do not.
    drift : Drift, optional
        How decisions are watched for drift; None if they are not.
    lines : mapping of tuple to int
        Where in the file its keys stand; see `lines_of`.
    """

    file: Path
    model: Path
    broker: Broker
    name: str = "gateway"
    prefix: str = "streamfs"
    state: Path | None = None
    spool: Path | None = None
    trust: bool = False
    profile: str = "transmissions"
    time: Time = field(default_factory=Time)
    streams: Streams = field(default_factory=Streams)
    sources: tuple[InputSource, ...] = (InputSource(),)
    limits: Limits = field(default_factory=Limits)
    commit: Commit = field(default_factory=Commit)
    http: Http | None = None
    log: Logging = field(default_factory=Logging)
    homeassistant: HomeAssistant | None = None
    drift: Drift | None = None
    lines: Mapping[Place, int] = field(default_factory=dict, repr=False, compare=False)

    def where(self, *place: str | int) -> str:
        """Return the file and the line of a key, for messages; settings from elsewhere have no lines."""
        return f"{self.file}, line {line_of(place, self.lines)}" if self.lines else str(self.file)

    def bindings(self, channels: Sequence[str]) -> Bindings:
        """Bind nodes and topics for a model's channels.

        Parameters
        ----------
        channels : sequence of str
            The model's.

        Raises
        ------
        SettingsError
            If the streams cannot be bound, or a channel comes from no source.
        DataError
            If the file of pairs cannot be read.
        """
        routes = tuple(source.route(self.limits.batch_samples) for source in self.sources)
        try:
            bindings = self.streams.bindings(channels, routes, self.limits.streams)
        except StreamfsError:
            raise
        except ValueError as error:
            raise SettingsError(f"{self.where('streams')}: streams cannot be bound: {error}") from error
        if all(source.channels is not None for source in self.sources):
            known = {channel for source in self.sources for channel in source.channels or ()}
            missing = [channel for channel in bindings.node_channels if channel not in known]
            if missing:
                where = self.where("source", 0)
                raise SettingsError(f"{where}: no source has channel {', '.join(missing)}, which the model reads")
        return bindings

    def unread_sources(self, bindings: Bindings) -> list[str]:
        """Return what there is to say of sources of which the model reads no channel, one text a source."""
        wanted = bindings.node_channels
        return [
            f"{self.where('source', number)}: source has {', '.join(source.channels)}, which the model does not "
            f"read; its channels are {', '.join(wanted)}"
            for number, source in enumerate(self.sources)
            if source.channels is not None and not set(source.channels) & set(wanted)
        ]


def read_settings(path: str | PathLike[str]) -> Settings:
    """Read a gateway's settings.

    Parameters
    ----------
    path : path
        A TOML file; paths in it are taken from its folder.

    Returns
    -------
    Settings
        With defaults for what the file leaves out.

    Raises
    ------
    SettingsError
        If the file cannot be read, or anything in it is unknown, missing, of the wrong kind, out of its range or
        at odds with something else: all of it, one thing a line, with file, line and key.
    """
    file = Path(path)
    try:
        text = file.read_text(encoding="utf-8-sig")
        values = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise SettingsError(_with_line(file, error)) from error
    lines = lines_of(text)
    problems = Problems(file, lines)
    settings = _settings(file, Section(values, (), problems), lines)
    problems.tell()
    return settings


def _settings(file: Path, top: Section, lines: Mapping[Place, int]) -> Settings:
    name = top.checked("name", partial(check_name, "name"), Settings.name)
    state, spool = top.path("state"), top.path("spool")
    if spool is not None and state is None:
        top.note("spool", "is there without state, expected both")
    model = top.needed("model", "the path of a model file")
    sections = {
        key: top.section(key)
        for key in ("broker", "time", "streams", "limits", "commit", "http", "log", "homeassistant", "drift")
    }
    settings = Settings(
        file,
        top.path("model") or Path(model),
        Broker.read(sections["broker"], name),
        name,
        top.checked("prefix", partial(check_topic, "prefix"), Settings.prefix),
        state,
        spool,
        top.flag("trust", Settings.trust),
        top.text("profile", Settings.profile, tuple(PROFILES)),
        Time.read(sections["time"]),
        Streams.read(sections["streams"]),
        tuple(InputSource.read(source) for source in top.sections("source")) or Settings.sources,
        Limits.read(sections["limits"]),
        Commit.read(sections["commit"]),
        Http.read(sections["http"]) if sections["http"].is_there else None,
        Logging.read(sections["log"]),
        HomeAssistant.read(sections["homeassistant"]) if sections["homeassistant"].is_there else None,
        Drift.read(sections["drift"]) if sections["drift"].is_there else None,
        lines,
    )
    _finish([top, *(section for section in sections.values() if section.is_there)])
    return settings


def _finish(sections: Iterable[Section]) -> None:
    for section in sections:
        section.finish()


def _with_line(file: Path, error: Exception) -> str:
    """Return what is wrong with a file that is no TOML, its line in front."""
    found = re.search(r" \(at line (\d+), column \d+\)$", str(error))
    if found is None:
        return f"{file}: {error}, expected TOML"
    return f"{file}, line {found[1]}: {str(error)[: found.start()]}, expected TOML"
