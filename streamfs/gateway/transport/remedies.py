"""What to do about a broker that cannot be reached, or refuses the connection."""

import socket
import ssl

_CREDENTIALS = "look at user and password, and at the broker's list of users"
_BY_REFUSAL = {  # MQTT 5, 3.2.2.2
    0x85: "choose another client_id",
    0x86: _CREDENTIALS,
    0x87: _CREDENTIALS,
    0x8A: "the broker has banned this client",
    0x9A: "a gateway needs a broker that retains messages",
    0x9B: "a gateway needs a broker with quality of service 1",
}
_LONGEST = 200  # characters of what a broker says
_AUTHORITY = "name the file of its authority as ca"
_OTHER_HOST = "write a host that the certificate names into the URL"
_BY_CERTIFICATE = {  # OpenSSL, x509_vfy.h
    9: "set this machine's clock if it is behind",
    10: "renew it at the broker, or set this machine's clock if it is ahead",
    18: _AUTHORITY,
    19: _AUTHORITY,
    20: _AUTHORITY,
    21: _AUTHORITY,
    62: _OTHER_HOST,
    64: _OTHER_HOST,
}
_OTHER_CLIENT = "look at the dates of the client's certificate, and whether the broker knows its authority"
_BY_ALERT = {
    "CERTIFICATE_REQUIRED": "name the client's certificate and key",
    "ALERT_UNKNOWN_CA": _OTHER_CLIENT,
    "ALERT_BAD_CERTIFICATE": _OTHER_CLIENT,
    "ALERT_CERTIFICATE": _OTHER_CLIENT,  # expired, revoked or unknown
}


def broker_words(properties: object) -> str:
    """Return what a broker says in words as it refuses or ends a connection, and where it sends clients."""
    reason, other = (getattr(properties, name, "") for name in ("ReasonString", "ServerReference"))
    why = f' ("{reason[:_LONGEST]}")' if reason else ""
    return f"{why}, and names {other[:_LONGEST]} in its place" if other else why


def refusal(code: int, reason: str, protocol: str) -> str:
    """Return the broker's refusal of a connection with what to do about it."""
    other = "3.1.1" if protocol == "5" else "5"
    remedy = f'try protocol = "{other}"' if code == 0x84 else _BY_REFUSAL.get(code, "")
    return f"{reason}; {remedy}" if remedy else reason


def failure(error: OSError, *, has_tls: bool) -> str:
    """Return the error of a connection that the broker had not accepted yet, with what to do about it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        what = error.verify_message
        remedy = _BY_CERTIFICATE.get(error.verify_code, "")
    else:
        what = error.strerror or str(error)
        remedy = _remedy(error, has_tls=has_tls)
    return f"{what}; {remedy}" if remedy else what


def _remedy(error: OSError, *, has_tls: bool) -> str:
    if isinstance(error, socket.gaierror):
        return "look at the host in the URL, and at this machine's DNS"
    if isinstance(error, ConnectionRefusedError):
        return "look at host and port in the URL, and whether the broker runs and listens there"
    if isinstance(error, TimeoutError):
        return "look at the host in the URL, and for a firewall on the way"
    of_client = next((what for alert, what in _BY_ALERT.items() if alert in str(error)), "")
    if isinstance(error, ssl.SSLError) and of_client:
        return of_client
    if isinstance(error, ssl.SSLError | ConnectionError):
        other = "mqtt:// if it has none" if has_tls else "mqtts:// if it has"
        remedy = f"look whether the broker has TLS at this port, and write {other}"
        return remedy if isinstance(error, ssl.SSLError) else f"{remedy}; or raise the broker's max_packet_size"
    return ""
