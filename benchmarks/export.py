"""Compare exported models with other exports of the same trees: bytes of code and tables, and decisions changed.

python benchmarks/export.py [PART ...]

Three classes of made-up streams, noise with a drift that differs; five features without a window of one column. The trees
and forests are scikit-learn's, with at most 31 and 64 leaves a tree. Ours is the whole procedure: features, trees and
stopping; the others are trees alone, of features that somebody has computed. Text and tables are those of an object file
for a Cortex-M4 with single precision, compiled by Zig's clang with -Os. Decisions are those of 5000 streams at their
last tick, by each export compiled for this machine, against those of the model that was exported.

- ``sizes``: bytes of flash, and of a stream
- ``decisions``: share of decisions that differ
- ``streams``: streams that the same trees, with a rule that decides early, decide otherwise in single precision than an
  engine in double precision: another label, or another tick
- ``split``: messages a stream of the same trees, and of a small one, with either rule, if a gateway decides, and nodes
  send readings, features that have changed, or crossings of the trees' thresholds
- ``samples``: kinds of features of which a value in C, in double precision, differs in a bit from that of the engine
"""

import ctypes
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from figures import Figure, Parts, described, main
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import feature_extractors as fx
from feature_extractors.arrays import Array
from streamfs import Costs, Procedure, StreamSet, evaluate
from streamfs.base.optional import load_optional
from streamfs.classifiers import Forest
from streamfs.evaluation.split_traffic import paid_by_split
from streamfs.procedure import TickThresholds
from streamfs.translation.model import translate
from streamfs.translation.precision import DOUBLE, FLOAT
from streamfs.translation.self_test import UNLABELLED

if TYPE_CHECKING:
    from streamfs.translation.parts import Sources


FEATURES = tuple(fx.get(f"{kind}(x)") for kind in ("mean", "variance", "slope", "min", "max"))
CLASSES = ("a", "b", "c")
N_TICKS, N_TRAINING, N_TESTED = 20, 2000, 5000
TARGET = ("-target", "thumb-linux-musleabihf", "-mcpu=cortex_m4+vfp4d16sp", "-Os", "-ffp-contract=off")
MODELS: dict[str, tuple[int, int, int | None]] = {
    "a tree of 31 leaves": (1, 31, 2500),
    "10 trees of 31 leaves": (10, 31, 8000),
    "30 trees of 64 leaves": (30, 64, 20_000),
}
"""Number of trees, of leaves, and the bytes that ours may take."""


AT_THE_END = TickThresholds((N_TICKS,), (0.0,))
EARLY = TickThresholds((1, 6, N_TICKS), (0.9, 0.75, 0.0))
N_STREAMS, N_SAMPLES = 100_000, 1_000_000


class Export(NamedTuple):
    """A file, its language's suffix, and the function in it that returns a class, given rows of floats."""

    text: str
    suffix: str
    folder: str | None = None  # of its headers


def signals(n: int, seed: int) -> tuple[Array, npt.NDArray[np.int64]]:
    """Return streams in single precision, shape (n, N_TICKS), and their classes."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, len(CLASSES), n)
    drift = 0.08 * (classes[:, np.newaxis] - 1) * np.arange(N_TICKS)
    return (drift + rng.normal(size=(n, N_TICKS))).astype(np.float32).astype(np.float64), classes


def values(streams: Array) -> Array:
    """Return the features at the last tick."""
    return fx.scan(FEATURES, streams[:, :, np.newaxis], columns=["x"])[:, -1]


@cache
def fitted(n_trees: int, n_leaves: int) -> Any:
    """Return scikit-learn's classifier."""
    streams, classes = signals(N_TRAINING, seed=0)
    if n_trees == 1:
        return DecisionTreeClassifier(max_leaf_nodes=n_leaves, random_state=0).fit(values(streams), classes)
    forest = RandomForestClassifier(n_trees, max_leaf_nodes=n_leaves, random_state=0, n_jobs=1)
    return forest.fit(values(streams), classes)


