"""Help, version, and commands that do not exist."""

import re
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from helpers.commands import Result

from streamfs.cli.app import COMMANDS as SENTENCES
from streamfs.cli.app import TOPICS, cli
from streamfs.cli.commands.bench import early

ROOT = Path(__file__).parents[2]
COMMANDS = {name: cli.get_command(click.Context(cli), name) for name in SENTENCES}


def test_the_program_says_of_commands_what_they_say_of_themselves():
    assert {name: command.get_short_help_str(100) for name, command in COMMANDS.items()} == SENTENCES
    assert [*SENTENCES] == sorted(SENTENCES)
    assert sorted(name for names in TOPICS.values() for name in names) == [*SENTENCES]


def examples(text):
    return [line.strip() for line in text.splitlines() if line.strip().startswith("streamfs ")]


@pytest.mark.parametrize("width", [80, 110])
@pytest.mark.parametrize("name", ["", *COMMANDS, "bench early"])
def test_help_fits_the_terminal_and_shows_examples(name, width):
    result = CliRunner().invoke(cli, [*name.split(), "--help"], prog_name="streamfs", terminal_width=width)
    assert result.exit_code == 0
    assert max(map(len, result.output.splitlines())) <= width
    assert name or "..." not in result.output.partition("Options:")[2]
    shown = examples(result.output.partition("Example")[2])
    assert shown
    for example in shown:
        (word,) = re.findall(r"(?<!\.)streamfs ([\w-]+)", example)
        assert word in (name.split()[:1] or COMMANDS)


@pytest.mark.parametrize(
    "example",
    [
        *(example for each in (cli, *COMMANDS.values(), early) for example in examples(each.epilog)),
        *examples((ROOT / "README.md").read_text(encoding="utf-8")),
    ],
)
def test_the_examples_are_valid(example):
    _, name, *words = shlex.split(example.partition(" > ")[0], comments=True)
    command = COMMANDS[name]
    if isinstance(command, click.Group):
        name, *words = words
        command = command.commands[name]
    with command.make_context(name, words) as context:
        assert context.params


def test_a_misspelt_command_is_answered_with_those_that_are_spelt_alike(command):
    assert "There is no command 'trian'. Did you mean train" in command("trian").err
    assert command("xyz").err.splitlines()[-1] == "Error: There is no command 'xyz'."


def test_the_version_is_printed(command):
    assert command("--version") == Result(0, f"streamfs, version {version('streamfs')}\n", "")


def test_help_does_not_wait_for_heavy_libraries():
    code = f"""
import sys
from streamfs.cli.app import main
for words in ([], *([name] for name in {list(COMMANDS)})):
    main([*words, "--help"])
heavy = "numba numpy polars scipy sklearn river paho matplotlib rich orjson".split()
print([name for name in heavy if name in sys.modules], file=sys.stderr)
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stderr.strip() == "[]"
