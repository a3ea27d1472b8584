"""What decisions lack of the best balance of accuracy and earliness, as their cost if nobody gives one."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array, Integers
from streamfs.training.decision_costs import DecisionCosts, believed_errors, decided_in
from streamfs.training.held_out import Followed
from streamfs.training.luck import believed_shares, chance_of, effective_number

SKILL = 0.3
"""Share of the errors of a guess that labels avoid, from which on they lack no skill."""

UNSKILLED = 0.3
"""What labels without any lack more: they are taken if all others lack more than that, too."""

_LITTLE = 1e-9


@dataclass(frozen=True)
class Balance(DecisionCosts):
    """Twice what the harmonic mean of accuracy and earliness lacks to 1.

    Earliness is 1 less the mean delay, the share of the time limit that passes after the first tick, which nobody
    can save. Where accuracy and earliness are alike, errors and delays cost 1 each. But few right labels that come
    at once are no bargain: the rarer they are, the dearer is an error. And labels that avoid few of the errors of
    a guess lack more, luck apart: it takes a somewhat longer wait to tell the classes apart at all.
    """

    @property
    def additive(self) -> DecisionCosts:
        """The costs of errors and delays, each 1."""
        return DecisionCosts(self.error, self.delay, self.sending)

    def of(self, followed: Followed, columns: Integers, time_limit: int) -> Array:
        """Return each stream's part, if it is decided in a column of what was followed, -1 for never."""
        wrong, delay, _ = decided_in(followed, columns, time_limit)
        counts = np.tile(followed.counts, followed.n_repetitions)
        lacking = parts(np.array([wrong, delay - 1.0 / time_limit]), counts)
        return lacking + unskilled_parts(wrong, counts, chance_of(followed), effective_number(followed.counts))

    def of_all_at(self, column: int, followed: Followed, time_limit: int) -> float:
        """Return what deciding all streams in a column of what was followed lacks, cautiously, luck apart."""
        error = min(believed_errors(column, followed), 1.0)
        lacking = 2.0 - 2.0 * harmonic_mean(error, (followed.ticks[column] - 1) / time_limit)
        return float(lacking + unskilled(1.0 - error, chance_of(followed)))


def parts(lacking: Array, counts: Array) -> Array:
    """Return the streams' parts in twice what the balance lacks, given their errors and delays.

    `lacking` has shape (2, ..., n_streams), and each stream counts as `counts` say. The mean of the parts is what
    the balance lacks; they differ as that would, were one stream more or less decided so: by its slopes.
    """
    means = np.average(lacking, axis=-1, weights=counts)
    accuracy, earliness = 1.0 - means
    slopes = 4.0 * np.array([earliness, accuracy]) ** 2 / np.maximum(accuracy + earliness, _LITTLE) ** 2
    differing = (slopes[..., np.newaxis] * (lacking - means[..., np.newaxis])).sum(axis=0)
    return np.asarray(2.0 - 2.0 * harmonic_mean(*means)[..., np.newaxis] + differing)


def unskilled_parts(wrong: Array, counts: Array, chance: float, n_streams: float) -> Array:
    """Return the streams' parts in what labels lack for want of skill, given which are wrong: by its slope.

    `wrong` has shape (..., n_rows), and each row counts as `counts` say; all are worth `n_streams`. Of guesses a
    share `chance` is right.
    """
    means = np.average(wrong, axis=-1, weights=counts)
    lacking = unskilled(believed_shares(1.0 - means, chance, n_streams, n_streams), chance)
    slopes = np.where(lacking > 0.0, UNSKILLED / (SKILL * max(1.0 - chance, _LITTLE)), 0.0)
    return np.asarray(lacking[..., np.newaxis] + slopes[..., np.newaxis] * (wrong - means[..., np.newaxis]))


def unskilled(right: npt.ArrayLike, chance: float) -> Array:
    """Return what labels lack for want of skill, if a share is right, and a share `chance` of guesses.

    If all guesses are right, there is nothing that skill could avoid.

    Examples
    --------
    >>> unskilled([0.5, 0.575, 0.65, 0.9], chance=0.5).round(3).tolist()
    [0.3, 0.15, 0.0, 0.0]
    """
    avoided = np.asarray(right) - chance
    needed = SKILL * (1.0 - chance)
    return UNSKILLED * np.clip(1.0 - avoided / max(needed, _LITTLE), 0.0, needed > 0.0)


def harmonic_mean(error: npt.ArrayLike, delay: npt.ArrayLike) -> Array:
    """Return the harmonic mean of accuracy and earliness, given what each lacks to 1; 0 if both lack all."""
    accuracy, earliness = 1.0 - np.asarray(error), 1.0 - np.asarray(delay)
    return np.asarray(2.0 * accuracy * earliness / np.maximum(accuracy + earliness, _LITTLE))
