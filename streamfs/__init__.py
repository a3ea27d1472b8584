"""Decide early and cheaply what a stream of sensor readings is."""

from typing import Any

import lazy_loader

from streamfs.base.optional import missing_extra
from streamfs.data.recordings import histories

histories.register("streamfs.cli.histories.gateway:kept", "streamfs.cli.histories.find:history")

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name, loaded at its first use."""
    try:
        return _load(name)
    except ModuleNotFoundError as error:
        missing = missing_extra(error)
        if missing is None:
            raise
        raise missing from error
