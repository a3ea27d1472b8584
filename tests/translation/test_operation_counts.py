"""Operations of a model are counted in its plain form, which computes as before."""

import numpy as np
from helpers.random_models import random_procedure, random_tree

import feature_extractors as fx
from streamfs import Costs, Procedure
from streamfs.translation.operations import KINDS, operations


def procedure_of(*names):
    features = tuple(map(fx.get, names))
    tree = random_tree(np.random.default_rng(0), 1, n_tests=1)
    return Procedure(features, tree, tuple("tuv"), Costs(np.ones(len(features))), 1.0, 9, 0.5)


def test_each_feature_adds_the_operations_of_its_step():
    readings = np.random.default_rng(1).normal(1, 1, (9, 1))
    least = operations(procedure_of("last(a)"), readings)
    assert {*least} == {*KINDS}
    assert least["tick"] == 1.0
    for name, added in (
        ("energy(a)", {"sum": 9, "product": 2, "quotient": 2, "comparison": 3, "root": 0}),
        ("min(a; window=4)", {"product": 0, "quotient": 0, "root": 0, "function": 0}),
    ):
        found = operations(procedure_of("last(a)", name), readings)
        assert found["step"] > least["step"]
        assert {kind: found[kind] - least[kind] for kind in added} == added


def test_a_decided_stream_makes_room_for_another():
    procedure = random_procedure(np.random.default_rng(3))
    some, many = (operations(procedure, np.ones((n, 2))) for n in (9, 90))
    assert many["step"] > 0.9 * some["step"]
