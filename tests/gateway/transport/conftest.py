"""A broker of a test's own."""

import pytest
from helpers.broker import Broker


@pytest.fixture
def broker(broker):  # noqa: ARG001 - the session's broker skips where there is no mosquitto
    """Run a broker of the test's own: nothing is retained there from other tests."""
    with Broker() as own:
        yield own
