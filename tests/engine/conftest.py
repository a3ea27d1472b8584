"""A procedure for engines."""

import pytest
from helpers.procedures import labelled_streams

from streamfs import train


@pytest.fixture(scope="module")
def trained():
    streams = labelled_streams(gaps=0.05)
    return train(streams, confidence=0.8, seed=1, select="streamrelief"), streams
