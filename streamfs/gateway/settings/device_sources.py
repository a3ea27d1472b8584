"""Sources of devices that have a profile."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from streamfs.errors import SettingsError
from streamfs.gateway.core.device_profile import DeviceProfile
from streamfs.gateway.settings.profiles import load_profile
from streamfs.gateway.settings.sources import InputSource
from streamfs.gateway.settings.toml_section import Section


def read_source(section: Section, number: int, folder: Path) -> list[InputSource]:
    """Read a section ``[[source]]``: one source, or one for each of the readings of its device profile.

    `folder` has profiles of one's own. What the section says comes before the profile; its ``fields`` take the
    place of those of each reading, and are those of readings that have none but name channels in topics.
    """
    device = section.get("device")
    if not isinstance(device, str):
        return [replace(section.read(InputSource), number=number)]
    parameters = section.get("parameters")
    try:
        profile = load_profile(device, folder, parameters if isinstance(parameters, dict) else None)
    except SettingsError as error:
        section.note("device", f"cannot be: {error}")
        return []
    sources = [section.over(_own(reading, section)).read(InputSource) for reading in profile.readings]
    return [replace(source, number=number, profile=profile) for source in sources]


def sources_of(profile: DeviceProfile) -> list[InputSource]:
    """Return the sources of a profile as it is."""
    return [InputSource(**_with_tuples(reading), device=profile.name) for reading in profile.readings]


def _with_tuples(reading: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in reading.items()}


def _own(reading: Any, section: Section) -> dict[str, Any]:
    """Return the keys of a reading that stand beside those of a section, with units of its channels alone."""
    own = {key: value for key, value in reading.items() if key not in section}
    fields = section.get("fields")
    if isinstance(fields, dict) and "units" in own:
        own["units"] = {channel: unit for channel, unit in own["units"].items() if channel in fields.values()}
    return {key: value for key, value in own.items() if value != {}}
