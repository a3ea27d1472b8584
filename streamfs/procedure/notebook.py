"""What a notebook shows of procedures and decisions."""

from html import escape
from typing import TYPE_CHECKING

from streamfs.base.charts.chart import table
from streamfs.base.charts.notebook import block
from streamfs.procedure.card_words import listed

if TYPE_CHECKING:
    from streamfs.procedure.procedure import Decision, Procedure


def procedure_html(procedure: "Procedure") -> str:
    """Return the channels and features of a procedure as tables, and its text."""
    costs = procedure.costs.each.tolist()
    features = [(feature.name, cost) for feature, cost in zip(procedure.features, costs, strict=True)]
    rule = f"confidence {procedure.confidence:g}" if procedure.stopping is None else procedure.stopping.word
    line = (
        f"Procedure for {listed(procedure.classes)}, decided by {rule} within {procedure.time_limit} ticks of "
        f"{procedure.period:g} s, from {len(procedure.channels)} channels"
    )
    return block(
        line,
        [
            ("Channels", table(("channel",), [(channel,) for channel in procedure.channels])),
            (f"{len(features)} features", table(("feature", "each-time cost"), features)),
            ("Text", f"<pre>{escape(procedure.text())}</pre>"),
        ],
    )


def decision_html(decision: "Decision") -> str:
    """Return a decision as a table."""
    fields = {name: "-" if value is None else value for name, value in decision.to_json().items() if name != "id"}
    return table(("field", "value"), list(fields.items()))
