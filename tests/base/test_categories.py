"""Categories of frames of pandas and polars are nominal, by themselves."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from streamfs.classifiers import C45Classifier, KernelDensityClassifier, NeighborsClassifier
from streamfs.relief import Relief, ReliefF
from streamfs.selection import EqualWidthDiscretiser, QuerySensitiveNeighbors

RNG = np.random.default_rng(0)
LEVELS = ["low", "middle", "high"]
CODES = RNG.integers(0, 3, 60).astype(float)
NUMBERS = RNG.normal(size=60)
Y = np.where((CODES == 1) ^ (NUMBERS > 1), "a", "b")
ROWS = np.column_stack([NUMBERS, CODES])
TEXT = [LEVELS[int(code)] for code in CODES]
FRAMES = {
    "pandas": pd.DataFrame({"x": NUMBERS, "level": pd.Categorical(TEXT, LEVELS)}),
    "polars": pl.DataFrame({"x": NUMBERS, "level": pl.Series(TEXT, dtype=pl.Enum(LEVELS))}),
    "polars, not declared": pl.DataFrame({"x": NUMBERS, "level": pl.Series(TEXT, dtype=pl.Categorical)}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    "estimator", [C45Classifier, NeighborsClassifier, KernelDensityClassifier, QuerySensitiveNeighbors]
)
def test_a_classifier_takes_them_as_nominal(estimator, kind):
    frame = FRAMES[kind]
    fitted, expected = estimator().fit(frame, Y), estimator(nominal=[1]).fit(ROWS, Y)
    assert_array_equal(fitted.predict_proba(frame), expected.predict_proba(ROWS))
    assert fitted.feature_names_in_.tolist() == ["x", "level"]
    assert fitted.nominal is None


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("selector", [Relief, ReliefF])
def test_a_selector_takes_them_as_nominal(selector, kind):
    expected = selector(nominal=[1]).fit(ROWS, Y).feature_importances_
    assert_allclose(selector().fit(FRAMES[kind], Y).feature_importances_, expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_discretiser_leaves_them_as_they_are(kind):
    assert_array_equal(EqualWidthDiscretiser().fit_transform(FRAMES[kind])[:, 1], CODES)


def test_what_is_missing_or_unknown_is_missing():
    fitted = C45Classifier().fit(FRAMES["pandas"], Y)
    given = pd.DataFrame({"x": [0.0, 0.0], "level": pd.Categorical([None, "new"])})
    coded = pd.DataFrame({"x": [0.0, 0.0], "level": [np.nan, np.nan]})
    assert_array_equal(fitted.predict_proba(given), fitted.predict_proba(coded))
    other_order = pd.DataFrame({"x": NUMBERS, "level": pd.Categorical(TEXT, LEVELS[::-1])})
    assert_array_equal(fitted.predict(other_order), fitted.predict(FRAMES["pandas"]))
    assert FRAMES["pandas"]["level"].tolist() == TEXT
