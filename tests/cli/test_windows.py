"""`--window` on the command line: from a long recording to a model that is evaluated on another."""

import shlex

import numpy as np
import pytest

from streamfs.cli.app import main


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Return a function that types a command in a folder with recordings; it returns what is said."""
    for name, seed in (("desk", 0), ("hall", 1)):
        rng, rows = np.random.default_rng(seed), []
        for state in ["on", "off"] * 15:
            for _ in range(rng.integers(60, 90)):
                shown = state if rng.random() > 0.02 else "on"
                rows.append(f"{60 * len(rows)},{shown},{(state == 'on') + rng.normal():.3f}")
        (tmp_path / f"{name}.csv").write_text("\n".join(["time,busy,x", *rows]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(line):
        main(shlex.split(line.removeprefix("streamfs ")))
        return capfd.readouterr().err.splitlines()

    return run


def test_a_model_of_windows_is_trained_and_evaluated(command):
    said = command("streamfs train desk.csv --label busy --window 600 -o MODEL")
    assert any(
        line.endswith(" windows of 600 s are left out, whose rows do not have one label to nine in ten")
        for line in said
    )
    assert "note: windows of one class that follow each other are held out together" in said
    following = said[-1].partition("next: ")[2].replace("STREAMS", "hall.csv")
    assert following == "streamfs evaluate MODEL hall.csv --label busy --window 600"
    assert any("windows of 600 s" in line for line in command(following))
