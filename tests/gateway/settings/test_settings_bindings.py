"""What topics and streams are bound to by settings."""

from dataclasses import replace
from pathlib import Path

import pytest
from settings_texts import ALL, LEAST

from streamfs.errors import DataError, PayloadError, SettingsError
from streamfs.gateway.settings.moved_zones import Moved
from streamfs.gateway.settings.streams import Streams


def test_pairs_from_all_places_are_streams(read, tmp_path):
    (tmp_path / "nodes.csv").write_text("stream,a,b\nsofa,n6,n7\n", encoding="utf-8")
    settings = read(ALL)
    channels = ["a.light@flag:300", "b.light@flag:300", "b.temperature"]
    bindings = settings.bindings(channels)
    assert bindings.streams == ("desk", "sofa", "n3--n4", "n3--n5", "n4--n5")
    assert bindings.topics == ("zigbee2mqtt/+", "raw/+")
    node, channel, codec, *_ = bindings.route("zigbee2mqtt/n6")
    assert (node, channel) == ("n6", None)
    payload = b'{"illuminance": 500, "last_seen": "1970-01-01T00:00:01Z", "n": 4}'
    assert codec.decode(payload, 0.0).parts == (("light@flag:300", (1.0, 500.0, 4)),)
    line = 1 + ALL[: ALL.rindex("[[source]]")].count("\n")
    (unread,) = settings.unread_sources(bindings)
    assert f"line {line}: source has acceleration@every:2, which the model does not read" in unread
    assert unread.endswith("; its channels are light@flag:300, temperature")


def test_a_message_has_no_more_samples_than_the_limit(read):
    bindings = read(f"{LEAST}[limits]\nbatch_samples = 3\n").bindings(["x"])
    codec = bindings.route("sensors/n1/x").codec
    assert codec.decode(b'{"t0": 0, "dt": 1, "v": [1, 2, 3]}', 0.0)
    with pytest.raises(PayloadError, match="1 to 3"):
        codec.decode(b'{"t0": 0, "dt": 1, "v": [1, 2, 3, 4]}', 0.0)


def test_a_file_of_pairs_that_cannot_be_read_is_refused(read):
    with pytest.raises(DataError, match=r"nodes\.csv"):
        read(ALL).bindings(["a.light@flag:300"])


@pytest.mark.parametrize(
    ("text", "channels", "message"),
    [
        (
            '[streams.pairs.desk]\na = "n1"\nb = "n2"',
            ["light"],
            "line 4: streams cannot be bound: channel light has no",
        ),
        ('[streams.pairs.desk]\na = "n1"', ["a.light", "b.light"], "line 4: .*has role 'b', stream 'desk' has a"),
        (
            '[[streams.group]]\nnodes = ["n1", "n2", "n3"]\n[limits]\nstreams = 2',
            ["a.light"],
            r"line 4: .*there are 3 streams, expected at most 2 \(limits\.streams\)",
        ),
        (
            '[streams]\nnodes = ["n1", "n2"]\n[limits]\nstreams = 1',
            ["light"],
            "there are 2 streams, expected at most 1",
        ),
        (
            '[streams.pairs.n1--n2]\na = "n1"\n[[streams.group]]\nnodes = ["n1", "n2"]',
            ["a.light"],
            "stream 'n1--n2' is defined 2 times",
        ),
        (
            '[[source]]\ntopic = "x/{node}"\nchannel = "door"',
            ["light", "door"],
            "line 4: no source has channel light, which the model reads",
        ),
    ],
)
def test_streams_that_cannot_be_bound_are_refused(read, text, channels, message):
    with pytest.raises(SettingsError, match=message):
        read(f"{LEAST}{text}\n").bindings(channels)


def test_settings_that_come_from_no_file_have_no_lines(read):
    settings = replace(read(LEAST), file=Path("the command line"), lines={}, streams=Streams(nodes=("n1", "n#")))
    with pytest.raises(SettingsError, match=r"^the command line: streams cannot be bound: stream is 'n#'"):
        settings.bindings(["light"])


def test_a_file_of_pairs_without_streams_is_refused(read, tmp_path):
    (tmp_path / "nodes.csv").write_text("stream,a,b\n", encoding="utf-8")
    with pytest.raises(SettingsError, match=r"nodes\.csv names no stream"):
        read(LEAST + '[streams]\npairs_file = "nodes.csv"\n').bindings(["a.light"])


def test_a_shard_takes_its_part_of_the_streams(read, tmp_path):
    nodes = [f"n{i}" for i in range(20)]
    named = (
        LEAST.replace("[broker]", 'state = "state"\nshard = "{}/2"\n[broker]') + f"[streams]\nnodes = {nodes}\n"
    )
    parts = [set(read(named.replace("{}", str(number))).bindings(("x",)).streams) for number in (1, 2)]
    assert parts[0].isdisjoint(parts[1])
    assert parts[0] | parts[1] == set(nodes)
    (tmp_path / "state").mkdir()
    came, left = min(parts[1]), min(parts[0])
    (tmp_path / "state" / "zones.json").write_bytes(Moved(frozenset([came]), frozenset([left])).packed())
    assert set(read(named.replace("{}", "1")).bindings(("x",)).streams) == parts[0] - {left} | {came}


def test_a_shard_without_a_zone_is_refused(read):
    settings = read(LEAST.replace("[broker]", f'shard = "{1}/50"\n[broker]') + '[streams]\nnodes = ["n1"]\n')
    with pytest.raises(SettingsError, match="none of the 1 zones is of shard 1/50"):
        settings.bindings(("x",))
