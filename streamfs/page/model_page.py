"""The models: what is promised and shown of them, and which are kept."""

from collections.abc import Mapping
from typing import Any

from streamfs.base.charts.bars import bar_chart
from streamfs.base.charts.chart import Chart
from streamfs.base.charts.evidence import reliability_chart, trade_off_chart
from streamfs.errors import ModelError
from streamfs.page.one_stream import FORM
from streamfs.page.watched import Watched
from streamfs.procedure import card_facts, card_text
from streamfs.procedure.card_html import card_html
from streamfs.procedure.card_schema import Facts
from streamfs.procedure.procedure import Procedure

LONGEST_LIFE = 3652.5
"""Days, beyond which cells age before they are empty."""


def parts(gateway: Watched, query: Mapping[str, str]) -> dict[str, dict[str, Any]]:  # noqa: ARG001 - as all pages
    """Return what is shown of the models, by template."""
    facts, models = gateway.now().facts, gateway.rows().streams.models
    newest = models[-1] if models else None
    procedure = None if newest is None else gateway.procedure(newest["digest"])
    card = None if procedure is None else _card(procedure)
    kept = [(path.stem, path.stat().st_mtime) for path in gateway.source.models()]
    return {
        FORM: {"kept": [digest for digest, _ in kept if newest is None or digest != newest["digest"]]},
        "promise": {"promise": facts.get("promise"), "alerts": facts.get("alerts", {})},
        "models": {
            "models": models[::-1],
            "open": facts.get("open", {}),
            "kept": [each for each in kept if each[0] not in {model["digest"] for model in models}],
        },
        "evidence": {"charts": [] if card is None else _charts(card)},
        "card": {
            "card": None if card is None else card_html(card_text.markdown(card)),
            "text": None if procedure is None else procedure.text(),
        },
    }


def _card(procedure: Procedure) -> Facts | None:
    try:
        return card_facts.facts(procedure)
    except ModelError:
        return None


def _other_charts(card: Facts) -> list[Chart]:
    """Draw what other thresholds would do, and how often a confidence is right; nothing where neither is known."""
    others = card["other_thresholds"]
    if others is None:
        return []
    held_out = f"{others['streams']} streams held out"
    pairs = [(each["confidence"], each["right"]) for each in others["confidence"]]
    return [
        trade_off_chart(others["thresholds"], card["unit"] or "", None),
        reliability_chart({held_out: pairs}),
    ]


def _charts(card: Facts) -> list[Chart]:
    """Draw the evidence of held-out streams, that of the promise by class, and what each channel costs."""
    promise, charts = card["promise"], _other_charts(card)
    if promise is not None and promise.get("labelled_as"):
        right = {label: promise["right_of"][label] / n for label, n in promise["labelled_as"].items() if n}
        charts.append(
            bar_chart("How often each label was right on streams kept apart", right, "share of the labels")
        )
    messages = {each["channel"]: each["messages"] for each in card["channels"] if each["messages"] is not None}
    if messages:
        charts.append(bar_chart("What each channel sends until a decision", messages, "messages an episode"))
    days = {node["node"] or "node": node["days"] for node in card["nodes"] or [] if node["days"] is not None}
    if days:
        lives = {node: min(each, LONGEST_LIFE) / 365.25 for node, each in days.items()}
        charts.append(bar_chart("How long batteries last, by the card", lives, "years, at most ten"))
    return charts
