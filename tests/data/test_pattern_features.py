"""Patterns proposed for recorded streams."""

import numpy as np
import pytest

import feature_extractors as fx
from streamfs import StreamSet, evaluate, tabulate, train
from streamfs.data import pattern_features
from streamfs.data.pattern_features import _responses
from streamfs.errors import DataError

NAN = np.nan

either = pytest.mark.parametrize("normalised", [False, True])


def walks(n_streams: int = 12, n_ticks: int = 65, columns: tuple[str, ...] = ("x",), **given) -> StreamSet:
    rng = np.random.default_rng(5)
    values = rng.normal(size=(n_streams, n_ticks, len(columns))).cumsum(axis=1)
    return StreamSet(values, ["walk"] * n_streams, columns, **given)


def params(features, name):
    return [feature.params[name] for feature in features if name in feature.params]


def test_a_seed_and_streams_settle_the_patterns():
    streams = walks()
    assert pattern_features(streams) == pattern_features(streams, seed=0)
    assert pattern_features(streams) != pattern_features(streams, seed=1)


@either
def test_each_kernel_gives_its_greatest_response_and_a_share(normalised):
    features = pattern_features(walks(columns=("x", "y z")), n_kernels=3, normalised=normalised)
    prefix = "normalised_" * normalised
    kinds = [f"{prefix}pattern_max", f"{prefix}pattern_share"]
    assert [feature.kind.name for feature in features] == 6 * kinds
    assert [feature.columns for feature in features] == 6 * [("x",)] + 6 * [('"y z"',)]
    for greatest, share in zip(features[::2], features[1::2], strict=True):
        assert share.params == greatest.params | {"bias": share.params["bias"]}
    assert tuple(fx.get(feature.name) for feature in features) == features


@either
def test_shares_can_be_left_out(normalised):
    features = pattern_features(walks(), normalised=normalised)
    assert pattern_features(walks(), normalised=normalised, shares=False) == features[::2]


def test_kernels_are_spread_over_all():
    assert len(pattern_features(walks())) == 160
    assert len(set(params(pattern_features(walks()), "kernel"))) == 80
    of_80 = {number for seed in range(5) for number in params(pattern_features(walks(), seed=seed), "kernel")}
    assert of_80 == set(range(84))
    many = pattern_features(walks(n_ticks=700), n_kernels=2 * 84 + 5)
    shares = [feature for feature in many if "bias" in feature.params]
    counts = np.bincount(np.array(params(shares, "kernel"), dtype=int))
    assert (counts.min(), counts.max(), len(counts)) == (2, 3, 84)


def test_dilations_are_spread_over_scales():
    streams = walks(n_streams=2, n_ticks=1025)  # at most 2**6
    dilations = np.concatenate(
        [params(pattern_features(streams, seed=seed), "dilation")[::2] for seed in range(5)]
    )
    assert (dilations.min(), dilations.max()) == (1, 63)
    shares = [np.mean((low <= dilations) & (dilations < 2 * low)) for low in (1, 2, 4, 8, 16, 32)]
    np.testing.assert_allclose(shares, 1 / 6, atol=0.05)


@either
def test_a_bias_is_a_quantile_of_the_responses(normalised):
    alone = walks(n_streams=1, n_ticks=400)
    features = [f for f in pattern_features(alone, normalised=normalised) if "bias" in f.params]
    shares = tabulate(alone, features).values[0, -1]
    assert 0.08 < shares.min() < 0.2
    assert 0.8 < shares.max() < 0.92


@either
def test_the_responses_are_those_of_the_features(normalised):
    alone = walks(n_streams=1, n_ticks=400)
    readings = alone.values[0, :, 0]
    for feature in pattern_features(alone, n_kernels=20, normalised=normalised)[1::2]:
        number, dilation = int(feature.params["kernel"]), int(feature.params["dilation"])
        above = _responses(readings, number, dilation, normalised) > feature.params["bias"]
        shares = above.cumsum() / np.arange(1, len(above) + 1)
        np.testing.assert_allclose(fx.scan([feature], alone.values)[0, -len(above) :, 0], shares, rtol=1e-12)


def test_biases_have_three_figures():
    biases = params(pattern_features(walks()), "bias")
    assert len(set(biases)) > 70
    assert biases == [float(f"{bias:.3g}") for bias in biases]


@either
def test_rounding_is_no_bias(normalised):
    ramp = StreamSet(0.1 * np.arange(50.0)[np.newaxis, :, np.newaxis] + 0.3, ["up"], ["x"])
    biases = params(pattern_features(ramp, n_kernels=84, normalised=normalised), "bias")
    assert 0.0 in biases  # of kernels with equal weights on either side
    assert min(abs(bias) for bias in biases if bias) > 0.01


