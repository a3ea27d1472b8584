"""The oracle of ReliefF, against examples worked out by hand."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles.papers import relief_weights
from oracles.relieff import relieff_weights

NAN = math.nan


def column(*values):
    return np.array(values, dtype=np.float64)[:, np.newaxis]


LINE, HALVES = column(0, 1, 2, 6, 7, 8), np.array([0, 0, 0, 1, 1, 1])


def test_it_is_the_mean_of_the_nearest_hits_and_misses():
    # Eighths; hits of R0 at 1, 2, of R1 at 1, 1, of R2 at 1, 2; misses at 6, 7; 5, 6; 4, 5. The rest mirrors.
    assert_allclose(relieff_weights(LINE, HALVES, 2), [2 * (6.5 - 1.5 + 5.5 - 1 + 4.5 - 1.5) / 8 / 6])
    assert_allclose(relieff_weights(LINE, HALVES, 1), [2 * (6 - 1 + 5 - 1 + 4 - 1) / 8 / 6])


def test_a_class_with_fewer_neighbours_gives_all_of_them():
    # All hits, and misses at 6, 7, 8; 5, 6, 7; 4, 5, 6.
    assert_allclose(relieff_weights(LINE, HALVES, 10), [2 * (7 - 1.5 + 6 - 1 + 5 - 1.5) / 8 / 6])


def test_weights_are_of_the_given_instances_with_neighbours_and_ranges_of_all():
    assert_allclose(relieff_weights(LINE, HALVES, 1, instances=[0, 4]), [(6 - 1 + 5 - 1) / 8 / 2])


def test_each_other_class_gives_misses_weighted_by_its_prior():
    X, classes = column(0, 1, 2, 3, 4, 5, 7, 8), np.array([0, 0, 0, 0, 1, 1, 2, 2])
    # Eighths, priors 1/2, 1/4 and 1/4; all hits at 1. In class 0 misses weigh half each: 4, 7; 3, 6; 2, 5; 1, 4.
    # In the others those of class 0 weigh 2/3, those of the third 1/3: 1, 3; 2, 2 and 4, 2; 5, 3.
    halves = (4 + 7 + 3 + 6 + 2 + 5 + 1 + 4) / 2
    thirds = (2 * 1 + 3 + 2 * 2 + 2 + 2 * 4 + 2 + 2 * 5 + 3) / 3
    assert_allclose(relieff_weights(X, classes, 1), [(halves + thirds - 8) / 8 / 8])


def test_lowest_index_wins_among_ties():
    X = np.array([[0, 0], [1, 0], [0, 1], [1, 1]], dtype=np.float64)
    # R0: hits R1 and R2 both at 1, so R1 (1, 0); miss (1, 1). R1: hit R0 (1, 0), miss (0, 1). R2: hit R0 (0, 1),
    # miss (1, 0). R3: no hit, misses R1 and R2 both at 1, so R1 (0, 1). Sum (0, 2) over 4.
    assert_allclose(relieff_weights(X, np.array([0, 0, 0, 1]), 1), [0, 0.5], atol=1e-15)


def test_a_class_without_neighbours_adds_nothing_and_the_instance_still_counts():
    X, classes = column(0, 2, 8, 4), np.array([0, 0, 1, 2])
    # Priors 1/2, 1/4, 1/4. Eighths. R0: hit 2, misses 8 and 4, half each; R1: hit 2, misses 6 and 2. R2 and R3
    # have no hits; misses of class 0 at 6 and at 2, by 2/3; each other at 4, by 1/3.
    assert_allclose(relieff_weights(X, classes, 1), [(4 + 2 + 16 / 3 + 8 / 3) / 8 / 4])
    # R2 is of R0's stream: R0 has the miss 4 with half a weight, so 2 - 2; all else is unchanged.
    weights = relieff_weights(X, classes, 1, streams=np.array([0, 1, 0, 2]))
    assert_allclose(weights, [(0 + 2 + 16 / 3 + 8 / 3) / 8 / 4])


def test_neighbours_are_of_another_stream():
    X, classes, streams = column(0, 1, 4, 8), np.array([0, 0, 0, 1]), np.array([7, 7, 8, 9])
    # Eighths: R0 8 - 4, R1 7 - 3, R2 4 - (4 + 3) / 2, R3 (4 + 7) / 2.
    assert_allclose(relieff_weights(X, classes, 2, streams), [(4 + 4 + 0.5 + 5.5) / 8 / 4])


def test_differences_are_those_of_relief():
    # A nominal column of three values, one missing: 2/3 against it, 1 between the others.
    X, classes = column(0, 1, 2, NAN), np.array([0, 0, 1, 1])
    # R0 hit 1, miss 2/3; R1 the same; R2 hit 2/3, miss 1; R3 hit and miss 2/3. -1/3 over 4.
    assert_allclose(relieff_weights(X, classes, 1, nominal=(0,)), [-1 / 12])
    # Squared: 4/9 - 1 twice, 1 - 4/9, 0. -5/9 over 4.
    assert_allclose(relieff_weights(X, classes, 1, power=2, nominal=(0,)), [-5 / 36])
    # Given ranges replace the table's own, and a given number of values: 3/4 against the missing one.
    wide = relieff_weights(LINE, HALVES, 1, low=np.array([-8.0]), high=np.array([8.0]))
    assert_allclose(wide, relieff_weights(LINE, HALVES, 1) / 2)
    four = relieff_weights(X, classes, 1, nominal=(0,), n_values=np.array([4]))
    assert_allclose(four, [(-0.25 - 0.25 + 0.25 + 0) / 4])


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("grouped", [False, True])
def test_with_one_neighbour_and_two_classes_it_is_relief(power, grouped):
    random = np.random.default_rng(0)
    X = random.integers(0, 4, (30, 4)).astype(np.float64)
    X[random.random(X.shape) < 0.1] = NAN
    classes = random.integers(0, 2, 30)
    streams = np.arange(30) // 3 if grouped else None
    weights = relieff_weights(X, classes, 1, streams, power, nominal=(1, 3))
    assert_allclose(weights, relief_weights(X, classes, streams, power, nominal=(1, 3)), rtol=0, atol=1e-15)
