"""The tests by betting as River's drift detectors: valid at every look, with a total risk of a false alarm.

River's other detectors bound the probability of a false alarm of each test; these bound that of any, for ever.
"""

from river import base

from streamfs.procedure.betting import RankTests, ShareTest
from streamfs.procedure.reference import Bins


class ShareDetector(base.DriftDetector):
    """Detects that less than a share of the outcomes is right.

    After a drift it starts again with the next outcome.

    Parameters
    ----------
    share
        Of right ones that is promised, more than 0 and less than 1.
    risk
        Probability that a drift is ever detected while at least this share is right.

    Examples
    --------
    >>> detector = ShareDetector(share=0.9)
    >>> for number in range(1000):
    ...     detector.update(number < 500 and number % 20 > 0)
    ...     if detector.drift_detected:
    ...         print(f"less than promised, found at {number}")
    ...         break
    less than promised, found at 509
    """

    def __init__(self, share: float = 0.8, risk: float = 0.05) -> None:
        super().__init__()
        self.share = share
        self.risk = risk
        self._test = ShareTest(share)

    def update(self, x: float) -> None:
        """Take an outcome: 1 or true if it is right, 0 or false if not."""
        if self.drift_detected:
            self._reset()
        self._test.add(bool(x))
        self._drift_detected = self._test.bets.wealth >= 1 / self.risk

    def _reset(self) -> None:
        super()._reset()
        self._test = ShareTest(self.share)


class SameDistributionDetector(base.DriftDetector):
    """Detects that values are not drawn as the first ones were.

    After a drift it starts again, with another reference.

    Parameters
    ----------
    n_reference
        First values, with which the others are compared.
    risk
        Probability that a drift is ever detected while all values are drawn alike, in any order.

    Examples
    --------
    >>> import numpy as np
    >>> random = np.random.default_rng(0)
    >>> detector = SameDistributionDetector()
    >>> for number, value in enumerate([*random.normal(size=500), *random.normal(1.0, size=500)]):
    ...     detector.update(value)
    ...     if detector.drift_detected:
    ...         print(f"other values, found at {number}")
    ...         break
    other values, found at 550
    """

    def __init__(self, n_reference: int = 100, risk: float = 0.05) -> None:
        super().__init__()
        if n_reference < 1:
            raise ValueError(f"n_reference is {n_reference}, expected at least 1")
        self.n_reference = n_reference
        self.risk = risk
        self._begin()

    def update(self, x: float) -> None:
        """Take a value; NaN is one, too."""
        if self.drift_detected:
            self._reset()
        if len(self._first) < self.n_reference:
            self._first.append(float(x))
            if len(self._first) == self.n_reference:
                self._bins = Bins.of(self._first)
                self._tests = RankTests([self._bins.counts])
            return
        self._drift_detected = self._tests.add([self._bins.bin(float(x))]) >= 1 / self.risk

    def _begin(self) -> None:
        self._first: list[float] = []
        self._bins = Bins((), (0, 0))
        self._tests = RankTests([self._bins.counts])

    def _reset(self) -> None:
        super()._reset()
        self._begin()
