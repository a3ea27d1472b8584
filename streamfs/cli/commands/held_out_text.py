"""What held-out streams showed of a model, for people."""

from collections.abc import Mapping
from typing import Any

SHORT = 0.03
"""A share of right labels that is by this much less than is stated, or than a given confidence, is warned of."""


def held_out_text(facts: Mapping[str, Any], unit: str) -> str:
    """Return how many held-out streams were labelled, and rightly, as lines of text, by class, too."""
    labelled, streams = facts["labelled"], facts["streams"]
    right_of, streams_of = facts["right_of"], facts["streams_of"]
    classes = ", ".join(f"{name} {right} of {streams_of[name]}" for name, right in right_of.items())
    asked = f"asked       {facts['asked']:g} as the classifier states it\n" if "asked" in facts else ""
    return asked + (
        f"held out    {labelled} of {streams} streams labelled, {facts['right'] / labelled:.3f} of them rightly "
        f"({facts['stated']:.3f} stated)\n"
        f"            after {facts['ticks']:.1f} ticks and {facts['sent']:.3g} {unit} on average\n"
        f"by class    {classes} rightly"
    )


def held_out_warnings(facts: Mapping[str, Any], confidence: float | None) -> list[str]:
    """Return what to know before the model is used: labels that are wrong more often than is stated or asked."""
    labelled = facts["labelled"]
    share, warnings = facts["right"] / labelled, []
    stated, asked = max(facts["stated"], confidence or 0.0), facts.get("asked", 0.0)
    if share < max(stated, asked) - SHORT:
        wanted = f"{stated:.3f} are stated" if stated >= asked else f"{asked:.3f} were asked for"
        warnings.append(
            f"only {share:.3f} of the labels of held-out streams are right, {wanted}: record more streams, offer "
            "other features, or ask for an accuracy with --promise"
        )
    for name, n_streams in facts["streams_of"].items():
        if facts["right_of"][name] < 0.5 * n_streams:
            warnings.append(
                f"of {n_streams} held-out streams of class {name}, {facts['right_of'][name]} are recognised"
            )
    return warnings
