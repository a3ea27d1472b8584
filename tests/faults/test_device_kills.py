"""A share of the campaign of kills of gateway, broker and devices."""

import device_kills
import pytest


@pytest.mark.mqtt
def test_after_kills_no_device_is_silent_that_is_needed_nor_talks_that_is_not():
    victims, seconds, late = device_kills.run(3, seed=1)
    assert not late
    assert sum(victims.values()) == len(seconds) == 3
