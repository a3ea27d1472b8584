"""How far our C4.5 tree and J48 agree on the held-out halves."""

import json
from pathlib import Path

import numpy as np

from golden.halves import SEEDS, Outcome
from streamfs import C45Classifier

RECORDED = json.loads(Path(__file__).with_name("j48.json").read_text())


def j48(recorded):
    """Return J48's outcomes of a recorded case."""
    return [
        Outcome(np.array([int(digit) for digit in digits]), n_leaves, probability)
        for digits, n_leaves, probability in zip(
            recorded["predictions"], recorded["n_leaves"], recorded["probability"], strict=True
        )
    ]


def ours(data, *, laplace, reverse=False):
    """Return the outcomes of our tree, with the features in reverse order if so wished."""
    step = -1 if reverse else 1
    X = data.X[:, ::step]
    nominal = [X.shape[1] - 1 - f if reverse else f for f in data.nominal]
    outcomes = []
    for seed in SEEDS:
        training, held_out = data.halves(seed)
        tree = C45Classifier(laplace=laplace, nominal=nominal).fit(X[training], data.y[training])
        outcomes.append(Outcome.of(tree.predict_proba(X[held_out]), tree.n_leaves_, data.y[held_out]))
    return outcomes


def share_equal(some, others):
    """Return the share of equal predictions, the rows of all halves pooled."""
    pooled = [np.concatenate([half.predictions for half in outcomes]) for outcomes in (some, others)]
    return float(np.mean(pooled[0] == pooled[1]))
