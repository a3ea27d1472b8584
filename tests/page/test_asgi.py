"""The page's server, without a network: what it shows, whom it refuses, and what it passes on."""

import asyncio
from base64 import b64encode
from contextlib import aclosing
from time import time
from urllib.parse import urlencode

import orjson
import pytest
from helpers.asgi import ask
from helpers.views import HOSTILE, decision, now_facts, rows_of, write_view

from streamfs.errors import StreamfsError
from streamfs.gateway.operations.actions import Actions
from streamfs.gateway.operations.health import Health, Statistics
from streamfs.gateway.operations.web import ForPages, serve
from streamfs.page import asgi, live
from streamfs.page.asgi import application
from streamfs.page.pages import PAGES
from streamfs.page.server import read_password, server
from streamfs.page.sources import GatewayFolder
from streamfs.page.watched import Watched
from streamfs.page.words import linked
from streamfs.procedure.expectation import Expectation

TOKEN = "a token that nobody guesses"  # noqa: S105 - of the test


@pytest.fixture
def state(tmp_path):
    """Make a state whose gateway is as hostile as its nodes."""
    letters = [
        {"topic": each, "cause": "syntax", "error": each, "payload": each, "bytes": 1, "at": time()}
        for each in HOSTILE
    ]
    facts = now_facts(
        name=HOSTILE[0],
        problems=[HOSTILE[1]],
        warnings=HOSTILE,
        alerts=dict.fromkeys(HOSTILE, 1),
        decided=[["confident", each, 1] for each in HOSTILE],
        decisions=[decision(each, HOSTILE[-1 - place]) for place, each in enumerate(HOSTILE)],
        letters=letters,
        orphans=dict.fromkeys(HOSTILE, 3),
        devices=[{"node": HOSTILE[0], "profile": HOSTILE[1], "state": HOSTILE[2]}],
    )
    write_view(tmp_path / "view", facts, rows_of(HOSTILE, HOSTILE))
    return tmp_path


@pytest.fixture
def app(state):
    """Return the application of the page of that gateway, and of one that is not there."""
    gateways = [Watched(1, GatewayFolder(state)), Watched(2, GatewayFolder(state / "nowhere"))]
    return application(gateways, hosts=["127.0.0.1", "localhost"])


@pytest.mark.parametrize("path", ["/", *(f"/1/{kind}" for kind in PAGES if kind != "stream"), "/2/", "/2/model"])
def test_hostile_names_are_shown_and_do_nothing(app, path):
    status, headers, text = ask(app, path)
    assert status == 200
    assert headers["cache-control"] == "no-store"
    assert "unsafe" not in headers["content-security-policy"]
    for word in ("<script>alert", "<img", "\u202e", "\x00", "\x1b", "x" * 500, "49{"):
        assert word not in text.replace("/static/page.js", ""), word
    assert len(text) < 100_000


@pytest.mark.parametrize(("completeness", "is_promised"), [(0.8, True), (None, True), (None, False)])
def test_what_was_promised_is_shown_or_what_held_out_streams_support(tmp_path, completeness, is_promised):
    expected = Expectation(0.85, completeness, None, 0.02, is_promised, True, 9, 1).to_json()
    seen = {
        "status": "kept so far",
        "decisions": 3,
        "labels": 0,
        "right": 0,
        "accuracy_at_least": 0.0,
        "findings": [],
    }
    write_view(tmp_path, now_facts(promise=expected | seen), rows_of(["room"], ["n1"]))
    for path in ("/1/", "/1/model"):
        status, _, text = ask(application([Watched(1, GatewayFolder(tmp_path))]), path)
        assert (status, text.count("accuracy 85 %")) == (200, 1)
        assert ("completeness 80 %" in text) == (completeness is not None)
        assert ("in training" in text) != is_promised


@pytest.mark.parametrize("name", HOSTILE)
def test_each_stream_has_an_address(app, name):
    for word in (linked(name), *([] if len(name) > 200 else [urlencode({"": name})[1:]])):
        status, _, text = ask(app, f"/1/stream?name={word}")
        assert status == 200
        assert "<script>alert" not in text
        assert 'id="part-verdict"' in text


@pytest.mark.parametrize(
    "path", ["/3/", "/0/", "/1/nothing", "/1/stream?name=nobody", "/static/page.py", "/etc/passwd"]
)
def test_what_is_not_there_is_said(app, path):
    status, headers, text = ask(app, path)
    assert status == 404
    assert "content-security-policy" in headers
    assert "Traceback" not in text


def test_lists_are_searched_and_sorted(app):
    _, _, text = ask(app, "/1/streams?" + urlencode({"q": "DROP", "sort": "-tick"}))
    assert text.count('<tr id="s-') == 1
    _, _, text = ask(app, "/1/nodes?" + urlencode({"does": "sending as told"}))
    assert text.count('<tr id="n-') == len(HOSTILE)
    assert (text.count("<td>80</td>"), text.count("emptiest battery first")) == (len(HOSTILE) // 2, 1)
    _, _, text = ask(app, "/1/streams?status=open&from=100000&sort=nonsense")
    assert "1 to 3 of 3" in text


def test_one_gateway_needs_no_list(state):
    status, headers, _ = ask(application([Watched(1, GatewayFolder(state))]), "/")
    assert (status, headers["location"]) == (307, "/1/")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost"}, 200),
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1.evil.example:9465"}, 421),
        ({"host": ""}, 421),
        ({"origin": "http://127.0.0.1:9465"}, 200),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
    ],
)
def test_the_page_answers_to_its_own_name_alone(app, headers, status):
    assert ask(app, "/1/", headers=headers).status == status


