"""The snippets of the documentation, run: each language in its own way, in a folder with files to work on."""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, TextIOWrapper
from pathlib import Path

import click
import orjson
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser

from streamfs.cli.app import cli, main
from streamfs.gateway.settings.settings import read_settings

ROOT = Path(__file__).parents[2]

NOT_RUN = re.compile(r"<!-- not run: (.+) -->\s*\Z")
"""A comment before a block that says why it is checked but not run: it takes long, or needs what tests lack."""

IS_PATIENT = "STREAMFS_ALL_SNIPPETS" in os.environ
"""Whether what takes long is run, too (`make snippets`)."""

SMALL = re.compile(r"--(pairs|ticks) \d+")
"""Numbers of simulated pairs and ticks, which tests make small."""


def run_page(path: Path) -> int:
    """Run the snippets of a page in their order; return how many there were."""
    document = Sybil(
        parsers=[CodeBlockParser(language, evaluate) for language, evaluate in EVALUATORS.items()]
    ).parse(path)
    examples = list(document.examples())
    for example in examples:
        example.namespace.setdefault("__name__", "__snippet__")
        example.evaluate()
    return len(examples)


def _is_run(example) -> bool:
    reason = NOT_RUN.search(example.document.text[: example.start])
    return reason is None or (IS_PATIENT and reason[1] in ("takes long", "keys"))


def _python(example) -> None:
    source = "\n" * (example.line + example.parsed.line_offset) + example.parsed
    code = compile(source, example.path, "exec", dont_inherit=True)
    if _is_run(example):
        exec(code, example.namespace)  # noqa: S102 - the documentation's own


def _shell(example) -> None:
    for line in _commands(example.parsed):
        if _is_run(example):
            _run(line)
        else:
            _check(line)


def _console(example) -> None:
    """Run what is typed after $, and look for the lines that are shown, whatever their numbers; ... is any."""
    for block in re.split(r"^\$ ", example.parsed, flags=re.MULTILINE)[1:]:
        line, _, shown = block.partition("\n")
        if not _is_run(example):
            _check(line)
            continue
        printed = _run(line)
        found = {_without_numbers(each) for each in printed.splitlines()}
        missing = [each for each in shown.splitlines() if _without_numbers(each) not in {*found, "", "..."}]
        assert missing == [], f"{example.path}:{example.line}: {missing} not in what {line} prints:\n{printed}"


def _commands(text: str) -> list[str]:
    lines = text.replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def _run(line: str) -> str:
    """Run a command, of streamfs in this process; it must succeed. Return what it prints."""
    line = SMALL.sub(lambda found: f"--{found[1]} {60 if found[1] == 'pairs' else 20}", line)
    words = shlex.split(line, comments=True)
    if words[0] == "streamfs" and "|" not in words and ">" not in words:
        return _run_here(words[1:])
    assert words[0] not in ("make", "pip"), f"{words[0]} is not for a test: <!-- not run: it installs -->"
    env_path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    environment = {"PATH": env_path, "PYTHONPATH": str(ROOT), "HOME": str(Path.cwd())}
    done = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True, check=False)  # noqa: S602
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def _run_here(words: list[str]) -> str:
    out, err = (TextIOWrapper(BytesIO(), write_through=True) for _ in range(2))
    code = 0
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(words)
        except SystemExit as stop:
            code = stop.code
    printed = b"".join(file.buffer.getvalue() for file in (out, err)).decode()
    assert not code, f"streamfs {shlex.join(words)}\n{printed}"
    return printed


def _check(line: str) -> None:
    """Check a command without running it: that command, options and files of the project are there."""
    words = shlex.split(line, comments=True)
    if words[0] == "streamfs":
        _check_usage(words[1:])
    elif words[0] == "make" and "-C" not in words:
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
        unknown = {each for each in words[1:] if "=" not in each} - {*targets}
        assert not unknown, f"make has no target {unknown}"
    elif words[:2] == ["pip", "install"]:
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        named = re.findall(r"\[([\w,]+)\]", line)
        assert {each for group in named for each in group.split(",")} <= {*extras["optional-dependencies"]}
    else:
        files = [word for word in words if re.match(r"(examples|benchmarks|tests)/[\w/]+\.py$", word)]
        assert [file for file in files if not (ROOT / file).exists()] == []


def _check_usage(words: list[str]) -> None:
    command, context = cli, click.Context(cli, info_name="streamfs")
    while isinstance(command, click.Group):
        assert words, "a command is missing"
        if words[0] in ("--help", "--version"):
            return
        found = command.get_command(context, words[0])
        assert found is not None, f"there is no command {words[0]}"
        context = click.Context(found, info_name=words[0], parent=context)
        command, words = found, words[1:]
    values, _, _ = command.make_parser(context).parse_args([each for each in words if each not in ("..", "...")])
    for parameter in command.params:
        value = values.get(parameter.name)
        if value is not None and isinstance(value, str) and not isinstance(parameter.type, click.Path):
            parameter.type.convert(value, parameter, context)


def _toml(example) -> None:
    """Read settings of a gateway, or a part of them, or any other TOML."""
    text = example.parsed
    parsed = tomllib.loads(text)
    if not _is_run(example):
        return
    if "model" not in parsed:
        text = f'model = "pairs.streamfs"\n{text}'
    if "broker" not in parsed:
        text += '\n[broker]\nurl = "mqtt://localhost"\n'
    Path("gateway.toml").write_text(text, encoding="utf-8")
    read_settings(Path("gateway.toml"))


def _json(example) -> None:
    if _is_run(example):
        for each in re.split(r"\n(?=[{\[])", example.parsed.strip()):
            orjson.loads(each)


EVALUATORS = {"python": _python, "sh": _shell, "console": _console, "toml": _toml, "json": _json}


def _without_numbers(text: str) -> str:
    return " ".join(re.sub(r"\d+(\.\d+)?", "0", text).split())
