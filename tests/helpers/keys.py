"""Pairs of keys for signatures, as PEM files."""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)


def make_keys(folder, name="models", *, is_rsa=False, password=b""):
    """Write a private and a public key; return their paths."""
    private, public = folder / f"{name}.key", folder / f"{name}.pub"
    key = generate_private_key(65537, 2048) if is_rsa else Ed25519PrivateKey.generate()
    encryption = BestAvailableEncryption(password) if password else NoEncryption()
    private.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption))
    public.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    return private, public
