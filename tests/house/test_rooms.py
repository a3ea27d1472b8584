"""The architecture: what may import what. Imports point down only."""

import ast
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import streamfs
import streamfs.classifiers
import streamfs.selection
from streamfs.cli.app import cli

ROOT = Path(__file__).parents[2]

FLOORS = {
    # each module or package may import those of ours that stand behind it, and what is below them in this table
    "feature_extractors": set(),
    "streamfs.errors": set(),
    "streamfs.base.estimators": set(),
    "streamfs.costs.energy": {"streamfs.errors"},
    "sensors_sim": {"feature_extractors.report", "streamfs.costs.energy", "streamfs.errors"},
    "streamfs.data.recordings": {"streamfs.errors"},
    "streamfs.data.streams": {"feature_extractors", "streamfs.errors", "streamfs.data.recordings"},
    "streamfs.data.quality_checks": {"streamfs.data.streams"},
    "streamfs.data.default_features": {"feature_extractors", "streamfs.data.streams"},
    "streamfs.data.datasets": {"streamfs.errors", "streamfs.data.recordings", "streamfs.data.streams"},
    "streamfs.costs.costs": {"feature_extractors", "streamfs.costs.energy", "streamfs.data.streams"},
    "streamfs.data.feature_table": {"feature_extractors", "streamfs.errors", "streamfs.data.streams"},
    "streamfs.base.container": {"streamfs.errors"},
    "streamfs.procedure.header": {"streamfs.errors"},
    "streamfs.base.growable_array": set(),
    "streamfs.engine.stream_registry": set(),
    "streamfs.base.progress": set(),
    "streamfs.relief": {
        "streamfs.base._compiled",
        "feature_extractors",
        "streamfs.costs.costs",
        "streamfs.errors",
        "streamfs.base.estimators",
        "streamfs.experiments.plots",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
    },
    "streamfs.classifiers": {
        "feature_extractors",
        "streamfs.base._compiled",
        "streamfs.base.container",
        "streamfs.errors",
        "streamfs.base.estimators",
    },
    "streamfs.data.text_table": {"streamfs.errors"},
    "streamfs.data.arff": {"streamfs.errors", "streamfs.data.text_table"},
    "streamfs.data.instances": {
        "streamfs.data.arff",
        "streamfs.errors",
        "streamfs.data.recordings",
        "streamfs.data.text_table",
    },
    "streamfs.selection": {
        "feature_extractors",
        "streamfs.base._compiled",
        "streamfs.classifiers",
        "streamfs.errors",
        "streamfs.relief",
        "streamfs.data.streams",
    },
    "streamfs.selection.sample_plan": {
        "feature_extractors",
        "streamfs.errors",
        "streamfs.selection",
        "streamfs.data.streams",
    },
    "streamfs.training.query_sensitive": {
        "streamfs.classifiers",
        "streamfs.errors",
        "streamfs.selection",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
    },
    "streamfs.procedure.procedure": {
        "streamfs.procedure.header",
        "feature_extractors",
        "streamfs.classifiers",
        "streamfs.base.container",
        "streamfs.costs.costs",
        "streamfs.errors",
    },
    "streamfs.procedure.requested_channels": {
        "feature_extractors",
        "streamfs.classifiers",
        "streamfs.procedure.procedure",
    },
    "streamfs.base._compiled": set(),
    "streamfs.base._memory": set(),
    "streamfs.engine._arena": {"feature_extractors", "streamfs.classifiers"},
    "streamfs.engine._ticks": {
        "feature_extractors",
        "streamfs.base._memory",
        "streamfs.engine._arena",
        "streamfs.classifiers",
    },
    "streamfs.engine.snapshot_checks": {
        "streamfs.engine._arena",
        "streamfs.errors",
        "streamfs.procedure.procedure",
    },
    "streamfs.engine.engine": {
        "feature_extractors",
        "streamfs.procedure.requested_channels",
        "streamfs.engine.snapshot_checks",
        "streamfs.engine._arena",
        "streamfs.engine._ticks",
        "streamfs.classifiers",
        "streamfs.base.container",
        "streamfs.base.growable_array",
        "streamfs.procedure.procedure",
        "streamfs.engine.stream_registry",
    },
    "streamfs.evaluation.evaluation": {
        "feature_extractors",
        "streamfs.engine.engine",
        "streamfs.errors",
        "streamfs.procedure.procedure",
        "streamfs.base.progress",
        "streamfs.data.streams",
    },
    "streamfs.experiments.plots": {
        "feature_extractors",
        "streamfs.errors",
        "streamfs.evaluation.evaluation",
        "streamfs.relief",
    },
    "streamfs.experiments.selection_plots": {"feature_extractors", "streamfs.experiments.plots"},
    "streamfs.evaluation.trajectories": {
        "feature_extractors",
        "streamfs.procedure.requested_channels",
        "streamfs.costs.costs",
        "streamfs.procedure.procedure",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
    },
    "streamfs.training.subset_size": {
        "feature_extractors",
        "streamfs.costs.costs",
        "streamfs.errors",
        "streamfs.procedure.procedure",
        "streamfs.base.progress",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.evaluation.trajectories",
    },
    "streamfs.selection.by_name": {
        "streamfs.costs.costs",
        "streamfs.errors",
        "streamfs.relief",
        "streamfs.selection",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
    },
    "streamfs.training.learners": {
        "streamfs.training.subset_size",
        "streamfs.classifiers",
        "streamfs.procedure.procedure",
        "streamfs.relief",
        "streamfs.data.feature_table",
    },
    "streamfs.training.promises": {
        "feature_extractors",
        "streamfs.data.default_features",
        "streamfs.training.subset_size",
        "streamfs.classifiers",
        "streamfs.base.container",
        "streamfs.costs.costs",
        "streamfs.costs.energy",
        "streamfs.errors",
        "streamfs.evaluation.evaluation",
        "streamfs.training.learners",
        "streamfs.procedure.procedure",
        "streamfs.base.progress",
        "streamfs.relief",
        "streamfs.selection",
        "streamfs.selection.by_name",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.evaluation.trajectories",
    },
    "streamfs.costs.batteries": {"feature_extractors", "streamfs.costs.costs", "streamfs.costs.energy"},
    "streamfs.evaluation.traffic": {
        "feature_extractors",
        "streamfs.errors",
        "streamfs.evaluation.evaluation",
        "streamfs.procedure.procedure",
        "streamfs.training.promises",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.evaluation.trajectories",
    },
    "streamfs.procedure.card_words": set(),
    "streamfs.procedure.card_text": {"streamfs.procedure.card_words"},
    "streamfs.procedure.card_schema": {"streamfs.errors"},
    "streamfs.evaluation.model_card": {
        "feature_extractors",
        "streamfs.costs.batteries",
        "streamfs.procedure.card_schema",
        "streamfs.procedure.card_text",
        "streamfs.classifiers",
        "streamfs.costs.costs",
        "streamfs.costs.energy",
        "streamfs.procedure.procedure",
        "streamfs.data.streams",
        "streamfs.evaluation.traffic",
    },
    "streamfs.training.arguments": {
        "feature_extractors",
        "streamfs.data.default_features",
        "streamfs.errors",
        "streamfs.procedure.header",
        "streamfs.selection.by_name",
        "streamfs.data.streams",
    },
    "streamfs.training.cost_aware": {
        "feature_extractors",
        "streamfs.training.subset_size",
        "streamfs.costs.costs",
        "streamfs.errors",
        "streamfs.training.query_sensitive",
        "streamfs.training.learners",
        "streamfs.procedure.procedure",
        "streamfs.base.progress",
        "streamfs.relief",
        "streamfs.selection",
        "streamfs.selection.by_name",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.training.arguments",
    },
    "streamfs.training.training": {
        "feature_extractors",
        "streamfs.costs.costs",
        "streamfs.costs.energy",
        "streamfs.errors",
        "streamfs.evaluation.evaluation",
        "streamfs.training.learners",
        "streamfs.evaluation.model_card",
        "streamfs.procedure.procedure",
        "streamfs.base.progress",
        "streamfs.training.promises",
        "streamfs.training.cost_aware",
        "streamfs.selection.by_name",
        "streamfs.data.streams",
        "streamfs.training.arguments",
    },
    "streamfs.training.promises.exploration": {"streamfs.training.promises", "streamfs.training.arguments"},
    "streamfs.training.promises.explore": {
        "streamfs.evaluation.model_card",
        "streamfs.training.promises",
        "streamfs.training.promises.exploration",
    },
    "streamfs.evaluation.reliability": {
        "feature_extractors",
        "streamfs.procedure.requested_channels",
        "streamfs.evaluation.evaluation",
        "streamfs.procedure.procedure",
        "streamfs.training.promises",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.evaluation.trajectories",
    },
    "streamfs.experiments.experiment": {
        "streamfs.training.promises",
        "streamfs.data.default_features",
        "streamfs.training.query_sensitive",
        "feature_extractors",
        "streamfs.training.subset_size",
        "streamfs.classifiers",
        "streamfs.costs.costs",
        "streamfs.costs.energy",
        "streamfs.errors",
        "streamfs.procedure.procedure",
        "streamfs.relief",
        "streamfs.selection.by_name",
        "streamfs.data.streams",
        "streamfs.data.feature_table",
        "streamfs.evaluation.trajectories",
    },
    "streamfs.gateway.messages.publication": set(),
    "streamfs.gateway.storage": {
        "streamfs.base.container",
        "streamfs.errors",
        "streamfs.gateway.messages.publication",
        "streamfs.procedure.procedure",
    },
    "streamfs.gateway": {
        "streamfs.base._compiled",
        "streamfs.base._memory",
        "feature_extractors",
        "streamfs.base.container",
        "streamfs.costs.energy",
        "streamfs.engine.engine",
        "streamfs.errors",
        "streamfs.gateway.storage",
        "streamfs.base.growable_array",
        "streamfs.procedure.procedure",
    },
    "streamfs.gateway.operations": {"streamfs.gateway"},
    "streamfs.gateway.service": {"streamfs.gateway.operations"},
    "streamfs.gateway.host": {"streamfs.gateway.service"},
}
ROOFS = {
    "streamfs",
    "streamfs.__main__",
    "streamfs.cli.parameters",
    "streamfs.cli.app",
    "streamfs.cli.console",
    "streamfs.cli.demo",
    "streamfs.experiments.figure2",
}  # these may import anything

