"""Warm-up: the first message finds everything compiled."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.procedures import channels_procedure

from feature_extractors._compiled import in_c
from streamfs.gateway.warm_up import warm_up

ROOT = Path(__file__).parents[2]
CHANNELS = ["x", "door@flag:0.5"]

UNCOLLECTED = "import gc; gc.disable()"
"""Compiling makes much, and little garbage: a fifth of its time would be spent on looking for it."""

COMPILED = f"""
from feature_extractors._compiled import Kernel
from helpers.procedures import channels_procedure
from helpers.records import Models, batch, message, new_core
from streamfs.gateway.core.bindings import Bindings
from streamfs.gateway.core.records import clock_record

def compiled():
    found = [value for module in tuple(sys.modules.values()) for value in vars(module).values()]
    kernels = [value for value in found if isinstance(value, Kernel) and value.is_compiled]
    return {{(kernel, str(kind)) for kernel in kernels for kind in kernel.dispatcher.signatures}}

before = compiled()
core, _ = new_core(Models(channels_procedure(*{CHANNELS})), Bindings.single({CHANNELS}))
for tick in range(4):
    core.take([message("n1", float(tick), 0.1, tick), message("n1", float(tick), 0.0, channel="door@flag:0.5")])
core.take([batch("n1", 4.0, [1.0, 2.0]), clock_record(30.0)])
assert core.decided.total() == 1
print(len(compiled() - before))
"""

HOSTED = """
import gc
from pathlib import Path
from streamfs.gateway.host import hosted
from streamfs.gateway.settings.settings import read_settings

with hosted(read_settings(Path(sys.argv[1]))):
    print(gc.get_freeze_count() > 10_000)
print(gc.get_freeze_count())
"""


def run(*code, argument=""):
    """Return the output of a fresh process."""
    command = [sys.executable, "-c", "\n".join(["import sys", *code]), argument]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "tests")])}
    found = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert found.stderr == ""
    return found.stdout.split()


@pytest.fixture
def config(tmp_path):
    channels_procedure(*CHANNELS).save(tmp_path / "model.streamfs")
    file = tmp_path / "gateway.toml"
    file.write_text('model = "model.streamfs"\n[broker]\nurl = "mqtt://localhost"\n', encoding="utf-8")
    return str(file)


@pytest.mark.numba
def test_a_host_has_compiled_what_the_first_message_needs(config, monkeypatch):
    monkeypatch.setenv("STREAMFS_KERNELS", "numba")
    (n_cold,) = run(UNCOLLECTED, COMPILED)
    assert int(n_cold) > 0
    _, _, n_warm = run(HOSTED, COMPILED, argument=config)
    assert int(n_warm) == 0


@pytest.mark.skipif(in_c() is None, reason="there is no extension module of these kernels")
def test_a_host_with_kernels_in_c_needs_no_compiler(config, monkeypatch):
    monkeypatch.setenv("STREAMFS_KERNELS", "c")
    unused = "('numba', 'llvmlite', 'scipy', 'sklearn', 'polars', 'joblib', 'river')"
    loaded = f"print([name for name in {unused} if name in sys.modules])"
    assert run(HOSTED, loaded, argument=config)[-1] == "[]"


def test_what_a_host_has_loaded_is_not_looked_through_for_garbage(config):
    assert run(HOSTED, argument=config) == ["True", "0"]


@pytest.mark.parametrize("channels", [["x"], ["a.x", "b.x@delta:0.5"], ['"odd name"@every:3']])
def test_any_model_can_be_warmed_up(channels):
    """Nothing is asserted: an error or a warning, which pytest turns into an error, fails the test."""
    warm_up(channels_procedure(*channels, time_limit=1))
