"""A stopping rule that the package does not know."""

from dataclasses import dataclass

import numpy as np

from streamfs.procedure import Action, StoppingRule


@dataclass(frozen=True)
class Leads(StoppingRule):
    """Decide when the likeliest class leads by a margin; give up after some ticks."""

    word = "leading"
    margin: float
    patience: int

    def actions(self, ticks, probabilities):
        second, first = np.sort(probabilities, axis=1)[:, -2:].T
        undecided = np.where(ticks >= self.patience, Action.GIVE_UP, Action.WAIT)
        return np.where(first - second >= self.margin, Action.DECIDE, undecided)