def ours(n_trees: int, n_leaves: int) -> Procedure:
    """Return the same trees in a procedure that decides at the last tick."""
    source = fitted(n_trees, n_leaves)
    tables: dict[str, list[Any]] = {
        name: [] for name in ("feature", "threshold", "first_child", "missing_child", "shares", "roots")
    }
    for tree in [source.tree_] if n_trees == 1 else [each.tree_ for each in source.estimators_]:
        root = len(tables["feature"])
        tables["roots"].append(root)
        nodes = [0]
        for node in nodes:  # grows: children side by side
            is_test = tree.children_left[node] >= 0
            first = root + len(nodes) if is_test else 0
            nodes += [tree.children_left[node], tree.children_right[node]] if is_test else []
            row = tree.feature[node] if is_test else -1, float(tree.threshold[node]) if is_test else 0.0
            row += first, first, tree.value[node][0] / tree.value[node][0].sum()
            for name, value in zip(
                ("feature", "threshold", "first_child", "missing_child", "shares"), row, strict=True
            ):
                tables[name].append(value)
    forest = Forest(**{name: np.array(each) for name, each in tables.items()})
    return Procedure(FEATURES, forest, CLASSES, Costs(np.ones(len(FEATURES))), 1.0, N_TICKS, stopping=AT_THE_END)


def by_streamfs(n_trees: int, n_leaves: int) -> Export:
    """Export with streamfs: a function that takes a stream's readings, tick by tick."""
    sources: Sources = translate(ours(n_trees, n_leaves), precision=FLOAT)
    own = sources.body.replace('#include "model.h"\n', sources.header)
    return Export(own, "c")


def by_m2cgen(n_trees: int, n_leaves: int) -> Export:
    """Export with m2cgen, which knows doubles alone."""
    text = load_optional("m2cgen", "bench").export_to_c(fitted(n_trees, n_leaves))
    return Export(text, "c")


def by_micromlgen(n_trees: int, n_leaves: int) -> Export:
    """Export with micromlgen, in C++."""
    text = load_optional("micromlgen", "bench").port(fitted(n_trees, n_leaves))
    call = 'extern "C" int predict(float *x) { static Eloquent::ML::Port::{name} model; return model.predict(x); }'
    name = "DecisionTree" if n_trees == 1 else "RandomForest"
    return Export(f"#include <stdint.h>\n{text}\n{call.replace('{name}', name)}\n", "cpp")


def by_emlearn(n_trees: int, n_leaves: int) -> Export:
    """Export with emlearn, inline and of floats."""
    emlearn = load_optional("emlearn", "bench")
    model = emlearn.convert(fitted(n_trees, n_leaves), method="inline", dtype="float")
    with TemporaryDirectory() as folder:
        model.save(file=f"{folder}/model.h", name="own")
        text = Path(folder, "model.h").read_text(encoding="utf-8")
    call = f"int predict(const float *x) {{ return own_predict(x, {len(FEATURES)}); }}\n"
    return Export(text + call, "c", emlearn.includedir)


EXPORTS: dict[str, Callable[[int, int], Export]] = {
    "streamfs": by_streamfs,
    "m2cgen": by_m2cgen,
    "micromlgen": by_micromlgen,
    "emlearn": by_emlearn,
}


def flash(export: Export) -> int:
    """Return the bytes of text, tables and initial data."""
    load_optional("ziglang", "bench")
    with TemporaryDirectory() as folder:
        source = Path(folder, f"model.{export.suffix}")
        source.write_text(export.text, encoding="utf-8")
        headers = [] if export.folder is None else ["-I", export.folder]
        compiler = "cc" if export.suffix == "c" else "c++"
        words = [sys.executable, "-m", "ziglang", compiler, *TARGET, *headers, "-w", "-c", str(source)]
        subprocess.run([*words, "-o", f"{folder}/model.o"], check=True, cwd=folder)  # noqa: S603 - our own words
        found = subprocess.run(["size", f"{folder}/model.o"], check=True, capture_output=True, text=True)  # noqa: S603, S607 - the same
    text, data = found.stdout.splitlines()[1].split()[:2]
    return int(text) + int(data)


