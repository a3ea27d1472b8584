"""Settings and model that a running gateway reads again."""

import os

import pytest
from helpers.patience import refusal
from helpers.procedures import channels_procedure

from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings_file import SettingsFile


@pytest.fixture
def settings(tmp_path):
    """Return settings in a file, with a model."""
    channels_procedure("x").save(tmp_path / "model.streamfs")
    (tmp_path / "gateway.toml").write_text(
        'model = "model.streamfs"\n[broker]\nurl = "mqtt://b"\n', encoding="utf-8"
    )
    return read_settings(tmp_path / "gateway.toml")


def test_what_has_not_changed_is_read_again(settings):
    renewed = SettingsFile(settings).read_again()
    assert renewed.procedure.digest == channels_procedure("x").digest
    assert (renewed.bindings, renewed.options) == (None, None)


@pytest.mark.parametrize("name", ["model.streamfs", "gateway.toml"])
def test_a_pipe_is_not_waited_for(settings, name):
    known, path = SettingsFile(settings), settings.file.with_name(name)
    path.unlink()
    os.mkfifo(path)
    assert refusal(known.read_again) == f"{path} cannot be read: it is a pipe, expected a file"
