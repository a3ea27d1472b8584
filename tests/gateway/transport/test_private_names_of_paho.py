"""The private names of paho in use: listed here, kept to one file, and present in the paho that is installed."""

import ast
from functools import cache
from pathlib import Path

import pytest
from paho.mqtt.client import CallbackAPIVersion, Client

ROOT = Path(__file__).parents[3]
HOME = ROOT / "streamfs/gateway/transport/connection.py"
OTHERS = sorted({path for room in ("streamfs", "sensors_sim") for path in (ROOT / room).rglob("*.py")} - {HOME})
IN_USE = {
    "_create_socket",
    "_filter_wildcard_len_check",
    "_in_packet",
    "_packet_handle",
    "_packet_queue",
    "_ping_t",
    "_send_pingreq",
    "_sock_close",
    "_sock_recv",
    "_sock_send",
}
OVERRIDDEN = {"_create_socket", "_packet_queue"}


@cache
def client():
    return Client(CallbackAPIVersion.VERSION2)


def private_names_of_paho():
    return {name for name in dir(client()) if name.startswith("_") and not name.startswith("__")}


def attributes(path):
    """Return the attributes that a file reads or writes, each with whether it is one of ``self`` or ``cls``."""
    nodes = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Attribute))
    return {(node.attr, isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")) for node in nodes}


def test_each_private_name_is_listed():
    used = {name for name, _ in attributes(HOME)} | OVERRIDDEN
    assert used & private_names_of_paho() == IN_USE


@pytest.mark.parametrize("name", sorted(IN_USE))
def test_the_installed_paho_has_each_private_name(name):
    assert hasattr(client(), name)


def test_an_incoming_packet_has_the_fields_that_are_set():
    assert client()._in_packet.keys() >= {"command", "remaining_length", "packet"}


def test_no_other_file_uses_a_private_name_of_paho():
    for path in OTHERS:
        found = attributes(path)
        if "paho" in path.read_text():
            found_on_others = {name for name, is_own in found if not is_own}
            assert found_on_others & private_names_of_paho() == set(), path
        assert {name for name, _ in found} & IN_USE == set(), path
