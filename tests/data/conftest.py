"""Files that are read as recordings."""

import pytest


@pytest.fixture
def files(tmp_path):
    """Return a writer of files by name, which returns their folder."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path.joinpath(*name.split("__")).with_suffix(".csv")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write
