"""How a message is read, as a table."""

from collections.abc import Mapping
from typing import Any

from streamfs.cli import console

_SHOWN = 12  # paths


def show(found: Mapping[str, Any], *, as_json: bool) -> None:
    """Print how a message is read, as `preview_message` returns it, and what of it is not."""
    if as_json:
        console.print_json(found)
        return
    console.say(f"node {found['node'] or '-'}")
    if found["values"]:
        console.print_table(found["values"])
    elif not found["refused"]:
        console.say("nothing of it is read")
    if found["refused"]:
        console.say(f"left out: {found['refused']}")
    if found["unread"]:
        named = ", ".join(found["unread"][:_SHOWN]) + (", ..." if len(found["unread"]) > _SHOWN else "")
        console.say(f'not read: {named}; to read one, name it in the source: fields = {{ "PATH" = "QUANTITY" }}')
