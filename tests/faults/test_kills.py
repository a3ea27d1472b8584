"""A gateway that is killed at any point loses no message and makes no decision twice."""

import pytest
from accounts import assert_nothing_lost, assert_published, take_account
from survival import COMMAND, FEW, SLOW, SPOOLED, survive
from traffic import WAITING, procedure, recorded, traffic

from streamfs import evaluate

pytestmark = pytest.mark.mqtt


def test_what_the_others_are_compared_with_is_the_evaluation_of_the_record(undisturbed):
    expected = {
        (made.stream, made.label, made.confidence, made.tick, made.cost, made.reason)
        for made in evaluate(procedure(), recorded()).decisions
        if made.stream not in WAITING
    }
    for numbered in (True, False):
        account = undisturbed(numbered=numbered)
        first = [
            made for made in account.decisions.values() if made["episode"] == 1 and made["stream"] not in WAITING
        ]
        names = ("stream", "label", "confidence", "tick", "cost", "reason")
        assert {tuple(made[name] for name in names) for made in first} == expected
        assert {made["reason"] for made in first} == {"confident", "timeout"}
        assert len({made["tick"] for made in first}) > 5, "decisions are wanted at many ticks"
        assert account.counters["lost"] == account.counters["late"] == account.counters["duplicate"] == 0


def test_five_kills_of_the_command_mid_stream(tmp_path, broker, undisturbed):
    gateway, witness = survive(tmp_path, broker, traffic(), [COMMAND] * 5, seed=1, **FEW)
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_five_kills_mid_stream_with_mqtt_3(tmp_path, broker, undisturbed):
    mqtt_3 = {"broker": {"protocol": "3.1.1"}}
    gateway, witness = survive(tmp_path, broker, traffic(), [SLOW] * 5, seed=7, **mqtt_3)
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_five_kills_mid_stream_without_sequence_numbers(tmp_path, broker, undisturbed):
    gateway, witness = survive(tmp_path, broker, traffic(numbered=False), [SLOW] * 5, seed=2)
    assert_nothing_lost(take_account(gateway, broker), undisturbed(numbered=False))
    assert_published(witness, undisturbed())


def test_kills_between_what_is_durable_and_its_acknowledgement(tmp_path, broker, undisturbed):
    kills = [("kill", "after_commit", 3), ("kill", "before_commit", 2), ("kill", "after_acknowledge", 4)]
    gateway, witness = survive(tmp_path, broker, traffic(), kills, seed=3)
    account = take_account(gateway, broker)
    assert_nothing_lost(account, undisturbed())
    assert_published(witness, undisturbed())
    assert len(account.readings) > len(set(account.readings)), "no message has come twice"
    assert account.counters["duplicate"] == len(account.readings) - len(set(account.readings))


def test_kills_between_a_decision_and_its_publication_and_its_leaving_the_outbox(tmp_path, broker, undisturbed):
    kills = [("kill", "before_publish", 19), ("kill", "after_confirmed", 4), ("kill", "after_publish", 3)]
    gateway, witness = survive(tmp_path, broker, traffic(), kills, seed=4)
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())
    assert max(map(len, witness.decisions.values())) > 1, "no decision was published twice"


def test_kills_in_the_midst_of_writing_and_failures_of_the_power(tmp_path, broker, undisturbed):
    points = ("before_append", "in_write", "before_sync", "power_fails")
    kills = [("kill", point, 3) for point in points]
    gateway, witness = survive(tmp_path, broker, traffic(), kills, seed=5)
    assert_nothing_lost(take_account(gateway, broker), undisturbed())
    assert_published(witness, undisturbed())


def test_kills_while_the_log_lets_go_of_segments(tmp_path, broker, undisturbed):
    kills = [("kill", "before_release", 2), ("kill", "after_release", 3), ("kill", "power_fails", 4)]
    gateway, witness = survive(tmp_path, broker, traffic(), kills, seed=6, **SPOOLED)
    account = take_account(gateway, broker)
    assert len(list((tmp_path / "spool").iterdir())) > 5
    assert len(account.readings) == account.counters["messages"]
    assert_nothing_lost(account, undisturbed())
    assert_published(witness, undisturbed())
