"""What is held of some nodes and streams, on its way from one joiner's arrays to another's."""

from collections.abc import Mapping, Sequence
from math import isfinite

import numpy as np

from streamfs.gateway.core._duplicates import SLOT
from streamfs.gateway.core._waiting import CELL, NONE, PENDING
from streamfs.gateway.core.grid_arrays import GridArrays, Structured

WAITING_READING = np.dtype([("cell", "i8"), ("tick", "i8"), *PENDING.descr])
"""A reading that waits, the place of its cell among those of the part, and its tick."""

_LINKS = ("cell", "slot", "node", "next", "head", "tail", "row")
_OF_A_SLOT = tuple(name for name in SLOT.names or () if name not in _LINKS)
_OF_A_CELL = tuple(name for name in CELL.names or () if name not in _LINKS)


def part_of(held: GridArrays, nodes: Sequence[int], streams: Sequence[int]) -> dict[str, Structured]:
    """Copy what is held of some nodes and streams, for `place_part` of another joiner.

    What unstamped numbers said is not: of a device that numbers anew, the next life may be left out.
    """
    width = len(held.columns)
    cells = [index for stream in streams for index in range(stream * width, (stream + 1) * width)]
    waiting = [(place, *each) for place, index in enumerate(cells) for each in held.waiting_in(index)]
    slots = held.slots.reshape(-1, len(held.channels))[list(nodes)].ravel()
    slots["row"] = 0
    return {
        "grid": held.grid.copy(),
        "nodes": held.nodes[list(nodes)],
        "slots": slots,
        "streams": held.streams[list(streams)],
        "cells": held.cells[cells],
        "waiting": np.array(waiting, dtype=WAITING_READING),
    }


def place_part(
    held: GridArrays,
    part: Mapping[str, Structured],
    names: tuple[Sequence[str], Sequence[str]],
    nodes: Sequence[int],
    streams: Sequence[int],
) -> None:
    """Go on with nodes and streams that were added here, as another joiner held them.

    `names` are the channels and columns there. What was proved there of each node's silence stays.
    """
    channels = [held.number_of_channel.get(name, NONE) for name in names[0]]
    columns = [held.number_of_column.get(name, NONE) for name in names[1]]
    since = held.silence - float(part["grid"][0]["silence"])
    held.grid["thins"] |= part["grid"]["thins"]
    held.grid["unstamped"] |= part["grid"]["unstamped"]
    held.nodes[list(nodes)] = _moved(part["nodes"], since, "heard", "live")
    held.streams[list(streams)] = _moved(part["streams"], since, "begun")
    held.streams["n_waiting"][list(streams)] = 0
    slots = part["slots"].reshape(-1, len(channels))
    for node, of_node in zip(nodes, slots, strict=True):
        for number, slot in zip(channels, of_node, strict=True):
            if number != NONE:
                for name in _OF_A_SLOT:
                    held.slots[name][node * len(held.channels) + number] = slot[name]
    for place, cell in enumerate(part["cells"]):
        stream, number = streams[place // len(columns)], columns[place % len(columns)]
        if number != NONE and cell["slot"] != NONE:
            for name in _OF_A_CELL:
                held.cells[name][stream * len(held.columns) + number] = cell[name]
    for place, tick, *reading in part["waiting"].tolist():
        stream, number = streams[place // len(columns)], columns[place % len(columns)]
        if number != NONE:
            held.let_wait(stream, number, tick, tuple(reading))


def _moved(records: Structured, since: float, *arrivals: str) -> Structured:
    """Return records with their arrivals as long before the silence here as they were before it elsewhere."""
    moved = records.copy()
    if isfinite(since):
        for name in arrivals:
            moved[name] += since
    return moved
