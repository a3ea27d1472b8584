"""A fleet of which every tenth node speaks another protocol is decided as one of our own nodes alone."""

import pytest
from helpers import mixed_fleet
from helpers.procedures import channels_procedure

from sensors_sim.devices import KINDS

N_PAIRS = 40


def waiting(channel):
    """A model that waits for a mean, up to 40 ticks."""
    roles = f"a.{channel}", f"b.{channel}"
    return channels_procedure(*roles, threshold=21.5, time_limit=40, period=mixed_fleet.PERIOD, max_silence=3600.0)


@pytest.mark.parametrize("channel", ["temperature@delta:0.5", "temperature@every:3", "trained"])
def test_a_mixed_fleet_is_decided_as_our_own_nodes_and_saves_as_they_do(tmp_path, channel):
    procedure = mixed_fleet.trained() if channel == "trained" else waiting(channel)
    own = mixed_fleet.run(procedure, tmp_path, N_PAIRS, every=0)
    mixed = mixed_fleet.run(procedure, tmp_path, N_PAIRS)
    assert len(own.decisions) == N_PAIRS
    assert mixed.decisions == own.decisions
    assert set(mixed.protocols.values()) == set(KINDS)
    n_ticks = max(decision.tick for decision in own.decisions.values())
    assert n_ticks > 1 if channel == "trained" else n_ticks == 40
    for name, protocol in mixed.protocols.items():
        everything = mixed_fleet.everything(mixed, name)
        if protocol != "shelly" or channel == "temperature@delta:0.5":
            assert mixed.spent[name].joules < 0.3 * everything
