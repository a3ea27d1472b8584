"""Packages that only an extra installs."""

from importlib import import_module
from typing import Any

from streamfs.errors import MissingExtraError


def load_optional(package: str, extra: str) -> Any:
    """Import a package that an extra installs.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    try:
        return import_module(package.replace("-", "_"))
    except ModuleNotFoundError as error:
        raise MissingExtraError(package, extra) from error
