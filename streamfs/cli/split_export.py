"""The two halves of a split model, as files: what nodes compute, in C, and the model of the gateway."""

from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from streamfs.data.streams import StreamSet
    from streamfs.procedure.procedure import Procedure
    from streamfs.procedure.split import SplitProcedure
    from streamfs.translation.parts import Sources
    from streamfs.translation.precision import Precision
    from streamfs.translation.self_test import ExpectedMessages


def require_splitting(target: str, others: dict[str, bool], *, rounds: bool) -> None:
    """Raise a UsageError if options are given that a split model does not have, or its test would round values."""
    if target != "c":
        raise click.UsageError(f"--split is for --target c, not {target}")
    for option, is_given in others.items():
        if is_given:
            raise click.UsageError(f"{option} is for models that decide on nodes, not for --split")
    if rounds:
        raise click.UsageError("the test compares values to the bit, and --precision float rounds: omit STREAMS")


def split_files(
    procedure: "Procedure",
    halves: "SplitProcedure",
    sources: "Sources",
    reals: "Precision",
    tested: "StreamSet | None",
) -> tuple[dict[str, str | bytes], dict[str, Any]]:
    """Return the files by their names, and what is known of them; with streams, a test is among them."""
    from streamfs.evaluation.split_traffic import paid_by_split  # noqa: PLC0415 - help does not wait
    from streamfs.translation.estimate import ram_of  # noqa: PLC0415 - the same
    from streamfs.translation.self_test import makefile, messages_test  # noqa: PLC0415 - the same

    name = sources.name
    files: dict[str, str | bytes] = {
        f"{name}.h": sources.header,
        f"{name}.c": sources.body,
        f"{name}_gateway.streamfs": halves.gateway.packed,
    }
    found = {"bytes_a_stream": ram_of(sources, reals), "channels": list(halves.channels), "test": "."}
    if tested is None:
        return files, found
    files["self_test.c"] = messages_test(sources, reals, _expected(procedure, halves, tested))
    files["Makefile"] = makefile(name)
    return files, found | {"messages_a_stream": paid_by_split(procedure, tested)}


def _expected(procedure: "Procedure", halves: "SplitProcedure", streams: "StreamSet") -> "list[ExpectedMessages]":
    """Return the readings of streams, and what is to be sent of them at each tick."""
    import numpy as np  # noqa: PLC0415 - help does not wait

    from streamfs.data.derived import derive  # noqa: PLC0415 - the same
    from streamfs.translation.model import columns_of  # noqa: PLC0415 - the same
    from streamfs.translation.self_test import ExpectedMessages  # noqa: PLC0415 - the same

    order = [streams.columns.index(column) for column in columns_of(procedure)]
    derived = derive(streams, halves.columns, procedure.max_silence)
    sent = np.stack(list(derived.sent_through(halves.channels, procedure.max_silence)), axis=-1)
    expected = []
    for place, length in enumerate(streams.lengths.tolist()):
        expected.append(ExpectedMessages(streams.values[place, :length, order].T, sent[place, :length]))
    return expected
