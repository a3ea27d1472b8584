"""How a promised procedure is searched."""

from dataclasses import dataclass
from numbers import Real
from pathlib import Path

STRATEGIES = ("floating", "exhaustive")


@dataclass(frozen=True)
class SearchSettings:
    """How subsets of features are searched.

    Parameters
    ----------
    strategy : {"floating", "exhaustive"}
        Exhaustively of at most ten features, as they are offered.
    as_offered : bool
        Whether the same features over cheaper channels, and over channels that open later, are left out.
        Costs of your own say nothing of these, which then are not.
    seconds : float, optional
        Time for the search of subsets, after which the best so far is taken. What is computed before it, and the
        model after it, take their own time.
    resume : path, optional
        A file in which the search logs the subsets that it scores, and from which the next search reads them.
    max_cost : float, optional
        Most that a stream may cost on average, or a label if no completeness is promised, in the unit of the
        pricing; what costs more is refused.

    Raises
    ------
    ValueError
        If the strategy is not one of these, or the time or the most that may be paid is not more than 0.
    """

    strategy: str = "floating"
    as_offered: bool = False
    seconds: float | None = None
    resume: str | Path | None = None
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is {self.strategy!r}, expected one of {', '.join(STRATEGIES)}")
        for name in ("seconds", "max_cost"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, Real) and float(value) > 0):
                raise ValueError(f"{name} is {value!r}, expected a number of more than 0")
