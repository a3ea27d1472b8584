"""The model card: built in training, kept in the model file, and read as Markdown."""

import copy
import re
from dataclasses import replace

import numpy as np
import orjson
import pytest
from click.testing import CliRunner
from helpers.lazy import lazy_procedure
from helpers.procedures import channels_procedure, labelled_streams, mean_procedure
from river.naive_bayes import GaussianNB

import feature_extractors as fx
from feature_extractors.report import channel_name
from streamfs import C45Classifier, Costs, Procedure, StreamSet, train
from streamfs.classifiers.calibration import Calibration
from streamfs.classifiers.forest import Forest
from streamfs.cli.commands.card import card as card_command
from streamfs.costs.batteries import Duty, life
from streamfs.costs.energy import Profile
from streamfs.costs.radio_profiles import profile
from streamfs.costs.rates import Rates, by_role
from streamfs.errors import ModelError
from streamfs.evaluation.model_card import build_card, facts, markdown, paid
from streamfs.evaluation.traffic import measure_traffic
from streamfs.procedure import card_words
from streamfs.procedure.card_text import MEANING, NO_PROMISE
from streamfs.procedure.stopping import TickThresholds

CHANNELS = ("a.level@delta:1.5", "b.level")
EVIDENCE = {
    "accuracy": 0.9,
    "completeness": 0.8,
    "risk": 0.05,
    "accuracy_risk": 0.04,
    "completeness_risk": 0.01,
    "threshold": 0.9,
    "streams": 400,
    "labelled": 380,
    "right": 361,
    "p_accuracy": 0.0021,
    "p_completeness": 0.0037,
    "cost": 0.0125,
    "ticks": 7.25,
    "searched_on": 600,
    "subsets": 83,
    "all_features_cost": 0.05,
}


OTHERS = {
    "streams": 3,
    "thresholds": [{"threshold": 0.5, "completeness": 1.0, "accuracy": 1.0, "paid": -1}],
    "confidence": [],
}


@pytest.fixture(scope="module")
def streams():
    return labelled_streams(gaps=0.1)


@pytest.fixture(scope="module")
def bare():
    about = {"streamfs": "1.2", "numpy": "2.0", "python": "3.11", "seed": 7}
    return channels_procedure(*CHANNELS, threshold=1.5, time_limit=9, about=about)


@pytest.fixture(scope="module")
def procedure(bare, streams):
    return with_about(bare, card=build_card(bare, streams, profile("cc2420")))


def with_about(procedure, **about):
    return replace(procedure, about={**procedure.about, **about})


def sections(text):
    """Text of each section, by its heading."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows(section):
    """Cells of a table, row by row without its head; escaped pipes separate no cells."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    assert len({len(row) for row in cells}) <= 1
    return cells[2:]


def test_a_card_describes_the_streams(procedure, streams):
    data = facts(procedure)["data"]
    assert (data["streams"], data["classes"]) == (60, {"busy": 30, "calm": 30})
    assert (data["shortest"], data["median"], data["longest"]) == (20, 20.0, 20)
    missing = np.isnan(streams.values).mean(axis=(0, 1))
    assert data["missing"] == pytest.approx(dict(zip(streams.columns, missing, strict=True)))
    found = dict(rows(sections(markdown(procedure))["Data"]))
    assert found["streams"] == "60: 30 `busy`, 30 `calm`"
    assert found["ticks of a stream"] == "20, of 1 s"
    assert found["columns"] == "`a.level`, `b.level`, `a.noise`, `b.noise`"
    assert found["readings that are missing"].startswith(f"{100 * missing[0]:.4g} % of `a.level`, ")
    assert found["when and where they were recorded"] == "not known"


def test_readings_beyond_a_streams_length_are_not_missing():
    values = np.array([[[0.0], [np.nan], [9.0]], [[0.0], [0.0], [0.0]]])
    streams = StreamSet(values, ["off", "on"], ["x"], lengths=[2, 3])
    data = build_card(mean_procedure(), streams, profile("cc2420"))["data"]
    assert data["missing"] == {"x": 1 / 5}
    assert (data["shortest"], data["median"], data["longest"]) == (2, 2.5, 3)


