"""A share of the campaign of kills of gateways that have a standby."""

import pytest
import standby_kills


@pytest.mark.mqtt
def test_standbys_go_on_when_gateways_and_their_disks_are_gone(tmp_path, broker, undisturbed):
    account, witness, seconds = standby_kills.run(tmp_path, broker, 2, seed=1)
    assert len(seconds) == 2
    standby_kills.assert_nothing_lost(account, witness, undisturbed())
