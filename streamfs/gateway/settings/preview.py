"""Preview of a gateway, without connecting to anything."""

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any, TypeVar

from streamfs.errors import MissingExtraError, SettingsError, StreamfsError
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.cautions import cautions
from streamfs.gateway.settings.http_token import read_token
from streamfs.gateway.settings.settings import Settings
from streamfs.gateway.settings.sources import InputSource
from streamfs.gateway.settings.time_contradictions import time_contradictions
from streamfs.gateway.transport.broker_address import BrokerAddress
from streamfs.procedure.procedure import Procedure

T = TypeVar("T")

_PACKAGES = {"prometheus_client": "prometheus-client", "pythonjsonlogger": "python-json-logger"}  # of modules


@dataclass(frozen=True)
class GatewayPreview:
    """A gateway's settings with the model, the bindings of nodes and streams, and the broker's address."""

    settings: Settings
    procedure: Procedure
    bindings: Bindings
    address: BrokerAddress

    @property
    def sources(self) -> list[dict[str, Any]]:
        """Topics, format, channels that the model reads, unread ones, and topics left out, of each source."""
        return [self._source(source) for source in self.settings.sources]

    @property
    def cautions(self) -> list[str]:
        """What the settings allow and should not, with remedies."""
        return cautions(self.settings, self.address, self.procedure)

    def to_json(self) -> dict[str, Any]:
        """Return the preview for JSON, without a password."""
        settings = self.settings
        return {
            "name": settings.name,
            "model": str(settings.model),
            "digest": self.procedure.digest,
            "classes": list(self.procedure.classes),
            "channels": list(self.procedure.channels),
            "broker": {
                "host": self.address.host,
                "port": self.address.port,
                "user": self.address.user,
                "tls": self.address.tls is not None,
                "client_id": settings.broker.client_id,
                "qos": settings.broker.qos,
            },
            "any_node": self.bindings.discovers,
            "streams": list(self.bindings.streams),
            "shard": settings.shard,
            "sources": self.sources,
            "limits": asdict(settings.limits),
            "state": None if settings.state is None else str(settings.state),
            "warnings": self.cautions,
        }

    def _source(self, source: InputSource) -> dict[str, Any]:
        wanted = self.bindings.node_channels
        known = wanted if source.channels is None else source.channels
        fed = {channel for channel in known if self.bindings.fed_by(channel)}
        prefix = self.settings.prefix
        return {
            "topics": list(source.route().filters(wanted)),
            "format": source.format,
            "channels": [channel for channel in known if channel in fed],
            "unread": [channel for channel in known if channel not in fed],
            "left_out": [f"{prefix}/#"] if Template(source.topic).overlaps(prefix) else [],
        }


def preview_gateway(settings: Settings) -> GatewayPreview:
    """Preview the gateway of some settings; raise a SettingsError with all errors if it could not run."""
    found = [*_missing_extras(settings), *_unfit_folders(settings)]
    procedure = _tried(
        lambda: Procedure.load(settings.model, trust=settings.trust, public_key=settings.require_signature),
        found,
        settings.where("model"),
    )
    address = _tried(settings.broker.address, found, f"{settings.where('broker')}: broker")
    _tried(lambda: read_token(settings), found)
    bindings = None
    if procedure is not None:
        channels = procedure.channels
        bindings = _tried(lambda: settings.bindings(channels), found)
        found += time_contradictions(settings, procedure)
    if bindings is not None:
        found += settings.unread_sources(bindings)
    if found or procedure is None or bindings is None or address is None:
        raise SettingsError("\n".join(found))
    return GatewayPreview(settings, procedure, bindings, address)


def _tried(work: Callable[[], T], found: list[str], where: str = "") -> T | None:
    """Return the result of some work; if it fails, note the error and return None."""
    try:
        return work()
    except (StreamfsError, ValueError) as error:
        found.append(f"{where}: {error}" if where else str(error))
    return None


def _missing_extras(settings: Settings) -> list[str]:
    wanted: dict[str, tuple[str, ...]] = {}
    if settings.http is not None:
        wanted["prometheus_client"] = ("http",)
    if settings.log.format == "json":
        wanted["pythonjsonlogger"] = ("log", "format")
    return [
        f"{settings.where(*place)}: {'.'.join(place)}: {MissingExtraError(_PACKAGES[module], 'gateway')}"
        for module, place in wanted.items()
        if find_spec(module) is None
    ]


def _unfit_folders(settings: Settings) -> list[str]:
    """Return errors of folders that cannot be written; folders need not exist yet."""
    found = []
    for key, folder in (("state", settings.state), ("spool", settings.spool), ("mirror", settings.mirror)):
        if folder is not None:
            there = next(path for path in (folder, *folder.parents) if path.exists())
            if not (there.is_dir() and os.access(there, os.W_OK | os.X_OK)):
                found.append(
                    f"{settings.where(key)}: {key} is {str(folder)!r}, but {there} is not a writable folder"
                )
    return found
