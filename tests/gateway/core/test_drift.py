"""Drift: alerts where something has changed and only there, labels, and classifiers that go on learning."""

import numpy as np
import pytest
from helpers.procedures import mean_procedure
from hypothesis import example, given
from hypothesis import strategies as st
from river.ensemble import BaggingClassifier
from river.linear_model import LogisticRegression
from river.naive_bayes import GaussianNB
from river.preprocessing import Normalizer, StandardScaler

import feature_extractors as fx
from sensors_sim.sources import Autoregressive, EventBursts
from streamfs import Decision, Engine
from streamfs.base import container
from streamfs.classifiers.online import OnlineClassifier
from streamfs.errors import ModelError, PayloadError, TrainingError
from streamfs.gateway.core import drift
from streamfs.gateway.core.drift import DriftDetectors
from streamfs.gateway.core.labels import Label, decode_label

N_TICKS = 10
NOTHING = np.array([np.nan])


def decision(number=1, label="on", confidence=0.9, time=60.0):
    return Decision("desk", number, label, confidence, 3, 3.0, "confident" if label else "timeout", time)


def decisions_on(values):
    """What a procedure decides of streams, shape (n_streams, n_ticks), one after the other."""
    engine = Engine(mean_procedure(column="light", time_limit=N_TICKS))
    names = [f"stream-{i:05d}" for i in range(len(values))]
    decided = []
    for tick in range(N_TICKS):
        decided += engine.push_batch(names, np.full(len(values), float(tick)), values[:, tick : tick + 1])
    return sorted(decided, key=lambda decision: decision.stream)


def watched(values, features=("mean(light)", "variance(light)")):
    """All alerts while a procedure decides on streams."""
    extracted = fx.scan(tuple(fx.get(name) for name in features), values[:, :, np.newaxis])
    detectors = DriftDetectors(features)
    return [
        (i, alert)
        for i, decided in enumerate(decisions_on(values))
        for alert in detectors.decided(decided, extracted[i, decided.tick - 1])
    ]


SOURCES = {
    "autoregressive": Autoregressive(deviation=1.0, memory=5.0),
    "bursts": EventBursts(rate=0.05, height=2.0, decay=5.0),
}


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_sensors_that_stay_as_they_are_raise_no_alert_in_5000_decisions(source, seed):
    values = source.sample(5000, N_TICKS, 1.0, np.random.default_rng(seed))
    decided = decisions_on(values)
    assert {decision.label for decision in decided} == {"on", None}
    assert watched(values) == []


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_sensors_whose_mean_shifts_raise_alerts_soon_after(source):
    values = source.sample(2000, N_TICKS, 1.0, np.random.default_rng(1))
    values[1000:] += 1.0
    alerts = watched(values)
    assert {"completeness", "confidence", "feature mean(light)"} <= {alert.what for _, alert in alerts}
    assert all(1000 <= i < 1300 for i, _ in alerts)
    assert all(alert.now > alert.before for _, alert in alerts if alert.what == "feature mean(light)")


def test_drift_of_a_feature_is_that_of_its_values_rank_among_the_first():
    detector = drift._Detector(0.002, 4)
    for value in (30.0, -1.0, 2.0, 2.0):
        assert detector.add(value) is None
    assert [detector._rank(value) for value in (-5.0, -1.0, 2.0, 3.0, 1e9)] == [0.0, 0.125, 0.5, 0.75, 1.0]


@given(seed=st.integers(0, 1000))
def test_neither_unit_nor_outliers_of_a_feature_matter(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=600) + np.where(np.arange(600) < 300, 0.0, 1.5)
    plain, bent = DriftDetectors(["mean(x)"]), DriftDetectors(["mean(x)"])
    for value in values:
        alerts, others = (
            detectors.decided(decision(), np.array([seen]))
            for detectors, seen in ((plain, value), (bent, 1e-6 * np.exp(5 * value)))
        )
        assert [alert.what for alert in alerts] == [alert.what for alert in others]


