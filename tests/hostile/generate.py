"""Write the payloads of this folder; their expected results are in tests/gateway/messages/test_codecs.py."""

import json
import struct
from pathlib import Path

FOLDER = Path(__file__).parent
HEADER = struct.Struct("<BBQf")
NOW = 1_700_000_000 * 10**9  # nanoseconds since 1970
RECORD = b"\xa2\x00\x61x\x02"  # CBOR: a map of two, name "x", and a value that follows
WIDE = {key: {key: {key: dict.fromkeys("abcd", 1) for key in "abcd"} for key in "abcd"} for key in "abcd"}

JSON = {
    "empty": b"",
    "spaces": b" \r\n\t",
    "zeros": bytes(64),
    "byte_order_mark": b"\xef\xbb\xbf21.5",
    "latin_1": '{"v": 1, "unit": "°C"}'.encode("latin-1"),
    "lone_surrogate": b'{"v": 1, "unit": "\\ud800"}',
    "overlong_utf8": b'{"v": 1, "unit": "\xc0\xaf"}',
    "truncated": b'{"t": 1700000000.0, "v": 21.',
    "trailing_brace": b'{"v": 1}}',
    "two_documents": b'{"v": 1}\n{"v": 2}',
    "comment": b'{"v": 1} // one',
    "single_quotes": b"{'v': 1}",
    "nan": b'{"v": NaN}',
    "infinity": b'{"v": -Infinity}',
    "beyond_a_double": b'{"v": 1e400}',
    "many_digits": b'{"v": 0.' + b"3" * 5000 + b"}",
    "huge_whole_number": b'{"v": 1' + b"0" * 300 + b"}",
    "deep_arrays": b"[" * 900 + b"]" * 900,
    "too_deep_arrays": b"[" * 20_000,
    "deep_objects": b'{"v":' * 900 + b"1" + b"}" * 900,
    "wide_objects": json.dumps({"v": WIDE}).encode(),
    "key_twice": b'{"v": 1, "v": 2}',
    "milliseconds": b'{"v": 1, "ts": 1700000000000}',
    "sequence_of_64_bits": b'{"v": 1, "seq": 9223372036854775808}',
    "text_in_array": b'{"t0": 1700000000, "dt": 1, "v": [1, "2", 3]}',
    "array_in_array": b'{"t0": 1700000000, "dt": 1, "v": [[1, 2], [3, 4]]}',
    "array_without_samples": b'{"t0": 1700000000, "dt": 1, "v": []}',
    "array_that_stands_still": b'{"t0": 1700000000, "dt": 0, "v": [1, 2]}',
    "array_without_end": b'{"t0": 1700000000, "dt": 1e300, "v": [1, 2]}',
    "array_with_gaps": b'{"t0": 1700000000, "dt": 1, "v": [null, true, 3]}',
    "senml_version_11": b'[{"bver": 11, "n": "x", "v": 1}]',
    "senml_must_understand": b'[{"n": "x", "v": 1, "secret_": 2}]',
    "senml_text": b'[{"n": "x", "vs": "on"}]',
    "senml_only_a_sum": b'[{"n": "x", "s": 12.5}]',
    "senml_without_name": b'[{"v": 1}]',
    "senml_overflow": b'[{"n": "x", "bv": 1e308, "v": 1e308}]',
    "senml_one_channel_twice": b'[{"n": "a/x", "v": 1}, {"n": "b/x", "v": 2}]',
    "senml_no_array": b'{"n": "x", "v": 1}',
    "chirpstack_join": b'{"time": "2025-01-31T12:00:00Z", "devAddr": "00189440"}',
    "chirpstack_time_of_day": b'{"time": "12 o\'clock", "object": {"x": 1}}',
    "chirpstack_spreading_factor_13": b'{"txInfo": {"modulation": {"lora": {"spreadingFactor": 13}}}}',
}
BINARY = {
    "senml_array_of_2_to_60": bytes.fromhex("9b1000000000000000"),
    "senml_map_of_2_to_60": bytes.fromhex("81bb1000000000000000"),
    "senml_text_of_2_to_60": bytes.fromhex("81a1007b1000000000000000"),
    "senml_truncated": b"\x82" + RECORD + b"\x01",
    "senml_trailing": b"\x81" + RECORD + b"\x01\x00",
    "senml_deep": b"\x81" * 5000,
    "senml_key_twice": b"\x81\xa3\x00\x61x\x02\x01\x02\x03",
    "senml_bignum": b"\x81" + RECORD + b"\xc2\x59\x0f\xa0" + b"\xff" * 4000,
    "senml_big_float": b"\x81" + RECORD + b"\xc5\x82\x1a\x3b\x9a\xca\x00\x01",
    "senml_decimal_fraction": b"\x81" + RECORD + b"\xc4\x82\x20\x18\xd7",
    "senml_huge_decimal": b"\x81" + RECORD + b"\xc4\x82\x19\x3a\x98\x01",
    "senml_cycle": bytes.fromhex("d81c81d81d00"),
    "senml_nan": b"\x81" + RECORD + b"\xf9\x7e\x00",
    "senml_undefined": b"\x81" + RECORD + b"\xf7",
    "senml_break": b"\xff",
    "senml_without_lengths": b"\x9f\xbf\x00\x61x\x02\x01\xff\xff",
    "array_header_alone": HEADER.pack(1, 1, NOW, 1.0),
    "array_version_2": HEADER.pack(2, 1, NOW, 1.0) + bytes(4),
    "array_of_unknown_type": HEADER.pack(1, 9, NOW, 1.0) + bytes(8),
    "array_cut": HEADER.pack(1, 1, NOW, 1.0) + bytes(7),
    "array_step_nan": HEADER.pack(1, 1, NOW, float("nan")) + bytes(4),
    "array_year_2554": HEADER.pack(1, 1, 2**64 - 1, 1.0) + bytes(4),
    "array_with_infinity": HEADER.pack(1, 2, NOW, 1.0) + struct.pack("<2d", float("-inf"), 5.0),
    "array_signalling_nan": HEADER.pack(1, 1, NOW, 1.0) + struct.pack("<fI", 1.0, 0x7F800001),
}

if __name__ == "__main__":
    for name, payload in JSON.items():
        FOLDER.joinpath(f"{name}.json").write_bytes(payload)
    for name, payload in BINARY.items():
        FOLDER.joinpath(f"{name}.bin").write_bytes(payload)