def test_channels_have_messages_and_costs(procedure):
    traffic = procedure.about["card"]["traffic"]
    message = profile("cc2420").message_joules(40)
    for row in facts(procedure)["channels"]:
        messages = traffic["channels"][row["channel"]]
        assert row["messages"] == messages
        assert row["messages_a_tick"] == pytest.approx(messages / traffic["ticks"])
        assert row["cost"] == pytest.approx(messages * message)
    found = rows(sections(markdown(procedure))["Channels"])
    assert [row[:2] for row in found] == [["`a.level@delta:1.5`", "`a`"], ["`b.level`", "`b`"]]
    assert found[0][4].endswith((" µJ", " mJ"))


def test_features_have_costs(procedure):
    found = rows(sections(markdown(procedure))["Features and classifier"])
    assert found == [["`mean(a.level@delta:1.5)`", "1 J"], ["`mean(b.level)`", "2 J"]]


def test_a_card_says_what_kinds_of_features_there_are(procedure):
    assert "Of these, 2 read levels" in sections(markdown(procedure))["Features and classifier"]
    names = (
        "mean(a.x@flag:2)",
        "mean_absolute_difference(a.x, b.x)",
        "mean_absolute_difference(a.x@flag:2, b.x@flag:2)",
        "correlation(a.x, b.x)",
        "max(a.x)",
    )
    features = tuple(fx.get(name) for name in names)
    tree = C45Classifier().fit([[0.0] * 5, [1.0] * 5], ["off", "on"]).tree_
    other = Procedure(features, tree, ("off", "on"), Costs([1.0] * 5), 0.9, time_limit=5)
    assert [each["reads"] for each in facts(other)["features"]] == [
        "level",
        "difference",
        "level",
        "shape",
        "level",
    ]


def test_each_nodes_battery_life_is_compared_with_sending_everything(procedure):
    traffic, duty = procedure.about["card"]["traffic"], Duty(reopen_after=60.0, awake=0.05, battery=5000.0)
    nodes = facts(procedure, duty=duty)["nodes"]
    assert [node["node"] for node in nodes] == ["a", "b"]
    for node in nodes:
        for sent, got in ((traffic["channels"], node), (traffic["columns"], node["all_columns"])):
            messages = by_role(sent)[node["node"]]
            wanted = life(messages, traffic["ticks"], 1.0, profile("cc2420"), duty)
            assert {name: got[name] for name in wanted._fields} == pytest.approx(wanted._asdict())
        assert node["days"] > node["all_columns"]["days"]
    found = rows(sections(markdown(procedure, duty=duty))["Battery life"])
    assert (
        found[0][4]
        == f"**{card_words.life(nodes[0]['days'])}** ({card_words.life(nodes[0]['all_columns']['days'])})"
    )


def test_another_radio_can_be_chosen(procedure):
    assert facts(procedure, profile("nrf52840_ble"))["radio"]["name"] == "nrf52840_ble"
    ours, others = (facts(procedure, radio)["nodes"][0] for radio in (None, profile("esp32_wifi")))
    assert others["days"] < ours["days"]
    text = sections(markdown(procedure, profile("transmissions")))["Battery life"]
    assert "The profile `transmissions` counts messages, so that battery life is not known" in text
    assert [len(row) for row in rows(text)] == [2, 2]


def test_a_radio_of_ones_own_is_kept_with_the_model(bare, streams):
    radio = Profile("mine", wake=0.5, transmit=1e-3, idle=2.0, sleep=0.1)
    kept = with_about(bare, card=build_card(bare, streams, radio, message_bytes=7, prices={"level": 3.0}))
    traffic = kept.about["card"]["traffic"]
    node, _ = facts(kept)["nodes"]
    messages = {"a.level@delta:1.5": traffic["channels"]["a.level@delta:1.5"]}
    (node_messages,) = messages.values()
    wanted = life(messages, traffic["ticks"], 1.0, radio, message_bytes=7, prices={"level": 3.0})
    assert node["joules"] == pytest.approx(wanted.joules)
    assert facts(kept)["channels"][0]["cost"] == pytest.approx(3.0 * node_messages * radio.message_joules(7))
    assert "`level` 3 times" in markdown(kept)
    assert "a message of 7 bytes" in markdown(kept)
    another = facts(kept, profile("heinzelman2000"))["radio"]
    assert another["message"] == profile("heinzelman2000").message_joules(7)


def test_a_card_cites_the_source_of_the_radios_figures(procedure):
    assert profile("cc2420").notes in markdown(procedure)


