"""Files of a newcomer, and commands on them."""

import contextlib
import io
import signal

import polars as pl
import pytest
from helpers.commands import TRAIN, Result, process

from streamfs.cli.app import main


@pytest.fixture(scope="session")
def first_steps(tmp_path_factory):
    """Run all steps from simulation to evaluation; return the folder, and the results by name.

    Each command runs once as a process; what runs again, in this one.
    """
    folder = tmp_path_factory.mktemp("cli")
    (folder / "two.csv").write_text("stream,a,b\np,n1,n2\n", encoding="utf-8")
    more = ["simulate", "new.parquet", "--pairs", "40", "--ticks", "20", "--seed", "1"]
    river = [*TRAIN, "-o", "bayes.streamfs", "--river", "naive_bayes.GaussianNB", "--json"]
    return folder, {
        "simulate": process(folder, "simulate", "pairs.csv", "--pairs", "60", "--ticks", "20"),
        "simulate more": within(folder, *more),
        "train": process(folder, *TRAIN, "-o", "pairs.streamfs"),
        "train river": within(folder, *river),
        "evaluate": process(folder, "evaluate", "pairs.streamfs", "new.parquet"),
        "replay": process(folder, "replay", "pairs.streamfs", "new.parquet", "--json"),
    }


def within(folder, *args):
    """Run a command in this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), write_through=True) for _ in range(2))
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = code_of(args)
    return Result(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))


def code_of(args):
    """Run a command in this process; return the code with which it ends."""
    try:
        main([str(arg) for arg in args])
    except SystemExit as stop:
        return stop.code
    return 0


@pytest.fixture
def command(first_steps, monkeypatch, capfd):
    """Return a function that runs a command in this process, in the folder of the first steps."""
    folder, _ = first_steps
    monkeypatch.chdir(folder)

    def run(*args):
        return Result(code_of(args), *capfd.readouterr())

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
