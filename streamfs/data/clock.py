"""The feature that counts samples: it reads no column, costs nothing, and says how late it is."""

from collections.abc import Sequence

import feature_extractors as fx
from feature_extractors.base import Feature

CLOCK = fx.get("count()")


def clock_of(features: Sequence[Feature]) -> int:
    """Return the place of the clock among features, -1 if it is not among them."""
    return next((i for i, feature in enumerate(features) if feature.name == CLOCK.name), -1)
