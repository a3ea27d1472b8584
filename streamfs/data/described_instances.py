"""Instances of a text file that a JSON file next to it describes."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

from streamfs.base.plain_files import not_utf8, path_of, read_file
from streamfs.data.instance_table import parts_of
from streamfs.data.instances import Instances
from streamfs.data.text_table import Categories, read_lines, read_text
from streamfs.errors import DataError


def read_described(path: str | Path) -> Instances:
    """Read a text file described by a JSON file next to it: its label, kinds and declared categories.

    The JSON has ``class_attribute`` and ``features``, each with a ``name``, a ``kind``, which is ``numeric`` or
    ``nominal``, and, if nominal, ``values``. It may have ``class_values_declared``; other keys are ignored.
    ``iris.csv`` is described by ``iris.json``. A DataError is raised if a file cannot be read or the two do not
    match.
    """
    path = path_of(path)
    description = path.parent / re.sub(r"\.[^.]+(\.gz)?$", ".json", path.name)
    label, classes, kinds = _described(description)
    table = read_text(read_lines(path), path, None)
    if set(table.names) != {*kinds, label}:
        odd = min(set(table.names) ^ {*kinds, label})
        raise DataError(f"column {odd!r} is in only one of {path} and {description}, expected it in both")
    table = table._replace(categories=tuple({**kinds, label: classes}[name] for name in table.names))
    return Instances(*parts_of(table, label, path))


def _described(path: Path) -> tuple[str, Categories | None, dict[str, Categories | None]]:
    """Return the label, its declared values, and the categories of each feature."""
    description = _json(path)
    try:
        label, features = str(_field(description, "class_attribute")), _array(_field(description, "features"))
        declared = description.get("class_values_declared")
        classes = None if declared is None else tuple(map(str, _array(declared)))
        return label, classes, {str(_field(feature, "name")): _kind(feature) for feature in features}
    except DataError as error:
        raise DataError(f"{path} does not describe a label and features: {error}") from error


def _json(path: Path) -> Any:
    try:
        return json.loads(read_file(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not JSON: it is {not_utf8(error)}") from error
    except RecursionError as error:
        raise DataError(f"{path} is not JSON: it is nested too deeply") from error
    except ValueError as error:
        raise DataError(f"{path} is not JSON: {error}") from error


def _kind(feature: Mapping[str, Any]) -> Categories | None:
    """Return the categories of a feature that a JSON file describes."""
    kind = _field(feature, "kind")
    if kind not in ("numeric", "nominal"):
        raise DataError(f"kind is {shortened(kind)}, expected numeric or nominal")
    return tuple(map(str, _array(_field(feature, "values")))) if kind == "nominal" else None


def _field(described: Any, name: str) -> Any:
    if not isinstance(described, dict) or name not in described:
        raise DataError(f"there is {shortened(described)}, expected an object with {name}")
    return described[name]


def _array(described: Any) -> list[Any]:
    if not isinstance(described, list):
        raise DataError(f"there is {shortened(described)}, expected an array")
    return described
