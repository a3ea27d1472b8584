"""Payloads that cannot be read, are too long or have no numbers: counted, reported, and harmless to others."""

from pathlib import Path

import orjson
import pytest
from gateway_process import linux
from lone import lone, readings, see_that_it_works
from traffic import Sent

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs import codec_for, codec_of_content_type

pytestmark = pytest.mark.mqtt

HOSTILE = Path(__file__).parent.parent / "hostile"

MALFORMED = {
    "": [b"", b"{", b"\xff\xfe", b'"20.5"', b"[1,2]", b'{"w":1}', b'{"v":1}{"v":2}', b"[" * 100_000],
    "application/senml+json": [b"{}", b'[{"n":"light","vs":"dark"}]', b'[{"n":"light","v":1,"must_":1}]'],
    "application/senml+cbor": [b"", b"\xff", b"\x81" * 10_000, b"\x9f", b"\xbb" + b"\xff" * 8],
    "application/octet-stream": [b"", b"\x02", b"\x01\x01"],
    "image/png": [b"1.0"],
}

NO_NUMBERS = [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"null", b'"20.5"', b'{"v":NaN}', b'{"v":1e400}']
NO_NUMBERS += [b'{"v":null}', b'{"v":"20.5"}', b'{"v":1,"t":null}', b'{"v":1,"t":1e400}', b'{"v":1,"seq":1.5}']


def test_malformed_payloads(tmp_path, broker):
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        for content_type, payloads in MALFORMED.items():
            publisher.send(
                (Sent("sensors/evil/light", payload) for payload in payloads), content_type=content_type
            )
        n_malformed = sum(map(len, MALFORMED.values()))
        witness.await_heard(
            lambda _: len(witness.heard_on("streamfs/deadletter/")) == n_malformed, "not all are told of"
        )
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    assert gateway.counters["malformed"] == gateway.counters["dead_letters"] == n_malformed
    assert gateway.counters["messages"] == n_malformed + 5
    letters = [orjson.loads(letter) for letter in witness.heard_on("streamfs/deadletter/")]
    assert {letter["topic"] for letter in letters} == {"sensors/evil/light"}
    assert all(letter["error"] for letter in letters)


def test_hostile_payloads(tmp_path, broker):
    paths = sorted(path for path in HOSTILE.iterdir() if path.suffix in (".json", ".bin"))
    hostile = [(path.name, path.read_bytes()) for path in paths]
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        see_that_it_works(gateway, publisher, witness, start=1000.0, node="earlier")
        for name, payload in hostile:
            publisher.send([Sent("sensors/evil/light", payload)], content_type=content_type_of(name))
        see_that_it_works(gateway, publisher, witness)
        gateway.stop()
    refused = [name for name, payload in hostile if is_refused(content_type_of(name), payload)]
    assert 0 < len(refused) < len(hostile)
    assert gateway.counters["malformed"] == len(refused)
    assert gateway.counters["messages"] == len(hostile) + 10


def content_type_of(name):
    kind, suffix = name.partition("_")[0], name.rpartition(".")[2]
    if kind == "senml":
        return f"application/senml+{'json' if suffix == 'json' else 'cbor'}"
    return "application/json" if suffix == "json" else "application/octet-stream"


def is_refused(content_type, payload):
    try:
        codec_for(codec_of_content_type(content_type)).decode(payload, 0.0)
    except PayloadError:
        return True
    return False


def test_what_is_no_number(tmp_path, broker):
    with lone(tmp_path, broker) as (gateway, publisher, witness):
        publisher.send(Sent("sensors/evil/light", payload) for payload in NO_NUMBERS)
        publisher.send(readings("flag", [4000.0, 4001.0, 4002.0, 4003.0], value=True))
        see_that_it_works(gateway, publisher, witness)
        witness.await_decisions(["flag/1"])
        gateway.stop()
    assert gateway.counters["malformed"] == len(NO_NUMBERS)
    assert gateway.counters["not_finite"] == 0


@linux
def test_payloads_that_are_too_long(tmp_path, broker):
    longest, n_logged, n_kept_back = 10_000, 1000, 100
    mebibyte = 2**20
    sections = {"limits": {"payload_bytes": longest, "queue": 50}, "broker": {"receive_maximum": 20}}
    with lone(tmp_path, broker, **sections) as (gateway, publisher, witness):
        see_that_it_works(gateway, publisher, witness, start=1000.0, node="earlier")
        before = gateway.resident_bytes()
        publisher.send([Sent("sensors/evil/light", b"1" * 4 * longest)] * n_logged)
        publisher.send([Sent("sensors/evil/light", b"1" * 10 * longest)] * n_kept_back)
        see_that_it_works(gateway, publisher, witness)
        assert gateway.resident_bytes() < before + 24 * mebibyte
        gateway.stop()
    assert gateway.counters["oversize"] == gateway.counters["malformed"] == n_logged
    assert gateway.counters["received"] == gateway.counters["messages"] == n_logged + 10
