"""Sent and seen: quantities of devices that know no report policies, and the names under which they come."""

import numpy as np
import orjson
import pytest
from helpers.procedures import channels_procedure
from helpers.records import Models, content, message, new_core, raw, restored, take_divided
from numpy.testing import assert_array_equal

from feature_extractors.report import split_channel
from streamfs.gateway.core import repeated
from streamfs.gateway.core.bindings import Bindings, Route
from streamfs.gateway.core.feeds import feeds_of
from streamfs.gateway.core.records import model_record
from streamfs.gateway.core.view_arrays import node_arrays
from streamfs.gateway.messages.codecs import Reading

FIELDS = {"temp": "x", "h": "y"}


def values(n_ticks=40, seed=0):
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(0, 1, (2, n_ticks)).cumsum(axis=1), 2)


def raw_messages(samples, topic="home/n1", start=0):
    return [
        raw(topic, orjson.dumps({"temp": float(x), "h": float(y), "at": float(time)}), float(time))
        for time, (x, y) in enumerate(samples.T[start:], start)
    ]


def core_of(models, *routes, **options):
    core, _ = new_core(models, Bindings.single(models.first.channels, routes=routes), **options)
    return core


def home(**options):
    return Route.of("home/{node}", "json", fields=options.pop("fields", FIELDS), time="at", **options)


def decisions(core, records):
    found = [*core.take(records).decisions, *core.finish().decisions]
    return [decision.to_json() for decision in found]


@pytest.mark.parametrize("policy", ["every:3", "mean:4", "flag:0.5", "delta:0.7", "quantised:0.5"])
@pytest.mark.parametrize("threshold", [0.2, 1.0])
def test_decisions_are_those_of_a_node_that_thins_itself(policy, threshold):
    channels = (f"x@{policy}", "y@delta:1")
    models = Models(channels_procedure(*channels, threshold=threshold, time_limit=12))
    samples = values()
    sent = []
    for channel, column in zip(channels, samples, strict=True):
        kept = split_channel(channel)[1]
        sent += [
            (float(tick), message("n1", float(tick), float(value), None, channel))
            for tick, value in enumerate(kept.sent(column))
            if np.isfinite(value)
        ]
    sent.sort(key=lambda item: item[0])
    native = core_of(models, Route.of("sensors/{node}/{channel}"), lateness=0.0, grace=0.0)
    thinned = core_of(models, home(), lateness=0.0, grace=0.0)
    expected = decisions(native, [record for _, record in sent])
    assert decisions(thinned, raw_messages(samples)) == expected
    assert thinned.spent.nodes["n1"].messages == samples.shape[1]


@pytest.mark.parametrize("repeats", ["new", "ignored"])
def test_what_a_numbered_message_does_not_say_is_no_loss(repeats):
    models = Models(channels_procedure("x@delta:0.5", "y@mean:4", threshold=0.5))
    said = [{"at": tick, "temp": round(x), "h": y} for tick, (x, y) in enumerate(values(30).T.tolist())]
    said[7:9] = [{"at": 7}, {"at": 8, "temp": 1, "h": "broken"}]
    for tick in (5, 11, 12, 20):
        said[tick]["temp"] = None
    found = []
    for name in ("seq", "other"):
        core = core_of(models, home(repeats=repeats), reopen_after=2.0)
        records = [raw("home/n1", orjson.dumps({**each, name: n}), float(n)) for n, each in enumerate(said)]
        found.append(decisions(core, records))
        assert (core.counters["lost"], core.spent.nodes["n1"].messages) == (0, 30)
    assert found[0] == found[1]
    assert len(found[0]) > 2


def test_a_model_with_other_policies_is_followed_without_other_bindings():
    models = Models(
        channels_procedure("x@delta:0.5", "y", threshold=9.0),
        channels_procedure("y@every:2", "x@mean:3", threshold=-9.0),
    )
    core = core_of(models, home(), lateness=0.0, reopen_after=0.0)
    samples = values()
    core.take(raw_messages(samples[:, :10]))
    core.take([model_record([*models][1], 10.0)])
    found = core.take(raw_messages(samples, start=10)).decisions
    assert "on" in {decision.label for decision in found}
    assert core.counters["unbound"] == 0


@pytest.mark.parametrize("repeats", ["held", "ignored"])
def test_how_records_are_divided_makes_no_difference_to_what_is_thinned(repeats):
    models = Models(channels_procedure("x@mean:4", "y@delta:0.5", threshold=0.5))
    records = [record for record in raw_messages(values(30)) for _ in range(2)]  # each is said again
    whole, effects = take_divided(core_of(models, home(repeats=repeats), reopen_after=2.0), records, [30], models)
    parted, same = take_divided(
        core_of(models, home(repeats=repeats), reopen_after=2.0), records, [1, 3], models, restoring=True
    )
    assert effects == same
    assert content(whole) == content(parted)


@pytest.mark.parametrize(
    ("name", "channel", "how"),
    [
        ("x", "x", 0),
        ("x", "x@delta:1", 3),
        ("x@every:1", "x@delta:1", 1),
        ("x@every:1", "x", 0),
        ("x@delta:0.5", "x@delta:0.5", 0),
        ("x@delta:0.5", "x@delta:1", 3),
        ("x@delta:0.5", "x@delta:0.4", None),
        ("x@delta:0.5", "x@flag:3", None),
        ("x@delta:0", "x@flag:3", 3),
        ("x@every:2", "x@every:6", 3),
        ("x@every:2", "x@every:5", None),
        ("x@mean:2", "x@mean:4", None),
        ("y", "x", None),
        ("x@often:3", "x", None),
    ],
)
def test_a_channel_feeds_those_of_which_it_says_enough(name, channel, how):
    assert [feed.how for feed in feeds_of(name, [channel])] == ([] if how is None else [how])


