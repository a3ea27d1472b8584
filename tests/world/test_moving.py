"""A zone that moves arrives once and whole, whenever the process dies or the power fails."""

import shutil

from campaign import simulator
from helpers.moves import left_behind, run_both
from moving import STATES, move_and_fail

from streamfs.gateway.move import move_zone


def test_a_move_ends_as_if_nothing_had_failed(memory):
    name, n_deaths, wrong = run_both(memory / "before"), 0, set()
    shutil.copytree(memory / "before", memory / "calm")
    move_zone(name, *(memory / "calm" / state for state in STATES))
    expected = [left_behind(memory / "calm" / state) for state in STATES]
    with simulator():
        for seed in range(25):
            shutil.copytree(memory / "before", memory / f"before{seed}")
            ends, n = move_and_fail(seed, memory / str(seed), memory / f"before{seed}", name)
            n_deaths += n
            wrong |= {seed} if ends != expected else set()
    assert n_deaths > 25
    assert wrong == set()
