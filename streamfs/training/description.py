"""The record of its training that a procedure carries."""

import platform
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from streamfs.costs.pricing import Pricing
from streamfs.data.streams import StreamSet
from streamfs.evaluation.evaluation import replay_with_values
from streamfs.evaluation.model_card import build_card
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.reference import reference_of


def made_with(seed: int, streams: StreamSet, offered: list[str]) -> dict[str, Any]:
    """Return what every procedure records: versions, seed, number of streams, and the features offered."""
    return {
        "streamfs": version("streamfs"),
        "numpy": version("numpy"),
        "python": platform.python_version(),
        "seed": seed,
        "streams": len(streams),
        "offered": offered,
    }


def with_card(
    procedure: Procedure, streams: StreamSet, pricing: Pricing, measured_on: StreamSet | None = None
) -> Procedure:
    """Add the model card to a procedure, and what its decisions looked like where its promise was certified."""
    card = build_card(procedure, streams, pricing.radio, measured_on=measured_on, prices=pricing.prices)
    about = {**procedure.about, "card": card}
    if measured_on is not None and "promise" in about:
        about["reference"] = reference_of(procedure, replay_with_values(procedure, measured_on))
    return replace(procedure, about=about)
