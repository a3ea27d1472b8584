"""What tests of several formats share."""

import numpy as np

from streamfs.gateway.messages.codecs import Series, Several, TimedSeries

ARRIVAL = 1.75e9


def same(one, other):
    """Whether two decoded payloads are the same, missing samples and all."""
    if isinstance(one, Several):
        return (
            [channel for channel, _ in one.parts] == [channel for channel, _ in other.parts]
            and all(same(mine, theirs) for (_, mine), (_, theirs) in zip(one.parts, other.parts, strict=True))
            and one.spreading_factor == other.spreading_factor
            and repr(one.number) == repr(other.number)
        )
    if isinstance(one, TimedSeries | Series) and isinstance(other, TimedSeries | Series):
        columns = zip(one.arrays(), other.arrays(), strict=True)
        return one.sequence == other.sequence and all(np.array_equal(*pair, equal_nan=True) for pair in columns)
    return type(one) is type(other) and one == other
