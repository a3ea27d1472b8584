"""The architecture: rooms, what each may import, and what it may not touch; see `rooms_table.py`."""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
from rooms_table import ROOMS, picture

from streamfs.cli.app import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGES = ("feature_extractors", "sensors_sim", "streamfs")
FREE = ("streamfs", "streamfs.__main__", "streamfs.errors")
"""No rooms: the public names, the way in, and what every room may import."""

ONLY_HERE = {
    "paho": {
        "sensors_sim._connection",
        "streamfs.gateway.transport.connection",
        "streamfs.gateway.transport.transport",
    },
    "matplotlib": {
        "streamfs.experiments.plots",
        "streamfs.experiments.point_labels",
        "streamfs.experiments.report_plots",
        "streamfs.relief.figure_1",
        "streamfs.relief.streamrelief",
    },
    "polars": {
        "streamfs.data.datasets",
        "streamfs.data.frames",
        "streamfs.data.recordings.column_contents",
        "streamfs.data.recordings.column_guesses",
        "streamfs.data.recordings.counted_rows",
        "streamfs.data.recordings.date_forms",
        "streamfs.data.recordings.frames",
        "streamfs.data.recordings.json_files",
        "streamfs.data.recordings.labels",
        "streamfs.data.recordings.proposals",
        "streamfs.data.recordings.rows",
        "streamfs.data.recordings.sensor_labels",
        "streamfs.data.recordings.series_lines",
        "streamfs.data.recordings.tables",
        "streamfs.data.recordings.times",
        "streamfs.data.recordings.ts_files",
        "streamfs.data.recordings.words",
        "streamfs.data.stream_files",
    },
    "aeon": {"streamfs.training.for_aeon"},
    "river": {
        "feature_extractors.for_river",
        "streamfs.classifiers.for_river",
        "streamfs.classifiers.online",
        "streamfs.gateway.core.drift",
        "streamfs.procedure.drift_detectors",
        "streamfs.training.cost_aware",
        "streamfs.training.models",
        "streamfs.training.promises.promised",
    },
    "pyspark": {
        "streamfs.cluster.spark.processors",
        "streamfs.cluster.spark.serve",
        "streamfs.cluster.spark.session",
        "streamfs.cluster.spark.sources",
        "streamfs.cluster.spark.tables",
        "streamfs.cluster.spark.workers",
    },
    "pyarrow": {
        "streamfs.cluster.decisions",
        "streamfs.cluster.engine_shard",
        "streamfs.cluster.history",
        "streamfs.cluster.parcels",
        "streamfs.cluster.spark.sources",
        "streamfs.cluster.spark.tables",
        "streamfs.cluster.tables",
    },
    "google": {"streamfs.gateway.messages.codecs.sparkplug"},
    "cbor2": {"streamfs.gateway.messages.codecs.cbor"},
    "prometheus_client": {"streamfs.gateway.operations.metrics"},
    "cryptography": {"streamfs.procedure.signature"},
    "iotcore": {"streamfs.cli.demo"},
    "starlette": {"streamfs.page.asgi", "streamfs.page.guards"},
    "uvicorn": {"streamfs.page.server"},
}


@cache
def sources() -> dict[str, str]:
    """Return the text of every module by its name."""
    return {
        ".".join(path.with_suffix("").parts).removesuffix(".__init__"): (ROOT / path).read_text(encoding="utf-8")
        for name in PACKAGES
        for path in sorted(file.relative_to(ROOT) for file in (ROOT / name).rglob("*.py"))
    }


def imports(module: str, text: str) -> Iterator[str]:
    """Yield the modules that a text imports: anywhere, also inside functions and for type checking only."""
    package = module if (ROOT / module.replace(".", "/")).is_dir() else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            home = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                yield f"{home}.{alias.name}" if f"{home}.{alias.name}" in sources() else home
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("import_module", "__import__")):
            yield from (each.value for each in node.args[:1] if isinstance(each, ast.Constant))


@cache
def imported() -> dict[str, set[str]]:
    """Return what each module imports."""
    return {name: {*imports(name, text)} for name, text in sources().items()}


def room_of(module: str) -> str | None:
    """Return the room that a module is in: the longest name in the table that it lies under."""
    name = module.removeprefix("streamfs.")
    under = [room for room in ROOMS if name == room or name.startswith(f"{room}.")]
    return max(under, key=len, default=None)


def violations(module: str, names: Iterable[str]) -> list[str]:
    """Return the names, of those that a module imports, that its room may not import."""
    room = room_of(module)
    if room is None:
        return [] if module in FREE else [f"{module} is in no room"]
    found = []
    for name in names:
        ours = name.partition(".")[0] in PACKAGES
        outside = (
            ours
            and name not in ("streamfs", "streamfs.errors")
            and room_of(name) not in {room, *ROOMS[room].imports}
        )
        touched = not ours and any(name == word or name.startswith(f"{word}.") for word in ROOMS[room].forbidden)
        if outside or touched:
            found.append(f"{module} imports {name}, which {room} may not")
    return found


@pytest.mark.parametrize("package", [*PACKAGES])
def test_a_room_imports_what_the_table_lets_it(package):
    found = [each for name, names in imported().items() if room_of(name) for each in violations(name, names)]
    assert [each for each in found if each.startswith(package)] == []


