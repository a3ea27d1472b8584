"""Signatures of model files: Ed25519 (RFC 8032) of the whole file, in a file beside it, as OpenSSL makes them.

Needs the extra ``sign``, where it is used.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from streamfs.base import container
from streamfs.errors import MissingExtraError, ModelError
from streamfs.procedure.header import LARGEST

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

ENDING = ".sig"

_N_BYTES = 64  # of a signature
_LARGEST_KEY = 1 << 16  # bytes of a file


def signature_path(model: str | Path) -> Path:
    """Return the path of a model file's signature."""
    return Path(f"{model}{ENDING}")


def sign(model: str | Path, private_key: str | Path) -> Path:
    """Sign a model file.

    Parameters
    ----------
    model : path
        The model file.
    private_key : path
        A PEM file, from ``openssl genpkey -algorithm ed25519``, without a password.

    Returns
    -------
    Path
        The file with the signature, which is written atomically: the model's with ``.sig`` behind it.

    Raises
    ------
    MissingExtraError
        If the extra ``sign`` is not installed.
    ModelError
        If a file cannot be read, or the key is not a private Ed25519 key.
    OSError
        If the signature cannot be written.
    """
    key = _private_key(Path(private_key))
    path = signature_path(model)
    container.write(path, key.sign(container.read(Path(model), LARGEST)))
    return path


def check_signature(model: str | Path, data: bytes, public_key: str | Path) -> None:
    """Raise a ModelError unless a model file with these bytes has a signature that the key verifies.

    Parameters
    ----------
    model : path
        The model file.
    data : bytes
        What was read of it.
    public_key : path
        A PEM file, from ``openssl pkey -in KEY -pubout``.

    Raises
    ------
    MissingExtraError
        If the extra ``sign`` is not installed.
    ModelError
        If a file cannot be read, the key is not a public Ed25519 key, or the signature is not that of these bytes.
    """
    key = _public_key(Path(public_key))
    path = signature_path(model)
    if not path.exists():
        raise ModelError(f"{model} is not signed: there is no {path}")
    signature = container.read(path, _N_BYTES)

    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - needs an extra

    try:
        key.verify(signature, data)
    except InvalidSignature:
        raise ModelError(f"{path} is not the signature of {model} by {public_key}") from None


def _private_key(path: Path) -> "Ed25519PrivateKey":
    with _reading_key(path):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_private_key  # noqa: PLC0415

        key = load_pem_private_key(container.read(path, _LARGEST_KEY), password=None)
        if not isinstance(key, Ed25519PrivateKey):
            raise TypeError(f"it is a {type(key).__name__}")
        return key


def _public_key(path: Path) -> "Ed25519PublicKey":
    with _reading_key(path):
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey  # noqa: PLC0415
        from cryptography.hazmat.primitives.serialization import load_pem_public_key  # noqa: PLC0415

        key = load_pem_public_key(container.read(path, _LARGEST_KEY))
        if not isinstance(key, Ed25519PublicKey):
            raise TypeError(f"it is a {type(key).__name__}")
        return key


@contextmanager
def _reading_key(path: Path) -> Iterator[None]:
    """Turn what is wrong with a key, or a missing package, into an error of ours."""
    try:
        from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise MissingExtraError("cryptography", "sign") from error
    try:
        yield
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise ModelError(f"{path} is not an Ed25519 key in PEM, without a password: {error}") from error
