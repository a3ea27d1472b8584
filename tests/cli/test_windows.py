"""`--window` on the command line: from a long recording to a model that is evaluated on another."""

import shlex

import numpy as np
import pytest

from streamfs.cli.app import main


def office(header, words, seed):
    """Return a recording of minutes, in which a label changes every hour or so, and flickers."""
    rng, rows = np.random.default_rng(seed), []
    for is_on in [True, False] * 15:
        for _ in range(rng.integers(60, 90)):
            shown = words[is_on if rng.random() > 0.02 else True]
            rows.append(f"{60 * len(rows)},{shown},{is_on + rng.normal():.3f}")
    return "\n".join([header, *rows])


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    """Return a function that types a command in a folder with recordings; it returns what is said."""
    for name, words, seed in (("desk", ("off", "on"), 0), ("hall", ("off", "on"), 1), ("door", "01", 0)):
        (tmp_path / f"{name}.csv").write_text(office("time,busy,x", words, seed), encoding="utf-8")
    for label in ("early", "late"):
        (tmp_path / "shifts" / label).mkdir(parents=True)
        rows = [f"{tick},{tick % 7}" for tick in range(4000)]
        (tmp_path / "shifts" / label / "1.csv").write_text("\n".join(["time,x", *rows]), encoding="utf-8")
    monkeypatch.chdir(tmp_path)

    def run(line):
        main(shlex.split(line.removeprefix("streamfs ")))
        return capfd.readouterr().err.splitlines()

    return run


def test_a_model_of_windows_is_trained_and_evaluated(command):
    said = command("streamfs train desk.csv --label busy --window 600 -o MODEL")
    left_out = " windows of 600 s are left out, whose rows do not have one label to nine in ten"
    assert any(line.endswith(left_out) for line in said)
    together = "windows of a class that follow each other are held out together, but each counts as if alone"
    assert f"note: {together}" in said
    following = said[-1].partition("next: ")[2].replace("STREAMS", "hall.csv")
    assert following == "streamfs evaluate MODEL hall.csv --label busy --window 600"
    assert any(line.endswith(left_out) for line in command(following))


@pytest.mark.parametrize("name", ["desk.csv", "door.csv"])
def test_windows_are_proposed_and_the_command_works_as_typed(command, name):
    following = command(f"streamfs inspect {name} --label busy")[-1].partition("next: ")[2]
    assert following == f"streamfs train {name} --label busy --window 600 -o MODEL"
    assert any(line.startswith("wrote MODEL") for line in command(following))


def test_windows_are_proposed_where_a_column_of_readings_may_be_the_label(command):
    (note,) = [line for line in command("streamfs inspect door.csv") if "if they are the labels" in line]
    assert note == "note: busy has 2 values: if they are the labels, --label busy --window 600"


def test_long_streams_of_few_classes_may_be_cut(command):
    said = command("streamfs inspect shifts")
    assert "note: streams are long, and may be cut into windows: --window 60" in said
    assert not any("may be cut" in line for line in command("streamfs inspect shifts --window 60"))


def test_a_class_of_one_stretch_of_windows_is_warned_of(command):
    said = command("streamfs train shifts --labels folder --window 60 -o MODEL")
    warned = (
        "note: windows that follow each other are alike, as all of a class do: held-out ones may show too much"
    )
    assert warned in said
