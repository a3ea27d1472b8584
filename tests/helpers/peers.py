"""Libraries that ask for older packages than ours, which `make test` installs without them."""

import os
from importlib import import_module

import pytest


def require(name):
    """Import and return a module; without it skip the test, and in CI fail."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say(f"{error}: `make test` installs it")
