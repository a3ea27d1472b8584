"""Our C4.5 tree against predictions that Weka's J48 made on the held-out halves of public data sets."""

import os

import numpy as np
import pytest
from golden.agreement import RECORDED, j48, ours, share_equal
from golden.halves import Case, read
from numpy.testing import assert_allclose, assert_array_equal

CASES = {Case(**recorded["case"]): recorded for recorded in RECORDED["cases"]}
CLOSE_VALUES = Case("glass")
TIE_FREE = ("iris", "labor", "breast-cancer", "colic", "mushroom")


def read_or_skip(case):
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA, the folder that holds uci/*.csv, is not set")
    data = read(case)
    assert data.checksum() == CASES[case]["checksum"], "not the values or the halves that J48 had"
    return data


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.name}-{case.scale:g}-{case.laplace}")
def test_agreement(case):
    """Of equal splits both take the first, so that sets with ties need no exception.

    J48 takes values less than 1e-5 apart to be one, and we do not: glass has such values where it is not scaled.
    """
    outcomes = ours(read_or_skip(case), laplace=case.laplace), j48(CASES[case])
    n_leaves = np.array([[half.n_leaves for half in halves] for halves in outcomes])
    probability = np.array([[half.probability for half in halves] for halves in outcomes])
    if case == CLOSE_VALUES:
        assert share_equal(*outcomes) >= 0.96
        assert (n_leaves[0] == n_leaves[1]).sum() >= 8
        assert_allclose(*probability, atol=0.05)
    else:
        assert share_equal(*outcomes) >= 0.995
        assert_array_equal(*n_leaves)
        assert_allclose(*probability, atol=1e-9)


@pytest.mark.parametrize("name", TIE_FREE)
def test_no_tie_matters(name):
    """Ties between features are broken by the features' order; here it changes no prediction."""
    data = read_or_skip(Case(name))
    assert share_equal(ours(data, laplace=True), ours(data, laplace=True, reverse=True)) == 1.0
