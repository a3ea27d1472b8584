"""What is wrong with a file that is not TOML, and what to write instead."""

import re
from pathlib import Path

_PLACE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)$")
_REMEDIES = {  # by what is in the line
    r"[\u2018-\u201f\xab\xbb]": 'write straight quotes, "',
    r'=\s*"[^"]*\\': r"write text with \ between single quotes, 'C:\new'",
    r"[\x00-\x08\xa0\u2000-\u200f\u2028\ufeff]": "remove what looks like a space and is none",
    r"^[^=\"']*:|^\s*\{": "write key = value",
    r"=\s*(True|TRUE|yes|on|False|FALSE|no|off)\b": "write true or false",
    r"=\s*([^\W\d]|/|\.)": 'write text in quotes, key = "text"',
    r"=\s*(#.*)?$": "write a value, or remove the key",
}


def syntax_error(file: Path, text: str, error: Exception) -> str:
    """Return the error of a file that is not TOML, with its line in front and a remedy behind.

    >>> syntax_error(Path("g.toml"), "trust = True", ValueError("Invalid value (at line 1, column 9)"))
    'g.toml, line 1: Invalid value, expected TOML: write true or false'
    """
    found = _PLACE.search(str(error))
    if found is None:
        return f"{file}: {error}, expected TOML"
    lines = text.splitlines()
    number = int(found[1] or len(lines))
    return f"{file}, line {number}: {str(error)[: found.start()]}, expected TOML{_remedy(lines, number)}"


def _remedy(lines: list[str], number: int) -> str:
    line = lines[number - 1] if number <= len(lines) else ""
    return next((f": {text}" for pattern, text in _REMEDIES.items() if re.search(pattern, line)), "")
