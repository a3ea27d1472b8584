"""Every estimator declares what its parameters may be, and refuses what they may not be by name."""

import importlib
import inspect

import numpy as np
import pytest
from test_rooms import sources

from streamfs.base.estimators import Estimator
from streamfs.classifiers import NeighborsClassifier
from streamfs.relief.table_estimator import TableEstimator
from streamfs.selection.criteria import SubsetCriterion
from streamfs.selection.sequential import SequentialSelector
from streamfs.training import StreamClassifier

TRIED = [object(), "nonsense", -3, 1.5, float("nan"), [], {}, True, None, np.int64(3), "3", 10**30, b"x"]
WHOLE = [np.int64(3)]
MORE = [1.5, np.int64(3), 10**30]
SIGNED = [-3, *MORE]
SEED = [True, None, np.int64(3)]
INDICES = [[], None]
SELECTOR = SequentialSelector(NeighborsClassifier(1))

GOOD = {  # which of the tried values a parameter may be: of any estimator, or of one
    "n_jobs": [-3, None, np.int64(3)],
    "nominal": INDICES,
    "random_state": SEED,
    "laplace": [True],
    "min_leaf": MORE,
    "power": [],
    "n_neighbors": WHOLE,
    "threshold": SIGNED,
    "criterion": [None],
    "discretiser": [None],
    "n_features": [None, np.int64(3)],
    "positions": [None, np.int64(3)],
    "neighbours": [],
    "C45Classifier.feature_costs": [None],
    "C45Classifier.confidence_factor": [],
    "C45Classifier.split": [],
    "ExtraTreesClassifier.n_trees": WHOLE,
    "ExtraTreesClassifier.n_candidates": [None, np.int64(3)],
    "ExtraTreesClassifier.clock": WHOLE,
    "BoostingClassifier.n_rounds": WHOLE,
    "BoostingClassifier.learning_rate": [1.5, np.int64(3)],
    "BoostingClassifier.max_leaves": WHOLE,
    "BoostingClassifier.min_rows": WHOLE,
    "BoostingClassifier.l2": MORE,
    "NeighborsClassifier.scale": [True],
    "ties": [],
    "KernelDensityClassifier.kernel": [],
    "KernelDensityClassifier.bandwidth": [None, *MORE],
    "Relief.n_instances": [None, *WHOLE],
    "ReliefF.n_instances": [None, *WHOLE],
    "Relief.ranges": [None],
    "ReliefF.ranges": [None],
    "ActiveFeatureSampling.previous": [[]],
    "ActiveFeatureSampling.n_features": WHOLE,
    "ActiveFeatureSampling.policy": [],
    "ActiveFeatureSampling.budget": WHOLE,
    "ActiveFeatureSampling.test_size": [None, *WHOLE],
    "ActiveFeatureSampling.n_values": [None],
    "ActiveFeatureSampling.prior": WHOLE,
    "DependencyAwareRanking.max_probe": [None, *WHOLE],
    "DependencyAwareRanking.n_probes": [np.int64(3)],
    "DependencyAwareRanking.stopping": [None],
    "DependencyAwareRanking.check_every": WHOLE,
    "EqualWidthDiscretiser.n_bins": WHOLE,
    "EqualWidthDiscretiser.supervised": [True],
    "Finco.threshold": [],
    "LasVegasFilter.threshold": [],
    "LasVegasFilter.max_tries": WHOLE,
    "QuerySensitiveNeighbors.selector": [None],
    "QuerySensitiveNeighbors.thresholds": [],
    "QuerySensitiveNeighbors.eta": MORE,
    "QuerySensitiveNeighbors.n_passes": WHOLE,
    "QuerySensitiveNeighbors.distance": [],
    "RepeatedSelector.selector": [],
    "RepeatedSelector.n_repetitions": WHOLE,
    "SequentialSelector.estimator": [None],
    "SequentialSelector.direction": [],
    "SequentialSelector.floating": [True],
    "SequentialSelector.take": [None, *WHOLE],
    "SequentialSelector.remove": [None],
    "SequentialSelector.n_features": WHOLE,
    "SequentialSelector.cv": WHOLE,
    "SequentialSelector.tolerance": MORE,
    "SequentialSelector.random_state": [None, *WHOLE],
    "SequentialSelector.callback": [None],
    "StreamRelief.costs": [None],
    "StreamRelief.confidence": [],
    "StreamRelief.horizon": [None, *WHOLE],
    "StreamRelief.extrapolation": [],
    "StreamRelief.first_tick": [],
    "StreamRelief.floor": [None],
    "StreamRelief.ranges": [],
    "StreamRelief.random_state": WHOLE,
    "PrefixRelief.n_prefixes": [None, *WHOLE],
    "PrefixRelief.shortest": WHOLE,
    "PrefixRelief.longest": [None, *WHOLE],
    "PrefixRelief.random_state": WHOLE,
    "StreamClassifier.features": [None],
    "StreamClassifier.costs": [None],
    "StreamClassifier.pricing": [],
    "StreamClassifier.confidence": [None],
    "StreamClassifier.error_cost": [None, *MORE],
    "StreamClassifier.delay_cost": [None, *MORE],
    "StreamClassifier.sending_cost": [None, *MORE],
    "StreamClassifier.time_limit": [None, *WHOLE],
    "StreamClassifier.select": [None],
    "StreamClassifier.n_features": [None],
    "StreamClassifier.classifier": [None],
    "StreamClassifier.on_timeout": [],
    "StreamClassifier.period": [1.5, *WHOLE],
    "StreamClassifier.random_state": WHOLE,
    "WrapperAccuracy.estimator": [],
    "WrapperAccuracy.cv": WHOLE,
    "WrapperAccuracy.random_state": [None, *WHOLE],
}


