"""Plain English: phrases of CONTRIBUTING's word list that may not come back."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("benchmarks", "deploy", "docs", "examples", "feature_extractors", "sensors_sim", "streamfs", "tests")
PAGES = [ROOT / "README.md", *(path for name in FOLDERS for path in sorted((ROOT / name).rglob("*.*")))]
TEXTS = {
    path: path.read_text(encoding="utf-8")
    for path in PAGES
    if path.suffix in (".md", ".py", ".toml") and path.name not in (Path(__file__).name, "RESULTS.md")
}
NAMES = re.compile(r"(?<=def )test_\w+")


@pytest.mark.parametrize(
    "phrase",
    [
        r"so many",
        r"(?:comes|came|come) to (?!an end|be )",
        r"of before\b",
        r"goes round",
        r"(?<!there )is none of",
        r"gives way|give way",
        r"\b(?-i:[Ll]earnt)\b",
        r"\bthaw(?:s|ed)?\b",
        r"\bjudge(?:s|d|ments?)?\b",
        r"at odds with",
        r"looked over",
        r"\bis had\b",
    ],
)
def test_a_phrase_is_written_nowhere(phrase):
    found = [
        f"{path.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}: {match[0]}"
        for path, text in TEXTS.items()
        for match in re.finditer(phrase, text, re.IGNORECASE)
    ]
    assert found == []


@pytest.mark.parametrize(
    "phrase", ["so many", "gave way", "tells?", "told", "heard?", "watch(?:ed|es)?", "judged?", "lanes?"]
)
def test_a_phrase_is_in_no_name_of_a_test(phrase):
    names = {name.replace("_", " ") for path, text in TEXTS.items() for name in NAMES.findall(text)}
    assert len(names) > 1000
    assert [name for name in names if re.search(rf"\b{phrase}\b", name)] == []