def sizes() -> list[Figure]:
    """Measure flash."""
    memory = 4 * translate(ours(1, 31), precision=FLOAT).n_reals + 8
    figures = [Figure("bytes of memory for a stream, five features, streamfs", memory, at_most=96)]
    for model, (n_trees, n_leaves, most) in MODELS.items():
        for name, export in EXPORTS.items():
            what = f"bytes of flash, {model}, {name}"
            at_most = most if name == "streamfs" else None
            figures.append(Figure(what, flash(export(n_trees, n_leaves)), at_most))
    return figures


WRAPPED = {
    "m2cgen": "int predict(const float *x) { double in[%(n)d], out[%(k)d]; int i, best = 0; "
    "for (i = 0; i < %(n)d; i++) in[i] = x[i]; score(in, out); "
    "for (i = 1; i < %(k)d; i++) if (out[i] > out[best]) best = i; return best; }\n",
    "streamfs": "int predict(const float *x) { model_stream s; int i, a = -1; model_begin(&s); "
    "for (i = 0; i < %(ticks)d; i++) a = model_take(&s, x + i, 0); return a; }\n",
}
"""Functions of one form around those that have another."""


def answers(name: str, export: Export, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.int64]:
    """Return the classes of rows, by an export compiled for this machine."""
    numbers = {"n": len(FEATURES), "k": len(CLASSES), "ticks": N_TICKS}
    with TemporaryDirectory() as folder:
        source, library = Path(folder, f"model.{export.suffix}"), f"{folder}/model.so"
        source.write_text(export.text + WRAPPED.get(name, "") % numbers, encoding="utf-8")
        headers = [] if export.folder is None else ["-I", export.folder]
        compiler = "gcc" if export.suffix == "c" else "g++"
        words = [compiler, "-O2", "-ffp-contract=off", *headers, "-w", "-shared", "-fPIC", str(source)]
        subprocess.run([*words, "-o", library, "-lm"], check=True)  # noqa: S603 - the same
        predict = ctypes.CDLL(library).predict
        rows = np.ascontiguousarray(rows)
        return np.array([predict(ctypes.c_void_p(row.ctypes.data)) for row in rows])


def decided(procedure: Procedure, streams: Array) -> npt.NDArray[np.int64]:
    """Return the classes that an engine finds likeliest at the last tick."""
    return procedure.classifier.probabilities(values(streams)).argmax(axis=1)


def decisions() -> list[Figure]:
    """Count the decisions that differ from those of the model that was exported."""
    streams, _ = signals(N_TESTED, seed=1)
    figures = []
    for model, (n_trees, n_leaves, _) in MODELS.items():
        features = values(streams).astype(np.float32)
        for name, export in EXPORTS.items():
            ours_or_theirs = streams if name == "streamfs" else features
            got = answers(name, export(n_trees, n_leaves), ours_or_theirs.astype(np.float32))
            source = fitted(n_trees, n_leaves)
            wanted = decided(ours(n_trees, n_leaves), streams) if name == "streamfs" else source.predict(features)
            what = f"share of decisions that differ, {model}, {name}"
            figures.append(Figure(what, float(np.mean(got != wanted))))
    return figures


FOLLOWED = """
void follow(const float *x, int n, int *out) {
  int i, tick;
  for (i = 0; i < n; i++) {
    model_stream stream;
    int answer = -1;
    model_begin(&stream);
    for (tick = 0; tick < %(ticks)d && answer == -1; tick++) answer = model_take(&stream, x + i * %(ticks)d + tick, 0);
    out[2 * i] = answer;
    out[2 * i + 1] = tick;
  }
}
"""


