"""Labels that arrive later, and drift: their effects, and restoring them from a snapshot."""

from dataclasses import replace

import numpy as np
import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import (
    Models,
    command,
    content,
    ids,
    label,
    message,
    new_core,
    outcome,
    raw,
    restored,
    take_divided,
)
from river.base import Classifier
from river.naive_bayes import GaussianNB

from streamfs.classifiers.online import OnlineClassifier
from streamfs.gateway.core.bindings import Bindings
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.stopping import TickThresholds

TREE = channels_procedure("x", time_limit=2)
NODES = Bindings.single(["x"], ["n0", "n1"])


class Files:
    """Models in files, each loaded anew whenever it is asked for."""

    def __init__(self, folder, procedure):
        self._folder = folder
        procedure.save(folder / procedure.digest)
        self.first = self(procedure.digest)

    def __call__(self, digest):
        return Procedure.load(self._folder / digest, trust=True)


@pytest.fixture
def river(tmp_path):
    """Return a model that River has taught that low values are "off", and high ones "on"."""
    return Files(tmp_path, river_procedure(GaussianNB()))


def river_procedure(model):
    classifier = OnlineClassifier(model, ["mean(x)"], ["off", "on"])
    classifier.learn(np.array([[0.0], [0.2], [0.4], [2.0], [2.2], [2.4]]), ["off"] * 3 + ["on"] * 3)
    return replace(TREE, classifier=classifier, confidence=0.8)


def begun(models, **options):
    core, _ = new_core(models, NODES, lateness=0.0, **options)
    return core


def episodes(values, start=0, node="n0"):
    """Return readings of one decision for each value: the stream is opened again before."""
    return [
        record
        for i, value in enumerate(values)
        for record in (command({"reopen": node}), *(message(node, 4.0 * (start + i) + t, value) for t in range(4)))
    ]


def chances(core):
    return core.procedure.classifier.probabilities(np.linspace(-1, 4, 11)[:, np.newaxis])


def test_a_river_model_learns_from_labels(river):
    core = begun(river)
    (first,) = core.take(episodes([1.0])).decisions
    for i in range(1, 30):
        core.take([label("n0", "on"), *episodes([1.0], i)])
    (last,) = core.take(episodes([1.0], 30)).decisions
    assert (first.label, last.label) == ("off", "on")
    assert core.counters["labels_learned"] == core.counters["labels"] == 29


def test_what_a_river_model_has_learned_survives(river):
    core = begun(river)
    untaught = chances(core)
    for i in range(5):
        core.take([*episodes([0.5], i), label("n0", "on")])
    other = restored(core, river)
    assert (chances(core) != untaught).any()
    for i in range(5, 10):
        more = [*episodes([0.5], i), label("n0", "off")]
        assert outcome(other, other.take(more)) == outcome(core, core.take(more))
        np.testing.assert_array_equal(chances(other), chances(core))


@pytest.mark.parametrize("restoring", [False, True])
def test_with_labels_and_drift_the_effects_do_not_depend_on_how_records_are_divided(tmp_path, restoring):
    procedure = river_procedure(GaussianNB())
    models = [Files(tmp_path, procedure), Files(tmp_path, procedure)]
    values = [0.3, 1.2, 2.5, 0.9] * 25 + [2.5] * 40
    records = [
        record
        for i, value in enumerate(values)
        for record in (*episodes([value], i), label("n0", "on" if i > 60 or value > 1 else "off", arrival=4.0 * i))
    ]
    whole = begun(models[0], delta=0.2)
    expected = whole.take(records)
    core, effects = take_divided(begun(models[1], delta=0.2), records, [97, 31], models[1], restoring=restoring)
    assert outcome(core, effects) == outcome(whole, expected)
    assert content(core) == content(whole)
    assert whole.counters["alerts"] > 0
    assert whole.counters["labels_learned"] > 100


def test_a_tree_counts_labels_and_stays_as_it_is():
    core = begun(Models(TREE))
    core.take(episodes([1.0]))
    before = chances(core)
    assert core.take([label("n0", "off")]).rejected == []
    assert (core.counters["labels"], core.counters["labels_learned"], core.counters["labels_unused"]) == (1, 0, 0)
    np.testing.assert_array_equal(chances(core), before)


