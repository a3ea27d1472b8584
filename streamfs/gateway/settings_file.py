"""The settings of a running gateway, read again from their file."""

from dataclasses import fields, replace
from typing import Any

from streamfs.errors import SettingsError
from streamfs.gateway.model_file import Renewed
from streamfs.gateway.settings.settings import Settings, read_settings
from streamfs.procedure.procedure import Procedure

IN_PLACE = (
    "model",
    "trust",
    "require_signature",
    "profile",
    "time",
    "streams",
    "limits",
    "drift",
    "promise",
    "sources",
    "nodes",
)
"""Settings that may change while a gateway runs; others need a restart."""

_NOT_SETTINGS = ("file", "lines")


class SettingsFile:
    """The settings of a running gateway; what its file has changed since is taken over, all of it or nothing.

    Settings that code has made, or changed, stay as they are.
    """

    def __init__(self, settings: Settings) -> None:
        self._now = settings
        self._as_read = read_settings(settings.file) if settings.lines else None

    def load(self) -> Procedure:
        """Load the model, and check that its streams can be bound."""
        return _load_bound(self._now)

    def read_again(self) -> Renewed:
        """Read settings and model; raise a SettingsError that names what cannot change while the gateway runs."""
        if self._as_read is None:
            return Renewed(_load_bound(self._now))
        found = read_settings(self._now.file)
        changed = self._changes(found)
        fixed = [name for name in changed if name not in IN_PLACE]
        if fixed:
            where = found.where(fixed[0])
            raise SettingsError(f"{where}: {', '.join(fixed)} cannot change while the gateway runs: restart it")
        settings = replace(self._now, lines=found.lines, **changed)
        procedure = _load_bound(settings)

        def accept() -> None:
            self._now, self._as_read = settings, found

        if not changed.keys() - {"model", "trust", "require_signature"}:
            return Renewed(procedure, accept=accept)
        return Renewed(procedure, settings.bindings(procedure.channels), settings, accept)

    def _changes(self, found: Settings) -> dict[str, Any]:
        """Return the settings that differ from those of the file when it was last read."""
        names = [field.name for field in fields(Settings) if field.name not in _NOT_SETTINGS]
        return {
            name: getattr(found, name) for name in names if getattr(found, name) != getattr(self._as_read, name)
        }


def load_model(settings: Settings) -> Procedure:
    """Load the model."""
    return Procedure.load(settings.model, trust=settings.trust, public_key=settings.require_signature)


def _load_bound(settings: Settings) -> Procedure:
    procedure = load_model(settings)
    settings.bindings(procedure.channels)
    return procedure
