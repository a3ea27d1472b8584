"""The page in a real Chromium: looked at by axe, used by keys and without JavaScript, and kept up to date.

With ``STREAMFS_SCREENSHOTS`` (`make screenshots`) the pictures of the documentation are written.
"""

import os
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from helpers.broker import find_mosquitto
from helpers.browser import PATIENCE, Watching, chromium, require_chromium, serving
from helpers.page_stories import ACTS, happenings, many_streams
from helpers.shown_gateway import make_state
from helpers.views import HOSTILE, decision, now_facts, rows_of, write_view
from playwright.sync_api import expect

from streamfs.page.server import server

PAGES = {
    "overview": "",
    "streams": "streams",
    "nodes": "nodes",
    "trouble": "trouble",
    "model": "model",
    "stream": "stream?name=second.06",
    "stream-waiting": "stream?name=second.10",
}
THEMES = {
    "dark": {"color_scheme": "dark", "reduced_motion": "reduce"},
    "phone": {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True},
    "light": {},
}
LOOKED_AT = {
    "dark": ("overview", "streams", "trouble", "model", "stream"),
    "phone": ("overview", "nodes", "stream"),
    "light": ("overview", "stream") if "STREAMFS_SCREENSHOTS" in os.environ else (),
}
PICTURES = ("overview-light", "stream-light", "overview-dark", "trouble-dark", "stream-phone")
"""Those of the documentation."""

expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="module")
def browser():
    """Start Chromium once."""
    require_chromium()
    with chromium() as running:
        yield running


@pytest.fixture(scope="module")
def office(tmp_path_factory):
    """Serve the page of an office's gateway, of the hostile one, and of one that is not there."""
    folder = tmp_path_factory.mktemp("page")
    make_state(folder / "office")
    letters = [
        {"topic": each, "cause": each, "error": each, "payload": each, "bytes": 1, "at": 1.0} for each in HOSTILE
    ]
    hostile = now_facts(
        seconds=60.0,
        name=HOSTILE[0],
        problems=HOSTILE,
        warnings=HOSTILE,
        orphans=dict.fromkeys(HOSTILE, 1),
        decisions=[decision(each, each) for each in HOSTILE],
        letters=letters,
    )
    write_view(folder / "hostile" / "view", hostile, rows_of(HOSTILE, HOSTILE))
    with serving(server([str(folder / name) for name in ("office", "hostile", "nowhere")], port=0)) as address:
        yield address


def faults_by_axe(tab, **options):
    """Return what axe finds on a page, in a line each."""
    found = Axe().run(tab, options={"resultTypes": ["violations"], **options}).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


def picture(tab, name):
    folder = os.environ.get("STREAMFS_SCREENSHOTS")
    if folder and name in PICTURES:
        tab.evaluate("document.querySelector('footer').remove()")  # it names this folder
        tab.screenshot(path=Path(folder) / f"page-{name}.png")


def is_wider_than_the_screen(tab):
    return tab.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth")


def test_no_page_has_a_fault(browser, office):
    """By axe, in the console, in width, and in what is loaded from elsewhere."""
    with Watching(browser, color_scheme="light") as one:
        for path in ("/", *(f"/1/{page}" for page in PAGES.values()), "/2/", "/2/trouble", "/3/"):
            one.tab.goto(f"{office}{path}")
            expect(one.tab.locator("#live")).to_have_text("live")
            assert faults_by_axe(one.tab) == [], path
            assert not is_wider_than_the_screen(one.tab), path
            if path == "/1/model":
                expect(one.tab.locator("#part-evidence figcaption")).to_have_count(5)
                expect(one.tab.get_by_text("What accuracy costs")).to_be_visible()
            if path == "/1/stream?name=second.06":
                expect(one.tab.locator("#part-verdict")).to_contain_text("it cost 650 µJ")
        assert one.faults == []
        assert [url for url in one.asked if not url.startswith((office, "data:"))] == []


def test_themes_and_telephones_have_no_fault_either(browser, office):
    for name, options in THEMES.items():
        with Watching(browser, **options) as one:
            for page, path in PAGES.items():
                if page not in LOOKED_AT[name]:
                    continue
                one.tab.goto(f"{office}/1/{path}")
                assert not is_wider_than_the_screen(one.tab), page
                if name == "dark":
                    assert faults_by_axe(one.tab, runOnly=["color-contrast"]) == [], page
                picture(one.tab, f"{page}-{name}")
            assert one.faults == []


def test_hostile_names_do_nothing(browser, office):
    with Watching(browser) as one:
        for path in ("/", "/2/", "/2/streams", "/2/nodes", "/2/trouble", "/2/model"):
            one.tab.goto(f"{office}{path}")
            expect(one.tab.locator("#live")).to_have_text("live")
            assert one.tab.locator("main script, main img, main iframe").count() == 0
        one.tab.goto(f"{office}/2/streams")
        for place in (0, 3, len(HOSTILE) - 1):
            one.tab.locator(".list tbody a").nth(place).click()
            expect(one.tab.locator("#part-verdict")).to_be_visible()
            one.tab.go_back()
        assert one.faults == []


def test_the_page_is_used_by_keys_alone(browser, office):
    with Watching(browser) as one:
        one.tab.goto(f"{office}/1/")
        one.tab.keyboard.press("Tab")
        expect(one.tab.locator(".skip")).to_be_focused()
        one.tab.keyboard.press("2")
        expect(one.tab.locator("h1")).to_have_text("Streams")
        one.tab.keyboard.press("/")
        one.tab.keyboard.type("first.0")
        expect(one.tab.locator(".list tbody tr")).to_have_count(9)
        assert one.tab.url.endswith("/streams?q=first.0")
        expect(one.tab.locator("input[type=search]")).to_be_focused()
        one.tab.keyboard.press("Escape")
        for key in "jjk":
            one.tab.keyboard.press(key)
        expect(one.tab.locator(".list tbody a").first).to_be_focused()
        one.tab.keyboard.press("ArrowDown")
        one.tab.keyboard.press("Enter")
        expect(one.tab.locator("h1")).to_have_text("first.02")
        one.tab.go_back()
        expect(one.tab.locator("input[type=search]")).to_have_value("first.0")
        assert one.faults == []


def test_the_page_works_without_javascript(browser, office):
    with Watching(browser, java_script_enabled=False) as one:
        one.tab.goto(f"{office}/1/streams")
        one.tab.locator("input[type=search]").fill("second.1")
        one.tab.locator("select[name=sort]").select_option("-tick")
        one.tab.get_by_role("button", name="Show").click()
        assert one.tab.locator(".list tbody tr").count() == 1
        one.tab.locator(".list tbody a").click()
        assert "has never come" in one.tab.locator("#part-verdict").inner_text()
        assert one.tab.locator("noscript meta").count() == 0
        one.tab.goto(f"{office}/1/")
        assert one.tab.locator("meta[http-equiv=refresh]").count() == 1


def test_many_streams_are_searched_and_turned_over(browser, tmp_path):
    assert set(many_streams(browser, tmp_path)) == {*ACTS}


@pytest.mark.mqtt
@pytest.mark.skipif(find_mosquitto() is None, reason="mosquitto not found: install it to run the MQTT tests")
def test_what_happens_is_seen_while_the_page_is_open(browser, tmp_path):
    assert set(happenings(browser, tmp_path)) == {"decision", "broker stopped", "broker back"}
