"""Device profiles: files of templates, ours and those beside the settings."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from feature_extractors.own_parts import own_part
from feature_extractors.spelling import nearest
from streamfs.base.plain_files import read_text
from streamfs.errors import SettingsError
from streamfs.gateway.core.device_profile import Answer, Availability, Birth, DeviceProfile, Reach, Report
from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.messages.topics import Template
from streamfs.gateway.settings.sources import InputSource
from streamfs.gateway.settings.toml_lines import lines_of
from streamfs.gateway.settings.toml_problems import Problems
from streamfs.gateway.settings.toml_section import Section

OURS = Path(__file__).with_suffix("")
FOLDER = "profiles"
"""Folder beside the settings with profiles of one's own, which come first."""

VERSION = 1


@dataclass(frozen=True)
class _Head(OptionSection):
    """The keys outside sections."""

    format_version: Annotated[int, Option("Version of the format of profiles", least=VERSION, most=VERSION)]
    about: Annotated[str, Option("What kind of devices")]
    inventory: Annotated[
        str | None, Option("Topic on which a bridge lists its devices, by friendly_name", check=Template)
    ] = None


def profile_files(folder: Path | None = None) -> dict[str, Path]:
    """Return the files of all profiles by name: ours, and those in a folder, which replace ours."""
    folders = [OURS] if folder is None else [OURS, folder]
    return {path.stem: path for place in folders for path in sorted(place.glob("*.toml"))}


def load_profile(
    name: str, folder: Path | None = None, parameters: Mapping[str, str] | None = None
) -> DeviceProfile:
    """Read the profile of a name, with these parameters in place of its own.

    Raise a SettingsError if there is none, or with all that is wrong with it.
    """
    files = profile_files(folder)
    own = own_part("streamfs.devices", name) if name not in files else files[name]
    if own is None:
        raise SettingsError(f"device is {name!r}, expected one of {', '.join(files)}{nearest(name, [*files])}")
    return read_profile(own, parameters)


def read_profile(path: Path, parameters: Mapping[str, str] | None = None) -> DeviceProfile:
    """Read the profile of a file; raise a SettingsError with all that is wrong with it."""
    try:
        text = read_text(path)
        values = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read: {getattr(error, 'strerror', error)}") from error
    problems = Problems(path, lines_of(text))
    own = values.get("parameters", {})
    unknown = [key for key in parameters or {} if key not in own]
    if unknown:
        raise SettingsError(
            f"{path}: parameter {unknown[0]!r} is unknown, expected one of {', '.join(own) or 'none'}"
        )
    values = filled(values, own | dict(parameters or {}))
    profile = _profile(path.stem, values, Section(values, (), problems))
    problems.report()
    return profile


def filled(value: Any, parameters: Mapping[str, Any]) -> Any:
    """Return a value with parameters in the place of their names in braces, in all texts within it.

    A text that is only one of them becomes a number if the parameter is whole.
    """
    if isinstance(value, dict):
        return {filled(key, parameters): filled(each, parameters) for key, each in value.items()}
    if isinstance(value, list):
        return [filled(each, parameters) for each in value]
    if isinstance(value, str):
        alone = str(parameters.get(value.strip("{}"), "")) if value.startswith("{") else ""
        if alone.isdigit():
            return int(alone)
        for name, text in parameters.items():
            value = value.replace(f"{{{name}}}", str(text))
    return value


def _profile(name: str, values: dict[str, Any], top: Section) -> DeviceProfile:
    readings = tuple(values.get("reading", ()))
    for section in top.sections("reading"):
        section.read(InputSource)
    kinds: dict[str, type[OptionSection]] = {"report": Report, "ack": Answer, "birth": Birth, "limits": Reach}
    tables = {key: top.section(key) for key in kinds}
    found: dict[str, Any] = {
        key: tables[key].read(kind) if tables[key].exists else None for key, kind in kinds.items()
    }
    availability = tuple(section.read(Availability) for section in top.sections("availability"))
    top.section("parameters")
    top.section("quantity")
    head = top.read(_Head)
    return DeviceProfile(
        name,
        head.about,
        values.get("parameters", {}),
        readings,
        found["report"],
        found["ack"],
        found["birth"],
        found["limits"] or Reach(),
        values.get("quantity", {}),
        availability,
        head.inventory or "",
    )
