"""Sections ``[node.NAME]`` of ``gateway.toml``: single nodes."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from streamfs.gateway.core.option_declaration import Option, OptionSection
from streamfs.gateway.messages.codecs.checks import zone
from streamfs.gateway.messages.topics import check_name
from streamfs.gateway.settings.toml_section import Section


def _check_alias(alias: str) -> None:
    for level in alias.split("/"):
        check_name("alias", level)


@dataclass(frozen=True)
class NodeSettings(OptionSection):
    """A section ``[node.NAME]``: what is particular to one node."""

    alias: Annotated[
        tuple[str, ...],
        Option(
            "Names under which it is heard, such as kitchen/window; several devices may be one node",
            check=_check_alias,
        ),
    ] = ()
    time_zone: Annotated[
        str | None,
        Option(
            "The zone of its times without an offset, such as Europe/Berlin, in place of the source's", check=zone
        ),
    ] = None


def read_nodes(section: Section) -> dict[str, NodeSettings]:
    """Read the sections of nodes, by name."""
    sections = section.named_sections(partial(check_name, "node"))
    nodes = {name: each.read(NodeSettings) for name, each in sections.items()}
    n_times = Counter(alias for node in nodes.values() for alias in node.alias)
    for name, node in nodes.items():
        for alias in node.alias:
            if n_times[alias] > 1:
                sections[name].note("alias", f"has {alias!r}, which another node has too")
    return nodes


def aliases_of(nodes: Mapping[str, NodeSettings]) -> dict[str, str]:
    """Return names of nodes by those under which they are heard."""
    return {alias: name for name, node in nodes.items() for alias in node.alias}


def zones_of(nodes: Mapping[str, NodeSettings]) -> dict[str, str]:
    """Return the time zones of nodes that have their own."""
    return {name: node.time_zone for name, node in nodes.items() if node.time_zone is not None}
