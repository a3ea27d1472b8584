"""The record of its training that a procedure carries."""

import platform
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.costs.pricing import Pricing
from streamfs.data.fingerprints import fingerprints
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import replay_with_values
from streamfs.evaluation.model_card import build_card
from streamfs.procedure.kin import Kin
from streamfs.procedure.procedure import Decision, Procedure
from streamfs.procedure.reference import OF_CLASSIFIER, reference_of
from streamfs.training.held_out import Followed
from streamfs.training.kept_together import Ties
from streamfs.training.other_thresholds import follow_priced, other_thresholds


def made_with(seed: int, streams: StreamSet, offered: list[str]) -> dict[str, Any]:
    """Return what every procedure records: versions, seed, streams and their fingerprints, features offered."""
    return {
        "streamfs": version("streamfs"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "seed": seed,
        "streams": len(streams),
        "fingerprints": fingerprints(streams),
        "offered": offered,
    }


def with_held_out(
    procedure: Procedure,
    facts: Mapping[str, Any],
    decided: Iterable[tuple[Decision, Array]],
    followed: Followed,
    kin: Kin,
) -> Procedure:
    """Add to a procedure what held-out streams showed, and what decisions on them looked like.

    Their confidence and labels are those of other classifiers, and left out of the latter. Confidence in
    `followed` is calibrated. `kin` says which of the streams go together.
    """
    held_out = {**facts, "stopping": procedure.rule.to_json()}
    found = reference_of(procedure, decided, kin=kin)
    reference = {name: bins for name, bins in found.items() if name not in OF_CLASSIFIER}
    about = {"held_out": held_out, "reference": reference, "other_thresholds": other_thresholds(followed)}
    return replace(procedure, about={**procedure.about, **about})


def with_ties(procedure: Procedure, ties: Ties) -> Procedure:
    """Add to what held-out streams showed how many of them share a node's readings with others."""
    about = procedure.about
    if not ties.torn or "held_out" not in about:
        return procedure
    return replace(procedure, about={**about, "held_out": {**about["held_out"], "torn": ties.torn}})


def with_card(
    procedure: Procedure,
    streams: StreamSet,
    pricing: Pricing,
    measured_on: StreamSet | None = None,
    groups: npt.NDArray[np.generic] | None = None,
) -> Procedure:
    """Add the model card to a procedure, and what streams show that it was not trained on.

    These are other thresholds, and if its promise was certified on them, what its decisions looked like. `groups`
    are those of the latter.
    """
    card = build_card(procedure, streams, pricing.radio, measured_on=measured_on, prices=pricing.prices)
    if pricing.own is not None or (pricing.a, pricing.b) != (1.0, 1.0):
        card["own_costs"] = True
    about = {**procedure.about, "card": card}
    if measured_on is not None:
        about["other_thresholds"] = other_thresholds(follow_priced(procedure, measured_on, pricing))
    if measured_on is not None and "promise" in about:
        about["reference"] = reference_on(procedure, measured_on, groups, len(streams))
    return replace(procedure, about=about)


def reference_on(
    procedure: Procedure,
    streams: StreamSet,
    groups: npt.NDArray[np.generic] | None = None,
    n_recorded: int | None = None,
) -> dict[str, Any]:
    """Return what the decisions on labelled streams look like, and their errors, as plain JSON.

    The streams are some of `n_recorded` that were recorded together; see `Kin.of`.
    """
    truth = dict(zip(streams.names, map(str, streams.labels), strict=True))
    return reference_of(
        procedure, replay_with_values(procedure, streams), truth, Kin.of(streams, groups, n_recorded)
    )