def test_the_level_does_not_matter_nor_the_scale_of_normalised_patterns():
    streams = walks()
    higher, larger = (StreamSet(v, streams.labels, ["x"]) for v in (streams.values + 1e6, streams.values * 1024))
    assert pattern_features(higher) == pattern_features(streams)
    assert pattern_features(larger) != pattern_features(streams)
    assert pattern_features(larger, normalised=True) == pattern_features(streams, normalised=True)


@either
def test_ragged_streams_with_gaps_have_patterns(normalised):
    rng = np.random.default_rng(1)
    full = walks(n_streams=40, n_ticks=200)
    lengths = rng.integers(0, 201, 40)
    values = np.where(rng.random(full.values.shape) < 0.3, NAN, full.values)
    ragged = StreamSet(values, full.labels, ["x"], lengths=lengths)
    features = pattern_features(ragged, normalised=normalised)
    sizes = np.isfinite(ragged.values[:, :, 0]).sum(axis=1)
    assert max(params(features, "dilation")) <= (np.median(sizes[sizes > 0]) - 1) / 16
    table = tabulate(ragged, features)
    for stream in np.flatnonzero(sizes >= np.median(sizes[sizes > 0])):
        assert np.isfinite(table.values[stream, table.lengths[stream] - 1]).all()


def test_columns_without_shape_have_no_patterns():
    values = walks(columns=("x", "flat", "level", "dead")).values.copy()
    values[:, :, 1], values[:, :, 2], values[:, :, 3] = 3.7, np.arange(12.0)[:, np.newaxis], NAN
    streams = StreamSet(values, ["walk"] * 12, ["x", "flat", "level", "dead"])
    assert {feature.columns for feature in pattern_features(streams)} == {("x",)}


@either
def test_streams_that_stay_constant_are_among_others(normalised):
    values = walks().values.copy()
    values[1:] = 3.7
    features = pattern_features(StreamSet(values, ["walk"] * 12, ["x"]), normalised=normalised)
    assert len(features) == 160
    assert params(features, "bias").count(0.0) > 60


def test_streams_that_are_too_short_have_no_patterns():
    assert pattern_features(walks(n_ticks=8)) == ()
    nine = pattern_features(walks(n_ticks=9))
    assert len(nine) == 160
    assert set(params(nine, "dilation")) == {1}
    mostly_short = walks(n_ticks=40, lengths=[5] * 10 + [40] * 2)
    assert set(params(pattern_features(mostly_short), "dilation")) == {1}
    assert pattern_features(StreamSet(np.zeros((0, 5, 1)), [], ["x"])) == ()


def test_patterns_coincide_where_there_are_more_kernels_than_dilations():
    features = pattern_features(walks(n_ticks=9), n_kernels=168)
    assert len(features) == len(set(features)) < 336
    assert len([feature for feature in features if feature.kind.name == "pattern_max"]) == 84


def test_channels_have_report_policies():
    features = pattern_features(walks(), ["x@delta:0.50", "x@mean:4"], n_kernels=5)
    assert {feature.columns for feature in features} == {("x@delta:0.5",), ("x@mean:4",)}


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"streams": [1.0]}, TypeError, r"streams is \[1.0\], expected a StreamSet"),
        ({"channels": "x"}, TypeError, "channels is 'x', expected a sequence of channels"),
        ({"channels": ["y"]}, DataError, "column 'y' does not exist, expected one of x"),
        ({"n_kernels": 0}, ValueError, "n_kernels is 0, expected a whole number, at least 1"),
        ({"n_kernels": 2.5}, ValueError, "n_kernels is 2.5, expected a whole number"),
    ],
)
def test_wrong_use_is_refused(given, error, message):
    with pytest.raises(error, match=message):
        pattern_features(**({"streams": walks()} | given))


def test_training_distinguishes_shapes_wherever_they_are():
    """Saws that rise slowly or fall slowly have equal levels, ranges and spectra; only their shapes differ."""
    rng = np.random.default_rng(0)
    phases, levels = rng.integers(0, 20, (160, 1)), rng.normal(0, 1e3, (160, 1))
    saw = (np.arange(60) + phases) % 20 / 20
    is_rising = rng.random((160, 1)) < 0.5
    values = np.where(is_rising, saw, 1 - saw) + levels + rng.normal(0, 0.1, saw.shape)
    streams = StreamSet(values[:, :, np.newaxis], np.where(is_rising[:, 0], "rising", "falling"), ["x"])
    training, testing = streams.split(0.6, seed=0)
    trained = train(
        training, features=pattern_features(training, n_kernels=20), confidence=0.9, select="streamrelief"
    )
    assert evaluate(trained, testing).accuracy > 0.9
