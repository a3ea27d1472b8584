"""Certificates for the tests of TLS."""

import trustme


class Authority:
    """An authority with the files that a broker and a client need."""

    def __init__(self, directory):
        self._ca = trustme.CA()
        self._directory = directory
        self.ca = directory / "ca.pem"
        self._ca.cert_pem.write_to_path(self.ca)

    def issue(self, name, **settings):
        """The files of a certificate and its key."""
        issued = self._ca.issue_cert(name, **settings)
        certificate, key = self._directory / f"{name}.pem", self._directory / f"{name}.key"
        issued.private_key_pem.write_to_path(key)
        certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
        return certificate, key

    def settings(self, certificate, key):
        """What mosquitto must know to speak TLS."""
        return f"cafile {self.ca}\ncertfile {certificate}\nkeyfile {key}"
