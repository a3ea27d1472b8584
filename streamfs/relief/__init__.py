"""Relief and StreamRelief: how well features tell classes apart, at once and as time passes."""

from streamfs.relief.extrapolation import choose_extrapolation, decision_probability, expected_cost, lower_bound
from streamfs.relief.positions import position_grid
from streamfs.relief.prefixes import PrefixRelief
from streamfs.relief.probes import Probes
from streamfs.relief.relief import Relief
from streamfs.relief.relieff import ReliefF
from streamfs.relief.streamrelief import StreamRelief

__all__ = [
    "PrefixRelief",
    "Probes",
    "Relief",
    "ReliefF",
    "StreamRelief",
    "choose_extrapolation",
    "decision_probability",
    "expected_cost",
    "lower_bound",
    "position_grid",
]
