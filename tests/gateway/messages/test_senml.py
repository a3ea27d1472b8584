"""SenML, in JSON and in CBOR."""

import math
from operator import itemgetter

import cbor2
import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from payload_cases import ARRIVAL, same

from streamfs.errors import PayloadError
from streamfs.gateway.messages.codecs import Reading, Several, TimedSeries, codec_for, encode_senml


def resolved(pack, arrival):
    """What a pack reports by whole name, the slow way: each record with all that came before it."""
    found = {}
    for n in range(len(pack)):
        base = {key: value for record in pack[: n + 1] for key, value in record.items() if key.startswith("b")}
        record = pack[n]
        if set(record) <= {"bn", "bt", "bv", "bu", "bs", "bver"}:
            continue
        time = base.get("bt", 0.0) + record.get("t", 0.0)
        value = base.get("bv", 0.0) + record["v"] if "v" in record else float(record["vb"])
        time = arrival + time if time < 2**28 else time
        found.setdefault(base.get("bn", "") + record.get("n", ""), []).append((time, value))
    return found


NUMBERS = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)


BASES = st.fixed_dictionaries(
    {},
    optional={
        "bn": st.sampled_from(["urn:dev:n1:", "b/"]),
        "bt": st.sampled_from([0, 1.7e9, 1.7e9 + 0.5, -20]),
        "bv": NUMBERS,
        "bver": st.just(10),
        "bs": NUMBERS,
        "bu": st.just("Cel"),
    },
)


MEASURED = st.fixed_dictionaries(
    {"n": st.sampled_from(["one", "two", "three"])},
    optional={"t": NUMBERS, "u": st.just("lx"), "ut": NUMBERS, "s": NUMBERS},
)


HELD = NUMBERS.map(lambda number: {"v": number}) | st.booleans().map(lambda flag: {"vb": flag})


SENML = st.lists(
    st.one_of(BASES, st.tuples(BASES, MEASURED, HELD).map(lambda parts: parts[0] | parts[1] | parts[2])),
    min_size=1,
    max_size=8,
)


LABELS = {"bver": -1, "bn": -2, "bt": -3, "bu": -4, "bv": -5, "bs": -6, "n": 0, "u": 1, "v": 2, "vb": 4, "s": 5}


LABELS |= {"t": 6, "ut": 7}


def in_cbor(pack):
    return cbor2.dumps([{LABELS[key]: value for key, value in record.items()} for record in pack])


def samples_of(several, arrival=None):
    """Times and values by channel, in order of time."""
    found = {}
    for channel, part in several.parts:
        single = [(arrival if part.time is None else part.time, part.value)] if isinstance(part, Reading) else None
        found.setdefault(channel, []).extend(single or map(tuple, np.transpose(part.arrays()).tolist()))
    return {channel: sorted(samples, key=itemgetter(0)) for channel, samples in found.items()}


@given(SENML)
def test_base_fields_hold_from_their_record_on_in_json_and_in_cbor_alike(pack):
    expected = resolved(pack, ARRIVAL)
    fields = {name: f"channel-{n}" for n, name in enumerate(expected)} or {"none": "none"}
    decoded = codec_for("senml+json", fields=fields).decode(orjson.dumps(pack), ARRIVAL)
    assert same(codec_for("senml+cbor", fields=fields).decode(in_cbor(pack), ARRIVAL), decoded)
    found = samples_of(decoded, ARRIVAL)
    assert found.keys() == set(fields.values() if expected else ())
    for name, samples in expected.items():
        assert found[fields[name]] == sorted(map(tuple, samples), key=itemgetter(0))
    assert all(part.sequence is None for _, part in decoded.parts)


@pytest.mark.parametrize(
    ("pack", "parts"),
    [
        ([{"n": "urn:dev:ow:10e2073a01080063", "v": 23.1}], {"10e2073a01080063": (None, 23.1)}),
        ([{"bn": "n1/", "n": "light@flag:300", "vb": True}], {"light@flag:300": (None, 1.0)}),
        ([{"bn": "n1/", "n": "light@flag:300", "vb": False, "t": 0}], {"light@flag:300": (None, 0.0)}),
        ([{"n": "a", "v": 1, "t": -5}], {"a": (ARRIVAL - 5, 1.0)}),
        ([{"n": "a", "v": 1, "t": 2**28}], {"a": (2.0**28, 1.0)}),
        ([{"bt": 2**27, "n": "a", "v": 1, "t": 2**27 - 1}], {"a": (ARRIVAL + 2**28 - 1, 1.0)}),
        ([{"bn": "urn:", "bt": 1.7e9}, {"n": "a", "v": 1}], {"a": (1.7e9, 1.0)}),
        ([{"n": "a", "v": 1, "extra": [1], "s": 3}], {"a": (None, 1.0)}),
    ],
)
def test_a_name_is_the_channel_and_small_times_are_relative(pack, parts):
    decoded = codec_for("senml+json").decode(orjson.dumps(pack), ARRIVAL)
    assert decoded == Several(tuple((channel, Reading(*part, None)) for channel, part in parts.items()))


