"""Channels that devices can send: what is offered for training, and what is refused by name."""

import numpy as np
import pytest
from click.testing import CliRunner
from helpers.procedures import labelled_streams

from feature_extractors.report import Policy, split_channel
from streamfs import Procedure, StreamSet
from streamfs.cli.app import cli
from streamfs.cli.device_channels import can_send, check_channels, device_channels
from streamfs.errors import DataError
from streamfs.gateway.settings.profiles import load_profile

Z, TASMOTA, SHELLY = (load_profile(name) for name in ("zigbee2mqtt", "tasmota", "shelly"))


def streams_of(period, *columns):
    values = np.random.default_rng(3).normal(20, 1, (4, 30, len(columns)))
    return StreamSet(values, ["a", "b", "a", "b"], columns, period)


@pytest.mark.parametrize(
    ("profile", "column", "policy", "period", "can"),
    [
        (Z, "a.temperature", "delta:0.33", 60.0, True),
        (Z, "a.temperature", "delta:0.337", 60.0, False),
        (Z, "temperature", "flag:20", 60.0, False),
        (Z, "co2", "every:2", 60.0, False),
        (TASMOTA, "co2", "every:2", 60.0, True),
        (TASMOTA, "temperature", "", 5.0, False),
        (TASMOTA, "temperature", "every:2", 5.0, True),
        (TASMOTA, "temperature", "every:2", 3600.0, False),
        (TASMOTA, "temperature", "delta:1", 60.0, False),
        (SHELLY, "temperature", "delta:0.4", 60.0, False),
        (SHELLY, "temperature", "", 60.0, False),
    ],
)
def test_what_a_device_can_send(profile, column, policy, period, can):
    assert can_send(profile, column, Policy.parse(policy), period) == can


@pytest.mark.parametrize("profile", [Z, TASMOTA], ids=lambda profile: profile.name)
def test_what_is_offered_can_be_sent(profile):
    channels = device_channels(profile, streams_of(60.0, "temperature", "humidity"))
    check_channels(profile, channels, 60.0)
    assert {split_channel(channel)[0] for channel in channels} == {"temperature", "humidity"}


def test_channels_that_no_device_can_send_are_refused_by_name():
    with pytest.raises(DataError, match="can send none of co2"):
        device_channels(Z, streams_of(60.0, "co2"))
    with pytest.raises(DataError, match="cannot send temperature@flag:20: they can every, from 10 to 3600 s"):
        check_channels(TASMOTA, ["temperature", "temperature@flag:20"], 60.0)


def test_training_for_devices_reads_what_they_can_send(tmp_path):
    streams = labelled_streams(40, 12)
    StreamSet(streams.values, streams.labels, streams.columns, 60.0, streams.names).write(tmp_path / "s.csv")
    words = ["train", str(tmp_path / "s.csv"), "-o", str(tmp_path / "m.streamfs"), "--devices", "tasmota"]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 0, result.output
    check_channels(TASMOTA, Procedure.load(tmp_path / "m.streamfs").channels, 60.0)
    refused = CliRunner().invoke(cli, [*words, "--channel", "a.level@flag:1"])
    assert isinstance(refused.exception, (DataError, SystemExit))
