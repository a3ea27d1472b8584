"""Who stands in which row."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.engine.stream_registry import Roll

NAMES = "abcd"
moves = st.lists(st.sampled_from([*NAMES, "thaw"]), max_size=40)
"""Streams that come where they are not there and leave where they are; and a roll that is thawed."""


@given(moves, st.integers(1, 3))
def test_streams_keep_their_rows_and_episodes_never_come_again(drawn, n_remembered):
    roll, row_of, last = Roll(), {}, dict.fromkeys(NAMES, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamfs.engine.stream_registry.MAX_LEFT", n_remembered)
        for name in drawn:
            if name == "thaw":
                roll = Roll.thaw(roll.freeze())
            elif name not in row_of:
                episode = roll.last_episode(name) + 1
                assert episode > last[name]
                last[name] = episode
                taken = set(row_of.values())
                row_of[name] = roll.enter(name)
                assert row_of[name] not in taken
            else:
                assert roll.strike(name) == row_of.pop(name)
                roll.remember(name, last[name])
            assert roll.row_of == row_of
            assert {roll.names[row]: row for row in row_of.values()} == row_of
            assert roll.rows(list(row_of)).tolist() == list(row_of.values())
            assert len(roll.names) <= len(NAMES)


def test_who_is_not_there_is_named():
    roll = Roll()
    for ask in (roll.known, roll.strike):
        with pytest.raises(ValueError, match="'desk' is not known"):
            ask("desk")
    with pytest.raises(KeyError, match="desk"):
        roll.rows(["desk"])
