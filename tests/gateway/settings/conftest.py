"""Settings that are read of a text."""

import re

import pytest

from streamfs.errors import SettingsError
from streamfs.gateway.settings.settings import read_settings


@pytest.fixture
def read(tmp_path):
    """Read a text as the settings of a file."""

    def read(text):
        path = tmp_path / "gateway.toml"
        path.write_text(text, encoding="utf-8")
        return read_settings(path)

    return read


@pytest.fixture
def problems(read):
    """Return the errors of a text, without the folder."""

    def problems(text):
        with pytest.raises(SettingsError) as error:
            read(text)
        return [re.sub(r"^.*(?=gateway\.toml)", "", line) for line in str(error.value).splitlines()]

    return problems
