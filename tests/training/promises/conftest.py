"""Streams, and a search for a promise on them."""

import pytest
from helpers.procedures import labelled_streams
from low_promises import FEATURES, PROMISE

import feature_extractors as fx
from streamfs import SearchSettings
from streamfs.costs.pricing import Pricing
from streamfs.costs.radio_profiles import profile
from streamfs.training.promises.problem import PromiseProblem


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(n_streams=160, n_ticks=10)


@pytest.fixture
def plan(streams):
    return PromiseProblem(
        streams,
        PROMISE,
        [fx.get(name) for name in FEATURES],
        Pricing(profile("transmissions")),
        make_selector=None,
        learners=("c45",),
        min_leaf=2,
        time_limit=10,
        groups=None,
        search=SearchSettings(as_offered=True),
        seed=0,
        n_jobs=1,
    )