def estimators():
    """Every class that can be made, of a module that is not private."""
    for name in sources():
        if not name.startswith("streamfs."):
            continue
        text = sources()[name] + sources()[name.rpartition(".")[0]]
        if "sklearn" in text or "_parameter_constraints" in text:
            importlib.import_module(name)
    found, waiting = [], [Estimator]
    for each in waiting:
        waiting += each.__subclasses__()
        if not inspect.isabstract(each) and each is not Estimator and each.__module__.startswith("streamfs."):
            found.append(each)
    return sorted(set(found), key=lambda each: each.__name__)


ESTIMATORS = estimators()
PAIRS = [(each, name) for each in ESTIMATORS for name in each._get_param_names()]


def tried(estimator, name, value):
    """Fit with a value of one parameter, and what makes the others quick."""
    rng = np.random.default_rng(0)
    y = np.arange(24) // 2 % 2
    rows = rng.integers(0, 3, size=(24, 4)) + 4 * y[:, np.newaxis]
    quick = {"n_probes": 60, "max_tries": 20, "n_trees": 2, "n_rounds": 2, "n_repetitions": 2}
    quick |= {"selector": SELECTOR, "neighbours": "any", "random_state": 0, "features": ["last(x0)"]}
    known = estimator._get_param_names()
    given = {key: each for key, each in quick.items() if key in known} | {name: value}
    if issubclass(estimator, SubsetCriterion):
        given = {"estimator": NeighborsClassifier(1)} | given if "estimator" in known else given
        return estimator(**given).prepare(rows, y)
    if issubclass(estimator, (StreamClassifier, TableEstimator)):
        return estimator(**given).fit(rows[:, :, np.newaxis], y)
    return estimator(**given).fit(rows, y)


def test_there_are_all():
    assert len(ESTIMATORS) >= 19
    assert {f"{each.__name__}.{name}" for each, name in PAIRS} >= {name for name in GOOD if "." in name}


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_parameter_is_declared(estimator):
    assert sorted(estimator._parameter_constraints) == sorted(estimator._get_param_names())


@pytest.mark.parametrize(("estimator", "name"), PAIRS)
def test_a_wrong_value_is_refused_by_name(estimator, name):
    good = GOOD[full] if (full := f"{estimator.__name__}.{name}") in GOOD else GOOD[name]
    for value in TRIED:
        if any(value is each or (type(value) is type(each) and value == each) for each in good):
            tried(estimator, name, value)
            continue
        with pytest.raises((ValueError, TypeError)) as refused:
            tried(estimator, name, value)
        assert name in str(refused.value), (value, str(refused.value))
