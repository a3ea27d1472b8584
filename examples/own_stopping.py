"""Decide by a stopping rule of your own, save the model, and load it again.

python examples/own_stopping.py
"""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sensors_sim.same_source import SameSource
from streamfs import Procedure, StreamSet, evaluate, train
from streamfs.procedure import Action, StoppingRule, register_rule


@dataclass(frozen=True)
class Leads(StoppingRule):
    """Decide when the likeliest class leads the next by a margin; give up a stream that does not in time."""

    word = "leads"
    margin: float
    patience: int

    def actions(self, ticks: np.ndarray, probabilities: np.ndarray) -> np.ndarray:
        """Return what to do with each stream; `probabilities` has shape (n_streams, n_classes)."""
        second, first = np.sort(probabilities, axis=1)[:, -2:].T
        undecided = np.where(ticks >= self.patience, Action.GIVE_UP, Action.WAIT)
        return np.where(first - second >= self.margin, Action.DECIDE, undecided)


register_rule(Leads)
procedure = train(StreamSet(*SameSource().sample(n_pairs=120, n_ticks=20))).with_stopping(Leads(0.8, patience=12))
with TemporaryDirectory() as folder:
    procedure.save(Path(folder) / "own.streamfs")
    loaded = Procedure.load(Path(folder) / "own.streamfs")
print(loaded.rule.text(loaded.time_limit))
print(evaluate(loaded, StreamSet(*SameSource().sample(n_pairs=60, n_ticks=20, seed=1))).summary())
