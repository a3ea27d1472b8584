"""Files of a newcomer, and commands on them."""

import signal

import polars as pl
import pytest
from helpers.commands import TRAIN, Result, process

from streamfs.cli.app import main


@pytest.fixture(scope="session")
def first_steps(tmp_path_factory):
    """Run all steps from simulation to evaluation in processes; return the folder, and the results by name."""
    folder = tmp_path_factory.mktemp("cli")
    (folder / "two.csv").write_text("stream,a,b\np,n1,n2\n", encoding="utf-8")
    steps = {
        "simulate": ["simulate", "pairs.csv", "--pairs", "60", "--ticks", "20"],
        "simulate more": ["simulate", "new.parquet", "--pairs", "40", "--ticks", "20", "--seed", "1"],
        "train": [*TRAIN, "-o", "pairs.streamfs"],
        "train river": [*TRAIN, "-o", "bayes.streamfs", "--river", "naive_bayes.GaussianNB", "--json"],
        "evaluate": ["evaluate", "pairs.streamfs", "new.parquet"],
        "replay": ["replay", "pairs.streamfs", "new.parquet", "--json"],
    }
    return folder, {name: process(folder, *args) for name, args in steps.items()}


@pytest.fixture
def command(first_steps, monkeypatch, capfd):
    """Return a function that runs a command in this process, in the folder of the first steps."""
    folder, _ = first_steps
    monkeypatch.chdir(folder)

    def run(*args):
        code = 0
        try:
            main([str(arg) for arg in args])
        except SystemExit as stop:
            code = stop.code
        return Result(code, *capfd.readouterr())

    return run


@pytest.fixture
def variant(first_steps):
    """Return a function that writes a variant of pairs.csv."""
    folder, _ = first_steps

    def write(change):
        table = change(pl.read_csv(folder / "pairs.csv"))
        table.write_csv(folder / "variant.csv")

    return write


@pytest.fixture
def old_handlers():
    """Restore the signal handlers that `run` replaces."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
