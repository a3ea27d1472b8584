"""Signatures of model files: ours and those of OpenSSL, and whatever is no signature."""

import shutil
import subprocess
import sys

import pytest
from click.testing import CliRunner
from helpers.keys import make_keys
from helpers.procedures import mean_procedure

from streamfs import Procedure
from streamfs.cli.app import cli
from streamfs.errors import MissingExtraError, ModelError
from streamfs.procedure.signature import sign, signature_path


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "rooms.streamfs"
    mean_procedure().save(path)
    return path


def test_a_signed_model_is_loaded(model, tmp_path):
    private, public = make_keys(tmp_path)
    done = CliRunner().invoke(cli, ["sign", str(model), "--key", str(private)])
    assert (done.exit_code, done.stderr) == (0, f"wrote {model}.sig\n")
    assert Procedure.load(model, public_key=public).digest == mean_procedure().digest


def test_openssl_signs_and_verifies_too(model, tmp_path):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("openssl not found")

    def openssl(*words):
        subprocess.run([program, *map(str, words)], check=True, capture_output=True)

    private, public = make_keys(tmp_path)
    path = signature_path(model)
    openssl("pkeyutl", "-sign", "-rawin", "-inkey", private, "-in", model, "-out", path)
    assert Procedure.load(model, public_key=public)
    by_openssl = path.read_bytes()
    assert sign(model, private).read_bytes() == by_openssl
    openssl("pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", public, "-in", model, "-sigfile", path)


def test_a_model_without_a_signature_is_refused(model, tmp_path):
    with pytest.raises(ModelError, match=r"rooms\.streamfs is not signed: there is no .*rooms\.streamfs\.sig"):
        Procedure.load(model, public_key=make_keys(tmp_path)[1])


def test_each_changed_byte_and_another_key_are_refused(model, tmp_path):
    private, public = make_keys(tmp_path)
    path = sign(model, private)
    signature = path.read_bytes()
    others = (signature[:-1], b"", signature + b"x", bytes(64), signature[:5] + b"?" + signature[6:])
    for other in others:
        path.write_bytes(other)
        with pytest.raises(
            ModelError,
            match=r"rooms\.streamfs\.sig (is not the signature|.* has more than 64 bytes)",
        ):
            Procedure.load(model, public_key=public)
    path.write_bytes(signature)
    with pytest.raises(ModelError, match=r"is not the signature of .*rooms\.streamfs by .*others\.pub"):
        Procedure.load(model, public_key=make_keys(tmp_path, "others")[1])
    mean_procedure(confidence=0.5).save(model)
    with pytest.raises(ModelError, match="is not the signature"):
        Procedure.load(model, public_key=public)


def test_what_is_no_key_is_named(model, tmp_path):
    private, public = make_keys(tmp_path)
    sign(model, private)
    rsa, rsa_public = make_keys(tmp_path, "rsa", is_rsa=True)
    locked, _ = make_keys(tmp_path, "locked", password=b"secret")
    nothing = tmp_path / "nothing"
    nothing.write_bytes(b"")
    for key in (rsa, locked, nothing, public, model):
        with pytest.raises(ModelError, match=f"{key.name} is not an Ed25519 key in PEM, without a password"):
            sign(model, key)
    for key in (rsa_public, nothing, private, model):
        with pytest.raises(ModelError, match=f"{key.name} is not an Ed25519 key in PEM"):
            Procedure.load(model, public_key=key)
    for key in (tmp_path / "absent", tmp_path):
        with pytest.raises(ModelError, match="cannot be read"):
            Procedure.load(model, public_key=key)


def test_without_its_extra_the_error_says_what_to_install(model, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "cryptography"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(MissingExtraError, match=r"cryptography is not installed.*streamfs\[sign\]"):
        Procedure.load(model, public_key="models.pub")
    assert Procedure.load(model)
