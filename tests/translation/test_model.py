"""Models in C and in plain Python: decisions, ticks and confidence are those of an engine, to the bit."""

import ast
import platform
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from helpers.compiled_c import Model, compiled
from helpers.own_classifier import Opaque
from helpers.own_stopping import Leads
from helpers.random_models import (
    any_classifier,
    any_forest,
    random_forest,
    random_procedure,
    random_tree,
    tick_thresholds,
)
from hypothesis import given, settings
from hypothesis import strategies as st

import feature_extractors as fx
from feature_extractors.report import Policy
from streamfs import Costs, Procedure, StreamSet
from streamfs.classifiers import Forest
from streamfs.classifiers._forest_fields import TABLES
from streamfs.errors import TranslationError
from streamfs.evaluation.evaluation import replay
from streamfs.procedure import TickThresholds
from streamfs.translation.model import columns_of, translate
from streamfs.translation.on_node import POLICIES
from streamfs.translation.plain import Plain
from streamfs.translation.plain_model import translate_plainly
from streamfs.translation.precision import DOUBLE, FLOAT
from streamfs.translation.self_test import UNLABELLED

N_TICKS = 14


def recordings(rng, columns, n=30):
    """Return streams with gaps, late beginnings and values on a coarse grid."""
    values = np.round(rng.normal(1, 1, (n, N_TICKS, len(columns))), 1)
    values[rng.random(values.shape) < 0.15] = np.nan
    values[:5, :4, 0] = np.nan
    return StreamSet(values, ["t"] * n, columns, 0.5, lengths=rng.integers(6, N_TICKS + 1, n))


def decisions(procedure, streams):
    """Return the answer, its tick and the confidence of each stream, by the engine."""
    found = {decision.stream: decision for decision in replay(procedure, streams)}
    return [
        (answer_of(found[name], procedure), found[name].tick, found[name].confidence) for name in streams.names
    ]


def answer_of(decision, procedure):
    return UNLABELLED[decision.reason] if decision.label is None else procedure.classes.index(decision.label)


def decisions_in_c(folder, procedure, streams, precision=DOUBLE, **options):
    model = Model(folder, translate(procedure, precision=precision, **options), precision)
    return decisions_by(model.decide, procedure, streams)


def decisions_in_plain_python(procedure, streams):
    model = {}
    exec(translate_plainly(procedure), model)  # noqa: S102 - what we have written

    def decide(readings):
        stream, n_taken = model["Stream"](), 0
        while stream.answer == model["WAIT"] and n_taken < len(readings):
            stream.take(readings[n_taken])
            n_taken += 1
        return stream.answer, n_taken, stream.confidence

    return decisions_by(lambda rows: decide(rows.tolist()), procedure, streams)


def decisions_by(decide, procedure, streams):
    """Return the answer, its tick and the last confidence of each stream, by an exported model."""
    order = [streams.columns.index(column) for column in columns_of(procedure)]
    opened = streams.seen_through(procedure.channels, procedure.max_silence).episodes()
    found = []
    for stream, length, n_open in zip(streams.values, streams.lengths, opened.lengths, strict=True):
        answer, n_taken, confidence = decide(stream[:length][:, order])
        tick = max(n_taken - int(length - n_open), 0)
        found.append((answer, tick, confidence))
    return found


def assert_equal(folder, procedure, streams):
    wanted = decisions(procedure, streams)
    for got in decisions_in_c(folder, procedure, streams), decisions_in_plain_python(procedure, streams):
        for one, other in zip(got, wanted, strict=True):
            assert one[0] == other[0]
            if one[0] != UNLABELLED["closed"]:
                assert one[1] == other[1]
            if one[0] >= 0:
                assert one[2] == other[2]


@settings(max_examples=12)
@given(seed=st.integers(0, 10**6), thresholds=st.none() | tick_thresholds())
def test_any_model_decides_as_an_engine_does(tmp_path_factory, seed, thresholds):
    rng = np.random.default_rng(seed)
    procedure = random_procedure(rng, any_classifier(rng, 5), stopping=thresholds)
    assert_equal(tmp_path_factory.mktemp("model"), procedure, recordings(rng, ("a", "b")))


READ = ("last(a)", "min(a)", "max(a)", "min(b@quantised:0.3; window=3)", "last(b@flag:1)")
COUNTED = ("count()", "sign_runs(b)")


def gridded_forest(procedure, rng, thresholds):
    """Return the procedure with a forest of counts and readings, and such thresholds."""
    features = tuple(map(fx.get, READ + COUNTED))
    forest = random_forest(int(rng.integers(2**32)), len(features), n_trees=10)
    tables = {name: getattr(forest, name) for name in TABLES}
    drawn = rng.choice(thresholds, len(forest.feature))
    forest = Forest(**(tables | {"threshold": np.where(forest.feature >= 0, drawn, 0.0)}))
    return replace(procedure, features=features, classifier=forest, costs=Costs(np.ones(len(features))))