def test_messages_can_be_counted_on_streams_that_were_kept_apart(bare, streams):
    others = labelled_streams(30, seed=1)
    apart = build_card(bare, streams, profile("cc2420"), measured_on=others)
    assert (apart["data"]["streams"], apart["traffic"]["streams"], apart["traffic"]["held_out"]) == (60, 30, True)
    assert apart["traffic"]["channels"] == build_card(bare, others, profile("cc2420"))["traffic"]["channels"]
    assert "counted on 30 streams kept apart" in markdown(with_about(bare, card=apart))
    same = with_about(bare, card=build_card(bare, streams, profile("cc2420")))
    assert "counted on 60 streams that it was trained on" in markdown(same)


def test_without_a_promise_it_says_that_nothing_was_certified(procedure):
    assert sections(markdown(procedure))["Promise"].strip() == NO_PROMISE
    assert "accuracy was not certified" in NO_PROMISE


def test_a_promise_has_its_evidence_and_limits(procedure):
    text = sections(markdown(with_about(procedure, promise=EVIDENCE)))["Promise"]
    assert "At least 90 % of the labels are right, and at least 80 % of the streams get a label." in text
    assert "with a probability of at least 95 %" in text
    assert rows(text) == [
        ["accuracy", "at least 0.9", "0.950: 361 of 380 labels"],
        ["completeness", "at least 0.8", "0.950: 380 of 400 streams"],
    ]
    assert "400 streams that were kept apart" in text
    assert "a probability of 0.0021, were the accuracy just not kept; that had to be at most 0.04" in text
    assert "a probability of 0.0037, were the completeness just not kept; that had to be at most 0.01" in text
    assert "83 subsets of features on 600 other streams" in text
    assert "a stream cost 12.5 mJ and took 7.25 ticks" in text
    assert "it would cost about 50 mJ, 4 times as much" in text
    assert MEANING in text
    for word in ("like those", "no guarantee elsewhere", "no guarantee for pairs that share nodes"):
        assert word in MEANING


def test_without_a_completeness_costs_are_compared_per_label(procedure):
    half = {**EVIDENCE, "completeness": None, "streams": 400, "labelled": 200, "right": 190}
    text = sections(markdown(with_about(procedure, promise=half)))["Promise"]
    assert "a stream cost 12.5 mJ" in text
    assert "With all features that were searched, under the same promise, a label would cost" in text
    assert "about 50 mJ, 2 times as much." in text


def test_an_unknown_part_of_the_risk_is_all_of_it(procedure):
    text = sections(markdown(with_about(procedure, promise={**EVIDENCE, "accuracy_risk": None})))["Promise"]
    assert "were the accuracy just not kept; that had to be at most 0.05" in text


def test_evidence_may_lack_completeness_and_the_searchs_result(procedure):
    core = ("accuracy", "risk", "threshold", "streams", "labelled", "right", "cost", "ticks")
    few = {**{name: EVIDENCE[name] for name in core}, "completeness": None, "labelled": 0, "right": 0}
    text = sections(markdown(with_about(procedure, promise=few)))["Promise"]
    assert "how many streams get a label was not certified" in text
    assert rows(text) == [
        ["accuracy", "at least 0.9", "-: 0 of 0 labels"],
        ["completeness", "nothing", "0.000: 0 of 400 streams"],
    ]
    assert "just not kept" not in text
    assert "None" not in text


def test_a_promise_does_not_hold_at_another_threshold(procedure):
    promised = with_about(procedure, promise=EVIDENCE)
    assert "Nothing is promised of this model" not in markdown(promised)
    text = markdown(promised.with_confidence(0.95))
    assert "**Nothing is promised of this model.**" in sections(text)["Promise"]
    assert "at a confidence threshold of 0.9, and the model's is 0.95" in sections(text)["Battery life"]


def test_thresholds_by_tick_are_said_and_are_not_those_of_a_promise(bare, streams):
    stopping = TickThresholds((1, 4, 9), (0.97, 0.9, 0.0))
    by_tick = replace(bare, stopping=stopping)
    kept = with_about(by_tick, card=build_card(by_tick, streams, profile("cc2420")), promise=EVIDENCE)
    assert facts(kept)["stopping"] == facts(kept)["traffic"]["stopping"] == stopping.to_json()
    text, said = markdown(kept), "0.97 from tick 1, 0.9 from tick 4, at tick 9 in any case"
    assert f"has a confidence of at least {said}; it gives no label after 9 ticks" in text
    assert f"at a confidence threshold of 0.9, and the model's is {said}" in sections(text)["Promise"]
    assert "The messages were counted at a confidence threshold" not in text
    one = kept.with_confidence(0.9)
    assert facts(one)["stopping"] is None
    assert "Nothing is promised of this model" not in markdown(one)
    counted = f"were counted at a confidence threshold of {said}, and the model's is 0.9."
    assert counted in sections(markdown(one))["Battery life"]
    damaged = copy.deepcopy(kept.about["card"])
    damaged["traffic"]["stopping"]["levels"][2] = 2
    words = r"the model is damaged: card\.traffic\.stopping\.levels\[2\] is 2, expected a number from 0 to 1"
    with pytest.raises(ModelError, match=words):
        markdown(with_about(kept, card=damaged))