def test_a_device_that_sends_nothing_that_is_read_is_no_stream():
    core = core_of(Models(channels_procedure("x@delta:1")), home())
    core.take([raw("home/plug", b'{"state":"ON"}'), raw("home/n1", b'{"temp":1.0,"at":0}')])
    assert [*core.roster.nodes] == ["n1"]
    assert core.orphans == {"home/plug": 1}


def test_names_with_slashes_are_one_level_and_aliases_are_one_node():
    models = Models(channels_procedure("x@delta:1", "y"))
    routes = (
        Route.of("z/{node...}", fields={"temp": "x"}, ignore=["z/bridge/{node...}", "z/{node...}/set"]),
        Route.of("outside", node="kitchen", channel="y"),
    )
    aliases = {"kitchen/window": "kitchen"}
    bindings = Bindings(models.first.channels, {}, discovers=True, routes=routes, aliases=aliases)
    core, _ = new_core(models, bindings)
    assert core.topics[:2] == ("z/#", "outside")
    effects = core.take(
        [
            raw("z/kitchen/window", b'{"temp":1}'),
            raw("z/attic/1", b'{"temp":1}'),
            raw("outside", b"3"),
            raw("z/bridge/state", b"online"),
            raw("z/kitchen/window/set", b"{}"),
        ]
    )
    assert not effects.rejected
    assert [*core.roster.nodes] == ["kitchen", "attic%2F1"]
    assert {name: core.counters[name] for name in ("ignored", "unbound", "malformed")} == {
        "ignored": 2,
        "unbound": 0,
        "malformed": 0,
    }
    assert content(restored(core, models)) == content(core)


@pytest.mark.parametrize(("repeats", "n_readings"), [("new", 4), ("held", 3), ("ignored", 2)])
def test_what_a_bridge_says_again_is_no_reading(repeats, n_readings):
    core = core_of(
        Models(channels_procedure("x@delta:1", "y")), Route.of("z/{node}", fields=FIELDS, repeats=repeats)
    )
    payloads = [b'{"temp":1,"q":9}', b'{"q":9,"temp":1}', b'{"temp":1,"q":8}', b'{"temp":2,"q":8}']
    core.take([raw("z/n1", payload, float(at)) for at, payload in enumerate(payloads)])
    assert core.joiner.nodes["n_readings"].sum() == n_readings
    assert core.spent.nodes["n1"].messages == 4
    assert core.counters["unbound"] == 0


def test_what_may_be_said_again_is_remembered_of_few_channels(monkeypatch):
    monkeypatch.setattr(repeated, "MAX_CHANNELS", 3)
    seen = repeated.Repeated()
    for number in range(10):
        parts = [(f"made up {number}", Reading(None, 1.0, None)), ("x", Reading(None, 1.0, None))]
        assert len(seen.news("home/n1", parts)) == (2 if number % 3 == 0 else 1)
    assert len(seen.to_state()["home/n1"]) <= 3 + 2


def test_what_nodes_say_of_their_batteries_is_seen():
    core = core_of(Models(channels_procedure("x", "y")), home(fields={**FIELDS, "power": "battery"}))
    texts = ['{"temp":1,"at":0,"power":90}', '{"h":1,"power":87.5,"at":1}', '{"power":"low","at":2}']
    core.take([raw("home/n1", text.encode()) for text in texts])
    core.take([raw("home/n2", b'{"temp":1,"h":2,"at":0}')])
    names, of_nodes = node_arrays(core.roster, core.joiner, core.batteries)
    assert names == ["n1", "n2"]
    assert_array_equal(of_nodes["battery"], [87.5, np.nan])


def test_one_bad_field_does_not_cost_the_others():
    core = core_of(Models(channels_procedure("x", "y")), home(values={"ON": 1, "unavailable": "missing"}))
    texts = ['{"temp":"ON","h":"odd","at":0}', '{"temp":"unavailable","h":"2.5","at":1}']
    (rejected,) = core.take([raw("home/n1", text.encode()) for text in texts]).rejected
    assert rejected["error"] == "h is 'odd', expected a number, or one of ON, unavailable"
    assert core.joiner.nodes["n_readings"].sum() == 2


def test_words_and_units_of_topics_that_name_the_channel():
    options = {"values": {"nan": "missing"}, "units": {"x": "F to C"}}
    route = Route.of("{node}/sensor/{channel}/state", fields={"temp_living": "x", "co2": "y"}, **options)
    models = Models(channels_procedure("x@delta:1", "y"))
    core = core_of(models, route, lateness=0.0, grace=0.0)
    assert core.topics[:2] == ("+/sensor/temp_living/state", "+/sensor/co2/state")
    effects = core.take(
        [
            raw(f"n1/sensor/{name}/state", text, 1.0)
            for name, text in [("temp_living", b"nan"), ("temp_living", b"68"), ("co2", b"0.1")]
        ]
    )
    assert not effects.rejected
    assert core.finish().decisions[0].label == "on"  # as 20 is more than a half
    assert core.joiner.cells["raw"].tolist()[0] == 20.0
