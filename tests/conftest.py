"""What all tests share: hypothesis without deadlines, plots without a screen, and a broker."""

import os
from collections.abc import Iterator

import pytest
from broker import Broker, find_mosquitto
from hypothesis import settings

os.environ.setdefault("MPLBACKEND", "Agg")

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Run one mosquitto for the session; what is retained stays, so tests use topics of their own."""
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    with Broker() as running:
        yield running
