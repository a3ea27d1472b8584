"""What tests share: no deadlines, one thread, no screen, interrupts, memory, a broker, scripts that refuse."""

import gc
import os
import runpy
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from helpers.authority import Authority
from helpers.broker import Broker, find_mosquitto
from hypothesis import settings

from feature_extractors._compiled import in_c

os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run side by side: threads would wait for one another, busily
signal.signal(signal.SIGINT, signal.default_int_handler)  # in a shell's background it is ignored, by children too

gc.disable()  # until all tests are collected: what is imported stays, and would be looked through again and again
gc.set_threshold(20_000)  # numba makes much, and little garbage

collect_ignore = ["house/mutants.py", "fuzz/fuzz.py"]
"""Commands that need what `make mutants` and `make fuzz` install."""

settings.register_profile("default", deadline=None)
settings.register_profile("quick", deadline=None, max_examples=10)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_report_header() -> str:
    """Say which kernels are tested: those in C must have been built from these sources."""
    return "kernels: by numba, for there are none in C of these sources" if in_c() is None else "kernels: in C"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let those for which numba compiles much come one after another, so that none compiles what another does."""
    items.sort(key=lambda item: item.get_closest_marker("numba") is None)


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among what is loaded."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def broker() -> Iterator[Broker]:
    """Run one mosquitto for the session; what is retained stays, so tests use topics of their own."""
    if find_mosquitto() is None:
        pytest.skip("mosquitto not found: install it to run the MQTT tests")
    with Broker() as running:
        yield running


@pytest.fixture
def memory() -> Iterator[Path]:
    """Make a folder that no disk has to write, and whose files have inodes of their own, if there is one."""
    kept = Path("/dev/shm")  # noqa: S108 - a folder of our own is made in it
    with TemporaryDirectory(dir=kept if kept.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    """Make an authority whose files lie in the test's own folder."""
    return Authority(tmp_path)


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Return a function that runs a script in this process and returns what it prints."""

    def run(path: Path, *arguments: object) -> str:
        monkeypatch.setattr(sys, "argv", [str(path), *map(str, arguments)])
        monkeypatch.syspath_prepend(path.parent)
        capfd.readouterr()
        runpy.run_path(str(path), run_name="__main__")
        return capfd.readouterr().out

    return run


@pytest.fixture
def refusal(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Return a function that runs a script which ends itself, here and not in a process that imports all anew.

    What it returns is what a process would have ended with.
    """

    def run(script: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
        monkeypatch.setattr(sys, "argv", [str(script), *arguments])
        monkeypatch.syspath_prepend(script.parent)
        monkeypatch.chdir(tmp_path)
        with pytest.raises(SystemExit) as end:
            runpy.run_path(str(script), run_name="__main__")
        out, err = capfd.readouterr()
        if isinstance(end.value.code, int):
            return subprocess.CompletedProcess(sys.argv, end.value.code, out, err)
        return subprocess.CompletedProcess(sys.argv, 1, out, f"{err}{end.value.code}\n")

    return run
