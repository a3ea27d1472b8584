"""Reliability: bins hold the counted shares, and every stream counts once."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from streamfs import Promise, SearchSettings, StreamSet, tabulate, train, train_promised
from streamfs.errors import DataError
from streamfs.evaluation.reliability import Bin, Reliability, binned, reliability
from streamfs.experiments import plots
from streamfs.procedure import TickThresholds
from streamfs.training.promises.front import FrontPoint

SAID = st.lists(
    st.tuples(st.sampled_from([0.5, 0.6, 0.75, 0.9, 1.0]), st.booleans(), st.sampled_from([0.25, 0.5, 1.0])),
    min_size=1,
)


def noisy_streams(n_streams, seed):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.repeat(["calm", "busy"], n_streams // 2))
    values = rng.normal(np.where(labels == "calm", 0, 1)[:, None, None], 1, (n_streams, 8, 1))
    return StreamSet(values, labels, ["noise"], lengths=rng.integers(1, 9, n_streams))


@pytest.fixture(scope="module")
def procedure():
    search = SearchSettings(as_offered=True)
    return train_promised(
        noisy_streams(300, 0), Promise(0.7, 0.5), features=["mean(noise)"], search=search, n_jobs=1
    )


@pytest.fixture(scope="module")
def fresh():
    return noisy_streams(200, 1)


@pytest.fixture(scope="module")
def found(procedure, fresh):
    return reliability(procedure, fresh)


@given(SAID, st.integers(1, 6))
def test_bins_keep_the_weight_the_share_right_and_the_mean_confidence(said, n_bins):
    confidence, right, weights = (np.array(column) for column in zip(*said, strict=True))
    bins = binned(confidence, right, weights, n_bins)
    assert len(bins) <= n_bins
    weight = [each.weight for each in bins]
    assert sum(weight) == pytest.approx(weights.sum())
    assert np.average([each.right for each in bins], weights=weight) == pytest.approx(
        np.average(right, weights=weights)
    )
    assert np.average([each.confidence for each in bins], weights=weight) == pytest.approx(
        np.average(confidence, weights=weights)
    )


@given(SAID, st.integers(1, 6))
def test_bins_rise_and_equal_confidences_are_never_apart(said, n_bins):
    confidence, right, weights = (np.array(column) for column in zip(*said, strict=True))
    means = [each.confidence for each in binned(confidence, right, weights, n_bins)]
    assert means == sorted(set(means))
    together = binned(np.full(len(said), 0.7), right, weights, n_bins)
    assert len(together) == 1


def test_bins_are_of_about_equal_weight():
    rng = np.random.default_rng(0)
    bins = binned(rng.random(1000), rng.random(1000) < 0.5, np.ones(1000), 10)
    assert [each.weight for each in bins] == pytest.approx([100] * 10, abs=1)


def test_no_answers_make_no_bins():
    nothing = np.zeros(0)
    assert binned(nothing, nothing.astype(bool), nothing) == ()
    assert Reliability(False, False, ()).error == 0.0


def test_the_error_is_the_mean_distance_of_confidence_from_accuracy():
    found = Reliability(False, False, (Bin(0.6, 0.5, 3.0), Bin(0.9, 1.0, 1.0)))
    assert found.error == pytest.approx(0.1)
    assert found._replace(bins=(Bin(0.6, 0.5, 1.0), Bin(0.9, 0.6, 1.0))).error == pytest.approx(0.2)


def test_a_calibrated_procedure_is_measured_with_and_without_calibration(found):
    assert [each[:2] for each in found] == [(False, False), (False, True), (True, False), (True, True)]


def test_ticks_before_any_decision_are_no_records(procedure, fresh):
    late = procedure.with_stopping(TickThresholds((3,), (0.7,)))
    everything, records = reliability(late, fresh)[2:]
    assert everything == reliability(procedure, fresh)[2]
    assert sum(one.weight for one in records.bins) == (fresh.lengths >= 3).sum()


def test_every_stream_counts_once(found):
    for each in found:
        assert sum(one.weight for one in each.bins) == pytest.approx(200)


def test_the_counts_are_those_of_a_plain_replay(procedure, fresh, found):
    values = tabulate(fresh, procedure.features).values
    for each in found:
        classifier = procedure.classifier if each.is_calibrated else procedure.classifier.calibrated(None)
        confidence, right, weights = [], [], []
        for stream in range(len(fresh)):
            probabilities = classifier.probabilities(values[stream, : fresh.lengths[stream]])
            surest, counted = 0.0, []
            for row in probabilities:
                if row.max() > surest or not each.is_record:
                    counted.append((row.max(), procedure.classes[row.argmax()] == fresh.labels[stream]))
                surest = max(surest, row.max())
            confidence += [said for said, _ in counted]
            right += [is_right for _, is_right in counted]
            weights += [1 / len(counted)] * len(counted)
        expected = binned(np.array(confidence), np.array(right), np.array(weights))
        assert np.array(each.bins) == pytest.approx(np.array(expected))


def test_ticks_at_which_a_stream_is_surer_than_before_flatter(found):
    raw, records = found[0], found[1]

    def gap(each):
        return np.average([b.confidence - b.right for b in each.bins], weights=[b.weight for b in each.bins])

    assert gap(records) > gap(raw)


def test_a_classifier_without_calibration_is_measured_once(fresh):
    procedure = train(noisy_streams(100, 2), features=["mean(noise)"], confidence=0.6, select="streamrelief")
    procedure = replace(procedure, classifier=procedure.classifier.uncalibrated())
    assert [each[:2] for each in reliability(procedure, fresh, n_bins=3)] == [(False, False), (False, True)]


def test_streams_of_another_grid_are_refused(procedure, fresh):
    other = StreamSet(fresh.values, fresh.labels, fresh.columns, period=2.0)
    with pytest.raises(DataError, match="the streams have a tick of 2 s"):
        reliability(procedure, other)


def test_no_bins_are_refused(procedure, fresh):
    with pytest.raises(ValueError, match="n_bins is 0, expected at least 1"):
        reliability(procedure, fresh, 0)


def test_another_type_than_streams_is_refused(procedure):
    with pytest.raises(TypeError, match="expected a StreamSet"):
        reliability(procedure, [1])


def test_the_figure_draws_the_bins(found, tmp_path):
    figure = plots.reliability_figure(found)
    everywhere, records = figure.axes
    for axes, is_record in ((everywhere, False), (records, True)):
        drawn = [line.get_xydata() for line in axes.get_lines() if line.get_marker() in ("o", "s")]
        expected = [np.array(each.bins)[:, :2] for each in found if each.is_record == is_record]
        assert [line.tolist() for line in drawn] == [line.tolist() for line in expected]
    plots.save(figure, tmp_path / "figure.png")
    assert imread(tmp_path / "figure.png").std() > 0.05


@pytest.mark.parametrize("completeness", [(0.7, 1.0), (1.0, 1.0)])
def test_the_figure_of_a_front_draws_its_points_with_their_numbers(completeness, tmp_path):
    points = [
        FrontPoint(0.8, completeness[0], 2.0, 3.0, 0.6, ("mean(t)",)),
        FrontPoint(0.9, completeness[1], 5.0, 4.0, 0.7, ("mean(t)",)),
    ]
    figure = plots.front_figure(points, "joules")
    cost, ticks, _ = figure.axes
    assert cost.get_xlabel() == "J a stream"
    assert cost.collections[0].get_offsets().tolist() == [[2.0, 0.8], [5.0, 0.9]]
    assert ticks.collections[0].get_offsets().tolist() == [[3.0, 0.8], [4.0, 0.9]]
    assert cost.get_lines()[0].get_xydata().tolist() == [[2.0, 0.8], [5.0, 0.8], [5.0, 0.9]]
    assert [text.get_text() for text in cost.texts] == ["1", "2"]
    plots.save(figure, tmp_path / "front.png")
    assert imread(tmp_path / "front.png").std() > 0.02
