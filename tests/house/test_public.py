"""What a public project promises: one version, one list of public names, pages that are found."""

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
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
    reference = re.findall(r"^::: (\S+)$", read("docs/reference.md"), re.MULTILINE)
    names = [alias.name for node in ast.parse(stub.read_text(encoding="utf-8")).body for alias in node.names]
    assert {name for name in names if not name.startswith("_")} <= {each.rpartition(".")[2] for each in reference}


def test_every_page_is_in_the_navigation():
    listed = set(re.findall(r"^ +- .+: (\w+\.md)$", read("mkdocs.yml"), re.MULTILINE))
    assert listed == {page.name for page in (ROOT / "docs").glob("*.md")}


def test_pages_link_to_pages():
    """What is outside of docs/ is not built."""
    pages = {page.name: page.read_text(encoding="utf-8") for page in (ROOT / "docs").glob("*.md")}
    links = {target for text in pages.values() for target in re.findall(r"\]\(([^)#:]+)[^):]*\)", text)}
    assert links
    assert links - set(pages) == set()


def test_places_of_the_project_are_in_one_file():
    """The placeholders of the project's home are replaced there, once."""
    texts = [*ROOT.glob("*.md"), *ROOT.glob("*.cff"), *ROOT.glob("docs/*.md"), *ROOT.glob("streamfs/**/*.py")]
    assert [path.name for path in texts if "example.org/streamfs" in path.read_text(encoding="utf-8")] == []
    assert all("example.org/streamfs" in place for place in PROJECT["urls"].values())


def test_the_contributors_table_names_what_is_there():
    named = re.findall(r"`((?:streamfs|feature_extractors|tests)/[\w/]+(?:\.py|/))`", read("CONTRIBUTING.md"))
    assert len(named) > 20
    assert [name for name in named if not (ROOT / name).exists()] == []