def test_a_password_is_asked_for(state):
    app = application([Watched(1, GatewayFolder(state))], password="pass:wörd")  # noqa: S106 - of the test
    for said, status in ((None, 401), (b"me:wrong", 401), ("me:pass:wörd".encode(), 200)):
        headers = {} if said is None else {"authorization": f"Basic {b64encode(said).decode()}"}
        assert ask(app, "/1/", headers=headers).status == status
    assert ask(app, "/1/", headers={"authorization": "Basic é"}).status == 401
    assert ask(app, "/1/", headers={"authorization": "Bearer x"}).status == 401


def test_other_machines_need_a_password(tmp_path):
    with pytest.raises(StreamfsError, match="set a password"):
        server([str(tmp_path)], "0.0.0.0")  # noqa: S104 - which is refused
    (tmp_path / "password").write_text("short\n")
    with pytest.raises(StreamfsError, match="5 characters"):
        read_password(tmp_path / "password")
    (tmp_path / "password").write_text("long enough\n")
    assert server([str(tmp_path)], "0.0.0.0", password=read_password(tmp_path / "password"))  # noqa: S104


@pytest.fixture
def asked(state):
    """Return what a real gateway's server is asked for, and an application that shows that gateway."""
    sent = []
    topics = {"label": "streamfs/label/", "command": "streamfs/command/attic"}
    actions = Actions(TOKEN, topics, lambda *message: sent.append(message), lambda *model: sent.append(model))
    statistics, health = Statistics({}, {}, {}, {}, 0.0, "joules", {}), Health(True, True, True, 0.0, 0.0)
    with serve("127.0.0.1", 0, lambda: statistics, lambda: health, ForPages(actions=actions)) as site:
        write_view(state / "view", now_facts(http=f"http://127.0.0.1:{site.port}"), rows_of(["p1"], ["n"]))
        yield sent, application([Watched(1, GatewayFolder(state))])


def do(app, *, as_json=True, **form):
    headers = {"accept": "application/json"} if as_json else {}
    status, _, text = ask(app, "/1/do", method="POST", headers=headers, body=urlencode(form).encode())
    return status, orjson.loads(text)["text"] if as_json else text


def test_actions_are_passed_on_with_the_token(asked):
    sent, app = asked
    assert do(app, token=TOKEN, action="label", stream="p1", label="on", episode="2") == (
        200,
        "label 'on' of stream 'p1'",
    )
    status, page = do(app, as_json=False, token=TOKEN, action="reload")
    assert (status, "reload of settings and model" in page) == (200, True)
    assert do(app, token=TOKEN, action="follow", model="40f5bc1d7a8f3c59")[0] == 200
    assert sent == [("streamfs/label/p1", b'{"label":"on","episode":2}'), (), ("40f5bc1d7a8f3c59",)]
    assert "data-act" in ask(app, "/1/model").text


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"token": "wrong"}, "the token is not the right one"),
        ({"token": "w\u00f6rng\n"}, "the token is not the right one"),
        ({"action": "halt"}, "there is no such action"),
        ({"action": "label", "stream": "p1", "label": "on", "episode": "two"}, "episode is 'two'"),
        ({"action": "mute", "warning": "hot", "hours": "1e9"}, "hours is 1e+09"),
    ],
)
def test_what_is_not_done_is_said(asked, form, said):
    sent, app = asked
    status, text = do(app, **{"token": TOKEN, "action": "reload", **form})
    assert status == 400
    assert said in text
    assert sent == []


def test_nothing_is_done_where_the_gateway_takes_no_actions(app):
    assert do(app, token=TOKEN, action="reload")[1].startswith("this gateway takes no actions")
    assert "data-act" not in ask(app, "/1/model").text
    assert ask(app, "/1/do", method="POST", body=b"x" * 20_000).status == 413
    assert ask(app, "/1/do").status == 404
    assert ask(app, "/9/do", method="POST").status == 400


def test_changes_are_sent_and_nothing_else(monkeypatch):
    for name in ("_PAUSE", "_LEAST"):
        monkeypatch.setattr(live, name, 0.0)
    shown = iter(
        [
            {"a": '<time data-at="1">1 s ago</time>', "b": "one"},
            {"a": '<time data-at="1">2 s ago</time>', "b": "one"},
            {"a": '<time data-at="2">1 s ago</time>', "b": "two"},
        ]
    )
    stamps = iter([1, 1, 2, 3])

    async def first(n):
        async with aclosing(live.changes(lambda: next(shown), lambda: next(stamps))) as events:
            return [await anext(events) for _ in range(n)]

    time_of, *parts = asyncio.run(first(5))
    assert time_of.startswith(b"event: time\ndata: 1")
    assert [orjson.loads(part.split(b"data: ")[1])["name"] for part in parts] == ["a", "b", "a", "b"]


def test_browsers_that_follow_are_bounded(app, monkeypatch):
    monkeypatch.setattr(asgi, "MOST_CLIENTS", 0)
    assert ask(app, "/live/1/").status == 503
    monkeypatch.undo()
    assert ask(app, "/live/1/stream?name=nobody").status == 204
