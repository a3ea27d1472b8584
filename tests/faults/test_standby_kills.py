"""A share of the campaign of kills of gateways that have a standby."""

import pytest
import standby_kills

pytestmark = pytest.mark.mqtt


def test_standbys_go_on_when_gateways_and_their_disks_are_gone(tmp_path, broker, undisturbed):
    accounts, witness, _, seconds = standby_kills.run(tmp_path, broker, 2, seed=1)
    assert len(seconds) == 2
    standby_kills.assert_nothing_lost(accounts, witness, undisturbed())


def test_standbys_of_gateways_that_share_streams_go_on(tmp_path, broker, undisturbed):
    accounts, witness, kills, _ = standby_kills.run(tmp_path, broker, 2, seed=5, shards=standby_kills.SHARDS)
    assert kills.total() == 2
    standby_kills.assert_nothing_lost(accounts, witness, undisturbed())
