"""Train a procedure that fits a microcontroller, to be exported to it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from feature_extractors.base import Feature
from feature_extractors.report import READINGS, SENDS
from streamfs.base.progress import Progress
from streamfs.costs.pricing import Pricing
from streamfs.data.default_features import default_features
from streamfs.data.streams import StreamSet
from streamfs.errors import TrainingError, TranslationError
from streamfs.evaluation.split_traffic import paid_by_split
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.split import split
from streamfs.training import arguments
from streamfs.training.balance import harmonic_mean
from streamfs.training.cost_aware import train
from streamfs.training.learners import FOREST
from streamfs.training.models import TREE
from streamfs.translation.estimate import NodeEstimate, estimate, processors
from streamfs.translation.model import translate
from streamfs.translation.precision import DOUBLE, FLOAT
from streamfs.translation.sending import translate_sending

SMALLER = ((TREE, 8), (TREE, 3), (FOREST, 3), (TREE, 1))
"""Classifiers, and the number of features that StreamRelief ranks highest, which are tried, too."""

COSTS_OF_DECISIONS = ("error_cost", "delay_cost", "sending_cost")


@dataclass(frozen=True)
class NodeLimits:
    """What an exported procedure may take of a microcontroller, in bytes.

    Parameters
    ----------
    max_flash, max_ram : int, optional
        Of flash, as `streamfs export --estimate` says, and of memory for each stream; by default any number.
    processor : str
        One of those that it names.
    is_double : bool
        Whether it computes in double precision.
    sends : {"crossings", "values"}, optional
        What nodes send to a gateway that decides, as of `streamfs.procedure.split.split`; it must cost less than
        to send readings. By default nodes decide by themselves.
    """

    max_flash: int | None = None
    max_ram: int | None = None
    processor: str = "cortex-m4"
    is_double: bool = False
    sends: str | None = None

    def __post_init__(self) -> None:
        for name, value in (("max_flash", self.max_flash), ("max_ram", self.max_ram)):
            if value is not None and not value >= 1:
                raise ValueError(f"{name} is {value}, expected at least 1 byte")
        if self.sends is not None and self.sends not in SENDS:
            raise ValueError(f"sends is {self.sends!r}, expected one of {', '.join(SENDS)}")
        known = processors(DOUBLE if self.is_double else FLOAT)
        if self.processor not in known:
            raise ValueError(f"processor is {self.processor!r}, expected one of {', '.join(known)}")

    def taken(self, procedure: Procedure) -> NodeEstimate:
        """Estimate what a procedure takes of a node; raise a TranslationError if it cannot be exported."""
        precision = DOUBLE if self.is_double else FLOAT
        if self.sends is None:
            sources = translate(procedure, precision=precision)
        else:
            sources = translate_sending(procedure, split(procedure, self.sends), precision=precision)
        return estimate(sources, precision, self.processor)

    def sending(self, procedure: Procedure, streams: StreamSet, pricing: Pricing | str) -> float:
        """Return what nodes pay for a stream, 0 if they decide; raise a TranslationError if readings cost less."""
        if self.sends is None:
            return 0.0
        paid = paid_by_split(procedure, streams, pricing)
        if paid[self.sends] >= paid[READINGS]:
            spent = ", ".join(f"{sends} {cost:.4g}" for sends, cost in paid.items())
            raise TranslationError(f"no split by {self.sends} saves anything, a stream costs: {spent}")
        return paid[self.sends]

    def allow(self, found: NodeEstimate) -> bool:
        """Return whether an estimate is within the limits."""
        flash, ram = self.max_flash, self.max_ram
        return (flash is None or found.flash <= flash) and (ram is None or found.ram <= ram)


def train_within(
    streams: StreamSet, limits: NodeLimits, *, progress: Progress | None = None, **options: Any
) -> Procedure:
    """Train the best of some procedures that fit a microcontroller.

    The one that `train` makes by the given options is tried, and, beside it, trees and forests on the features
    that StreamRelief ranks highest. Of those within the limits the one is taken whose decisions on held-out
    streams cost least: a wrong or missing label costs `error_cost`, a delay its share of `delay_cost`, and what
    nodes send to a gateway `sending_cost` a unit of the pricing; or, if no cost is given, whose accuracy and
    earliness are best balanced.

    Parameters
    ----------
    streams : StreamSet
        Labelled, recorded streams.
    limits : NodeLimits
        What it may take. Features whose own state takes more memory are not offered.
    progress : callable, optional
        Called with the progress of each step.
    **options
        Of `train`. With `classifier`, `select` or `n_features` nothing else is tried.

    Returns
    -------
    Procedure
        Within the limits.

    Raises
    ------
    TrainingError
        If none is within them, with what the smallest takes.

    Notes
    -----
    Flash is an estimate, with an error that `streamfs export --estimate` states. As several are tried on the same
    held-out streams, their accuracy there is somewhat flattering.
    """
    given = options.pop("features", None)
    fitting = _fitting(arguments.offered_features(streams, given or default_features(streams)), limits)
    usual = {**options, "features": given if limits.max_ram is None else fitting}
    is_free = not {"classifier", "select", "n_features"} & {
        name for name, value in options.items() if value is not None
    }
    tried, refused = list[tuple[NodeEstimate, float, Procedure]](), ""
    for each in (usual, *(_smaller(options, fitting) if is_free else ())):
        try:
            procedure = train(streams, progress=progress, **each)
            sending = limits.sending(procedure, streams, options.get("pricing") or "transmissions")
            cost = _cost(procedure, options) + (options.get("sending_cost") or 0.0) * sending
            tried.append((limits.taken(procedure), cost, procedure))
        except (TrainingError, TranslationError) as error:
            refused = refused or str(error)
    within = [each for each in tried if limits.allow(each[0])]
    if not within:
        raise TrainingError(_reason(limits, [found for found, *_ in tried]) if tried else refused)
    return min(within, key=lambda each: each[1])[2]


def _fitting(features: Sequence[Feature], limits: NodeLimits) -> list[Feature]:
    """Return the features whose own value and state are within the memory."""
    n_bytes = 8 if limits.is_double else 4
    most = inf if limits.max_ram is None else limits.max_ram
    fitting = [feature for feature in features if n_bytes * (feature.state_size + 1) <= most]
    if not fitting:
        raise TrainingError(f"no feature takes at most {limits.max_ram} bytes of memory")
    return fitting


def _smaller(options: dict[str, Any], features: Sequence[Feature]) -> Iterator[dict[str, Any]]:
    """Yield what is tried beside what was asked for: fewer features and smaller classifiers, without prices."""
    kept = {name: value for name, value in options.items() if name not in COSTS_OF_DECISIONS}
    for classifier, n_features in SMALLER:
        n = min(n_features, len(features))
        yield {**kept, "features": features, "select": "streamrelief", "classifier": classifier, "n_features": n}


def _cost(procedure: Procedure, options: dict[str, Any]) -> float:
    """Return the mean cost of decisions on held-out streams."""
    facts = procedure.about.get("held_out")
    if facts is None:
        return inf
    late = facts["labelled"] * facts["ticks"] / procedure.time_limit + facts["streams"] - facts["labelled"]
    wrong, late = 1.0 - facts["right"] / facts["streams"], late / facts["streams"]
    given = [options.get(name) for name in COSTS_OF_DECISIONS]
    if given == [None] * len(given):
        return float(2.0 - 2.0 * harmonic_mean(wrong, late - 1.0 / procedure.time_limit))
    error, delay, _ = (1.0 if cost is None else cost for cost in given)
    return float(error * wrong + delay * late)


def _reason(limits: NodeLimits, found: list[NodeEstimate]) -> str:
    """Return what the smallest procedures take, and what was asked for."""
    asked = [
        f"{least} bytes of {what} of {most}"
        for what, least, most in (
            ("flash", min(each.flash for each in found), limits.max_flash),
            ("memory for a stream", min(each.ram for each in found), limits.max_ram),
        )
        if most is not None
    ]
    return f"no procedure fits {limits.processor}: the smallest take {' and '.join(asked)} allowed"