POINT = {
    "threshold": 0.9,
    "risk": 0.05,
    "streams": 200,
    "labelled": 180,
    "right": 162,
    "accuracy": 0.9,
    "accuracy_at_least": 0.855,
    "completeness": 0.9,
    "completeness_at_least": 0.858,
    "cost": 0.0125,
    "ticks": 7.25,
    "searched_on": 300,
}


def test_a_point_of_a_trade_off_has_its_bounds_and_limits(procedure):
    found = sections(markdown(replace(with_about(procedure, point=POINT), confidence=0.9)))["Promise"]
    assert NO_PROMISE not in found
    assert rows(found) == [
        ["accuracy", "0.900: 162 of 180 labels", "0.855"],
        ["completeness", "0.900: 180 of 200 streams", "0.858"],
    ]
    assert "at least 95 %" in found
    assert MEANING in found
    assert "best of many points" in found
    assert "not of this model" not in found


def test_a_point_does_not_hold_at_another_threshold(procedure):
    found = markdown(replace(with_about(procedure, point=POINT), confidence=0.8))
    assert "**What follows is not of this model.**" in found


def test_a_damaged_point_is_refused(procedure):
    with pytest.raises(ModelError, match=r"point.accuracy_at_least is 'much', expected a number"):
        markdown(with_about(procedure, point=POINT | {"accuracy_at_least": "much"}))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"labelled": 0}, "labelled is 0, expected 1 to 40"),
        ({"streams": 30}, "labelled is 40, expected 1 to 30"),
        ({"right": 99}, "right is 99, expected 0 to 40"),
        ({"streams_of": {}}, r"streams_of is {}, expected at most 40 in all"),
        ({"streams_of": {"0": 99, "1": 20}}, r"streams_of is .*99.*, expected at most 40 in all"),
        ({"right_of": {"0": 22}}, r"right_of has \['0'\], expected \['0', '1'\]"),
        ({"labelled_of": {}}, r"labelled_of has \[\], expected \['0', '1'\]"),
    ],
)
def test_what_held_out_streams_cannot_have_shown_is_refused(procedure, change, words):
    of_classes = {
        "streams_of": {"0": 20, "1": 20},
        "labelled_of": {"0": 20, "1": 20},
        "right_of": {"0": 11, "1": 11},
    }
    numbers = {"streams": 40, "labelled": 40, "right": 22, "stated": 0.5, "ticks": 1.0, "sent": 1.0}
    about = {"held_out": numbers | of_classes}
    assert "Always guessing" in markdown(replace(procedure, about=about))
    with pytest.raises(ModelError, match=rf"the model is damaged: held_out\.{words}"):
        markdown(replace(procedure, about={"held_out": numbers | of_classes | change}))


def test_a_card_outlives_the_model_file(procedure, tmp_path):
    promised = with_about(procedure, promise=EVIDENCE)
    promised.save(tmp_path / "m.streamfs")
    loaded = Procedure.load(tmp_path / "m.streamfs")
    assert facts(loaded) == facts(promised)
    assert markdown(loaded) == markdown(promised)


def test_an_old_model_has_a_card_with_unknowns():
    text = markdown(mean_procedure(period=5.0))
    parts = sections(text)
    assert text.startswith("# Model card: `off` or `on`\n")
    assert "2 leaves" in text
    assert "after 10 ticks of 5 s (50 s)" in text
    assert rows(parts["Channels"]) == [["`x`", "the only one", "not known", "not known", "not known"]]
    assert "not known" in parts["Battery life"]
    assert "not known" in parts["Data"]
    assert "with seed not known" in parts["How it was made"]
    assert "None" not in text
    assert "not known" in sections(markdown(mean_procedure(), profile("cc2420")))["Battery life"]


@pytest.mark.parametrize("max_silence", [None, 600.0])
def test_it_says_whether_channels_repeat_their_values(max_silence):
    found = "never repeats its value" if max_silence is None else "repeats its value after 10 min"
    assert f"A channel that sends on change {found}." in markdown(channels_procedure("x", max_silence=max_silence))