@pytest.mark.parametrize("precision", [DOUBLE, FLOAT])
@pytest.mark.parametrize("step", [0.1, 0.0625])
def test_whole_thresholds_decide_alike_on_multiples_of_the_resolution(tmp_path, precision, step):
    rng = np.random.default_rng(8)
    thresholds = rng.normal(1, 1, 200)
    procedure = gridded_forest(random_procedure(rng), rng, thresholds)
    streams = recordings(rng, ("a", "b"), 200)
    streams = replace_values(streams, np.round(np.round(streams.values / step) * step, 4))
    options = {"resolutions": {"a": step}}
    sources = translate(procedure, precision=precision, **options)
    for table in ("int16_t thresholds", "uint8_t features", "uint8_t skips"):  # four bytes a test
        assert f"static const {table}[]" in sources.body
    got, wanted = decisions_in_c(tmp_path, procedure, streams, precision, **options), decisions(procedure, streams)
    assert len({answer for answer, *_ in wanted}) > 2
    for one, other in zip(got, wanted, strict=True):
        assert one[0] == other[0]
        assert one[0] == UNLABELLED["closed"] or one[1] == other[1]


def replace_values(streams, values):
    return StreamSet(values, streams.labels, streams.columns, streams.period, lengths=streams.lengths)


def test_what_has_no_whole_thresholds_is_named():
    rng = np.random.default_rng(8)
    procedure = gridded_forest(random_procedure(rng), rng, [0.55])
    with pytest.raises(TranslationError, match="the model reads no column 'c', which has a resolution"):
        translate(procedure, resolutions={"c": 0.1})
    with pytest.raises(TranslationError, match=r"all tested features are counts or readings, but .*\(a\) is not"):
        translate(procedure, resolutions={"b": 0.1})
    for threshold in (1e5, 0.3):  # the reading 0.3 is not above it, but 3 * 0.1 is
        with pytest.raises(TranslationError, match="beyond 16 bits of the resolution, or at one of its multiples"):
            translate(gridded_forest(procedure, rng, [threshold]), resolutions={"a": 0.1})


def test_streams_are_given_up(tmp_path):
    rng = np.random.default_rng(4)
    procedure = random_procedure(rng, stopping=TickThresholds.since(2, 0.9, patience=4, floor=0.6))
    streams = recordings(rng, ("a", "b"))
    assert "given_up" in {decision.reason for decision in replay(procedure, streams)}
    assert_equal(tmp_path, procedure, streams)


@pytest.mark.parametrize("max_silence", [None, 1.5])
def test_policies_are_part_of_the_model(tmp_path, max_silence):
    rng = np.random.default_rng(5)
    channels = ("a", "a@delta:0.5", "b@flag:1", "b@every:3", "c@quantised:0.3", "c@mean:4")
    features = tuple(fx.get(f"mean({channel})") for channel in channels)
    tree = random_tree(rng, len(features))
    procedure = Procedure(
        features, tree, tuple("tuv"), Costs(np.ones(len(features))), 0.6, 9, 0.5, max_silence=max_silence
    )
    streams = recordings(rng, ("c", "b", "a"), 60)
    seen = streams.seen_through(procedure.channels, max_silence).episodes()
    assert (seen.lengths > 2).any()
    assert_equal(tmp_path, procedure, streams)


def test_features_with_the_same_update_share_a_state(tmp_path):
    rng = np.random.default_rng(6)
    pairs = ("correlation(a, b)", "regression_slope(a, b)")
    shared = (*pairs, "mean(a)", "min(a)", "variance(a)", "max(a)", "energy(a)")
    windowed = ("variance(b; window=3)", "mean(b; window=3)", "sign_runs(a; window=4)", "mean(b)", "slope(a)")
    features = tuple(map(fx.get, (*shared, *windowed)))
    procedure = with_features(random_procedure(rng), *features)
    assert_equal(tmp_path, procedure, recordings(rng, ("a", "b"), 60))
    alone = sum(translate(with_features(procedure, feature)).n_reals for feature in features)
    assert translate(procedure).n_reals == alone - 8 - 2 * 4 - 3 - fx.get("mean(b; window=3)").state_size


def with_features(procedure, *features):
    tree = random_tree(np.random.default_rng(0), len(features), n_tests=30)
    return replace(procedure, features=features, classifier=tree, costs=Costs(np.ones(len(features))))


