"""Training within what a microcontroller has."""

import numpy as np
import pytest
from helpers.demo_node import streams_of

from streamfs import Procedure, StreamSet, train
from streamfs.cli.app import main
from streamfs.errors import TrainingError
from streamfs.evaluation.split_traffic import paid_by_split
from streamfs.training import NodeLimits, train_within


@pytest.fixture(scope="module")
def streams():
    rng = np.random.default_rng(0)
    classes = np.arange(40) % 2
    values = rng.normal(size=(40, 12, 2))
    values[:, :, 0] += 2.0 * classes[:, np.newaxis]
    return StreamSet(values, np.array(["low", "high"])[classes], ("x", "y"), 1.0)


FEATURES = ["mean(x)", "max(x)", "mean(y)", "mean(x; window=8)"]


def test_the_procedure_fits_where_the_usual_one_does_not(streams):
    limits = NodeLimits(max_flash=2_000, max_ram=60, processor="cortex-m0plus")
    usual = train(streams, features=FEATURES)
    found = limits.taken(usual)
    assert not limits.allow(found)
    assert found.flash > 2_000
    fitting = train_within(streams, limits, features=FEATURES)
    found = limits.taken(fitting)
    assert found.flash <= 2_000
    assert found.ram <= 60
    assert "mean(x; window=8)" not in {feature.name for feature in fitting.features}


def test_the_features_of_nodes_save_messages_of_readings(streams):
    limits, drifting = NodeLimits(sends="crossings", processor="cortex-m0plus"), streams_of(80, seed=0)
    found = train_within(drifting, limits, features=["slope(level)"], sending_cost=0.01)
    paid = paid_by_split(found, drifting)
    assert limits.sending(found, drifting, "transmissions") == paid["crossings"] < paid["readings"]
    assert limits.taken(found).flash < NodeLimits(processor="cortex-m0plus").taken(found).flash
    with pytest.raises(TrainingError, match=r"no split by crossings saves anything, a stream costs: readings \d"):
        train_within(streams, limits, features=FEATURES)


def test_the_command_line_limits_what_a_model_takes(tmp_path, streams, capsys):
    streams.write(tmp_path / "streams.csv")
    command = ["train", str(tmp_path / "streams.csv"), "-o", str(tmp_path / "small.streamfs")]
    features = [word for name in FEATURES for word in ("--feature", name)]
    main([*command, *features, "--max-flash", "2000", "--processor", "cortex-m0plus"])
    found = NodeLimits(processor="cortex-m0plus").taken(Procedure.load(tmp_path / "small.streamfs"))
    assert found.flash <= 2_000
    with pytest.raises(SystemExit):
        main([*command, "--max-ram", "60", "--promise", "0.8"])
    assert "--max-ram is not for --promise" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*command, "--processor", "z80"])
    assert "processor is 'z80', expected one of cortex-m0plus" in " ".join(capsys.readouterr().err.split())


def test_what_cannot_fit_is_refused_with_what_it_takes(streams):
    with pytest.raises(TrainingError, match=r"no procedure fits avr: the smallest take \d+ bytes of flash of 100"):
        train_within(streams, NodeLimits(max_flash=100, processor="avr"), features=FEATURES[:1], classifier="c45")
    with pytest.raises(TrainingError, match="no feature takes at most 4 bytes of memory"):
        train_within(streams, NodeLimits(max_ram=4), features=FEATURES)


def test_limits_are_checked():
    with pytest.raises(ValueError, match="max_ram is 0, expected at least 1 byte"):
        NodeLimits(max_ram=0)
    with pytest.raises(ValueError, match="processor is 'z80', expected one of cortex-m0plus"):
        NodeLimits(processor="z80")
    with pytest.raises(ValueError, match="sends is 'all', expected one of values, crossings"):
        NodeLimits(sends="all")
