"""What the programs of this folder take on their command lines."""

from argparse import ArgumentTypeError
from collections.abc import Callable
from math import isfinite
from pathlib import Path

from streamfs.cli.parameters import PICTURES


def whole(least: int) -> Callable[[str], int]:
    """Take a whole number, at least so large."""

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
    """Take a number above another."""

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
    """Take where a picture can be drawn."""
    path = Path(text)
    if path.suffix not in PICTURES:
        raise ArgumentTypeError(f"{text!r}, expected a file that ends in one of {', '.join(PICTURES)}")
    if path.is_dir() or not path.parent.is_dir():
        raise ArgumentTypeError(f"{text!r}, expected a file in a folder that there is")
    return path


def new_folder(text: str) -> Path:
    """Take a folder that there is, or that can be made."""
    path = Path(text)
    if not (path.is_dir() or (path.parent.is_dir() and not path.exists())):
        raise ArgumentTypeError(f"{text!r}, expected a folder, or the name of one in a folder that there is")
    return path
