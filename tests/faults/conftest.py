"""Fixtures of the fault tests: a broker each, and a run without faults for comparison."""

from functools import cache

import pytest
from accounts import run_undisturbed
from helpers.broker import Broker, find_mosquitto
from traffic import traffic

DURABLE = "autosave_interval 1\nautosave_on_changes true"
"""The broker saves each change, so that it forgets nothing in a restart."""


@pytest.fixture(scope="session", autouse=True)
def _needs_mosquitto():
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")


@pytest.fixture
def broker():
    with Broker() as running:
        yield running


@pytest.fixture
def durable_broker(tmp_path):
    folder = tmp_path / "broker"
    folder.mkdir()
    with Broker(DURABLE, folder) as running:
        yield running


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory):
    """Return the outcome of the traffic without faults, with or without sequence numbers."""

    @cache
    def run(*, numbered=True):
        with Broker() as broker:
            return run_undisturbed(tmp_path_factory.mktemp("undisturbed"), broker, traffic(numbered=numbered))

    return run