def test_every_policy_that_holds_is_translated():
    for kind in ("every", "mean", "flag", "delta", "quantised"):
        assert Policy(kind, 2.0).holds
        assert kind in POLICIES


def test_single_precision_decides_alike(tmp_path):
    rng = np.random.default_rng(2)
    procedure = random_procedure(rng, any_forest(rng, 5))
    streams = recordings(rng, ("a", "b"), 100)
    got, wanted = decisions_in_c(tmp_path, procedure, streams, FLOAT), decisions(procedure, streams)
    assert sum(one[:2] == other[:2] for one, other in zip(got, wanted, strict=True)) >= 99


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the assembly is that of x86_64")
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_operations_are_not_contracted_by_default(tmp_path, compiler):
    if compiler == "clang" and shutil.which(compiler) is None:
        pytest.skip("clang is not installed")
    sources = translate(random_procedure(np.random.default_rng(1)))
    (tmp_path / "model.h").write_text(sources.header)
    is_fused = []
    for text in (sources.body, sources.body.replace("#pragma", "//")):
        (tmp_path / "model.c").write_text(text)
        command = [compiler, "-std=gnu11", "-O2", "-march=haswell", "-w", "-S", "-o", "-", tmp_path / "model.c"]
        is_fused.append("fmadd" in subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert is_fused == [False, True]


def test_the_same_model_has_the_same_text():
    procedure = random_procedure(np.random.default_rng(1))
    assert translate(procedure) == translate(procedure)


def test_names_of_classes_cannot_break_out(tmp_path):
    procedure = random_procedure(np.random.default_rng(1))
    procedure = replace(procedure, classes=('"; */ int x;', "ü ??/", "\\n"))
    sources = translate(procedure)
    compiled(tmp_path, sources.body, model_h=sources.header)


def test_what_has_no_translation_is_named():
    procedure = random_procedure(np.random.default_rng(1))
    with pytest.raises(ValueError, match="name is '1x', expected a letter"):
        translate(procedure, "1x")
    opaque = replace(procedure, classifier=Opaque(procedure.classifier))
    with pytest.raises(TranslationError, match="the classifier is a minimal classifier, expected a tree"):
        translate(opaque)
    leading = replace(procedure, stopping=Leads(0.2, 4))
    with pytest.raises(TranslationError, match="the stopping rule is leading, expected one with thresholds"):
        translate(leading)
    with pytest.raises(TranslationError, match="b@from:3 opens later, expected channels of the first tick"):
        translate(random_procedure(np.random.default_rng(1), b="b@from:3"))
    own = fx.python_feature(lambda values, _times: values.mean(), ["a"], "own")
    with pytest.raises(TranslationError, match=r"own.* is a Python function, which has no translation"):
        translate(replace(procedure, features=(own, *procedure.features[1:])))


def test_plain_python_has_no_more_than_micropython_has():
    channels = ("a@delta:0.5", "b@flag:1", "b@every:3", "a@quantised:0.3", "a@mean:4")
    texts = [translate_plainly(random_procedure(np.random.default_rng(k), random_tree(RNG, 5))) for k in range(3)]
    texts += [translate_plainly(random_procedure(np.random.default_rng(k), any_forest(RNG, 5))) for k in range(3)]
    texts.append(
        translate_plainly(with_features(random_procedure(RNG), *(fx.get(f"last({x})") for x in channels)))
    )
    unit = Plain(FLOAT)
    for kind in fx.KINDS:
        unit.entry(kind.step.function)
    for text in (*texts, unit.text()):
        assert beyond_micropython(ast.parse(text)) == set()
    assert beyond_micropython(ast.parse("math.hypot(x)\nimport os\nx[1, 2]\nf'{x}'\nmath.perm")) == {
        *("math.perm", "import os", "x[1, 2]", "f'{x}'")
    }


RNG = np.random.default_rng(0)
MATH = "ceil copysign cos exp fabs floor fmod frexp hypot isfinite isinf isnan ldexp log pi pow sin sqrt trunc"


def beyond_micropython(tree):
    """Return what a module has that ports of MicroPython may lack; `hypot` is asked for before it is used."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="math"), attr=attr) if attr in MATH.split():
                continue
            case ast.Attribute(value=ast.Name(id="math")) | ast.JoinedStr() | ast.NamedExpr() | ast.Match():
                found.add(ast.unparse(node))
            case ast.Subscript(slice=ast.Tuple()) | ast.AnnAssign() | ast.With() | ast.Starred() | ast.MatMult():
                found.add(ast.unparse(node))
            case ast.Import(names=[ast.alias(name="math")]):
                continue
            case ast.Import() | ast.ImportFrom():
                found.add(ast.unparse(node))
    return found