def test_training_makes_a_card(streams):
    procedure = train(
        streams, pricing="cc2420", features=[fx.get(f"mean({c})") for c in CHANNELS], select="streamrelief"
    )
    text = markdown(with_about(procedure, card=build_card(procedure, streams, profile("cc2420"))))
    parts = sections(text)
    assert rows(parts["Channels"])[0][0] == f"`{procedure.channels[0]}`"
    assert (
        f"By streamfs {procedure.about['streamfs']}, numpy {np.__version__} and Python" in parts["How it was made"]
    )
    assert "not known" not in text.replace("when and where they were recorded | not known", "")


def test_every_kind_of_classifier_has_a_card(streams, tmp_path):
    feature = [fx.get("mean(a.level)")]
    river = train(streams, features=feature, classifier=GaussianNB(), select="streamrelief")
    river = with_about(river, card=build_card(river, streams, profile("cc2420")))
    river.save(tmp_path / "r.streamfs")
    loaded = Procedure.load(tmp_path / "r.streamfs", trust=True)
    assert "Classified by GaussianNB of River" in markdown(loaded)
    lazy = train(streams, features=feature, classifier="qsfs1", select="streamrelief")
    assert "Classified by nearest neighbours: 8 of " in markdown(lazy)
    assert "Classified by a decision tree with 2 leaves." in markdown(mean_procedure())
    assert build_card(lazy, streams, profile("cc2420"))["traffic"]["channels"]["a.level"] > 0
    leaf = np.array([-1, -1]), np.zeros(2), np.zeros(2, dtype=int), np.zeros(2, dtype=int)
    forest = Forest(*leaf, np.array([[0.5, 0.5], [0.2, 0.8]]), np.array([0, 1]), Calibration(2.0, 0.0))
    voting = replace(mean_procedure(), classifier=forest)
    assert "Classified by a forest of 2 trees, whose confidence is calibrated." in markdown(voting)


def test_names_with_any_characters_stay_in_their_cells():
    column = "a.x | `y`\n# z"
    procedure = replace(channels_procedure(f'"{column}"'), classes=("o|n", "<b>off</b>"))
    streams = StreamSet(np.ones((4, 3, 1)), ["o|n", "<b>off</b>"] * 2, [column])
    text = markdown(with_about(procedure, card=build_card(procedure, streams, profile("cc2420"))))
    for section in sections(text).values():
        rows(section)
    assert "``a.x \\| `y` # z``".replace("``", "`` ", 1)[:-2] in text
    assert "`o\\|n`" in text
    assert "\n# z" not in text


@pytest.mark.parametrize("column", ["a.inlet@north", "a.inlet@every:2", '@"a'])
def test_a_column_with_an_at_sign_is_not_a_policys_channel(column):
    procedure = channels_procedure(channel_name(column))
    streams = StreamSet(np.ones((4, 3, 1)), list(procedure.classes) * 2, [column])
    known = facts(with_about(procedure, card=build_card(procedure, streams, profile("cc2420"))))
    (node,) = known["nodes"]
    assert node["messages"] == node["all_columns"]["messages"] > 0


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("card",), "none", "card is 'none', expected an object"),
        (("card", "data"), None, "card.data is None, expected an object"),
        (("card", "data", "streams"), "many", "card.data.streams is 'many', expected a number"),
        (
            ("card", "data", "classes"),
            {"on": "few"},
            "card.data.classes.on is 'few', expected a number, at least 0",
        ),
        (("card", "radio", "message"), -1.0, "card.radio.message is -1.0, expected a number, at least 0"),
        (("card", "traffic", "held_out"), 1, "card.traffic.held_out is 1, expected true or false"),
        (("card", "traffic", "channels"), {"b.level": True}, "card.traffic.channels.b.level is True"),
        (("card", "prices"), {"level": -2}, "card.prices.level is -2, expected a number, at least 0"),
        (("other_thresholds",), OTHERS, "other_thresholds.thresholds.paid is -1, expected a number, at least 0"),
        (("promise",), [], r"promise is \[\], expected an object"),
        (("promise", "completeness"), "all", "promise.completeness is 'all', expected a number or null"),
        (("promise", "subsets"), "all", "promise.subsets is 'all', expected a number or null"),
        (("promise", "accuracy_risk"), "some", "promise.accuracy_risk is 'some', expected a number or null"),
        (("promise", "right"), True, "promise.right is True, expected a number"),
    ],
)
def test_a_damaged_card_is_refused_naming_the_field(procedure, path, value, words):
    about = copy.deepcopy({**procedure.about, "promise": EVIDENCE})
    part = about
    for name in path[:-1]:
        part = part[name]
    part[path[-1]] = value
    with pytest.raises(ModelError, match=f"the model is damaged: {words}"):
        markdown(replace(procedure, about=about))


