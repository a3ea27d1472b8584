"""Discovery by Home Assistant: required fields, and names that are allowed and unique."""

import re

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamfs import Decision
from streamfs.gateway.messages.codecs import encode_decision
from streamfs.gateway.messages.publication import Publication
from streamfs.gateway.operations.discovery import discovery, gateway_discovery, is_birth, removal

NAMES = st.text(alphabet="ab_-.é 0", min_size=1, max_size=12)


def rendered(template, payload):
    """Render a payload as Home Assistant does; without jinja2, by its simplest rule."""
    document = orjson.loads(payload)
    try:
        import jinja2  # noqa: PLC0415 - not among our dependencies
    except ModuleNotFoundError:
        (field,) = re.fullmatch(r"\{\{ value_json\.(\w+) \}\}", template).groups()
        return str(document[field])
    return jinja2.Template(template).render(value_json=document)


def configs(publications):
    return [orjson.loads(publication.payload) for publication in publications]


def test_a_stream_is_a_sensor_that_shows_its_label():
    (publication,) = discovery("desk", "attic", "streamfs", "homeassistant", "1.2")
    assert publication.topic == "homeassistant/sensor/streamfs_attic_desk/config"
    assert publication.retain
    assert orjson.loads(publication.payload) == {
        "name": "desk",
        "unique_id": "streamfs_attic_desk",
        "state_topic": "streamfs/decision/desk",
        "value_template": "{{ value_json.label }}",
        "json_attributes_topic": "streamfs/decision/desk",
        "availability_topic": "streamfs/status/attic",
        "availability_template": "{{ value_json.status }}",
        "payload_available": "online",
        "payload_not_available": "offline",
        "device": {
            "identifiers": ["streamfs_attic"],
            "name": "streamfs attic",
            "manufacturer": "streamfs",
            "model": "gateway",
            "sw_version": "1.2",
        },
        "origin": {"name": "streamfs", "sw_version": "1.2"},
    }


@pytest.mark.parametrize(("label", "state"), [("walk", "walk"), (None, "None")])  # the state of None is unknown
def test_the_state_is_the_label_of_the_decision(label, state):
    (config,) = configs(discovery("desk", "attic"))
    decision = Decision("desk", 1, label, 0.95, 12, 12.0, "confident", 11.0)
    assert rendered(config["value_template"], encode_decision(decision)) == state


def test_availability_follows_the_gateways_status():
    (config,) = configs(discovery("desk", "attic"))
    for status in ("online", "offline"):
        shown = rendered(config["availability_template"], orjson.dumps({"status": status}))
        assert shown in (config["payload_available"], config["payload_not_available"])


def test_the_gateway_shows_its_connection_and_the_last_drift():
    publications = gateway_discovery("attic", "here", "ha", "1.2")
    connection, drift = configs(publications)
    assert [p.topic for p in publications] == [
        "ha/binary_sensor/streamfs-status_attic/config",
        "ha/sensor/streamfs-drift_attic/config",
    ]
    assert (connection["state_topic"], connection["device_class"]) == ("here/status/attic", "connectivity")
    assert rendered(connection["value_template"], b'{"status": "offline"}') == connection["payload_off"]
    assert "availability_topic" not in connection
    assert drift["state_topic"] == "here/alert/attic"
    assert rendered(drift["value_template"], b'{"what": "accuracy", "now": 0.5}') == "accuracy"
    assert connection["device"] == drift["device"]


def test_prefixes_are_the_callers():
    (publication,) = discovery("desk", "attic", "here", "ha")
    assert publication.topic.startswith("ha/sensor/")
    assert orjson.loads(publication.payload)["state_topic"] == "here/decision/desk"


def test_a_removal_takes_the_place_of_the_configuration():
    (config,) = discovery("a desk", "attic")
    assert removal("a desk", "attic") == Publication(config.topic, b"")


def test_a_name_that_home_assistant_does_not_take_is_changed_and_stays_the_same():
    (config,) = configs(discovery("küche.links", "dach boden"))
    assert config["unique_id"] == "streamfs_dach-boden-176b069486c9_k-che-links-af2620fb5221"
    assert config["name"] == "küche.links"


@example(names=[("a", "b_c"), ("a_b", "c")])
@example(names=[("a", "é"), ("a", "è"), ("a", "-")])
@given(st.lists(st.tuples(NAMES, NAMES), min_size=2, max_size=8, unique=True))
def test_names_are_safe_and_never_collide(names):
    publications = [publication for gateway, stream in names for publication in discovery(stream, gateway)]
    publications += [each for gateway in {gateway for gateway, _ in names} for each in gateway_discovery(gateway)]
    ids = [config["unique_id"] for config in configs(publications)]
    assert all(re.fullmatch("[a-zA-Z0-9_-]+", unique_id) for unique_id in ids)
    assert len(set(ids)) == len(ids)


def test_a_name_that_looks_like_a_changed_one_does_not_collide_with_it():
    (changed,) = configs(discovery("a b", "attic"))
    imitation = changed["unique_id"].removeprefix("streamfs_attic_")
    (other,) = configs(discovery(imitation, "attic"))
    assert other["unique_id"] != changed["unique_id"]


def test_home_assistants_birth_is_distinguished_from_other_messages():
    assert is_birth("homeassistant/status", b"online")
    assert is_birth("ha/status", b"online", "ha")
    assert not is_birth("homeassistant/status", b"offline")
    assert not is_birth("ha/status", b"online")
