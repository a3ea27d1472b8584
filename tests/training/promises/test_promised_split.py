"""Promises whose nodes may compute the features, and send them or their crossings."""

import json

import numpy as np
import pytest
from helpers.random_models import random_forest, random_procedure

from feature_extractors.report import SENDS
from streamfs import Costs, Procedure, StreamSet, tabulate, train
from streamfs.classifiers.crossings import levels_of
from streamfs.cli.app import main
from streamfs.costs.pricing import Pricing
from streamfs.costs.spending import MessageSpending
from streamfs.data.derived import derive
from streamfs.errors import TranslationError
from streamfs.evaluation.evaluation import replay
from streamfs.evaluation.model_card import facts, markdown
from streamfs.evaluation.split_traffic import paid_by_split
from streamfs.procedure.split import split
from streamfs.training.promises import Promise
from streamfs.training.promises.explore import exploration
from streamfs.training.promises.promised import train_promised
from streamfs.training.promises.recertified import recertify
from streamfs.training.promises.split import TrainTestSplit

RADIO = Pricing("cc2420", prices={"x": 2.0}, max_silence=20.0, sends="crossings")
PROMISE = Promise(0.8, 0.8)


def noisy(n, seed):
    """Return streams of two means that noise hides, so that decisions are late; some begin late."""
    rng, classes = np.random.default_rng(seed), np.arange(n) % 2
    values = rng.normal(0.5 * classes[:, np.newaxis], 1, (n, 40))
    values[::7, 0] = np.nan
    return StreamSet(values[:, :, np.newaxis], np.array(["calm", "high"])[classes], ("x",), 1.0)


@pytest.fixture(scope="module")
def promised():
    return train_promised(noisy(150, 0), PROMISE, features=["mean(x)"], pricing=RADIO, classifier="c45", n_jobs=1)


def test_what_is_spent_is_what_nodes_send_of_features():
    rng = np.random.default_rng(0)
    streams = StreamSet(np.round(rng.normal(1, 1, (9, 14, 2)), 1), ["t"] * 9, ("a", "b"), 0.5)
    streams.values[:3, :4, 0] = np.nan
    streams.values[4, :, 0] = np.nan  # whose episode never opens
    for sends in SENDS:
        for max_silence in (None, 1.5):
            procedure = random_procedure(rng, random_forest(1, 5), max_silence=max_silence)
            pricing = Pricing("cc2420", {"a": 3.0}, max_silence, sends=sends)
            table, halves = tabulate(streams, procedure.features, max_silence), split(procedure, sends)
            levels = levels_of(procedure.classifier, dict(enumerate(procedure.features)))
            derived, rates = derive(streams, halves.columns, max_silence), pricing.rates(0.5)
            expected = MessageSpending(
                derived, halves.channels, table.lengths, rates, max_silence, {"a": 3.0}
            ).until(halves.gateway.features)
            found = pricing.spending_of(streams, table).until(procedure.features, levels)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_crossings_are_chosen_where_they_cost_less(promised):
    streams = noisy(150, 0)
    test = TrainTestSplit.of(streams, None, 0).test
    paid, halves = paid_by_split(promised, test, RADIO), split(promised, "crossings")
    assert promised.about["sends"] == "crossings"
    assert promised.about["promise"]["cost"] == pytest.approx(paid["crossings"], rel=1e-12)
    assert paid["crossings"] < paid["readings"]
    known = facts(promised)
    assert [each["channel"] for each in known["channels"]] == list(halves.channels)
    assert known["paid"] == pytest.approx(paid["crossings"], rel=1e-12)
    assert "Nodes compute the features, and send their crossings" in markdown(promised)
    by_readings = Costs.estimate(streams, promised.features, RADIO.radio, prices=RADIO.prices).each
    assert 0 < promised.costs.each.sum() < by_readings.sum() / 5
    new = noisy(60, 1)
    decided = [(d.stream, d.label, d.tick, d.confidence) for d in replay(promised, new)]
    assert decided == [
        (d.stream, d.label, d.tick, d.confidence)
        for d in replay(halves.gateway, derive(new, halves.columns, 20.0))
    ]
    anew = recertify(promised, noisy(150, 2), n_jobs=1)
    assert anew.about["promise"]["cost"] < paid["readings"] / 1.2


def test_readings_are_kept_where_they_cost_less():
    streams, options = noisy(150, 0), {"pricing": Pricing(sends="values"), "classifier": "c45"}
    found = train_promised(streams, PROMISE, features=["mean(x)"], **options, n_jobs=1)
    assert found.about["sends"] == "readings"
    paid = paid_by_split(found, TrainTestSplit.of(streams, None, 0).test)
    assert found.about["promise"]["cost"] == paid["readings"] <= paid["values"]
    assert [each["channel"] for each in facts(found)["channels"]] == list(found.channels)


def test_a_model_may_be_trained_and_evaluated_by_the_command_line(tmp_path, capsys):
    recorded, model = tmp_path / "noisy.csv", tmp_path / "noisy.streamfs"
    noisy(150, 0).write(recorded)
    command = ["train", str(recorded), "-o", str(model), "--feature", "mean(x)", "--classifier", "c45"]
    main([*command, "--promise", "0.8", "--completeness", "0.8", "--split", "crossings"])
    assert "sent        crossings of features, which nodes compute" in capsys.readouterr().out
    main(["evaluate", str(model), str(recorded), "--json"])
    found = json.loads(capsys.readouterr().out)
    paid = paid_by_split(Procedure.load(model), StreamSet.read(recorded))
    assert found["paid"] == found["sent"] == paid["crossings"] < paid["readings"]


def test_what_cannot_be_split_is_refused():
    pairs = StreamSet(np.zeros((60, 5, 2)), ["t", "u"] * 30, ("a.x", "b.x"), 1.0)
    with pytest.raises(TranslationError, match=r"a\.x has role a, expected streams of one node each"):
        train_promised(pairs, PROMISE, features=["mean(a.x)"], pricing=Pricing(sends="values"))
    with pytest.raises(ValueError, match="sends is 'all', expected values or crossings"):
        Pricing(sends="all")
    with pytest.raises(ValueError, match="sends is 'values' besides costs of your own"):
        train_promised(
            noisy(60, 0), PROMISE, features=["mean(x)"], costs=Costs([1.0]), pricing=Pricing(sends="values")
        )
    with pytest.raises(ValueError, match="sends is 'values', expected None: points are of what readings cost"):
        exploration(noisy(60, 0), ["mean(x)"], pricing=Pricing(sends="values"))
    with pytest.raises(ValueError, match="sends is 'values', expected None: only promises are searched"):
        train(noisy(60, 0), features=["mean(x)"], pricing=Pricing(sends="values"))
