"""The node's half of a split procedure in C: it computes features, and says what is to be sent of them."""

from dataclasses import replace

from feature_extractors.report import split_channel
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.split import SplitProcedure
from streamfs.translation import on_node
from streamfs.translation.parts import NodeParts, Sources, require_name, texts_in_c
from streamfs.translation.precision import DOUBLE, Precision
from streamfs.translation.templates import MESSAGES, SENDS
from streamfs.translation.unit import wrapped
from streamfs.translation.values import POINTER, REAL, Array


def translate_sending(
    procedure: Procedure, halves: SplitProcedure, name: str = "model", precision: Precision = DOUBLE
) -> Sources:
    """Translate what a node computes of a split procedure to C99.

    Parameters
    ----------
    procedure : Procedure
        That was split.
    halves : SplitProcedure
        Its halves.
    name : str
        Prefix of what the files declare: a name in C of at most 31 characters.
    precision : Precision
        Of its reals. In double precision, messages are those of `streamfs.data.derived.derive`.

    Returns
    -------
    Sources
        As of `streamfs.translation.model.translate`; the node answers with messages in place of a decision.

    Raises
    ------
    TranslationError
        If a feature has no translation.
    ValueError
        If the name is not one in C.
    """
    require_name(name)
    parts = NodeParts(procedure, [column.feature for column in halves.columns], precision)
    texts = parts.texts(name)
    message, tables, sent = parts.unit.entry(on_node.message_of, (POINTER,)), "", ""
    for k, (column, channel) in enumerate(zip(halves.columns, halves.channels, strict=True)):
        report, undefined = f"reports + {parts.n_report_reals}", parts.literal(column.undefined)
        if column.levels is None:
            limited = parts.unit.entry(on_node.limited, (REAL, REAL, REAL))
            found = f"{limited.name}(values[{k}], {parts.literal(column.lowest)}, {undefined})"
        else:
            crossed = parts.unit.entry(on_node.crossed, (REAL, Array(REAL, 1), REAL))
            numbers = wrapped(map(precision.threshold, column.levels.tolist() or [0.0]))
            tables += f"static const real levels_{k}[] = {{{numbers}}};\n"
            found = f"{crossed.name}(values[{k}], levels_{k}, {len(column.levels)}, {undefined})"
        seen = parts.report(found, split_channel(channel)[1])
        sent += f"  (void){seen};\n  messages[{k}] = {message.name}({report});\n"
    more = {"tables": tables, "begun": "", "sent": sent, "n_channels": len(halves.channels)}
    more |= {"channel_names": texts_in_c(halves.channels)}
    what = "Channels, in the order of messages"
    return replace(parts.sources(texts | more, MESSAGES, SENDS, what, halves.channels), n_whole=1)
