"""Relief and StreamRelief: how well features tell classes apart, at once and as time passes."""

from streamfs.relief.extrapolation import decision_probability, expected_cost, lower_bound
from streamfs.relief.relief import Relief
from streamfs.relief.streamrelief import Probes, StreamRelief

__all__ = ["Probes", "Relief", "StreamRelief", "decision_probability", "expected_cost", "lower_bound"]
