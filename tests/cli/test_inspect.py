"""`streamfs inspect`, and the way from a folder of files to a promised model in four commands."""

import re
import runpy
import shlex
from pathlib import Path

import orjson
import pytest
from matplotlib.image import imread

from streamfs import Procedure
from streamfs.cli.app import main
from streamfs.cli.recordings import names

ROOT = Path(__file__).parents[2]
ACTIVITIES = runpy.run_path(str(ROOT / "examples" / "activities.py"))
NAMES = ACTIVITIES["NAMES"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with recordings to train on, others to evaluate on, and a few."""
    top = tmp_path_factory.mktemp("inspect")
    ACTIVITIES["main"](str(top / "activities"))
    ACTIVITIES["main"](str(top / "others"), "3", "1")
    ACTIVITIES["main"](str(top / "few"), "8")
    return top


@pytest.fixture
def command(folder, monkeypatch, capfd):
    """Return a function that types a command in that folder; it must succeed."""
    monkeypatch.chdir(folder)

    def run(line):
        main(shlex.split(line.removeprefix("streamfs ")))
        return capfd.readouterr()

    return run


def shown():
    """Return the commands of the tutorial, each with the lines that it shows."""
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", page, re.DOTALL)
    typed = [each.splitlines() for block in blocks for each in block.split("$ ")[1:]]
    return {command: lines for command, *lines in typed if command.startswith("streamfs ")}


def without_numbers(text):
    return " ".join(re.sub(r"\d+(\.\d+)?", "0", text).split())


def test_the_tutorial_goes_from_a_folder_to_a_promised_model(command):
    commands, following = shown(), ""
    assert len(commands) == 4
    for line, expected in commands.items():
        assert line.startswith(following)
        given = command(line)
        found = {without_numbers(each) for each in (given.out + given.err).splitlines()}
        assert not {without_numbers(each) for each in expected} - {"..."} - found
        following = given.err.partition("next: ")[2].strip().replace("STREAMS", "others")
    assert {each.partition("@")[0] for each in Procedure.load("MODEL").channels} <= {"x", "y"}


def test_inspection_is_printed_as_json(command):
    (told,) = map(orjson.loads, command("streamfs inspect few --json").out.splitlines())
    assert told["classes"] == dict.fromkeys(NAMES, 8)
    assert told["layout"]["labels"] == "folder"
    assert told["steps"]["usual"] == 0.5
    assert told["next"].startswith("streamfs train few --time when")


def test_each_class_is_drawn(command):
    command("streamfs inspect few --columns x,y --time when --labels folder --resample mean --png drawn.png")
    assert imread("drawn.png").std() > 0.05


def test_groups_are_asked_for_a_promise(command, folder):
    rows = [f"{name}/{number:02d},{number % 4}" for name in NAMES for number in range(8)]
    (folder / "rooms.csv").write_text("\n".join(["stream,group", *rows]), encoding="utf-8")
    told = command("streamfs inspect few --groups rooms.csv")
    assert " --groups rooms.csv " in told.err.splitlines()[-1]
    assert told.err.splitlines()[-1].endswith("-o MODEL --promise 0.9")


def test_names_with_spaces_are_typed_next_as_they_are(command, folder):
    rows = "".join(f"{n},{n % 4},{n % 3},{n % 5},{'ab'[n // 6]}{n // 2},{'ab'[n // 6]}\n" for n in range(12))
    (folder / "odd names.csv").write_text(f'when,"x, y ", z,ok ,stream,label\n{rows}', encoding="utf-8")
    line = command('streamfs inspect \'odd names.csv\' --columns \'"x, y ", " z" ,"ok "\' --time when')
    following = line.err.splitlines()[-1].partition("next: ")[2]
    assert shlex.split(following)[5:7] == ["--columns", '"x, y "," z","ok "']
    shown = command(following.partition(" -o ")[0].replace("train", "inspect") + " --json")
    assert [each["column"] for each in orjson.loads(shown.out)["columns"]] == ["x, y ", " z", "ok "]


def test_names_with_a_line_break_are_in_quotes(command, folder):
    (folder / "odd.csv").write_text('time,"x\n(C)"\n0,1\n1,2\n', encoding="utf-8")
    shown = command("streamfs inspect odd.csv --columns '\"x\n(C)\"' --json")
    assert [each["column"] for each in orjson.loads(shown.out)["columns"]] == ["x\n(C)"]
    with pytest.raises(ValueError, match="has a line break, expected a name with one in double quotes"):
        names("x\n(C)")


def test_what_cannot_be_read_is_refused_as_by_train(folder, monkeypatch, capfd):
    monkeypatch.chdir(folder)
    (folder / "odd.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["inspect", "odd.csv"])
    assert stop.value.code == 1
    said = capfd.readouterr().err.splitlines()[-1]
    assert said.startswith("streamfs: odd.csv has no column 'time', only a, b; give --time (the column of times,")


def test_streams_without_labels_are_inspected(command, folder):
    (folder / "-bare 1.csv").write_text("when,x\n0,1\n1,2\n", encoding="utf-8")
    told = command("streamfs inspect -- '-bare 1.csv'").err.splitlines()
    assert (
        "note: streams have no labels: name their column by --label, or a file or the folders by --labels" in told
    )
    assert told[-1] == "next: streamfs train './-bare 1.csv' --time when --labels LABELS -o MODEL"


def test_a_column_of_states_may_be_the_labels(command, folder):
    rows = "".join(f"{i},{i / 3},{i // 5}\n" for i in range(20))
    (folder / "states.csv").write_text(f"time,x,door\n{rows}", encoding="utf-8")
    told = command("streamfs inspect states.csv").err.splitlines()
    assert [line for line in told if "if they are the labels" in line] == [
        "note: door has 4 values: if they are the labels, --label door --labels runs"
    ]
    found = orjson.loads(command("streamfs inspect states.csv --label door --labels runs --json").out)
    assert found["classes"] == dict.fromkeys("0123", 1)
