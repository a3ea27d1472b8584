"""All that can be read of the channels that were found: it costs no more messages."""

from dataclasses import replace

from feature_extractors.base import channels_of
from streamfs.training.learners import FOREST, both_learner
from streamfs.training.promises.finalists import DOUBT_OF_FOUND, DOUBT_OF_PLAIN
from streamfs.training.promises.policies import reading
from streamfs.training.promises.promise import Promise
from streamfs.training.promises.search_and_certify import FittedModel, PromiseTrainer
from streamfs.training.promises.subset_score import evaluate_subset

MOST_VALUES = 20_000_000
"""Most values of features at the ticks of training streams that are computed; further features are left out."""

GAIN = 0.1
"""How much better the score must be, for a model that computes more: a tenth of the cost, or so."""


def fitted_to_all(
    trainer: PromiseTrainer, model: FittedModel, promise: Promise
) -> tuple[PromiseTrainer, FittedModel]:
    """Return a model, or a forest on all features that its channels allow, if that is expected to be better.

    A search among many features proposes few of them, and takes those that are lucky on the held-out streams.
    All else that reads the same channels is free, and a forest sees more in it, perhaps sooner; half of its trees
    read what was found, since among hundreds of features this may be rarely tried. Nothing was chosen among all
    these features, so that their shares are not doubted as those of the features found.
    """
    train, channels = trainer.split.train, channels_of(model.features)
    most = MOST_VALUES // (len(train) * train.n_ticks)
    starts = [start for start in trainer.starts if start < model.start]

    def score(each: FittedModel, doubt: float) -> float:
        n_test = len(trainer.split.test)
        return evaluate_subset(each.held_out, promise, n_test, max_cost=trainer.max_cost, doubt=doubt).score

    best, best_score = (trainer, model), score(model, DOUBT_OF_FOUND) + GAIN
    found = tuple(feature for feature in model.features if feature.columns)
    offers = (dict.fromkeys((*found, *reading(channels, offered))) for offered in trainer.candidates.offers)
    for features in dict.fromkeys(tuple(offer)[:most] for offer in offers):
        if len(features) <= len(found):
            continue
        full = trainer.with_features(features)
        learners = {name: trainer.learners[name] for name in (FOREST, model.learner)}
        learners |= {FOREST: both_learner(learners[FOREST], model.features)}
        full = replace(full, learners=learners)
        other = full.fit(full.candidates.proposed, promise, *starts, model.start)
        if score(other, DOUBT_OF_PLAIN) > best_score:
            best, best_score = (full, other), score(other, DOUBT_OF_PLAIN)
    return best
