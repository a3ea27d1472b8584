"""Every snippet of the documentation runs, page by page, or says why it is only checked."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from helpers.snippets import IS_PATIENT, ROOT, run_page

from sensors_sim.same_source import SameSource
from streamfs import StreamSet, train
from streamfs.procedure import stopping

PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
ELSEWHERE = {
    "docs/tutorial.md": "tests/cli/test_inspect.py",
    "docs/ecosystem.md": "tests/house/test_ecosystem.py",
}
"""Pages with tests of their own."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return a folder with what the snippets work on: recordings, a model of pairs and one of rooms."""
    folder = tmp_path_factory.mktemp("snippets")
    pairs = StreamSet(*SameSource().sample(n_pairs=60, n_ticks=20))
    pairs.write(folder / "pairs.csv")
    StreamSet(*SameSource().sample(n_pairs=60, n_ticks=20, seed=1)).write(folder / "new.csv")
    features = [
        "mean_absolute_difference(a.light, b.light)",
        "mean_absolute_difference(a.temperature, b.temperature)",
    ]
    train(pairs, features=features, select=None, pricing="cc2420").save(folder / "pairs.streamfs")
    rooms = some_rooms(240 if IS_PATIENT else 80)  # few cannot keep a promise
    rooms.write(folder / "rooms.csv")
    for name, streams in (("places", pairs), ("groups", rooms)):
        rows = [f"{each},{number % 12}" for number, each in enumerate(streams.names)]
        (folder / f"{name}.csv").write_text("\n".join(["stream,group", *rows, ""]), encoding="utf-8")
    train(rooms, features=["mean(temperature)", "mean(light)"], select=None).save(folder / "rooms.streamfs")
    (folder / "nodes.csv").write_text("stream,a,b\ndesk,n1,n2\nhall,n3,n4\n", encoding="utf-8")
    return folder


def some_rooms(n_rooms):
    rng = np.random.default_rng(0)
    labels = np.tile(["empty", "occupied"], n_rooms // 2)
    level = np.where(labels == "occupied", 1.0, 0.0)[:, None]
    temperature = 20.0 + level + rng.normal(0.0, 0.8, (n_rooms, 20))
    light = 100.0 + 200.0 * level + rng.normal(0.0, 150.0, (n_rooms, 20))
    return StreamSet(np.stack([temperature, light], axis=2), labels, ["temperature", "light"], 60.0)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in ELSEWHERE])
def test_the_snippets_of_a_page_run(page, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stopping, "_RULES", dict(stopping._RULES))
    run_page(PAGES[page])


def test_pages_that_are_tested_elsewhere_are_there():
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())
    assert set(ELSEWHERE) <= set(PAGES)


@pytest.mark.parametrize(
    ("snippet", "wrong"),
    [
        ("```python\nfrom streamfs import nothing\n```", "nothing"),
        ("```sh\nstreamfs train pairs.csv --no-such-option\n```", "no-such-option"),
        ("<!-- not run: slow -->\n```sh\nstreamfs train pairs.csv --no-such-option\n```", "no-such-option"),
        ("<!-- not run: slow -->\n```sh\nstreamfs train pairs.csv --confidence 7\n```", "7"),
        ("<!-- not run: slow -->\n```sh\nmake nothing\n```", "nothing"),
        ("```console\n$ streamfs inspect pairs.csv\nthis is not printed\n```", "this is not printed"),
        ("```toml\n[time]\nlatenes = 3.0\n```", "latenes"),
        ("```json\n{'a': 1}\n```", "column 2"),
    ],
)
def test_what_is_wrong_is_found(snippet, wrong, files, tmp_path, monkeypatch):
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    page = Path("page.md")
    page.write_text(f"# Page\n\n{snippet}\n", encoding="utf-8")
    with pytest.raises(Exception, match=wrong):
        run_page(page)
