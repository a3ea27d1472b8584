"""Plans of the streams to equip next with an expensive sensor."""

import numpy as np
import orjson
import pytest
from oracles import active_sampling as naive

from streamfs import StreamSet
from streamfs.cli.app import main
from streamfs.errors import DataError
from streamfs.selection.sample_plan import plan_samples

NAN = float("nan")


def fields(n=80, seed=0, *, carrying=0.3, n_ticks=4):
    """Fields with an air and a rain sensor, some with a soil sensor that separates wet from dry."""
    rng = np.random.default_rng(seed)
    wet = rng.random(n) < 0.4
    air = 20 + 5 * rng.random(n)
    rain = wet * 2.0 + rng.random(n) * 3
    soil = np.where(rng.random(n) < carrying, 10 + 10 * wet + 4 * rng.random(n), NAN)
    values = np.stack([air, rain, soil], axis=1)[:, np.newaxis] + 0.01 * rng.normal(size=(n, n_ticks, 3))
    names = [f"field-{i:02d}" for i in range(n)]
    return StreamSet(values, np.where(wet, "wet", "dry"), ["air", "rain", "soil"], 60.0, names)


def bins_of(column, n_bins):
    """Bins of equal width of the known values."""
    low, high = np.nanmin(column), np.nanmax(column)
    bins = np.floor((column - low) / (high - low) * n_bins)
    return [None if np.isnan(b) else min(int(b), n_bins - 1) for b in bins]


@pytest.mark.parametrize("n_bins", [2, 3, 5])
def test_each_stream_is_in_the_best_region_with_those_before_counted_as_expected(n_bins):
    streams = fields()
    plan = plan_samples(streams, "soil", n_streams=12, n_bins=n_bins)
    air, rain, soil = (bins_of(streams.column(c).mean(axis=1), n_bins) for c in streams.columns)
    joints = sorted(set(zip(air, rain, strict=True)))
    joint = [joints.index(pair) for pair in zip(air, rain, strict=True)]
    label = [int(text == "wet") for text in streams.labels]
    counts, p = np.zeros((2, len(joints), n_bins)), np.zeros((2, len(joints)))
    for c, x, y in zip(label, joint, soil, strict=True):
        p[c, x] += 1 / len(streams)
        if y is not None:
            counts[c, x, y] += 1
    left = [i for i in range(len(streams)) if soil[i] is None]
    assert plan.n_unknown == len(left)
    assert plan.n_known == len(streams) - len(left)
    assert plan.n_regions == (p > 0).sum()
    for planned in plan.streams:
        benefits = naive.benefit(counts, p)
        stream = streams.names.index(planned.stream)
        assert planned.benefit == pytest.approx(max(benefits[label[i], joint[i]] for i in left), abs=1e-12)
        assert planned.benefit == pytest.approx(benefits[label[stream], joint[stream]], abs=1e-12)
        region = [i for i in left if (label[i], joint[i]) == (label[stream], joint[stream])]
        assert stream == region[0]
        assert planned.label == streams.labels[stream]
        expected = naive.posterior(counts)[label[stream], joint[stream]]
        assert planned.expected == pytest.approx(expected.tolist())
        left.remove(stream)
        counts[label[stream], joint[stream]] += expected


def test_uncertainty_is_the_entropy_of_the_class():
    streams = StreamSet([[[0.0, 1.0]], [[0.0, 5.0]], [[0.0, NAN]]], ["a", "b", "b"], ["cheap", "dear"])
    plan = plan_samples(streams, "dear", n_bins=2)
    p = np.array([[[2 / 3, 1 / 3]], [[1 / 3, 2 / 3]]]) * np.array([1 / 3, 2 / 3])[:, np.newaxis, np.newaxis]
    assert plan.uncertainty == pytest.approx(naive.class_entropy(p))


def test_streams_that_carry_the_sensor_are_not_named_and_no_stream_twice():
    streams = fields()
    plan = plan_samples(streams, "soil", n_streams=500)
    without = np.isnan(streams.column("soil")).all(axis=1)
    assert sorted(planned.stream for planned in plan.streams) == [
        name for name, is_without in zip(streams.names, without, strict=True) if is_without
    ]


def test_bins_are_of_equal_width_over_the_means_of_the_known_readings():
    streams = fields()
    plan = plan_samples(streams, "soil", n_streams=1, n_bins=4)
    means = streams.column("soil").mean(axis=1)
    assert plan.bins == pytest.approx(np.linspace(np.nanmin(means), np.nanmax(means), 5).tolist())
    gaps = streams.values.copy()
    gaps[:, 1:, 2] = NAN  # one reading is enough
    one_reading = plan_samples(StreamSet(gaps, streams.labels, streams.columns), "soil", n_streams=1, n_bins=2)
    assert one_reading.n_known == plan.n_known
    first = gaps[:, 0, 2]
    assert one_reading.bins == pytest.approx(np.linspace(np.nanmin(first), np.nanmax(first), 3).tolist())


def test_only_the_given_columns_make_regions():
    plan = plan_samples(fields(), "soil", ["rain", "rain"], n_streams=1)
    assert list(plan.streams[0].region) == ["rain"]
    assert plan.n_regions <= 6


