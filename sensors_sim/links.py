"""Links between nodes and gateway that lose transmissions."""

from dataclasses import dataclass

import numpy as np

from feature_extractors.arrays import Array


@dataclass(frozen=True)
class Link:
    """A link that loses each transmission independently, with probability `loss`."""

    loss: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.loss <= 1:
            raise ValueError(f"loss is {self.loss}, expected a probability")

    def deliver(self, sent: Array, rng: np.random.Generator) -> Array:
        """Return an array of sent values, NaN without a transmission, with NaN for lost transmissions too."""
        return np.where(rng.random(sent.shape) < self.loss, np.nan, sent)