def test_an_alert_has_the_means_before_and_after_in_the_features_own_unit():
    rng = np.random.default_rng(0)
    values = np.r_[rng.normal(2e-6, 1e-7, 1000), rng.normal(5e-6, 1e-7, 1000)]
    detectors = DriftDetectors(["mean(x)"])
    (alert,) = (
        alert for i, value in enumerate(values) for alert in detectors.decided(decision(i), np.array([value]))
    )
    assert alert.what == "feature mean(x)"
    assert alert.before == pytest.approx(2e-6, rel=0.05)
    assert 2.5e-6 < alert.now < 5.1e-6
    assert alert.to_json() == {"what": "feature mean(x)", **alert._asdict()}


def test_drifts_are_numbered_and_a_time_that_is_not_known_is_null():
    detectors = DriftDetectors([])
    alerts = [
        alert
        for i in range(1500)
        for alert in detectors.decided(decision(i, "on" if i // 500 % 2 else None, time=np.nan), np.array([]))
    ]
    assert [alert.number for alert in alerts] == [1, 2]
    assert [round(alert.before, 1) for alert in alerts] == [0.0, 1.0]  # what was before the first is forgotten
    assert alerts[0].to_json()["time"] is None


def test_labels_that_turn_out_wrong_raise_an_alert():
    detectors = DriftDetectors([])
    alerts = [
        alert for i in range(1000) for alert in detectors.labelled("on", "on" if i < 500 else "off", float(i))
    ]
    assert [alert.what for alert in alerts] == ["accuracy"]
    assert (alerts[0].before, alerts[0].time >= 500) == (1.0, True)


def test_a_decision_without_label_is_neither_right_nor_wrong():
    detectors = DriftDetectors([])
    before = detectors.snapshot()
    assert detectors.labelled(None, "on", 1.0) == []
    assert detectors.snapshot() == before


def test_what_is_not_a_number_is_left_out():
    detectors = DriftDetectors(["mean(x)"])
    before = detectors.snapshot()
    detectors.decided(decision(confidence=np.nan), NOTHING)
    detectors.decided(decision(confidence=np.nan), np.array([np.inf]))
    _, arrays, _ = container.unpack(detectors.snapshot(), drift.KIND, drift.VERSION, "it")
    assert {name: array.tolist() for name, array in arrays.items() if len(array)} == {"1.inputs": [1.0, 1.0]}
    assert detectors.snapshot() != before


@pytest.mark.parametrize("level", [1e299, 1.7e308])
def test_values_however_large_are_no_error(level):
    """A gateway with a feature of one's own ended at their sum, and again whenever it started and repeated it."""
    detectors = DriftDetectors(["mean(x)"])
    values = [*np.tile(np.linspace(0.0, 1.0, 10), 40), *np.full(100, level)]
    alerts = [alert for value in values for alert in detectors.decided(decision(), np.array([value]))]
    assert all(np.isfinite([alert.before, alert.now]).all() for alert in alerts)


def test_one_value_a_feature_is_demanded():
    with pytest.raises(ValueError, match="argument"):
        DriftDetectors(["mean(x)", "variance(x)"]).decided(decision(), NOTHING)


@pytest.mark.parametrize("delta", [0.0, 1.0, np.nan])
def test_a_delta_that_is_no_probability_is_refused(delta):
    with pytest.raises(ValueError, match="delta is"):
        DriftDetectors([], delta)


def shifting(seed, n):
    """Decisions, values and labels that drift now and then."""
    rng = np.random.default_rng(seed)
    level = np.cumsum(rng.random(n) < 0.005) % 2
    confidence = np.where(level, rng.uniform(0.9, 1.0, n), rng.uniform(0.3, 0.9, n))
    values = np.where(rng.random((n, 1)) < 0.1, np.nan, rng.lognormal(level[:, np.newaxis], 1.0))
    for i in range(n):
        label = "on" if rng.random() < 0.3 + 0.6 * level[i] else None
        yield decision(i, label, confidence[i], float(i)), values[i], "on" if rng.random() < 0.5 else "off"


def follow(detectors, events):
    alerts = []
    for decided, values, label in events:
        alerts += detectors.decided(decided, values)
        alerts += detectors.labelled(decided.label, label, decided.time)
    return alerts


@example(seed=0, cut=599, kept=200)
@given(seed=st.integers(0, 1000), cut=st.integers(0, 600), kept=st.sampled_from([40, 200, 2000]))
def test_whoever_goes_on_from_a_snapshot_sees_the_same_alerts(seed, cut, kept):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drift, "_KEPT", kept)
        events = list(shifting(seed, 600))
        straight, broken = DriftDetectors(["mean(x)"]), DriftDetectors(["mean(x)"])
        expected = follow(straight, events)
        first = follow(broken, events[:cut])
        restored = DriftDetectors(["mean(x)"])
        restored.restore(broken.snapshot())
        assert first + follow(restored, events[cut:]) == expected
        assert restored.snapshot() == straight.snapshot()


def test_the_alerts_that_restored_detectors_must_repeat_are_there():
    assert {alert.what for alert in follow(DriftDetectors(["mean(x)"]), shifting(0, 600))} >= {"confidence"}


def test_memory_is_bounded():
    detectors = DriftDetectors(["mean(x)"])
    for _ in range(3):
        follow(detectors, shifting(1, 2500))
    _, arrays, _ = container.unpack(detectors.snapshot(), drift.KIND, drift.VERSION, "it")
    assert all(len(array) < drift._KEPT for array in arrays.values())


def test_a_snapshot_of_other_features_is_refused():
    with pytest.raises(ModelError, match=r"the snapshot is of .*mean\(x\).*expected .*variance\(x\)"):
        DriftDetectors(["variance(x)"]).restore(DriftDetectors(["mean(x)"]).snapshot())


def test_a_damaged_snapshot_is_refused():
    with pytest.raises(ModelError, match="the snapshot of the drift detectors is damaged"):
        DriftDetectors([]).restore(DriftDetectors([]).snapshot()[:-1])


# Labels


@pytest.mark.parametrize(
    ("payload", "label"),
    [
        (b"walk", Label("walk", None, None)),
        (" gehen zu Fuß\n".encode(), Label("gehen zu Fuß", None, None)),
        (b"42", Label("42", None, None)),
        (b'{"label": "walk"}', Label("walk", None, None)),
        (b' {"label": "walk", "episode": 3, "time": 12}', Label("walk", 3, 12.0)),
        (b'{"label": "walk", "episode": null, "time": null}', Label("walk", None, None)),
    ],
)
def test_a_label_is_text_or_an_object(payload, label):
    assert decode_label(payload) == label


@pytest.mark.parametrize(
    ("payload", "named"),
    [
        (b"", "label is ''"),
        (b"  \n", "label is '  "),
        (b"\xff\xfe", "expected text in UTF-8"),
        (b"a\nb", "label is 'a"),
        (b"x" * 257, "at most 256 characters"),
        (b"x" * 5000, "payload has 5000 bytes"),
        (b"{", "expected text or a JSON object"),
        (b"{}", "label is None"),
        (b'{"label": 7}', "label is 7"),
        (b'{"label": "on", "episode": 0}', "episode is 0, expected a whole number, at least 1"),
        (b'{"label": "on", "episode": true}', "episode is True"),
        (b'{"label": "on", "episode": 1.0}', "episode is 1.0"),
        (b'{"label": "on", "time": "now"}', "time is 'now'"),
        (b'{"label": "on", "time": true}', "time is True"),
        (b'{"label": "on", "epsiode": 2}', "there is a field 'epsiode', expected only label, episode and time"),
    ],
)
def test_what_is_no_label_is_refused(payload, named):
    with pytest.raises(PayloadError, match=named):
        decode_label(payload)


@given(st.binary(max_size=60) | st.binary(max_size=60).map(lambda data: b'{"label":' + data))
def test_any_bytes_are_a_label_or_a_payload_error(payload):
    try:
        label = decode_label(payload)
    except PayloadError:
        return
    assert label.label.isprintable()
    assert label.label


# Classifiers that go on learning


def learned(model=None, n=200):
    rng = np.random.default_rng(0)
    labels = ["low", "high"] * (n // 2)
    values = rng.normal(np.where(np.array(labels) == "low", 0.0, 3.0)[:, np.newaxis], 1.0, (n, 2))
    return OnlineClassifier(model or GaussianNB(), ["x", "y"], ["low", "high"]).learn(values, labels)


def test_a_classifier_that_learns_on_answers_differently():
    classifier, row = learned(), np.array([[3.0, 3.0]])
    before = classifier.probabilities(row)
    for _ in range(300):
        assert classifier.learn_one(row[0], "low")
    assert before[0, 1] > 0.9
    assert classifier.probabilities(row)[0, 0] > 0.5


def test_learning_one_by_one_is_learning_all():
    rows, labels = np.random.default_rng(1).normal(size=(40, 2)), ["low", "high"] * 20
    at_once, one_by_one = learned().learn(rows, labels), learned()
    for row, label in zip(rows, labels, strict=True):
        one_by_one.learn_one(row, label)
    assert one_by_one.probabilities(rows).tolist() == at_once.probabilities(rows).tolist()


@pytest.mark.parametrize("model", [GaussianNB(), BaggingClassifier(GaussianNB(), n_models=3, seed=1)], ids=type)
def test_what_was_learned_survives_a_dump_and_learns_on_alike(model):
    classifier = learned(model)
    classifier.learn_one(np.array([9.0, np.nan]), "low")
    data = classifier.dump()
    again = OnlineClassifier.load(data, container.digest(data), classifier.feature_names, classifier.classes)
    rows = np.random.default_rng(2).normal(size=(20, 2))
    for row in rows:
        assert again.learn_one(row, "high") == classifier.learn_one(row, "high")
    assert again.probabilities(rows).tolist() == classifier.probabilities(rows).tolist()


def test_a_model_of_two_classes_learns_on_too():
    classifier = learned(StandardScaler() | LogisticRegression())
    before = classifier.probabilities(np.array([[1.5, 1.5]]))
    for _ in range(50):
        classifier.learn_one(np.array([1.5, 1.5]), "high")
    assert classifier.probabilities(np.array([[1.5, 1.5]]))[0, 1] > before[0, 1]


def test_undefined_features_are_left_out_and_nothing_is_learned_from_none():
    classifier = learned()
    data = classifier.dump()
    assert not classifier.learn_one(np.array([np.nan, np.nan]), "low")
    assert classifier.dump() == data
    assert classifier.learn_one(np.array([np.nan, 1.0]), "low")
    assert classifier.probabilities(np.array([[0.0, 0.0]]))[0, 0] > 0.9


def test_a_label_outside_the_classes_is_refused_and_named():
    with pytest.raises(ValueError, match="label is 'medium', expected one of the classes low, high"):
        learned().learn_one(np.zeros(2), "medium")


def test_a_wrong_number_of_values_is_refused():
    with pytest.raises(ValueError, match=r"values have shape \(3,\), expected \(2,\)"):
        learned().learn_one(np.zeros(3), "low")


def test_values_that_the_model_cannot_learn_are_an_error():
    classifier = OnlineClassifier(Normalizer() | LogisticRegression(), ["x"], ["low", "high"])
    with pytest.raises(TrainingError, match=r"cannot learn the label 'low' from these features \(float division"):
        classifier.learn_one(np.zeros(1), "low")


class Brittle(GaussianNB):
    """A model that fails on what it has learned, as some do."""

    def predict_proba_one(self, x):
        raise ZeroDivisionError(x)


def test_a_model_that_fails_has_no_answer_and_is_counted():
    classifier = OnlineClassifier(Brittle(), ["x"], ["off", "on"])
    assert classifier.probabilities(np.zeros((3, 1))).tolist() == [[0.5, 0.5]] * 3
    assert classifier.n_failures == 3


@pytest.mark.parametrize("damaged", [b"", b"\x80\x05.", b"cnowhere\nnothing\n."])
def test_a_pickle_that_cannot_be_loaded_is_a_model_error(damaged):
    with pytest.raises(ModelError, match="cannot be loaded"):
        OnlineClassifier.load(damaged, container.digest(damaged), ["x"], ["off", "on"])
