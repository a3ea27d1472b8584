"""What is said of held-out streams before a model is used."""

import numpy as np
import pytest

from streamfs import StreamSet, train
from streamfs.cli.commands.held_out_text import held_out_text, held_out_warnings


def facts(right, stated):
    """Twenty streams of either class, all labelled; those that are wrong are equally many of both."""
    right_of = {"calm": right // 2, "busy": right - right // 2}
    numbers = {"streams": 40, "labelled": 40, "right": right, "stated": stated, "ticks": 3.0, "sent": 6.0}
    return numbers | {"streams_of": {"calm": 20, "busy": 20}, "labelled_of": {}, "right_of": right_of}


@pytest.mark.parametrize(
    ("right", "stated", "confidence", "expected"),
    [
        (38, 0.96, None, None),
        (38, 0.99, None, "only 0.950 of the labels of held-out streams are right, 0.990 are stated"),
        (36, 0.90, 0.90, None),
        (36, 0.94, 0.90, "only 0.900 of the labels of held-out streams are right, 0.940 are stated"),
        (34, 0.85, 0.90, "only 0.850 of the labels of held-out streams are right, 0.900 are stated"),
    ],
)
def test_labels_that_are_right_less_often_than_stated_are_warned_of(right, stated, confidence, expected):
    warnings = held_out_warnings(facts(right, stated), confidence)
    assert [text.partition(":")[0] for text in warnings] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("waiting", "advice"),
    [
        (None, ": record more streams, or offer other features"),
        ({"error_cost": 2.6, "tick": 36, "right": 0.775}, "try --error-cost 2.6, as 0.775 are right at tick 36"),
    ],
)
def test_labels_no_better_than_guesses_are_warned_of_with_what_to_do(waiting, advice):
    held_out = facts(22, 0.5) | ({} if waiting is None else {"waiting": waiting})
    (warning,) = held_out_warnings(held_out, None)
    assert (
        "0.550 of the labels of held-out streams are right, and always guessing calm is about as good" in warning
    )
    assert advice in warning
    assert held_out_warnings(facts(24, 0.6), None) == []
    assert "waiting" not in held_out_text(held_out, "messages")


def test_what_is_stated_no_higher_than_guesses_is_a_guess_within_two_standard_errors():
    (warning,) = held_out_warnings(facts(26, 0.5), None)
    assert "always guessing calm is about as good" in warning
    assert held_out_warnings(facts(28, 0.5), None) == []


def test_what_waiting_would_give_is_said_of_labels_that_are_better_than_guesses():
    held_out = facts(34, 0.86) | {"waiting": {"error_cost": 5.2, "tick": 36, "right": 0.975}}
    assert held_out_warnings(held_out, None) == []
    assert "waiting     0.975 would be right at tick 36; if" in held_out_text(held_out, "messages")
    assert held_out_text(held_out, "messages").endswith("try --error-cost 5.2")


def test_a_tree_that_is_surer_than_right_is_warned_of():
    rng = np.random.default_rng(1)
    labels = np.arange(320) % 2
    streams = StreamSet(rng.normal(1.5 * labels[:, None, None], 1.0, (320, 50, 1)), labels.astype(str), ["x"])
    procedure = train(streams, features=["mean(x)"], select=None)
    held_out = procedure.about["held_out"]
    (warning,) = held_out_warnings(held_out, procedure.confidence)
    assert "0.900 were asked for" in warning
    assert held_out_text(held_out, "messages").startswith("asked       0.9 as the classifier states it")
    assert f"({held_out['stated']:.3f} stated)" in held_out_text(held_out, "messages")
