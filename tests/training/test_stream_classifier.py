"""A procedure as a classifier of scikit-learn: for all that streams may be, in pipelines, folds and searches."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal
from river.naive_bayes import GaussianNB
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, StratifiedGroupKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from streamfs import StreamClassifier, StreamRelief, StreamSet, evaluate, train
from streamfs.errors import DataError
from streamfs.training import cost_score

FEATURES = ["last(x0)", "mean(x1)"]


def streams(n=40, n_columns=3, seed=0):
    """Streams of two classes, which differ in the levels of two columns, and the place of each."""
    rng = np.random.default_rng(seed)
    y = np.repeat(["calm", "busy"], n // 2)
    X = rng.normal(np.where(y == "calm", 0.0, 2.0)[:, np.newaxis, np.newaxis], 1.0, (n, 8, n_columns))
    X[:, :, 2] = rng.normal(size=(n, 8))
    return X, y, np.arange(n) // 2


X, Y, GROUPS = streams()
KINDS = {"array": X, "list": [*X], "set": StreamSet(X, Y, ["x0", "x1", "x2"])}


EXEMPT = {
    "check_sample_weight_equivalence_on_dense_data": "a stream of weight 2 is held out as one, two streams apart; "
    "and with weights of 0 there are fewer than five streams of every class"
}


def test_scikit_learns_checks_pass():
    """They give tables: of streams of one column, a row each."""
    classifier = StreamClassifier(features=["last(x0)", "mean(x0)"])
    found = check_estimator(classifier, on_skip=None, expected_failed_checks=EXEMPT)
    # "xfail" is what scikit-learn calls a check that it ran, and that failed as EXEMPT says and explains
    others = {each["check_name"]: each["status"] for each in found if each["status"] != "passed"}
    assert others == dict.fromkeys(EXEMPT, "xfail") | {
        "check_array_api_input": "skipped"
    }  # it needs another SciPy


def test_it_is_train_and_evaluate():
    fitted, known = StreamClassifier(features=FEATURES).fit(X, Y), KINDS["set"]
    procedure = train(known, features=FEATURES)
    assert fitted.procedure_.digest == procedure.digest
    evaluation = evaluate(procedure, known)
    assert [each.label for each in fitted.decide(X)] == [each.label for each in evaluation.decisions]
    assert fitted.score(X, Y) == evaluation.accuracy * evaluation.completeness
    assert fitted.decision_ticks(X).mean() == evaluation.ticks
    assert_array_equal(fitted.predict_proba(X).max(axis=1), [each.confidence for each in evaluation.decisions])


@pytest.mark.parametrize("kind", KINDS)
def test_folds_keep_groups_together_for_streams_of_any_kind(kind):
    scores = cross_val_score(
        StreamClassifier(features=FEATURES), KINDS[kind], Y, groups=GROUPS, cv=StratifiedGroupKFold(3)
    )
    expected = []
    for training, testing in StratifiedGroupKFold(3).split(X, Y, GROUPS):
        expected.append(
            StreamClassifier(features=FEATURES).fit(X[training], Y[training]).score(X[testing], Y[testing])
        )
    assert scores.tolist() == expected


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_a_row_of_a_frame_is_a_stream(frame):
    wide = frame({f"t{tick}": X[:, tick, 0] for tick in range(X.shape[1])})
    fitted = StreamClassifier(features=["mean(x0)"]).fit(wide, Y)
    assert fitted.feature_names_in_[0] == "t0"
    assert_array_equal(
        fitted.predict(wide), StreamClassifier(features=["mean(x0)"]).fit(X[:, :, :1], Y).predict(X[:, :, :1])
    )


def test_a_long_frame_is_a_set_of_streams():
    rows = [(f"s{i}", t, Y[i], *X[i, t]) for i in range(len(X)) for t in range(X.shape[1])]
    long = pd.DataFrame(rows, columns=["stream", "time", "label", "x0", "x1", "x2"])
    known = StreamSet.from_frame(long)
    assert StreamClassifier(features=FEATURES).fit(known).score(known) > 0.8


def test_streams_end_where_they_end():
    short = [stream[: 4 + place % 5] for place, stream in enumerate(X)]
    fitted = StreamClassifier(features=FEATURES, confidence=1.0, classifier="c45", select=None).set_params(
        confidence=0.8
    )
    assert set(fitted.fit(short, Y).predict(short)) <= {"calm", "busy"}
    assert (fitted.decision_ticks(short) <= [len(each) for each in short]).all()


def test_a_stream_without_a_label_is_predicted_as_asked():
    cut = [stream[: 1 if place % 2 else 8] for place, stream in enumerate(streams(seed=1)[0])]
    fitted = StreamClassifier(FEATURES, error_cost=1000).fit(X, Y)
    is_none = np.array([each.label is None for each in fitted.decide(cut)])
    assert 0 < is_none.sum() < len(cut)
    assert_array_equal(fitted.predict(cut), fitted.classes_[fitted.predict_proba(cut).argmax(axis=1)])
    asked = fitted.set_params(on_timeout="none")
    assert_array_equal(np.equal(asked.predict(cut), None), is_none)
    assert asked.score(cut, Y) == np.mean([each.label == y for each, y in zip(asked.decide(cut), Y, strict=True)])


def test_a_search_finds_the_cheapest():
    search = GridSearchCV(
        StreamClassifier(), {"features": [["mean(x2)"], ["mean(x1)"]]}, scoring=cost_score, cv=GroupKFold(2)
    ).fit(X, Y, groups=GROUPS)
    assert search.best_params_ == {"features": ["mean(x1)"]}
    found = search.best_estimator_
    delays = found.decision_ticks(X) / found.procedure_.time_limit
    assert cost_score(found, X, Y) == -np.mean((found.predict(X) != Y) + delays)


def test_it_ends_a_pipeline_that_is_pickled():
    fitted = make_pipeline(StreamRelief(n_features=2), StreamClassifier()).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301 - made here
    assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))


def test_a_classifier_of_scikit_learn_decides_in_it():
    fitted = StreamClassifier(FEATURES, classifier=LogisticRegression()).fit(X, Y)
    assert fitted.score(X, Y) > 0.8
    assert clone(fitted).set_params(classifier__C=0.1).classifier.C == 0.1


def test_groups_stay_together_in_training():
    """Each stream is there twice: the copies tell what their twins are, unless they are held out with them."""
    rng = np.random.default_rng(1)
    once, labels = rng.normal(size=(30, 4, 1)), np.tile(["a", "b"], 15)
    twice, groups = np.concatenate([once, once]), np.tile(np.arange(30), 2)
    known = StreamSet(twice, np.tile(labels, 2), ["x0"])
    alone = train(known, features=["last(x0)"]).about["held_out"]
    apart = train(known.grouped(groups), features=["last(x0)"]).about["held_out"]
    assert alone["right"] / alone["streams"] > 0.75 > apart["right"] / apart["streams"]


def test_groups_stay_together_while_features_are_ranked():
    known = KINDS["set"].grouped(GROUPS)
    assert train(known, features=FEATURES, select="relief", confidence=0.8).features
    with pytest.raises(DataError, match="class 'busy' has 1 group only, expected at least 2"):
        train(KINDS["set"].grouped(Y), features=FEATURES, select="relief")


def test_groups_are_one_a_stream():
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples: \[40, 39\]"):
        StreamClassifier(FEATURES).fit(X, Y, groups=GROUPS[1:])
    with pytest.raises(DataError, match=r"groups have shape \(39,\), expected \(40,\)"):
        KINDS["set"].grouped(GROUPS[1:])


def test_streams_count_as_their_weights_say():
    classifier, few = StreamClassifier(FEATURES), np.arange(40) % 4 == 0
    plain = classifier.fit(X, Y).procedure_.digest
    assert classifier.fit(X, Y, sample_weight=np.ones(40)).procedure_.digest == plain
    left = clone(classifier).fit(X[~few], Y[~few])
    assert_array_equal(classifier.fit(X, Y, sample_weight=1.0 - few).predict_proba(X), left.predict_proba(X))
    wrong = np.where(few, Y[::-1], Y)
    doubtful = classifier.fit(X, wrong, sample_weight=np.where(few, 1e-3, 1.0))
    assert doubtful.score(X, Y) > 0.8 > clone(classifier).fit(X, wrong).predict_proba(X).max(axis=1).mean()
    assert doubtful.predict_proba(X).max(axis=1).mean() > 0.9
    assert cost_score(doubtful, X, wrong, few) < cost_score(doubtful, X, wrong) < cost_score(doubtful, X, Y)
    for parameters, message in (
        ({"classifier": KNeighborsClassifier()}, "classifier is a KNeighborsClassifier, which is fitted without"),
        ({"classifier": GaussianNB()}, "classifier is a GaussianNB, which is fitted without"),
        ({"classifier": "qsfs1"}, "classifier is a QuerySensitiveNeighbors, which is fitted without"),
        ({"select": "relief"}, "select is 'relief', expected 'channels' or None"),
        ({"confidence": "anticipated"}, "confidence is 'anticipated', which counts each stream once"),
    ):
        with pytest.raises(ValueError, match=f"streams have weights, but {message}"):
            clone(classifier).set_params(**parameters).fit(X, Y, sample_weight=GROUPS + 1)


def test_what_has_no_classes_is_refused():
    with pytest.raises(ValueError, match="requires y to be passed"):
        StreamClassifier().fit(X)
    with pytest.raises(ValueError, match="y is None, expected the classes of the streams"):
        StreamClassifier(FEATURES).fit(X, Y).score(X)
    with pytest.raises(ValueError, match="X has 2 columns, but StreamClassifier is expecting 3"):
        StreamClassifier(FEATURES).fit(X, Y).predict(X[:, :, :2])
