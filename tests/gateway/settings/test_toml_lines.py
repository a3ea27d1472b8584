"""The lines of a TOML file on which its keys stand."""

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from feature_extractors.spelling import nearest
from streamfs.gateway.settings.toml_lines import line_of, lines_of
from streamfs.gateway.settings.toml_problems import dotted

TOML_VALUES = st.sampled_from(
    [
        *(
            "1",
            "true",
            '"#"',
            "'['",
            '"\\""',
            '"""\n[a]\nb = 1\n"""',
            "'''\n\"\"\"\n'''",
            '""""quoted""""',
            "'''it's'''",
        ),
        *("[]", "[\n  1, # ]\n  2,\n]", "[[1], [\n2]]", '{ x = 1, y = { z = "}" } }', "1979-05-27T07:32:00Z"),
    ]
)
FILLING = st.sampled_from(["", "\n", "# key = 1 [\n", "  \n\t\n", '# """\n'])


HEADERS = {
    "[t{n}]\n": ("t{n}",),
    "[[s]]\n": ("s", "last"),
    "[ s.u{n} ] # [[s]]\n": ("s", "last", "u{n}"),
    '[ "t.{n}".x ]\n': ("t.{n}", "x"),
    "[[ a.b ]]\n[c{n}]\n": ("c{n}",),
}


@st.composite
def documents(draw):
    """A TOML document, and the line of each table and key that was put into it."""
    text, expected, section = draw(FILLING), {}, ()
    n_tables = 0
    for n in range(draw(st.integers(1, 6))):
        header = draw(st.sampled_from(["", *HEADERS]))
        if header and ("s.u" not in header or n_tables):
            n_tables += header == "[[s]]\n"
            section = tuple(n_tables - 1 if part == "last" else part.format(n=n) for part in HEADERS[header])
            text += header.format(n=n)
            expected[section] = text.count("\n")
        text += draw(FILLING)
        key = f"k{n}" + draw(st.sampled_from(["", ".x", ' . "y z"', ".'='"]))
        expected[section + tuple(part.strip(" \"'") for part in key.split("."))] = 1 + text.count("\n")
        text += f"{key} = {draw(TOML_VALUES)}" + draw(st.sampled_from(["\n", " # x = 1\n", "\r\n"]))
    return text, expected


@given(documents())
def test_every_key_has_the_line_on_which_it_stands(document):
    text, expected = document
    tomllib.loads(text)
    lines = lines_of(text)
    assert {place: lines.get(place) for place in expected} == expected


def test_a_key_within_an_inline_table_has_its_line_and_one_in_an_array_that_of_the_array():
    lines = lines_of("x = 1\na = { b = { c = 1 } }\nd = [\n  { e = 1 },\n]\n")
    assert lines[("a", "b", "c")] == 2
    assert line_of(("d", 0, "e"), lines) == 3
    assert line_of(("nowhere",), lines) == 1


def test_a_key_is_named_with_its_tables_and_the_most_similar_known_word():
    assert dotted(("source", 0, "fields", "a.b")) == 'source.fields."a.b"'
    assert nearest("keepalve", ["url", "keepalive"]) == "; did you mean keepalive?"
    assert nearest("x", ["url", "keepalive"]) == ""
