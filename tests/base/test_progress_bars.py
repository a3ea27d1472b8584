"""Progress in the output of a notebook's cell."""

import sys
from types import SimpleNamespace

import pytest

from streamfs import show_progress
from streamfs.base.progress import step


@pytest.fixture
def outputs(monkeypatch):
    """Stand in for IPython in a kernel, and return what is shown."""
    shown = []

    def display(output, **_options):
        shown.append(output)
        return SimpleNamespace(update=lambda output, **_options: shown.append(output))

    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def test_each_work_is_shown_from_its_beginning_and_in_text_too(outputs):
    with show_progress() as progress:
        assert outputs == []
        progress("<choosing>", 0, 2)
        progress("<choosing>", 1, 2)
        progress("<choosing>", 2, 2)
        with step(progress, "building"):
            assert outputs[-1]["text/html"].endswith("<div><progress></progress> building</div>")
        progress("fitting", 0, 3)
    texts = [output["text/plain"].splitlines() for output in outputs]
    assert texts[0] == ["<choosing>: 0 of 2"]
    assert texts[-1] == ["<choosing>: 2 of 2", "building: done", "fitting: 0 of 3"]
    assert '<progress value="2" max="2"></progress> &lt;choosing&gt;: 2 of 2' in outputs[-1]["text/html"]