@pytest.mark.parametrize(
    ("text", "what"), [("maybe", "label is 'maybe', expected one of off, on"), ("", "label is")]
)
def test_a_label_that_is_none_is_a_dead_letter(river, text, what):
    core = begun(river)
    core.take(episodes([1.0]))
    (rejected,) = core.take([label("n0", text)]).rejected
    assert rejected["topic"] == "streamfs/label/n0"
    assert what in rejected["error"]
    assert rejected["payload"] == text
    assert (core.counters["labels_unreadable"], core.counters["malformed"]) == (1, 1)
    assert core.spent.messages == 4


@pytest.mark.parametrize(
    ("stream", "payload"),
    [("n1", b"on"), ("nobody", b"on"), ("n0", b'{"label": "on", "episode": 2}'), ("", b"on"), ("n0/1", b"on")],
)
def test_a_label_for_what_is_not_decided_is_unused(river, stream, payload):
    core = begun(river)
    effects = core.take([*episodes([2.2]), message("n1", 3.0, 1.2), message("n1", 4.0, 1.2)])
    assert ids(effects.decisions) == ["n0/1"]
    assert core.roster.newest.engine.n_open == 1
    effects = core.take([raw(f"streamfs/label/{stream}", payload)])
    assert (core.counters["labels_unused"], core.counters["labels_learned"]) == (1, 0)
    assert effects.rejected == effects.publications == []


def test_a_label_may_name_the_episode(river):
    core = begun(river)
    core.take(episodes([2.2]))
    core.take([raw("streamfs/label/n0", b'{"label": "on", "episode": 1}')])
    assert core.counters["labels_learned"] == 1


class Unteachable(Classifier):
    """Learns what it is born with, and no more."""

    def __init__(self):
        self.n_learned = 0

    @property
    def _multiclass(self):
        return True

    def learn_one(self, x, y):  # noqa: ARG002 - as River calls it
        if self.n_learned == 6:
            raise ValueError("enough")
        self.n_learned += 1

    def predict_proba_one(self, x):
        return {"on": 0.9, "off": 0.1} if x else {}


def test_a_label_that_the_model_cannot_learn_is_a_dead_letter():
    core = begun(Models(river_procedure(Unteachable())))
    core.take(episodes([1.0]))
    (rejected,) = core.take([label("n0", "on")]).rejected
    assert "the model cannot learn it: River's Unteachable" in rejected["error"]
    assert (core.counters["labels_learned"], core.counters["labels_unreadable"]) == (0, 1)


def alerts(effects):
    return [orjson.loads(p.payload) for p in effects.publications if p.topic == "streamfs/alert/gateway"]


@pytest.mark.parametrize("restoring", [False, True])
def test_drift_of_the_decisions_raises_one_alert(restoring):
    models = Models(TREE)
    core, effects = take_divided(
        begun(models, delta=0.01), episodes([1.0] * 150 + [0.0] * 100), [300], models, restoring=restoring
    )
    told = {alert["what"]: alert for alert in alerts(effects)}
    assert set(told) == {"completeness", "confidence", "feature mean(x)"}
    assert told["completeness"]["gateway"] == "gateway"
    assert told["completeness"]["before"] == 1.0 > told["completeness"]["now"]
    assert core.counters["alerts"] == core.feedback.alerts.total() == len(alerts(effects))
    assert not any(p.retain for p in effects.publications if p.topic == "streamfs/alert/gateway")


def test_drift_of_the_accuracy_shows_in_labels():
    core, told = begun(Models(TREE), delta=0.01), []
    for i in range(200):
        records = [*episodes([1.0], i), label("n0", "on" if i < 120 else "off")]
        told += alerts(core.take(records))
    assert [alert["what"] for alert in told] == ["accuracy"]


def test_what_was_predicted_is_decided_by_the_threshold_of_the_tick():
    """At the time limit "off", which has a confidence of 21 / 26, is predicted too, and is wrong in the end."""
    procedure, told = replace(TREE, stopping=TickThresholds((1, 2), (0.9, 0.0))), []
    core = begun(Models(procedure), delta=0.01)
    for i in range(200):
        told += alerts(core.take([*episodes([0.0], i), label("n0", "off" if i < 120 else "on")]))
    assert [alert["what"] for alert in told] == ["accuracy"]


def test_where_drift_is_not_detected_nothing_is_raised():
    core = begun(Models(TREE))
    assert alerts(core.take(episodes([1.0] * 150 + [0.0] * 100))) == []
    assert core.feedback.to_state()["drift"] == b""
