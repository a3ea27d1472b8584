"""Messages until a decision, against decisions of an engine and messages counted one by one."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.lazy import NaiveLazyStream, lazy_procedure
from helpers.procedures import channels_procedure, labelled_streams, mean_procedure

from feature_extractors.report import silent_ticks, split_channel
from streamfs import StreamSet, evaluate
from streamfs.errors import DataError
from streamfs.evaluation import traffic as counting
from streamfs.evaluation.traffic import measure_traffic, measure_traffics
from streamfs.evaluation.trajectories import follow
from streamfs.procedure import TickThresholds


def counted(streams, channel, last_ticks, max_silence=None):
    """Mean messages of a channel, stream by stream and tick by tick."""
    column, policy = split_channel(channel)
    silence = silent_ticks(max_silence, streams.period)
    n_sent = 0
    for index, last in enumerate(last_ticks):
        sent = policy.sent(streams.column(column)[index], silence)
        n_sent += sum(not np.isnan(value) for value in sent[:last])
    return n_sent / len(streams)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
@pytest.mark.parametrize("max_silence", [None, 3.0])
def test_messages_are_those_up_to_the_engines_decisions(gaps, max_silence):
    streams = labelled_streams(gaps=gaps)
    streams.labels = np.where(streams.labels == "busy", "on", "off")
    channels = ("a.level@delta:1.5", "b.level", "a.level", "a.noise@flag:0", "b.level@every:3")
    procedure = channels_procedure(*channels, threshold=1.5, time_limit=9, max_silence=max_silence)
    decisions = evaluate(procedure, streams).decisions
    last = [round(d.time) + 1 if d.tick else streams.n_ticks for d in decisions]
    traffic = measure_traffic(procedure, streams)
    assert traffic.channels == pytest.approx(
        {channel: counted(streams, channel, last, max_silence) for channel in procedure.channels}
    )
    assert traffic.columns == pytest.approx({c: counted(streams, c, last) for c in streams.columns})
    assert traffic.ticks == pytest.approx(np.mean(last))
    assert 1 < np.mean(last) < streams.n_ticks


@pytest.mark.parametrize("max_silence", [None, 3.0])
def test_of_many_thresholds_each_has_its_own_traffic_and_streams_are_classified_once(monkeypatch, max_silence):
    streams = labelled_streams(gaps=0.2)
    channels = ("a.level@delta:1.5", "b.level", "a.level")
    procedure = channels_procedure(*channels, threshold=1.5, time_limit=9, max_silence=max_silence)
    by_tick = TickThresholds((1, 3, 6), (0.99, 0.9, 0.0))
    thresholds = [0.5, 0.9, 0.99, 1.0, by_tick]
    alone = [measure_traffic(procedure.with_confidence(threshold), streams) for threshold in thresholds[:-1]]
    alone.append(measure_traffic(replace(procedure, stopping=by_tick), streams))
    followed = []
    monkeypatch.setattr(counting, "follow", lambda *args: followed.append(args) or follow(*args))
    assert measure_traffics(procedure, streams, thresholds) == alone
    assert len(followed) == 1
    assert len({traffic.ticks for traffic in alone}) > 2


def test_no_policy_sends_more_than_its_column_at_every_tick():
    streams = labelled_streams(gaps=0.2)
    channels = ("a.level", "a.level@delta:0.5", "a.level@flag:1", "a.level@mean:2", "a.level@every:2")
    traffic = measure_traffic(channels_procedure(*channels, time_limit=20, max_silence=4.0), streams)
    everything = traffic.columns["a.level"]
    assert traffic.channels["a.level"] == everything
    assert all(0 < traffic.channels[channel] < everything for channel in channels[1:])


def test_a_stream_that_never_opens_sends_to_its_end():
    nan = np.nan
    streams = StreamSet([[[0.0, nan], [0.0, nan], [0.0, nan]]], ["off"], ["x", "y"])
    traffic = measure_traffic(channels_procedure("x", "y"), streams)
    assert traffic.channels == {"x": 3.0, "y": 0.0}
    assert traffic.ticks == 3.0


def test_a_released_channel_sends_no_more():
    values = np.zeros((6, 8, 2))
    values[3:, :, 1] = 9.0  # unusual: these go on asking for y
    streams = StreamSet(values, ["off"] * 6, ["x", "y"])
    procedure = lazy_procedure("x", "y", confidence=1.0)
    asked = []
    for samples in values:
        stream, n_asked = NaiveLazyStream(procedure), 0
        for tick, (x, y) in enumerate(samples, start=1):
            n_asked += "y" in stream.asked_channels()
            stream.take(tick, {"x": x, "y": y})
        asked.append(n_asked)
    traffic = measure_traffic(procedure, streams)
    assert asked == [1, 1, 1, 8, 8, 8]
    assert traffic.channels == {"x": 8.0, "y": np.mean(asked)}
    assert traffic.columns == {"x": 8.0, "y": 8.0}


def test_streams_without_a_tick_and_streams_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="none of 2 streams has a tick"):
        measure_traffic(mean_procedure(), StreamSet(np.zeros((2, 3, 1)), ["on", "off"], ["x"], lengths=[0, 0]))
    with pytest.raises(DataError, match="none of 0 streams has a tick"):
        measure_traffic(mean_procedure(), StreamSet(np.zeros((0, 3, 1)), [], ["x"]))
    with pytest.raises(DataError, match="column 'x', which the model reads, is not in"):
        measure_traffic(mean_procedure(), StreamSet(np.zeros((2, 3, 1)), ["on", "off"], ["y"]))
    with pytest.raises(DataError, match="a tick of 2 s, the model one of 1 s"):
        measure_traffic(mean_procedure(), StreamSet(np.zeros((2, 3, 1)), ["on", "off"], ["x"], 2.0))