ONLY_HERE = {
    "paho": {"streamfs/gateway/transport/connection.py", "sensors_sim/_connection.py"},
    "matplotlib": {"streamfs/experiments/plots.py"},
    "polars": {"streamfs/data/datasets.py", "streamfs/data/recordings.py"},
    "river": {"streamfs/classifiers/online.py", "streamfs/gateway/core/drift.py"},
    "cbor2": {"streamfs/gateway/messages/codecs/cbor.py"},
    "prometheus_client": {"streamfs/gateway/operations/metrics.py"},
    "iotcore": {"streamfs/cli/demo.py"},
}


@cache
def sources():
    return [p for name in ("feature_extractors", "sensors_sim", "streamfs") for p in (ROOT / name).rglob("*.py")]


def module_of(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imported(path):
    """Modules that a file imports; those for type checking only are left out."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    skipped = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            skipped.update(ast.walk(node))
    found = set()
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.update(home_of(node.module, alias.name) for alias in node.names)
    return found


def home_of(module, name):
    """The module that ``from module import name`` loads: a part of a package, a public name's home, or itself."""
    if module == "streamfs" and name in streamfs._HOMES:
        return streamfs._HOMES[name]
    inside = ROOT / module.replace(".", "/") / name
    return f"{module}.{name}" if inside.is_dir() or inside.with_suffix(".py").exists() else module


def floor_of(module, floors):
    """The longest name in the table that a module lies under."""
    under = [name for name in floors if module == name or module.startswith(f"{name}.")]
    return max(under, key=len, default=None)


def allowed(floor):
    """Everything below a floor."""
    below, waiting = set(), [floor]
    while waiting:
        for name in FLOORS.get(waiting.pop(), set()) - below:
            below.add(name)
            waiting.append(name)
    return below


@pytest.mark.parametrize("path", sources(), ids=module_of)
def test_imports_point_down(path):
    module = module_of(path)
    if module in ROOFS or module.startswith("streamfs.cli.commands"):
        return
    floor = floor_of(module, FLOORS)
    assert floor is not None, f"{module} stands on no floor of the table"
    for name in imported(path):
        if name.partition(".")[0] in ("feature_extractors", "sensors_sim", "streamfs"):
            below = allowed(floor)
            assert floor_of(name, below.union(FLOORS)) in {floor, *below}, f"{module} imports {name}"


@pytest.mark.parametrize(("library", "homes"), ONLY_HERE.items())
def test_a_library_is_imported_in_its_own_file_only(library, homes):
    users = {
        str(path.relative_to(ROOT))
        for path in sources()
        if any(name.partition(".")[0] == library for name in imported(path))
    }
    assert users == homes


SLOW = ("matplotlib", "numba", "polars", "river", "scipy", "sklearn")
LEARNING = ("matplotlib", "polars", "river", "scipy.stats", "sklearn")
HELP = "from streamfs.cli.app import main; main({words})"


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import streamfs", (*SLOW, "numpy")),
        ("import streamfs.cli.app", SLOW),
        (HELP.format(words=["--help"]), SLOW),
        *((HELP.format(words=[name, "--help"]), SLOW) for name in cli.commands),
        ("import feature_extractors", LEARNING),
        ("import streamfs.engine.engine", LEARNING),
        ("import streamfs.gateway.service", LEARNING),
    ],
)
def test_nothing_is_loaded_that_is_not_used(code, libraries):
    code = f"{code}; import sys; print([name for name in {libraries} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_importing_compiles_nothing(tmp_path):
    modules = "feature_extractors, streamfs.engine.engine, streamfs.gateway.service, streamfs.relief, streamfs.training.training"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", f"import {modules}"], env=environment, check=True)
    assert list(tmp_path.rglob("*.nbi")) == []


@pytest.mark.parametrize("package", [streamfs, streamfs.classifiers, streamfs.selection])
def test_every_public_name_is_there_and_no_other(package):
    for name in package.__all__:
        assert getattr(package, name).__name__ == name
    with pytest.raises(AttributeError, match="has no attribute 'Ouija'"):
        _ = package.Ouija