def test_a_stream_without_readings_of_a_cheap_column_is_in_a_separate_region():
    streams = fields()
    values = streams.values.copy()
    values[:, :, 1] = np.where(np.arange(80)[:, np.newaxis] % 2, NAN, values[:, :, 1])
    plan = plan_samples(StreamSet(values, streams.labels, streams.columns), "soil", n_streams=30)
    for planned in plan.streams:
        is_odd = int(planned.stream.removeprefix("stream-")) % 2
        assert (planned.region["rain"] == "unknown") == is_odd


def test_a_sensor_that_no_stream_carries_is_planned_too():
    plan = plan_samples(fields(carrying=0.0), "soil", n_streams=5)
    assert (plan.n_known, plan.n_unknown, plan.bins) == (0, 80, ())
    assert plan.streams[0].benefit > plan.streams[-1].benefit > 0
    assert plan.streams[0].expected == pytest.approx([1 / 3] * 3)


def test_a_constant_cheap_column_makes_no_regions():
    streams = fields()
    values = streams.values.copy()
    values[:, :, 0] = 20.0
    plan = plan_samples(StreamSet(values, streams.labels, streams.columns), "soil", n_streams=1)
    assert plan.streams[0].region["air"] == "all alike"


@pytest.mark.parametrize(
    ("error", "options", "message"),
    [
        (DataError, {"sensor": "wind"}, "column 'wind' does not exist, expected one of air, rain, soil"),
        (DataError, {"columns": ["wind"]}, "column 'wind' does not exist"),
        (DataError, {"sensor": "air"}, "all 80 streams carry air, expected some that do not"),
        (ValueError, {"columns": ["air", "soil"]}, "columns hold 'soil', the sensor"),
        (ValueError, {"n_streams": 0}, "n_streams is 0, expected a whole number, at least 1"),
        (ValueError, {"n_bins": 1}, "n_bins is 1, expected 2 to 20"),
        (ValueError, {"n_bins": 21}, "n_bins is 21, expected 2 to 20"),
    ],
)
def test_an_impossible_plan_is_refused_by_name(error, options, message):
    with pytest.raises(error, match=message):
        plan_samples(fields(), **{"sensor": "soil", **options})


def test_streams_of_one_class_cannot_be_planned():
    with pytest.raises(DataError, match=r"the 2 streams are of 1 classes \(dry\), expected 2"):
        plan_samples(StreamSet([[[1.0, 2.0]], [[1.0, NAN]]], ["dry", "dry"], ["air", "soil"]), "soil")


class TestCommand:
    @pytest.fixture
    def command(self, tmp_path, monkeypatch, capfd):
        monkeypatch.chdir(tmp_path)
        fields().write("fields.csv")

        def run(*words):
            code = 0
            try:
                main(["sample-plan", *words])
            except SystemExit as stop:
                code = stop.code
            return code, *capfd.readouterr()

        return run

    def test_the_plan_is_printed_for_people(self, command):
        code, out, err = command("fields.csv", "--sensor", "soil", "--column", "rain", "--number", "4")
        plan = plan_samples(fields(), "soil", ["rain"], 4)
        lines = [line.split() for line in out.splitlines() if line.strip()]
        assert code == 0
        assert lines[0] == ["stream", "label", "benefit", "expected", "soil", "in", "rain"]
        assert [line[0] for line in lines[2:]] == [planned.stream for planned in plan.streams]
        assert f"{plan.n_known} of 80 streams carry soil, in {plan.n_regions} regions" in err
        assert "reading the streams" in err
        assert max(map(len, out.splitlines())) <= 80

    def test_the_plan_is_printed_for_machines(self, command):
        code, out, _ = command("fields.csv", "--sensor", "soil", "--bins", "4", "--json")
        plan = plan_samples(StreamSet.read("fields.csv"), "soil", n_bins=4)
        assert code == 0
        assert orjson.loads(out) == orjson.loads(orjson.dumps(plan.to_json()))
        assert len(plan.streams) == 10

    def test_a_sensor_of_which_nothing_is_known_has_no_expected_reading(self, command):
        fields(carrying=0.0).write("none.parquet")
        code, out, _ = command("none.parquet", "--sensor", "soil")
        assert code == 0
        assert all(" - " in line for line in out.splitlines() if line.startswith(" field"))

    @pytest.mark.parametrize(
        ("words", "code", "message"),
        [
            ("", 2, "Missing argument 'STREAMS...'"),
            ("fields.csv", 2, "Missing option '--sensor'"),
            ("fields.csv --sensor soil --number 0", 2, "0 is not in the range x>=1"),
            ("fields.csv --sensor soil --bins 1", 2, "1 is not in the range 2<=x<=20"),
            ("fields.csv --sensor soil --column soil", 2, "--column soil is the sensor"),
            ("none.csv --sensor soil", 1, "none.csv cannot be read: No such file or directory"),
            ("fields.png --sensor soil", 1, "fields.png ends in '.png', expected .csv"),
            ("broken.csv --sensor soil", 1, "broken.csv"),
            ("fields.csv --sensor wind", 1, "column 'wind' does not exist, expected one of air, rain, soil"),
            ("fields.csv --sensor air", 1, "all 80 streams carry air"),
        ],
    )
    def test_an_error_is_reported_in_one_line(self, command, tmp_path, words, code, message):
        (tmp_path / "broken.csv").write_bytes(b"stream,time\n\xff\xfe,1,2,3\n")
        (tmp_path / "fields.png").write_text("x", encoding="utf-8")
        found, out, err = command(*words.split())
        assert (found, out) == (code, "")
        assert message in err
        assert "Traceback" not in err
