"""What a public project promises: one version, one list of public names, pages that are found."""

import ast
import inspect
import re
import sqlite3
import tomllib
from contextlib import closing
from importlib import import_module
from os.path import normpath
from pathlib import Path

import pytest

from docs import reference_pages
from streamfs.cli.app import COMMANDS
from streamfs.gateway.core.option_declaration import declared
from streamfs.gateway.operations.health import Health
from streamfs.gateway.operations.metrics import GAUGES, HELP, _of_health
from streamfs.gateway.reports import Reports
from streamfs.gateway.storage.journal_schema import migrate
from streamfs.gateway.storage.store import Disk

ROOT = Path(__file__).parents[2]
PAGES = {page.relative_to(ROOT / "docs").as_posix(): page for page in (ROOT / "docs").rglob("*.md")}
GENERATED = reference_pages.pages()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_and_changelog_have_the_version():
    assert re.search(r"^version: (.+)$", read("CITATION.cff"), re.MULTILINE)[1] == PROJECT["version"]
    headings = re.findall(r"^## (.+)$", read("CHANGELOG.md"), re.MULTILINE)
    assert next(heading for heading in headings if heading != "Unreleased") == PROJECT["version"]


@pytest.mark.parametrize(
    "stub", sorted((ROOT / "streamfs").rglob("__init__.pyi")), ids=lambda stub: stub.parent.name
)
def test_every_public_name_is_in_the_reference(stub):
    """Those of `streamfs` itself are there under their room."""
    reference = re.findall(r"^::: (\S+)$", "".join(GENERATED.values()), re.MULTILINE)
    names = [alias.name for node in ast.parse(stub.read_text(encoding="utf-8")).body for alias in node.names]
    assert {name for name in names if not name.startswith("_")} <= {each.rpartition(".")[2] for each in reference}


def test_every_name_in_the_reference_is_there():
    for name in re.findall(r"^::: (\S+)$", "".join(GENERATED.values()), re.MULTILINE):
        module, _, last = name.rpartition(".")
        assert hasattr(import_module(module), last) or import_module(name)


def test_every_command_setting_and_metric_is_in_the_reference():
    for name in COMMANDS:
        assert f"### streamfs {name}\n" in GENERATED["reference/commands.md"]
    keys = {key for section in reference_pages.SECTIONS.values() for key in declared(section)}
    assert set(re.findall(r"^\| `(\w+)`", GENERATED["reference/settings.md"], re.MULTILINE)) == keys
    metrics = re.findall(r"^\| `streamfs_(\w+)", GENERATED["reference/metrics.md"], re.MULTILINE)
    assert {name.removesuffix("_total") for name in metrics} > set(HELP)


def test_an_option_is_called_as_in_python_or_is_listed_as_called_otherwise():
    rows = reference_pages.option_names()
    assert {option for option, python, _ in rows if not python} == set(reference_pages.OF_THE_COMMAND)
    assert set(reference_pages.OTHERWISE) <= {option for option, _, _ in rows}


def test_gauges_are_those_that_a_gateway_exports_as_such():
    source = inspect.getsource(Reports._counted).partition("gauges={")[2].partition("}")[0]
    source += inspect.getsource(Disk.gauges.fget)
    health = Health(connected=True, subscribed=True, storing=True, loop_age=0.0, lag=0.0)
    assert {*re.findall(r'"(\w+)": ', source), *_of_health(health)} == GAUGES


def test_every_topic_is_in_the_reference():
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "streamfs" / "gateway").rglob("*.py")]
    found = {word for text in texts for word in re.findall(r"prefix\}/([\w-]+)/", text)}
    assert {topic.partition("/")[0] for topic in reference_pages.TOPICS} == found


def test_every_table_is_in_the_reference():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as journal:
        migrate(journal, Path("journal.sqlite"))
        tables = {name for (name,) in journal.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables - {"sqlite_sequence"} == set(reference_pages.TABLES)


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"^ +- .+: ([\w/]+\.md)$", read("mkdocs.yml"), re.MULTILINE)
    assert sorted(listed) == sorted({*PAGES, *GENERATED})


def test_pages_link_to_pages():
    """Each but the first is linked; what is outside of docs/ is not built."""
    texts = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()} | GENERATED
    links = {
        normpath(Path(name).parent / target)
        for name, text in texts.items()
        for target in re.findall(r"\]\(([^)#:\s]+)[^):]*\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    }
    assert {*PAGES} - links == {"index.md"}
    there = {normpath(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.*")}
    there |= {*GENERATED, *reference_pages.PICTURES}
    assert {link for link in links if not link.startswith("..")} - there == set()
    assert [link for link in links if link.startswith("..")] == []


def test_places_of_the_project_are_in_one_file():
    """The placeholders of the project's home are replaced there, once."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), *ROOT.glob("docs/*.md"), *ROOT.glob("streamfs/**/*.py")]
    assert [path.name for path in texts if "example.org/streamfs" in path.read_text(encoding="utf-8")] == []
    assert all("example.org/streamfs" in place for place in PROJECT["urls"].values())


def test_the_contributors_table_names_what_is_there():
    named = re.findall(r"`((?:streamfs|feature_extractors|tests)/[\w/]+(?:\.py|/))`", read("CONTRIBUTING.md"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []
