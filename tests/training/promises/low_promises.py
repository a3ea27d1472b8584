"""Procedures that keep a low promise."""

from helpers.training_options import grouped

from streamfs import train_promised
from streamfs.training.promises import Promise

FEATURES = ["mean(a.level)", "mean(b.level)", "mean(a.noise)"]
PROMISE = Promise(accuracy=0.8, completeness=0.8, risk=0.1)


def kept(streams, **options):
    """A procedure that keeps a low promise, of extra trees unless the options say otherwise."""
    options = {"classifier": "extra-trees", "as_offered": True, "n_jobs": 1, **options}
    given = {"features": FEATURES, "promise": PROMISE, **options}
    return train_promised(streams, **grouped(**given))
