"""Give costs of your own: here a humidity sensor that is dear to read, and sensors that are dear to start.

python examples/own_costs.py
"""

import feature_extractors as fx
from sensors_sim.same_source import SameSource
from streamfs import Costs, StreamSet, evaluate, train
from streamfs.cli.console import print_table

QUANTITIES = ("temperature", "humidity", "light")
FEATURES = [fx.get(f"mean_absolute_difference(a.{quantity}, b.{quantity})") for quantity in QUANTITIES]


def main() -> None:
    """Train under three kinds of costs, in any unit you like, and see which features are taken."""
    training = StreamSet(*SameSource().sample(n_pairs=160, n_ticks=30, seed=0))
    testing = StreamSet(*SameSource().sample(n_pairs=200, n_ticks=30, seed=1))
    kinds = {
        "all alike": Costs(each=[1.0, 1.0, 1.0]),
        "humidity dear to read": Costs(each=[1.0, 50.0, 1.0]),
        "the others dear to start": Costs(each=[1.0, 1.0, 1.0], once=[100.0, 100.0, 0.0], b=2.0),
    }
    rows = []
    for name, costs in kinds.items():
        procedure = train(training, features=FEATURES, costs=costs, confidence=0.85, n_features=1)
        measured = evaluate(procedure, testing)
        taken = QUANTITIES[FEATURES.index(procedure.features[0])]
        figures = ("completeness", "accuracy", "cost")
        rows.append({"costs": name, "taken": taken} | {figure: getattr(measured, figure) for figure in figures})
    print_table(rows)


if __name__ == "__main__":
    main()
