"""Set costs of your own: here a sensor that is expensive to read, and sensors that are expensive to start.

python examples/own_costs.py
"""

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import Costs, StreamSet, evaluate, train
from streamfs.cli.console import print_table

QUANTITIES = ("temperature", "humidity", "light")
FEATURES = [fx.get(f"mean_absolute_difference(a.{quantity}, b.{quantity})") for quantity in QUANTITIES]


def main() -> None:
    """Train with three kinds of costs, in any unit you like, and see which feature is selected."""
    training = StreamSet(*SameSource().sample(n_pairs=160, n_ticks=30, seed=0))
    testing = StreamSet(*SameSource().sample(n_pairs=200, n_ticks=30, seed=1))
    all_costs = {
        "all equal": Costs(each=[1.0, 1.0, 1.0]),
        "humidity expensive to read": Costs(each=[1.0, 50.0, 1.0]),
        "the others expensive to start": Costs(each=[1.0, 1.0, 1.0], once=[100.0, 100.0, 0.0], b=2.0),
    }
    rows = []
    for name, costs in all_costs.items():
        procedure = train(
            training, features=FEATURES, costs=costs, confidence=0.85, n_features=1, select="streamrelief"
        )
        measured = evaluate(procedure, testing)
        selected = QUANTITIES[FEATURES.index(procedure.features[0])]
        figures = ("completeness", "accuracy", "cost")
        rows.append(
            {"costs": name, "selected": selected} | {figure: getattr(measured, figure) for figure in figures}
        )
    print_table(rows)


if __name__ == "__main__":
    main()
