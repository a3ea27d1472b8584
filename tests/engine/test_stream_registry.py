"""The rows of streams."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamfs.engine.stream_registry import StreamRegistry

NAMES = "abcd"
moves = st.lists(st.sampled_from([*NAMES, "restore"]), max_size=40)
"""Streams that join if absent and leave if present, and a registry from its state."""


@given(moves, st.integers(1, 3))
def test_streams_keep_their_rows_and_episodes_are_unique(drawn, n_remembered):
    registry, row_of, last = StreamRegistry(), {}, dict.fromkeys(NAMES, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamfs.engine.stream_registry.MAX_LEFT", n_remembered)
        for name in drawn:
            if name == "restore":
                registry = StreamRegistry.from_state(registry.to_state())
            elif name not in row_of:
                episode = registry.last_episode(name) + 1
                assert episode > last[name]
                last[name] = episode
                taken = set(row_of.values())
                row_of[name] = registry.add(name)
                assert row_of[name] not in taken
            else:
                assert registry.remove(name) == row_of.pop(name)
                registry.remember(name, last[name])
            assert registry.row_of == row_of
            assert {registry.names[row]: row for row in row_of.values()} == row_of
            assert registry.rows(list(row_of)).tolist() == list(row_of.values())
            assert len(registry.names) <= len(NAMES)


def test_who_is_not_there_is_named():
    registry = StreamRegistry()
    for ask in (registry.row, registry.remove):
        with pytest.raises(ValueError, match="'desk' is not known"):
            ask("desk")
    with pytest.raises(KeyError, match="desk"):
        registry.rows(["desk"])
