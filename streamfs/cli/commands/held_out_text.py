"""What held-out streams showed of a model, for people."""

from collections.abc import Mapping
from typing import Any

from streamfs.procedure.caveats import caveats
from streamfs.procedure.guesses import Guess, guess_as_good

SHORT = 0.03
"""A share of right labels that is by this much less than is stated, or than a given confidence, is warned of."""


def held_out_text(facts: Mapping[str, Any], unit: str) -> str:
    """Return how many held-out streams were labelled, and rightly, as lines of text, by class, too."""
    labelled, streams = facts["labelled"], facts["streams"]
    right_of, streams_of = facts["right_of"], facts["streams_of"]
    classes = ", ".join(f"{name} {right} of {streams_of[name]}" for name, right in right_of.items())
    asked = f"asked       {facts['asked']:g} as the classifier states it\n" if "asked" in facts else ""
    return (
        f"{asked}held out    {labelled} of {streams} streams labelled, "
        f"{facts['right'] / labelled:.3f} of them rightly ({facts['stated']:.3f} stated)\n"
        f"            after {facts['ticks']:.1f} ticks and {facts['sent']:.3g} {unit} on average\n"
        f"by class    {classes} rightly"
        f"{_of_waiting(facts)}"
    )


def _of_waiting(facts: Mapping[str, Any]) -> str:
    """Return what waiting would give, if labels are better than guesses, of which there is a warning."""
    waiting = facts.get("waiting")
    if waiting is None or guess_as_good(facts) is not None:
        return ""
    return (
        f"\nwaiting     {waiting['right']:.3f} would be right at tick {waiting['tick']}; "
        f"if that is worth the wait, try --error-cost {waiting['error_cost']:.3g}"
    )


def _of_guesses(facts: Mapping[str, Any], guess: Guess) -> str:
    """Return what to do about labels that are no better than guesses."""
    share = facts["right"] / facts["labelled"]
    said = (
        f"{share:.3f} of the labels of held-out streams are right, and always guessing "
        f"{guess.label} is about as good, {guess.share:.3f}"
    )
    waiting = facts.get("waiting")
    if waiting is None:
        return f"{said}: record more streams, or offer other features"
    return (
        f"{said}: at these costs it does not pay to wait; try --error-cost {waiting['error_cost']:.3g}, as "
        f"{waiting['right']:.3f} are right at tick {waiting['tick']}, or --promise with the accuracy that you need"
    )


def held_out_warnings(facts: Mapping[str, Any], confidence: float | None) -> list[str]:
    """Return what to know before the model is used: labels that are wrong more often than is stated or asked."""
    labelled = facts["labelled"]
    share, warnings = facts["right"] / labelled, list(caveats(facts))
    stated, asked = max(facts["stated"], confidence or 0.0), facts.get("asked", 0.0)
    if share < max(stated, asked) - SHORT:
        wanted = f"{stated:.3f} are stated" if stated >= asked else f"{asked:.3f} were asked for"
        warnings.append(
            f"only {share:.3f} of the labels of held-out streams are right, {wanted}: record more streams, offer "
            "other features, or ask for an accuracy with --promise"
        )
    guess = guess_as_good(facts)
    if guess is not None:
        return [*warnings, _of_guesses(facts, guess)]
    for name, n_streams in facts["streams_of"].items():
        if facts["right_of"][name] < 0.5 * n_streams:
            warnings.append(
                f"of {n_streams} held-out streams of class {name}, {facts['right_of'][name]} are recognised"
            )
    return warnings
