"""The pages: which there are, and their parts as HTML, each of which is sent anew when it changes."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from time import time
from typing import Any, NamedTuple

from jinja2 import Environment, PackageLoader

from streamfs.page import model_page, node_list, one_stream, overview, stream_list, trouble
from streamfs.page.one_stream import FORM
from streamfs.page.tables import CONDUCTS
from streamfs.page.watched import Watched
from streamfs.page.words import FILTERS, ago, visible

Parts = Callable[[Watched, Mapping[str, str]], dict[str, dict[str, Any]]]


class PageKind(NamedTuple):
    """A kind of page: its title, what its parts show by template, and how its list may be sorted.

    ``form`` is the template of what stands before the parts, and stays as it is.
    """

    title: str
    parts: Parts
    form: str = ""
    sorts: Mapping[str, str] = {}


PAGES: Mapping[str, PageKind] = {
    "": PageKind("Overview", overview.parts),
    "streams": PageKind("Streams", stream_list.parts, "search", stream_list.SORTS),
    "nodes": PageKind("Nodes", node_list.parts, "search", node_list.SORTS),
    "trouble": PageKind("Trouble", trouble.parts, "token"),
    "model": PageKind("Model", model_page.parts, "token"),
    "stream": PageKind("Stream", one_stream.parts, "token"),
}
"""By the last part of their address."""

TABS = ("", "streams", "nodes", "trouble", "model")


class Page(NamedTuple):
    """A page: its parts as HTML by name, and all of it."""

    parts: dict[str, str]
    whole: str


@cache
def static(name: str) -> tuple[bytes, str]:
    """Return a file that pages are drawn with, and its digest."""
    content = (files("streamfs.page") / "static" / name).read_bytes()
    return content, blake2b(content, digest_size=6).hexdigest()


@cache
def environment() -> Environment:
    """Return the templates, which escape whatever they are given."""
    made = Environment(
        loader=PackageLoader("streamfs.page"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    made.filters.update(FILTERS)
    made.globals.update(static=lambda name: static(name)[1], conducts=CONDUCTS)
    return made


def render(gateways: Sequence[Watched], number: int, kind: str, query: Mapping[str, str]) -> Page:
    """Return a page of a gateway; raise a LookupError if there is none."""
    if not 1 <= number <= len(gateways) or kind not in PAGES:
        raise LookupError("there is no such page")
    gateway, page = gateways[number - 1], PAGES[kind]
    now = gateway.now()
    words = {
        "gateway": gateway,
        "gateways": gateways,
        "now": now,
        "facts": now.facts,
        "ago": ago(now.ahead, time()),
        "unit": now.facts.get("unit", "joules"),
        "cost_unit": gateway.rows().streams.cost_unit,
        "base": f"/{number}/",
        "may_act": gateway.source.address(now.facts.get("http")) is not None,
    }
    parts: dict[str, dict[str, Any]] = {"status": {}} | (page.parts(gateway, query) if now.facts else {})
    words |= {"title": page.title, "kind": kind, "page": page, "query": query, **parts.pop(FORM, {})}
    made = {name: _part(name, words | of_part) for name, of_part in parts.items()}
    return Page(made, _whole(words, made))


def render_all(gateways: Sequence[Watched]) -> Page:
    """Return the page of all gateways."""
    looks = [(gateway, gateway.now()) for gateway in gateways]
    agos = {gateway.number: ago(now.ahead, time()) for gateway, now in looks}
    made = {"gateways": _part("gateways", {"looks": looks, "agos": agos})}
    return Page(made, _whole({"gateways": gateways, "title": "Gateways", "page": PAGES[""]}, made))


def _whole(words: Mapping[str, Any], made: Mapping[str, str]) -> str:
    tabs = [(tab, PAGES[tab].title) for tab in TABS]
    return environment().get_template("page.html").render(words, parts=made, tabs=tabs)


def _part(name: str, words: Mapping[str, Any]) -> str:
    return environment().get_template(f"parts/{name}.html").render(words)


def problem(text: str, *, is_done: bool = False) -> str:
    """Return a page that says what is wrong, or what was done."""
    return environment().get_template("problem.html").render(text=visible(text, 400), is_done=is_done)
