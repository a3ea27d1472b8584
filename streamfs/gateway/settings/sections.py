"""Top-level keys and plain sections of ``gateway.toml`` that the gateway's core does not need."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.core.options import Options
from streamfs.gateway.core.shards import Shard
from streamfs.gateway.messages.topics import check_topic
from streamfs.gateway.transport.broker_address import check_host

_LAST_PORT = 65_535
_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, kw_only=True)
class TopLevel(Options):
    """The keys outside sections."""

    model: Annotated[Path, Option("Path of the model file", example="rooms.streamfs")]
    state: Annotated[
        Path | None,
        Option("Folder of log and journal; by default nothing outlives the run", example="/var/lib/streamfs"),
    ] = None
    spool: Annotated[
        Path | None,
        Option("Folder to keep the log's closed segments in; by default deleted", example="/srv/readings"),
    ] = None
    mirror: Annotated[
        Path | None,
        Option(
            "Folder on a standby's disk that has all of the state, too; by default none",
            example="/net/standby/attic",
        ),
    ] = None
    shard: Annotated[
        str | None,
        Option(
            "Part of the streams that this gateway serves, by zones that share no node; all by default",
            check=Shard.parse,
            example="3/8",
        ),
    ] = None
    trust: Annotated[bool, Option("Whether a pickled model of River or scikit-learn may be loaded")] = False
    require_signature: Annotated[
        Path | None,
        Option(
            "Public key of the signature that model files must have; by default they need none",
            example="models.pub",
        ),
    ] = None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Yield what does not go together: a key, and what is wrong with it."""
        if self.spool is not None and self.state is None:
            yield "spool", "is set without state, expected both"
        if self.mirror is not None and self.state is None:
            yield "mirror", "is set without state, expected both"


@dataclass(frozen=True)
class Http(OptionSection):
    """Section ``[http]``: metrics and health; without this section there is no HTTP."""

    host: Annotated[str, Option("Address to listen on", check=check_host)] = "127.0.0.1"
    port: Annotated[int, Option("Port to listen on; 0 is any free port", least=0, most=_LAST_PORT)] = 9464
    token: Annotated[
        Path | None,
        Option(
            "File with the token that lets people act from the page; by default nobody may",
            example="/etc/streamfs/token",
        ),
    ] = None


@dataclass(frozen=True)
class ViewTimes(OptionSection):
    """Section ``[view]``: what ``streamfs page`` reads."""

    seconds: Annotated[
        float, Option("Seconds from one view to the next; more if it took over 1 % of a processor", least=0.1)
    ] = 1.0
    folder: Annotated[
        Path | None,
        Option(
            'Where it is written, such as a folder in memory; by default "view" in the state',
            example="/run/streamfs/view",
        ),
    ] = None


@dataclass(frozen=True)
class Logging(OptionSection):
    """Section ``[log]``: the log on standard error."""

    format: Annotated[str, Option('"text" or "json"', choices=("text", "json"))] = "text"
    level: Annotated[str, Option('"debug", "info", "warning" or "error"', choices=_LEVELS)] = "info"


@dataclass(frozen=True)
class HomeAssistant(OptionSection):
    """Section ``[homeassistant]``: MQTT discovery; without this section streams are not announced."""

    prefix: Annotated[
        str, Option("First part of the topics Home Assistant listens on", check=partial(check_topic, "prefix"))
    ] = "homeassistant"
