"""`streamfs inspect`, and the way from a folder of files to a promised model in four commands."""

import shlex

import orjson
import pytest
from helpers.activities import NAMES, write_activities
from matplotlib.image import imread

from streamfs import Procedure
from streamfs.cli.app import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with recordings to train on and others to evaluate on."""
    top = tmp_path_factory.mktemp("inspect")
    write_activities(top / "activities")
    write_activities(top / "others", n_each=3, seed=1)
    return top


@pytest.fixture
def command(folder, monkeypatch, capfd):
    """Return a function that types a command in that folder; it must succeed."""
    monkeypatch.chdir(folder)

    def run(line):
        main(shlex.split(line.removeprefix("streamfs ")))
        return capfd.readouterr()

    return run


def test_a_folder_becomes_a_promised_model_in_four_commands(command):
    inspected = command("streamfs inspect activities --png classes.png")
    told = inspected.err.splitlines()
    assert "note: battery only falls, and tells label or group: it leaks: leave it out" in told
    assert "note: mote is 7 always: leave it out" in told
    following = told[-1].removeprefix("next: ")
    assert following == (
        "streamfs train activities --time when --columns x,y --labels folder --resample last --max-age 1 "
        "--period 0.5 -o MODEL"
    )
    trained = command(f"{following} --promise 0.8 --seconds 5")
    assert "promised    accuracy 0.8" in trained.out
    following = trained.err.splitlines()[-1].partition("next: ")[2]
    assert following == (
        "streamfs evaluate MODEL STREAMS --time when --columns x,y --labels folder --resample last --max-age 1"
    )
    (figures,) = map(orjson.loads, command(f"{following.replace('STREAMS', 'others')} --json").out.splitlines())
    assert figures["streams"] == 3 * len(NAMES)
    assert figures["accuracy"] > 0.7
    assert "promised" in command("streamfs card MODEL").out
    assert {each.partition("@")[0] for each in Procedure.load("MODEL").channels} <= {"x", "y"}


def test_inspection_is_printed_as_json(command):
    (told,) = map(orjson.loads, command("streamfs inspect activities --json").out.splitlines())
    assert told["classes"] == dict.fromkeys(NAMES, 20)
    assert told["layout"]["labels"] == "folder"
    assert told["steps"]["usual"] == 0.5
    assert told["next"].startswith("streamfs train activities --time when")


def test_each_class_is_drawn(command):
    command(
        "streamfs inspect activities --columns x,y --time when --labels folder --resample mean --png drawn.png"
    )
    assert imread("drawn.png").std() > 0.05


def test_groups_are_asked_for_a_promise(command, folder):
    rows = [f"{name}/{number:02d},{number % 4}" for name in NAMES for number in range(20)]
    (folder / "rooms.csv").write_text("\n".join(["stream,group", *rows]), encoding="utf-8")
    told = command("streamfs inspect activities --groups rooms.csv")
    assert told.err.splitlines()[-1].endswith("-o MODEL --promise 0.9 --groups rooms.csv")


def test_what_cannot_be_read_is_refused_as_by_train(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    (folder / "odd.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "odd.csv"])
    assert stop.value.code == 1
    assert capfd.readouterr().err.splitlines()[-1] == "streamfs: odd.csv has no column 'time', only a, b"


def test_streams_without_labels_are_inspected(command, folder):
    (folder / "bare.csv").write_text("when,x\n0,1\n1,2\n", encoding="utf-8")
    told = command("streamfs inspect bare.csv").err.splitlines()
    assert (
        "note: streams have no labels: name their column by --label, or a file or the folders by --labels" in told
    )
    assert told[-1] == "next: streamfs train bare.csv --time when -o MODEL"
