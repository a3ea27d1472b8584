"""Whether recorded streams fit a procedure."""

from feature_extractors.report import split_channel
from streamfs.data.streams import StreamSet
from streamfs.errors import DataError
from streamfs.procedure.procedure import Procedure


def require_period(procedure: Procedure, streams: StreamSet) -> None:
    """Refuse streams whose period differs from the procedure's."""
    if streams.period != procedure.period:
        raise DataError(
            f"the streams have a tick of {streams.period:g} s, the model one of {procedure.period:g} s"
        )


def require_columns(procedure: Procedure, streams: StreamSet, source: object = "the streams") -> None:
    """Refuse streams from `source` that lack a column which the procedure reads."""
    for channel in procedure.channels:
        column, _ = split_channel(channel)
        if not {column, channel} & set(streams.columns):
            raise DataError(
                f"column {column!r}, which the model reads, is not in {source}, only {', '.join(streams.columns)}"
            )


def require_classes(procedure: Procedure, streams: StreamSet) -> None:
    """Refuse streams with labels that the procedure does not know."""
    unknown = set(streams.classes) - set(procedure.classes)
    if unknown:
        raise DataError(
            f"label {min(unknown)!r} is not one of the model's classes {', '.join(procedure.classes)}: leave its "
            "streams out, or train with them, too"
        )
