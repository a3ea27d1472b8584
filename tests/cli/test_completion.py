"""Completion is installed where the shell looks for it, and works."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from streamfs.cli.app import cli
from streamfs.cli.commands.completion import PLACES


@pytest.mark.parametrize("shell", sorted(PLACES))
def test_it_is_installed_in_the_home_of_the_user(shell, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SHELL", f"/usr/bin/{shell}")
    result = CliRunner().invoke(cli, ["completion"])
    assert (result.exit_code, result.stdout) == (0, "")
    script = (tmp_path / PLACES[shell]).read_text(encoding="utf-8")
    assert "_STREAMFS_COMPLETE" in script
    assert CliRunner().invoke(cli, ["completion", shell, "--show"]).stdout == f"{script}\n"


def test_an_unknown_shell_is_refused(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    result = CliRunner().invoke(cli, ["completion"])
    assert (result.exit_code, "'tcsh', expected one of bash, fish, zsh" in result.stderr) == (2, True)


@pytest.mark.parametrize(("typed", "offered"), [("ev", {"evaluate"}), ("evaluate --sw", {"--sweep"})])
def test_words_are_completed(typed, offered):
    words = ["streamfs", *typed.split()]
    asked = {
        "_STREAMFS_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    code = "import sys; sys.argv[0] = 'streamfs'; from streamfs.cli.app import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    assert {line.partition(",")[2] for line in ended.stdout.split()} == offered
