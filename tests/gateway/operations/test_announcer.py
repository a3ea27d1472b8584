"""Announcements of streams to Home Assistant."""

import orjson

from streamfs.gateway.core.options import Options
from streamfs.gateway.operations.announcer import Announcer
from streamfs.gateway.operations.discovery import discovery, gateway_discovery, removal

OPTIONS = Options(name="attic", prefix="house")


def names(publications):
    return [orjson.loads(p.payload)["name"] if p.payload else p.topic for p in publications]


def announcement(*streams):
    return names(p for stream in streams for p in discovery(stream, "attic", "house"))


GATEWAY = names(gateway_discovery("attic", "house"))


def test_streams_are_announced_as_they_come_and_taken_back_as_they_leave():
    announcer = Announcer(OPTIONS, "homeassistant")
    assert names(announcer.news(["n1", "n2"])) == [*GATEWAY, *announcement("n1", "n2")]
    assert announcer.news(["n2", "n1"]) == []
    changed = announcer.news(["n2", "n3"])
    assert names(changed) == [removal("n1", "attic").topic, *announcement("n3")]
    assert all(publication.retain for publication in changed)


def test_when_home_assistant_begins_anew_all_is_announced_again_and_what_has_left_taken_back():
    announcer = Announcer(OPTIONS, "homeassistant")
    announcer.news(["n1", "n2"])
    assert announcer.receive("homeassistant/status", b"online")
    assert names(announcer.news(["n2"])) == [removal("n1", "attic").topic, *GATEWAY, *announcement("n2")]
    assert announcer.news(["n2"]) == []


def test_other_messages_are_not_for_the_announcer():
    announcer = Announcer(OPTIONS, "homeassistant")
    announcer.news(["n1"])
    assert not announcer.receive("homeassistant/other", b"online")
    assert announcer.receive("homeassistant/status", b"offline")
    assert announcer.news(["n1"]) == []


def test_without_home_assistant_nothing_is_announced():
    announcer = Announcer(OPTIONS, None)
    assert announcer.topics == ()
    assert not announcer.receive("homeassistant/status", b"online")
    assert announcer.news(["n1"]) == []