@pytest.mark.parametrize("path", [("card", "radio"), ("card", "traffic", "ticks"), ("promise", "threshold")])
def test_a_card_that_lacks_a_field_is_refused(procedure, path):
    about = copy.deepcopy({**procedure.about, "promise": EVIDENCE})
    part = about
    for name in path[:-1]:
        part = part[name]
    del part[path[-1]]
    with pytest.raises(ModelError, match=f"the model is damaged: {'.'.join(path[:-1])} has no {path[-1]}"):
        markdown(replace(procedure, about=about))


def test_the_command_prints_writes_and_emits_json(procedure, tmp_path):
    model, out = tmp_path / "m.streamfs", tmp_path / "card.md"
    procedure.save(model)
    run = CliRunner().invoke
    assert run(card_command, [str(model)]).stdout == markdown(procedure)
    written = run(card_command, [str(model), "-o", str(out), "--profile", "nrf52840_ble", "--battery", "2430"])
    assert (written.exit_code, written.stdout) == (0, "")
    assert out.read_text(encoding="utf-8") == markdown(procedure, profile("nrf52840_ble"), Duty(battery=2430.0))
    found = orjson.loads(
        run(card_command, [str(model), "--json", "--reopen-after", "60", "--awake", "0.5"]).stdout
    )
    assert found == facts(procedure, duty=Duty(60.0, awake=0.5))


def test_the_command_keeps_the_model_and_trusts_no_pickle(streams, tmp_path):
    model = tmp_path / "r.streamfs"
    train(streams, features=[fx.get("mean(a.level)")], classifier=GaussianNB(), select="streamrelief").save(model)
    run = CliRunner().invoke
    assert "which it would overwrite" in run(card_command, [str(model), "-o", str(model)]).stderr
    assert isinstance(run(card_command, [str(model)]).exception, ModelError)
    assert "GaussianNB of River" in run(card_command, [str(model), "--trust"]).stdout


def test_a_card_of_neighbours_counts_requested_channels():
    streams = StreamSet(np.zeros((4, 8, 2)), ["off"] * 4, ["x", "y"])
    procedure = lazy_procedure("x", "y", confidence=1.0)
    found = build_card(procedure, streams, profile("cc2420"))["traffic"]
    assert (found["channels"], found["columns"]) == ({"x": 8.0, "y": 1.0}, {"x": 8.0, "y": 8.0})


def test_an_episode_costs_messages_waiting_and_control(procedure):
    card, duty = procedure.about["card"], Duty(awake=0.3)
    traffic, radio = card["traffic"], profile("cc2420")
    assert traffic["nodes"] == {"a": traffic["ticks"], "b": traffic["ticks"]}
    waiting = 2 * (2 * radio.receive_joules(48) + traffic["ticks"] * 0.3 * 3.0 * 426e-6)
    expected = sum(traffic["channels"].values()) * radio.message_joules(40) + waiting
    assert facts(procedure, duty=duty)["paid"] == pytest.approx(expected)
    said = f"and costs the nodes of a stream {card_words.joules(expected)}, waiting and control messages included."
    assert said in sections(markdown(procedure, duty=duty))["Channels"]


def test_what_is_paid_is_in_the_cards_unit(procedure, bare, streams):
    traffic = measure_traffic(procedure, streams)
    rates = Rates.of(profile("cc2420"), procedure.period)
    expected = rates.episode(traffic.channels, traffic.nodes)
    assert paid(procedure, traffic) == (pytest.approx(expected), "joules")
    assert paid(bare, traffic) == (pytest.approx(sum(traffic.channels.values())), "transmissions")


def test_a_card_without_the_ticks_of_nodes_does_not_know_what_an_episode_costs(procedure):
    card = procedure.about["card"]
    older = {name: value for name, value in card["traffic"].items() if name != "nodes"}
    kept = with_about(procedure, card={**card, "traffic": older})
    assert facts(kept)["paid"] is None
    assert "waiting and control" not in markdown(kept)