def test_every_module_is_in_a_room():
    assert [name for name in sources() if room_of(name) is None] == sorted(FREE)
    assert [file.name for file in sorted((ROOT / "streamfs").glob("*.py"))] == [
        "__init__.py",
        "__main__.py",
        "errors.py",
    ]


def test_a_room_imports_rooms_below_it_alone():
    """The table is acyclic: it is in order."""
    names = list(ROOMS)
    assert len(names) <= 24
    for place, (name, room) in enumerate(ROOMS.items()):
        assert set(room.imports) <= set(names[place + 1 :]), name


def test_training_without_a_promise_knows_nothing_of_promises():
    """They are one room, of which promises are the upper floor."""
    upper = "streamfs.training.promises"
    lower = {name for name in sources() if name.startswith("streamfs.training.") and not name.startswith(upper)}
    assert lower
    assert [name for name in sorted(lower) if any(each.startswith(upper) for each in imported()[name])] == []


def test_a_room_lists_no_import_that_it_does_not_use():
    used = defaultdict(set)
    for module, names in imported().items():
        used[room_of(module)].update(map(room_of, names))
    unused = {name: set(room.imports) - used[name] for name, room in ROOMS.items()}
    assert {name: rooms for name, rooms in unused.items() if rooms} == {}


def test_the_design_shows_the_table():
    assert picture() in (ROOT / "docs" / "design.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("module", "planted"),
    [
        ("streamfs.relief.relief", "from streamfs.evaluation.evaluation import evaluate"),
        ("streamfs.relief.relief", "if TYPE_CHECKING:\n    from streamfs.evaluation.evaluation import Evaluation"),
        ("streamfs.gateway.core.core", "from streamfs.gateway.transport.transport import Transport"),
        ("streamfs.gateway.core.core", "def late():\n    from streamfs.gateway import transport"),
        ("streamfs.gateway.core.core", "import socket, threading, time"),
        ("streamfs.gateway.core.joiner", "from streamfs.gateway.settings import settings"),
        ("streamfs.gateway.core.joiner", "from ..settings import settings"),
        ("streamfs.gateway.core.joiner", "importlib.import_module('streamfs.gateway.settings.settings')"),
        ("streamfs.engine.engine", "import threading, time"),
        ("streamfs.engine.engine", "import os.path"),
        ("streamfs.gateway.messages.codecs.senml", "from streamfs.gateway import recovery"),
        ("streamfs.gateway.transport.connection", "from streamfs.gateway.core.core import Core"),
        ("streamfs.data.streams", "from streamfs.gateway.service import Gateway"),
        ("streamfs.gateway.service", "from sklearn.tree import DecisionTreeClassifier"),
    ],
)
def test_a_planted_import_is_found(module, planted):
    text = sources()[module]
    assert violations(module, imports(module, text)) == []
    assert violations(module, imports(module, f"{text}\n{planted}\n"))


@pytest.mark.parametrize(("library", "homes"), ONLY_HERE.items())
def test_a_library_is_imported_in_its_own_file_only(library, homes):
    users = {
        module for module, names in imported().items() if any(name.partition(".")[0] == library for name in names)
    }
    assert users == homes


SLOW = ("matplotlib", "numba", "polars", "river", "scipy", "sklearn")
HELP = "from streamfs.cli.app import main; main({words})"


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import streamfs", (*SLOW, "numpy")),
        ("import streamfs.cli.app", SLOW),
        (HELP.format(words=["--help"]), SLOW),
        *((HELP.format(words=[name, "--help"]), SLOW) for name in COMMANDS),
        ("import feature_extractors", SLOW),
        ("import streamfs.engine.engine", SLOW),
        ("import streamfs.gateway.service", SLOW),
        ("import streamfs.gateway.host", SLOW),
        ("import sensors_sim.same_source", SLOW),
        ("import streamfs.page.server", (*SLOW, "streamfs.engine.engine", "streamfs.gateway.core.core")),
    ],
)
def test_nothing_is_loaded_that_is_not_used(code, libraries):
    code = f"{code}; import sys; print([name for name in {libraries} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines()[-1] == "[]"


def test_importing_compiles_nothing(tmp_path):
    modules = "feature_extractors, streamfs.engine.engine, streamfs.gateway.service, streamfs.relief"
    modules = f"{modules}, streamfs.training.cost_aware"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", f"import {modules}"], env=environment, check=True)
    assert list(tmp_path.rglob("*.nbi")) == []


FACES = [name for name, text in sources().items() if "attach_stub" in text]


@pytest.mark.parametrize("face", FACES)
def test_every_public_name_is_there_and_no_other(face):
    package = import_module(face)
    assert package.__all__
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert not isinstance(getattr(package, name), ModuleType)
    with pytest.raises(AttributeError, match="Ouija"):
        _ = package.Ouija


def test_a_class_name_means_one_thing():
    homes = defaultdict(list)
    for module, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                homes[node.name].append(module)
    assert {name: modules for name, modules in homes.items() if len(modules) > 1} == {}


@pytest.mark.parametrize("name", ["Array", "Integers", "Flags"])
def test_a_type_of_arrays_is_named_once(name):
    homes = [module for module, text in sources().items() if re.search(rf"^{name} = npt", text, re.MULTILINE)]
    assert homes == ["feature_extractors.arrays"]
