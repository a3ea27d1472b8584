"""Device profiles: listed, explained, tried."""

import re
from pathlib import Path
from typing import Any

import click

from streamfs.cli.parameters import JSON, OLD_FILE, example_text


@click.command(
    epilog=example_text(
        "streamfs devices",
        "streamfs devices zigbee2mqtt",
        "streamfs devices ./profiles/mine.toml",
        "streamfs devices tasmota --topic tele/plug/SENSOR --payload plug.json",
    )
)
@click.argument("profile", required=False)
@click.option("--topic", help="Show how the profile reads a message on this topic.")
@click.option("--payload", type=OLD_FILE, help="File with the payload of that message.")
@JSON
def devices(profile: str | None, topic: str | None, payload: Path | None, as_json: bool) -> None:
    """List device profiles, or explain and try one.

    PROFILE is a name, or a TOML file of one's own; beside gateway.toml such files are in the folder profiles. A
    source of gateway.toml names it: device = "zigbee2mqtt".
    """
    from time import time

    from streamfs.cli import console, message_table
    from streamfs.gateway.settings.message_preview import preview_by_profile
    from streamfs.gateway.settings.profiles import load_profile, profile_files, read_profile

    if (topic is None) != (payload is None) or (topic is not None and profile is None):
        raise click.UsageError("--topic and --payload need each other, and PROFILE.")
    if profile is None:
        table = [_listed(name) for name in profile_files()]
        console.print_json(table) if as_json else console.print_table(table)
        return
    found = read_profile(Path(profile)) if profile.endswith(".toml") else load_profile(profile)
    if topic is not None and payload is not None:
        message_table.show(preview_by_profile(found, topic, payload.read_bytes(), time()), as_json=as_json)
        return
    rows_of_profile = _explained(found)
    console.print_json(rows_of_profile) if as_json else console.print_table(rows_of_profile)


def _listed(name: str) -> dict[str, str]:
    from streamfs.errors import SettingsError
    from streamfs.gateway.settings.profiles import load_profile

    try:
        profile = load_profile(name)
    except SettingsError as error:
        return {"profile": name, "hears": "-", "about": f"cannot be used: {error}"}
    return {"profile": name, "hears": profile.reach.hears, "about": " ".join(profile.about.split())}


def _explained(profile: Any) -> list[dict[str, Any]]:
    """Return rows: what is read, what can be asked, and two messages that ask."""
    from feature_extractors.report import Policy
    from streamfs.gateway.core.speech import Address, asked_for, message, written_metrics

    rows = [{"what": "about", "is": profile.about}]
    rows += [{"what": f"parameter {name}", "is": text} for name, text in profile.parameters.items()]
    for reading in profile.readings:
        fields = ", ".join(f"{path} = {quantity}" for path, quantity in reading.get("fields", {}).items())
        rows.append({"what": f"reads {reading['topic']}", "is": fields or "quantities by their names"})
    if profile.report is None:
        return [*rows, {"what": "is asked", "is": "nothing; what it sends is thinned by the gateway"}]
    reach = profile.reach
    rows.append(
        {"what": "hears", "is": {"always": "always", "after_report": "only after it has reported"}[reach.hears]}
    )
    rows.append({"what": "can", "is": f"{', '.join(reach.can)}; from {reach.min:g} to {reach.max:g} s"})
    rows.append({"what": "rests with", "is": f"a report every {reach.rest:g} s, at which it can be asked again"})
    topic = re.sub(r"\{node[.]*\}", "DEVICE", str(profile.readings[0]["topic"]))
    heard = Address(topic, {}, 0.0)
    for what, policies in {"a report a minute": [Policy()], "rest": []}.items():
        quantity = next(iter(profile.quantities), "temperature")
        for name, asked in asked_for(profile, {quantity: policies}, 60.0, None).items():
            said = message(profile, "DEVICE", name, asked, 1, heard)
            metrics = written_metrics(profile, name, asked, topic)
            payload = ", ".join(f"{key} = {value}" for key, value in metrics.items()) or said.payload.decode()
            rows.append({"what": f"asks for {what}", "is": f"{said.topic} {payload}"})
    return rows
