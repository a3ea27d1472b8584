"""The add-on of Home Assistant: settings of a gateway from its options, and gateway and page side by side."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep
from typing import Any
from urllib.request import Request, urlopen

CONFIG, DATA = Path("/config"), Path("/data")
SHORTEST_PASSWORD = 8


def settings(options: dict[str, Any], mqtt: dict[str, Any], config: Path = CONFIG, data: Path = DATA) -> str:
    """Return gateway.toml for the add-on's options and Home Assistant's broker.

    What the option ``settings`` names, a file with sections such as ``[[source]]``, comes last.
    """
    url = f"{'mqtts' if mqtt.get('ssl') else 'mqtt'}://{mqtt['host']}:{mqtt['port']}"
    lines = [
        f"model = {json.dumps(str(config / options['model']))}",
        f"name = {json.dumps(options['name'])}",
        f"state = {json.dumps(str(data / 'state'))}",
        "[broker]",
        f"url = {json.dumps(url)}",
        *([f"user = {json.dumps(mqtt['username'])}"] if mqtt.get("username") else []),
        *([f"password_file = {json.dumps(str(data / 'mqtt.password'))}"] if mqtt.get("username") else []),
        "[http]",
        'host = "127.0.0.1"',
        "[homeassistant]",
        'prefix = "homeassistant"',
        *(["[streams]", "any_node = true"] if options["any_node"] else []),
    ]
    own = (config / options["settings"]).read_text(encoding="utf-8") if options.get("settings") else ""
    return "\n".join([*lines, own])


def broker() -> dict[str, Any]:
    """Ask Home Assistant for its broker."""
    token = os.environ["SUPERVISOR_TOKEN"]
    request = Request("http://supervisor/services/mqtt", headers={"Authorization": f"Bearer {token}"})
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - see above
        found: dict[str, Any] = json.load(answer)["data"]
    return found


def secret(name: str, content: str) -> Path:
    """Write a file that its owner alone can read."""
    path = DATA / name
    path.touch(0o600)
    path.write_text(content, encoding="utf-8")
    return path


def main() -> None:
    """Write the settings, and run the gateway, and the page if there is a password, until one of them ends."""
    options, mqtt = json.loads((DATA / "options.json").read_text(encoding="utf-8")), broker()
    secret("mqtt.password", mqtt.get("password", ""))
    toml = secret("gateway.toml", settings(options, mqtt))
    commands = [["streamfs", "run", "--config", str(toml)]]
    if len(options["password"]) >= SHORTEST_PASSWORD:
        password = secret("page.password", options["password"])
        commands.append(
            ["streamfs", "page", str(DATA / "state"), "--host", "0.0.0.0", "--password", str(password)]
        )
    else:
        sys.stderr.write(f"the page is off: set a password of {SHORTEST_PASSWORD} characters or more\n")
    running = [subprocess.Popen(command) for command in commands]
    signal.signal(signal.SIGTERM, lambda *_: [each.terminate() for each in running])
    while all(each.poll() is None for each in running):
        sleep(1.0)
    for each in running:
        each.terminate()
    sys.exit(max(abs(each.wait()) for each in running))


if __name__ == "__main__":
    main()
