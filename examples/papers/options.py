"""Types of the command-line options of the programs in this folder."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from math import isfinite
from pathlib import Path

from streamfs.cli.parameters import PICTURES


def whole(least: int) -> Callable[[str], int]:
    """Return a type: a whole number of at least `least`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least:
            raise ArgumentTypeError(f"{text!r}, expected a whole number, at least {least}")
        return number

    return read


def above(least: float) -> Callable[[str], float]:
    """Return a type: a number above `least`."""

    def read(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = least
        if not (isfinite(number) and number > least):
            raise ArgumentTypeError(f"{text!r}, expected a number above {least:g}")
        return number

    return read


def picture(text: str) -> Path:
    """Parse the path of a picture to draw."""
    path = Path(text)
    if path.suffix not in PICTURES:
        raise ArgumentTypeError(f"{text!r}, expected a file that ends in one of {', '.join(PICTURES)}")
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentTypeError(f"{text!r}, expected a file in an existing folder")
    return path


def new_folder(text: str) -> Path:
    """Parse a folder that exists or can be made."""
    path = Path(text)
    if not (path.is_dir() or (path.parent.is_dir() and not path.exists())):
        raise ArgumentTypeError(f"{text!r}, expected a folder, or a new one in an existing folder")
    return path
