"""Plot Figure 1 of the StreamRelief paper: a feature's weights over time, and when it is expected to decide.

    python examples/figure_1.py [figure_1.png]

Needs the extra `plot`.
"""

import sys

import numpy as np

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import Costs, StreamRelief, StreamSet, tabulate
from streamfs.errors import StreamfsError


def main(path: str = "figure_1.png") -> None:
    """Draw the weights of the correlation of two light sensors, extrapolated to three times the recorded ticks.

    The sensors are not calibrated against each other, and two places have nothing in common: only time tells.
    """
    law = SameSource(common=0.0).uncalibrated()
    streams = StreamSet(*law.sample(n_pairs=150, n_ticks=40, period=120.0))
    names = [f"correlation(a.{quantity}, b.{quantity})" for quantity in ("light", "temperature", "humidity")]
    table = tabulate(streams, [fx.get(name) for name in names])
    selector = StreamRelief(Costs(np.ones(3)), confidence=0.65, horizon=120, extrapolation="saturating").fit(table)
    selector.plot(0, names[0]).savefig(path)
    print(f"{names[0]}: expected to cost {selector.expected_cost_[0]:.1f} of 120 ticks; plotted to {path}")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except (StreamfsError, OSError) as error:
        sys.exit(f"{error}")