@pytest.mark.parametrize(
    "record",
    [
        *({"vs": "on"}, {"vd": "AQ"}, {"s": 3}, {"u": "lx"}, {"v": None}, {"vb": 1}),
        *({"v": True}, {"v": "1"}, {"v": {}}, {"v": 1, "vb": True}),
    ],
)
def test_what_is_no_number_is_refused_under_wanted_names_and_costs_no_other(record):
    pack = orjson.dumps([{"n": "wanted", "v": 1}, {"n": "other", **record}])
    wanted = Several((("wanted", Reading(None, 1.0, None)),))
    assert codec_for("senml+json", fields={"wanted": "wanted"}).decode(pack, ARRIVAL) == wanted
    decoded = codec_for("senml+json").decode(pack, ARRIVAL)
    assert (decoded.parts, "other" in str(decoded.refused) or "value is" in str(decoded.refused)) == (
        wanted.parts,
        True,
    )
    with pytest.raises(PayloadError):
        codec_for("senml+json", fields={"other": "x"}).decode(pack, ARRIVAL)


@pytest.mark.parametrize(
    "record",
    [
        *(5, [], {"n": 1}, {"bn": None}, {"bt": "now"}, {"bt": 1e11}, {"bv": True}, {"bver": 11}, {"bver": "10"}),
        *({"t": "1"}, {"t": True}, {"t": 1e300}, {"z_": 1}),
    ],
)
def test_a_record_that_is_none_refuses_the_pack(record):
    changed = {"n": "x", "v": 1} | record if isinstance(record, dict) else record
    for pack in ([changed], [{"n": "y", "v": 1}, changed, changed]):
        with pytest.raises(PayloadError):
            codec_for("senml+json").decode(orjson.dumps(pack), ARRIVAL)


def test_fields_are_whole_names_or_those_without_the_base_name_and_whole_ones_come_first():
    pack = orjson.dumps([{"bn": "urn:n1:", "n": "light", "v": 1}, {"n": "door", "v": 2}, {"n": "else", "v": 3}])
    fields = {"light": "no", "urn:n1:light": "light@flag:300", "door": "door@flag:0.5", "urn:n2:else": "else"}
    parts = (("light@flag:300", Reading(None, 1.0, None)), ("door@flag:0.5", Reading(None, 2.0, None)))
    assert codec_for("senml+json", fields=fields).decode(pack, ARRIVAL) == Several(parts)


STAMPS = st.floats(2**28, 1e10)


FINITE = st.floats(allow_nan=False, allow_infinity=False)


BATCHES = st.lists(st.tuples(STAMPS, FINITE), min_size=2, max_size=5).map(
    lambda samples: TimedSeries(*np.array(samples).T, None)
)


READINGS = st.builds(Reading, st.none() | STAMPS, FINITE, st.none())


REPORTED = st.dictionaries(
    st.sampled_from(["light@flag:300", "temperature", "acc.x", "door"]), READINGS | BATCHES, min_size=1
)


@given(reported=REPORTED, base_name=st.sampled_from(["", "urn:dev:n1:", "sensors/n1/"]), is_binary=st.booleans())
def test_what_is_written_as_senml_is_read_unchanged(reported, base_name, is_binary):
    several = Several(tuple(reported.items()))
    payload = encode_senml(several, base_name, is_binary=is_binary)
    found = codec_for("senml+cbor" if is_binary else "senml+json").decode(payload, ARRIVAL)
    assert samples_of(found) == samples_of(several)


def test_the_samples_of_several_channels_come_in_order_of_time():
    pack = [{"n": name, "t": 2**28 + time, "v": time} for name in "ab" for time in (1, 2)]
    parts = codec_for("senml+json").decode(orjson.dumps([*pack, {"n": "c", "v": 7}]), ARRIVAL).parts
    assert [(channel, reading.value) for channel, reading in parts] == [
        *(("a", 1.0), ("b", 1.0), ("a", 2.0), ("b", 2.0), ("c", 7.0)),
    ]


def test_missing_samples_are_not_written_as_senml():
    batch = TimedSeries(np.array([1.7e9, 1.7e9 + 1]), np.array([np.nan, 2.0]), 5)
    assert orjson.loads(encode_senml(Several((("x", batch),)))) == [{"n": "x", "t": 1.7e9 + 1, "v": 2.0}]


@pytest.mark.parametrize(
    ("reported", "message"),
    [
        ((), "nothing is reported"),
        ((("x", TimedSeries(np.array([1.7e9]), np.array([np.nan]), None)),), "nothing is reported"),
        ((("x", Reading(None, math.nan, None)),), "value is nan"),
        ((("x", TimedSeries(np.array([1.7e9]), np.array([np.inf]), None)),), "nothing is reported"),
        ((("x", Reading(None, math.inf, None)),), "value is inf"),
        ((("x", Reading(12.0, 1.0, None)),), "time is 12.0"),
        ((("x", Reading(math.nan, 1.0, None)),), "time is nan"),
    ],
)
def test_what_senml_cannot_hold_is_not_written(reported, message):
    with pytest.raises(ValueError, match=message):
        encode_senml(Several(reported))