def streams() -> list[Figure]:
    """Count the streams that are decided otherwise in single precision."""
    values, _ = signals(N_STREAMS, seed=5)
    recorded = StreamSet(values[:, :, np.newaxis], ["a"] * N_STREAMS, ("x",), 1.0)
    figures = []
    for model, (n_trees, n_leaves, _) in MODELS.items():
        procedure = replace(ours(n_trees, n_leaves), stopping=EARLY)
        wanted = [
            (UNLABELLED.get(each.reason, -1) if each.label is None else CLASSES.index(each.label), each.tick)
            for each in evaluate(procedure, recorded).decisions
        ]
        text = translate(procedure, precision=FLOAT)
        body = text.body.replace('#include "model.h"\n', text.header) + FOLLOWED % {"ticks": N_TICKS}
        rows, got = np.ascontiguousarray(values.astype(np.float32)), np.zeros((N_STREAMS, 2), np.int32)
        with TemporaryDirectory() as folder:
            source, library = Path(folder, "model.c"), f"{folder}/model.so"
            source.write_text(body, encoding="utf-8")
            words = [
                "gcc",
                "-O2",
                "-ffp-contract=off",
                "-w",
                "-shared",
                "-fPIC",
                str(source),
                "-o",
                library,
                "-lm",
            ]
            subprocess.run(words, check=True)  # noqa: S603 - the same
            follow = ctypes.CDLL(library).follow
            follow(ctypes.c_void_p(rows.ctypes.data), N_STREAMS, ctypes.c_void_p(got.ctypes.data))
        n_different = int((got != np.array(wanted)).any(axis=1).sum())
        figures.append(Figure(f"of {N_STREAMS} streams decided otherwise, {model}", n_different, at_most=0))
    return figures


def split_models() -> list[Figure]:
    """Count the messages of models whose features nodes compute."""
    values, _ = signals(N_TESTED, seed=5)
    recorded = StreamSet(values[:, :, np.newaxis], ["a"] * N_TESTED, ("x",), 1.0)
    figures = []
    for model, (n_trees, n_leaves, _) in {"a tree of 4 leaves": (1, 4, None), **MODELS}.items():
        for when, stopping in (("early", EARLY), ("at the last tick", AT_THE_END)):
            paid = paid_by_split(replace(ours(n_trees, n_leaves), stopping=stopping), recorded)
            figures += [Figure(f"messages a stream, {model}, {when}, {sends}", n) for sends, n in paid.items()]
    return figures


def samples() -> list[Figure]:
    """Count the kinds of features whose values differ."""
    root = Path(__file__).parents[1]
    sys.path[1:1] = [str(root), str(root / "tests"), str(root / "tests/translation")]
    steps: Any = import_module("test_steps")
    rng = np.random.default_rng(0)
    signal = rng.normal(1, 1, (N_SAMPLES, 2))
    signal[:, 0] = 0.01 * np.cumsum(signal[:, 0] - 1)
    signal[rng.random(signal.shape) < 0.05] = np.nan
    n_different = 0
    with TemporaryDirectory() as folder:
        for loop, feature in zip(steps.translated(DOUBLE, Path(folder)), steps.FEATURES, strict=True):
            got, wanted = steps.in_c(loop, feature, signal, DOUBLE), steps.by_python(feature, signal)
            n_different += not np.array_equal(got, wanted, equal_nan=True)
    what = f"of {len(steps.FEATURES)} kinds, those that differ in {N_SAMPLES} samples"
    return [Figure(what, n_different, at_most=0)]


PARTS: Parts = {
    "sizes": sizes,
    "decisions": decisions,
    "streams": streams,
    "split": split_models,
    "samples": samples,
}


section = partial(described, "Models in C", __file__, __doc__, PARTS)


if __name__ == "__main__":
    main(__doc__ or "", PARTS)
