"""The meter of transmitted messages: its account depends on counts alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.costs.energy_meter import EnergyMeter
from streamfs.costs.radio_profiles import profile

MESSAGES = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c"]), st.integers(0, 200), st.integers(0, 5)), max_size=30
)


@pytest.mark.parametrize("name", ["transmissions", "cc2420", "sx1276_lora_sf9"])
@given(messages=MESSAGES, seed=st.integers(0, 9))
def test_the_order_of_messages_does_not_matter(name, messages, seed):
    meter, shuffled = EnergyMeter(profile(name)), EnergyMeter(profile(name))
    for message in messages:
        meter.count(*message)
    for index in np.random.default_rng(seed).permutation(len(messages)):
        node, n_bytes, n_messages = messages[index]
        for _ in range(n_messages):
            shuffled.count(node, n_bytes)
        shuffled.count(node, n_bytes, 0)
    assert shuffled.joules == meter.joules
    assert shuffled.nodes == meter.nodes


@given(messages=MESSAGES)
def test_totals_are_those_of_the_nodes(messages):
    meter = EnergyMeter(profile("cc2420"), distance=25.0)
    for message in messages:
        meter.count(*message)
    accounts = meter.nodes.values()
    assert meter.messages == sum(n for _, _, n in messages) == sum(account.messages for account in accounts)
    assert meter.bytes == sum(n * size for _, size, n in messages) == sum(account.bytes for account in accounts)
    assert meter.joules == pytest.approx(sum(account.joules for account in accounts))


def test_the_meter_charges_its_distance():
    meter = EnergyMeter(profile("heinzelman2000"), distance=100.0)
    meter.count("a", 10)
    assert meter.joules == pytest.approx(84e-6)
    assert meter.account("a") == meter.nodes["a"]


def test_a_node_that_never_transmitted_has_an_empty_account():
    meter = EnergyMeter(profile("cc2420"))
    assert meter.account("a") == (0, 0, 0.0)
    assert meter.nodes == {}


def test_a_negative_number_of_messages_is_refused():
    with pytest.raises(ValueError, match="n_messages is -1"):
        EnergyMeter(profile("cc2420")).count("a", 10, -1)
