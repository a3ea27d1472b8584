"""A real browser, Chromium, on pages that a server of this process answers."""

import os
import shutil
import threading
import time
from contextlib import contextmanager

import pytest
from playwright.sync_api import sync_playwright

PATIENCE = 20_000
"""Milliseconds for what is to happen in a browser: many, since a machine may be slow."""

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_chromium():
    """Return the program, if there is one."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def require_chromium():
    """Return the program; without one skip the test with the reason, and in CI fail."""
    found = find_chromium()
    if found is None:
        say = pytest.fail if os.environ.get("CI") else pytest.skip
        say("Chromium not found: install it (tests/install.sh chromium) to test the page in a browser")
    return found


@contextmanager
def chromium():
    """Run Chromium; as root it has no sandbox."""
    with sync_playwright() as playwright:
        arguments = ["--in-process-gpu", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
        running = playwright.chromium.launch(executable_path=find_chromium(), args=arguments)
        yield running
        running.close()


@contextmanager
def serving(server):
    """Run a server of the page, and yield its address."""
    running = threading.Thread(target=server.run, daemon=True)
    running.start()
    try:
        deadline = time.monotonic() + PATIENCE / 1000
        while not server.started:
            assert running.is_alive(), "the server has ended"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}"
    finally:
        server.should_exit = True
        running.join(PATIENCE / 1000)


class Watching:
    """A tab of a browser, and whatever goes wrong in it."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        self.context.set_default_timeout(PATIENCE)
        self.tab = self.context.new_page()
        self.faults = []
        self.asked = []
        self.tab.on(
            "console", lambda line: self.faults.append(line.text) if line.type in ("error", "warning") else None
        )
        self.tab.on("pageerror", lambda error: self.faults.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.faults.append(dialog.message), dialog.dismiss()))
        self.tab.on("request", lambda request: self.asked.append(request.url))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()
