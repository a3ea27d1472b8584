"""Rank features by StreamRelief, on a file or on simulated pairs of nodes: which are worth their cost.

python examples/rank_features.py [STREAMS.csv]
"""

import sys

from sensors_sim.same_source import SameSource
from streamfs import Costs, StreamRelief, StreamSet, tabulate
from streamfs.cli.console import print_table
from streamfs.costs import profile
from streamfs.data import default_features
from streamfs.errors import StreamfsError


def main(path: str | None = None, n_shown: int = 10) -> None:
    """Print the best features."""
    streams = StreamSet.read(path) if path else StreamSet(*SameSource().sample(n_pairs=100, n_ticks=30))
    features = default_features(streams)
    costs = Costs.estimate(streams, features, profile("cc2420"))
    selector = StreamRelief(costs, positions=10).fit(tabulate(streams, features))
    best = [
        {
            "feature": features[i].name,
            "weight": selector.lower_bound_[-1, i],
            "relevant": bool(selector.relevant_[i]),
            "millijoules": 1000 * selector.score_[i],
        }
        for i in selector.ranking_[:n_shown]
    ]
    print_table(best, f"The best of {len(features)} features, cheapest decision first")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:2])
    except StreamfsError as error:
        sys.exit(str(error))
