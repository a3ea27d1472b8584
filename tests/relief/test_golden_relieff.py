"""ReliefF and its oracle against weights of Weka's ReliefFAttributeEval."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from golden.halves import Case, read
from golden.record_relieff import parse, refuse_ties
from numpy.testing import assert_allclose
from oracles.relieff import relieff_weights

from streamfs import ReliefF

RECORDED = json.loads((Path(__file__).parents[1] / "golden" / "relieff.json").read_text())
WEIGHED = {f"{of['name']}-{by['n_neighbours']}": (of, by) for of in RECORDED["sets"] for by in of["weighed"]}
SMALL = [name for name, (of, _) in WEIGHED.items() if "rows" in of or of["name"] in {"hepatitis", "autos"}]


def read_or_skip(recorded):
    if "rows" in recorded:
        return parse(recorded["rows"], recorded["nominal"])
    if "STREAMFS_DATA" not in os.environ:
        pytest.skip("STREAMFS_DATA, the folder that holds uci/*.csv, is not set")
    data = read(Case(recorded["name"]))
    assert data.checksum() == recorded["checksum"], "not the values that Weka had"
    return data


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_are_those_of_weka(name):
    recorded, weighed = WEIGHED[name]
    data = read_or_skip(recorded)
    fitted = ReliefF(weighed["n_neighbours"], nominal=data.nominal).fit(data.X, data.y)
    assert_allclose(fitted.feature_importances_, weighed["weights"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", SMALL)
def test_the_oracles_weights_are_those_of_weka(name):
    recorded, weighed = WEIGHED[name]
    data = read_or_skip(recorded)
    weights = relieff_weights(data.X, data.y, weighed["n_neighbours"], nominal=data.nominal)
    assert_allclose(weights, weighed["weights"], rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", WEIGHED)
def test_no_tie_matters(name):
    recorded, weighed = WEIGHED[name]
    refuse_ties(read_or_skip(recorded), weighed["n_neighbours"])


def test_a_set_in_which_a_tie_matters_is_refused():
    data = parse(["0,0", "1,0", "2,0", "9,1"], nominal=())
    refuse_ties(data, 2)
    with pytest.raises(ValueError, match="neighbour 1 of class 0 is as near as the next one"):
        refuse_ties(data, 1)


def test_a_set_has_the_properties_it_represents():
    sets = {of["name"]: parse(of["rows"], of["nominal"]) for of in RECORDED["sets"] if "rows" in of}
    assert {
        name: (len(np.unique(of.y)), bool(of.nominal), bool(np.isnan(of.X).any())) for name, of in sets.items()
    } == {
        "binary": (2, False, False),
        "classes": (4, False, False),
        "lone": (3, False, False),
        "mixed": (2, True, False),
        "missing": (2, False, True),
        "everything": (3, True, True),
    }
