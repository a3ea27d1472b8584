"""River's drift detectors by betting."""

import numpy as np
import pytest
from river.checks import yield_checks

from streamfs.procedure.betting import ShareTest
from streamfs.procedure.drift_detectors import SameDistributionDetector, ShareDetector

DETECTORS = (ShareDetector(), SameDistributionDetector())


def checks():
    for detector in DETECTORS:
        for check in yield_checks(detector):
            if check.__name__ != "check_tags":  # of estimators; River's own detectors have none either
                yield pytest.param(detector, check, id=f"{type(detector).__name__}-{check.__name__}")


@pytest.mark.parametrize(("detector", "check"), [*checks()])
def test_river_finds_nothing_wrong_with_them(detector, check):
    check(detector.clone())


def test_a_share_is_tested_as_a_promise_is():
    right = np.random.default_rng(0).random(400) < 0.6
    detector, test = ShareDetector(0.8, risk=0.01), ShareTest(0.8)
    for is_right in right:
        detector.update(is_right)
        test.add(bool(is_right))
        assert detector.drift_detected == (test.bets.wealth >= 100)
        if detector.drift_detected:
            break
    assert detector.drift_detected
    detector.update(True)
    assert not detector.drift_detected


@pytest.mark.parametrize("draw", [np.random.Generator.standard_normal, np.random.Generator.standard_cauchy])
def test_values_drawn_alike_are_rarely_a_drift(draw):
    n_found = 0
    for seed in range(60):
        detector, rng = SameDistributionDetector(50, risk=0.1), np.random.default_rng(seed)
        for value in draw(rng, 200):
            detector.update(value)
            if detector.drift_detected:
                n_found += 1
                break
    assert n_found <= 60 * 0.1 + 3 * np.sqrt(60 * 0.1)


def test_after_a_drift_the_new_values_are_the_reference():
    rng = np.random.default_rng(1)
    detector = SameDistributionDetector(50)
    found = [
        number
        for number, value in enumerate([*rng.normal(size=100), *rng.normal(3, 1, 400)])
        if drifted(detector, value)
    ]
    assert len(found) == 1
    assert 100 < found[0] < 130


def drifted(detector, value):
    detector.update(value)
    return detector.drift_detected


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"share is 1\.0"):
        ShareDetector(1.0)
    with pytest.raises(ValueError, match="n_reference is 0"):
        SameDistributionDetector(0)
