"""Packages that only an extra installs."""

from importlib import import_module
from typing import Any

from streamfs.errors import MissingExtraError

EXTRAS = {
    **dict.fromkeys(("joblib", "numba", "polars", "river", "scipy", "sklearn"), "train"),
    **dict.fromkeys(("anyio", "jinja2", "markupsafe", "starlette", "uvicorn"), "page"),
    **dict.fromkeys(("pyarrow", "pyspark"), "cluster"),
}
"""The extras of packages that are imported as any other, by the names of these."""


def missing_extra(error: ModuleNotFoundError) -> MissingExtraError | None:
    """Return what to say of a package that is not installed; None if no extra installs it."""
    package = str(error.name).partition(".")[0]
    return MissingExtraError(package, EXTRAS[package]) if package in EXTRAS else None


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
