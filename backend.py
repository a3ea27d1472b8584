"""The build backend: setuptools, with a compiler from ziglang where the system has none."""

import os
import shutil
from typing import Any

from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def _compiler() -> list[str]:
    """Return what a build needs to compile C; asked first, since `setup.py` chooses a compiler."""
    has_one = "CC" in os.environ or any(map(shutil.which, ("cc", "gcc", "clang")))
    return [] if has_one else ["ziglang>=0.15"]


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a wheel needs to be built."""
    return [*_compiler(), *build_meta.get_requires_for_build_wheel(config_settings)]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what an editable installation needs to be built."""
    return [*_compiler(), *build_meta.get_requires_for_build_editable(config_settings)]
