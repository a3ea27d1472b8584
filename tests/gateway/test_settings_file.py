"""Settings and model that a running gateway reads again."""

import os
from threading import Thread

import pytest
from helpers.procedures import channels_procedure

from streamfs.errors import SettingsError
from streamfs.gateway.settings.settings import read_settings
from streamfs.gateway.settings_file import SettingsFile

PATIENCE = 20.0  # seconds for what should not wait at all


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
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_pipe_or_a_device_is_not_waited_for(settings, name, make):
    known, path, refused = SettingsFile(settings), settings.file.with_name(name), []
    path.unlink()
    make(path)

    def read():
        with pytest.raises(SettingsError) as error:
            known.read_again()
        refused.append(str(error.value))

    thread = Thread(target=read, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert refused == [f"{path} is a pipe, a device or a folder, expected a file while the gateway runs"]
