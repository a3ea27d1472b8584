"""What operators may do, and what is refused."""

import logging

import orjson
import pytest

from streamfs.errors import PayloadError
from streamfs.gateway.operations.actions import MOST_MUTED, Actions

TOKEN = "a token that nobody guesses"  # noqa: S105 - of the test
TOPICS = {"label": "streamfs/label/", "command": "streamfs/command/attic"}


def do(actions, **wanted):
    return actions.do(orjson.dumps(wanted), "127.0.0.1")


@pytest.fixture
def sent():
    return []


@pytest.fixture
def actions(sent):
    return Actions(
        TOKEN, TOPICS, lambda *message: sent.append(message), lambda *model: sent.append(("reload", *model))
    )


def test_what_is_asked_goes_the_way_of_a_message_and_is_logged(actions, sent, caplog):
    with caplog.at_level(logging.INFO):
        do(actions, action="label", stream="p/1", label="walk", episode=2)
        do(actions, action="reopen", stream="p/1")
        do(actions, action="reload")
        do(actions, action="follow", model="40f5bc1d7a8f3c59")
    assert sent == [
        ("streamfs/label/p/1", b'{"label":"walk","episode":2}'),
        ("streamfs/command/attic", b'{"reopen":"p/1"}'),
        ("reload",),
        ("reload", "40f5bc1d7a8f3c59"),
    ]
    assert caplog.messages == [
        "label 'walk' of stream 'p/1', asked by 127.0.0.1",
        "reopening of stream 'p/1', asked by 127.0.0.1",
        "reload of settings and model, asked by 127.0.0.1",
        "model 40f5bc1d7a8f3c59 for new episodes, if the state keeps it and it fits, asked by 127.0.0.1",
    ]


def test_a_muted_warning_stays_muted_while_its_numbers_change(actions):
    do(actions, action="mute", warning="3 messages on b/2 feed no stream", hours=2)
    do(actions, action="mute", warning="7 messages on b/2 feed no stream", hours=3)
    assert list(actions.muted) == ["# messages on b/# feed no stream"]
    do(actions, action="mute", warning="8 messages on b/2 feed no stream", hours=0)
    assert actions.muted == {}


@pytest.mark.parametrize(
    "asked",
    [
        b"",
        b"[]",
        b"null",
        b'{"action": "halt"}',
        b'{"action": ["label"]}',
        b'{"action": "label", "stream": "p"}',
        b'{"action": "label", "stream": 3, "label": "walk"}',
        b'{"action": "label", "stream": "p", "label": "walk", "episode": 0}',
        b'{"action": "reopen", "stream": "*"}',
        b'{"action": "reopen", "stream": ""}',
        b'{"action": "mute", "warning": "w", "hours": 169}',
        b'{"action": "mute", "warning": "w", "hours": true}',
        b'{"action": "mute", "warning": "w"}',
        b'{"action": "follow", "model": "../../etc"}',
    ],
)
def test_what_cannot_be_done_is_refused(actions, sent, asked):
    with pytest.raises(PayloadError):
        actions.do(asked, "127.0.0.1")
    assert sent == []
    assert actions.muted == {}


def test_warnings_that_are_muted_are_bounded(actions):
    for number in range(MOST_MUTED):
        do(actions, action="mute", warning="w" + "x" * number, hours=1)
    with pytest.raises(PayloadError, match="muted already"):
        do(actions, action="mute", warning="another", hours=1)


def test_nobody_may_act_without_a_token(actions, sent):
    assert actions.admits(TOKEN)
    assert not actions.admits(TOKEN[:-1])
    assert not actions.admits("")
    assert not Actions(None, TOPICS, sent.append, sent.clear).admits("")
