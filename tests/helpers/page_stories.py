"""What happens while somebody looks at the page, and how soon it is seen, in seconds."""

import threading
from contextlib import contextmanager
from time import monotonic

from helpers.broker import Broker
from helpers.browser import Watching, serving
from helpers.procedures import channels_procedure
from helpers.transports import send
from helpers.views import now_facts, rows_of, write_view
from playwright.sync_api import expect

from streamfs.gateway.host import hosted
from streamfs.gateway.settings.settings import read_settings
from streamfs.page.server import server

TOKEN = "a token that nobody guesses"  # noqa: S105 - of the test


UNTIL_SHOWN = """text => new Promise((done, fail) => {
    setTimeout(() => fail(new Error(`never shown: ${text}`)), 20000);
    const part = document.getElementById("part-stream_rows"), began = performance.now();
    new MutationObserver((_, observer) => {
        if (!part.textContent.includes(text)) return;
        observer.disconnect();
        requestAnimationFrame(() => done(performance.now() - began));
    }).observe(part, { subtree: true, childList: true, characterData: true, attributes: true });
    const choose = (name, value) => {
        const field = document.querySelector(`[name=${name}]`);
        field.value = value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
    };
    %s;
})"""
"""What a browser does until a text is shown, and drawn: milliseconds."""

ACTS = {
    "last page": ("document.querySelector('[data-go=last]').click()", "99\u202f901 to 100\u202f000"),
    "page before": ("document.querySelector('[data-go=previous]').click()", "99\u202f801 to 99\u202f900"),
    "search": ("choose('q', 'NODE-0420')", "1 to 10 of 10 streams"),
    "all again": ("choose('q', '')", "1 to 100 of 100\u202f000"),
    "open ones": ("choose('status', 'open')", "1 to 100 of 33\u202f333"),
    "sorted": ("choose('sort', '-confidence')", "90 %"),
}


class Times(dict):
    """How long something took until it was seen, by what it is."""

    @contextmanager
    def of(self, what, began=None):
        """Note what the block waits for, from its begin, or from a moment that is known later."""
        start = monotonic()
        yield
        self[what] = monotonic() - (began[0] if began else start)


def many_streams(browser, folder):
    """Search and turn over 100 000 streams; return how long each took, in the browser."""
    times = Times()
    names = [f"hall-{place % 97}/node-{place:05d}" for place in range(100_000)]
    nodes = [f"n{place}" for place in range(1000)]
    write_view(folder / "view", now_facts(seconds=60.0), rows_of(names, nodes))
    with serving(server([str(folder)], port=0)) as address, Watching(browser) as one:
        one.tab.goto(f"{address}/1/streams")
        expect(one.tab.locator(".pager span").first).to_contain_text("1 to 100 of 100\u202f000 streams")
        for what, (act, text) in ACTS.items():
            times[what] = one.tab.evaluate(UNTIL_SHOWN % act, text) / 1000
        size = one.tab.evaluate("performance.getEntriesByType('navigation')[0].decodedBodySize")
        assert size < 100_000, size
        assert one.faults == []
    return times


@contextmanager
def gateway_of(folder, broker, on_decision):
    """Run a gateway on a broker, with a token."""
    channels_procedure("x", time_limit=1000).save(folder / "model.streamfs")
    (folder / "token").write_text(f"{TOKEN}\n")
    (folder / "gateway.toml").write_text(
        f'model = "model.streamfs"\nname = "attic"\nstate = "state"\n[broker]\nurl = "{broker.url}"\n'
        '[streams]\nany_node = true\n[http]\nport = 0\ntoken = "token"\n',
        encoding="utf-8",
    )
    stop = threading.Event()
    with hosted(read_settings(folder / "gateway.toml"), on_decision=on_decision) as gateway:
        running = threading.Thread(target=gateway.run, args=(stop,))
        running.start()
        try:
            assert gateway.ready.wait(20.0)
            yield
        finally:
            stop.set()
            gateway.wake()
            running.join(20.0)


def happenings(browser, folder):
    """See a gateway come, decide, do what is asked, lose its broker, find it again, and end."""
    times, decided = Times(), []
    with (
        Broker() as broker,
        serving(server([str(folder / "state")], port=0)) as address,
        Watching(browser) as one,
    ):
        one.tab.goto(f"{address}/1/")
        banner = one.tab.locator(".banner")
        expect(banner).to_contain_text("Unknown")
        with gateway_of(folder, broker, lambda _: decided.append(monotonic())):
            expect(banner).to_contain_text("Working")
            expect(one.tab.locator("#part-decisions")).to_contain_text("None since the start.")
            with times.of("decision", decided):
                send(broker, [b'{"t": 1000.0, "v": 0.9}', b'{"t": 1010.0, "v": 0.9}'], "sensors/n1/x")
                expect(one.tab.locator("#part-decisions tbody tr")).to_have_count(1)
            one.tab.locator("#part-decisions tbody a").click()
            one.tab.get_by_text("Act on this gateway").click()
            one.tab.locator("input[name=token]").fill(TOKEN)
            one.tab.get_by_role("button", name="Open a new episode").click()
            expect(one.tab.locator(".said")).to_contain_text("done: reopening of stream 'n1'")
            expect(one.tab.locator("#part-verdict")).to_contain_text("episode 2")
            assert one.tab.evaluate("sessionStorage.getItem('token')") == TOKEN
            with times.of("broker stopped"):
                broker.stop()
                expect(banner).to_contain_text("not connected to the broker")
            with times.of("broker back"):
                broker.start()
                expect(banner).to_contain_text("Working, with warnings")  # the broker keeps no session
        expect(banner).to_contain_text("Stopped")
        assert one.faults == []
    return times
