"""Curves of subsets of features on streams that their classifiers were not fitted on."""

from collections.abc import Sequence

from streamfs.training.held_out import Followed, OutOfFold, Records
from streamfs.training.promises.curve import Curve


class HeldOut(OutOfFold):
    """Streams in folds, and the curves of all thresholds on them."""

    def curve(self, chosen: Sequence[int]) -> Curve:
        """Follow all streams, each held out, through all thresholds, with the chosen features."""
        return _curve(self.follow(chosen))

    def curve_and_records(self, chosen: Sequence[int]) -> tuple[Curve, Records]:
        """Return the curve, and the ticks at which held-out streams may be decided, of the same classifiers."""
        followed = self.follow(chosen)
        return _curve(followed), followed.records()


def _curve(followed: Followed) -> Curve:
    return Curve.of(followed.trajectories, followed.truth, followed.spent, followed.ticks)
