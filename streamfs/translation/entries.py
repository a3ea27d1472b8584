"""The kernels that are translated, with their arguments' types: those that serve, and those of random trees."""

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from feature_extractors import _driver, _loop
from feature_extractors._compiled import Kernel
from feature_extractors.base import Step
from feature_extractors.catalogue import KINDS
from streamfs.classifiers import (
    _branches,
    _calibration,
    _columns,
    _evaluate,
    _extra_trees,
    _forest,
    _grow,
    _kernel_density,
    _lazy,
    _neighbours,
    _prune,
    _split,
    _tied,
)
from streamfs.engine import _arena, _ticks
from streamfs.gateway.core import _duplicates, _grid, _node_time, _said, _samples, _thinned, _waiting
from streamfs.procedure import _rank_bets
from streamfs.relief import _field, _kernels, _probe_search, _search, _sieve
from streamfs.selection import _benefit, _query_sensitive, _sampling
from streamfs.translation.precision import DOUBLE
from streamfs.translation.unit import Unit
from streamfs.translation.values import REAL, SINGLE, TRUTH, WHOLE, Array, Together, Value, array_of

F8, F4, I8, I4, U8, FLAG = np.float64, np.float32, np.int64, np.int32, np.uint64, np.bool_


class KernelUnit(Unit):
    """A unit of kernels, whose whole numbers have 64 bits, and whose arguments may all be written to."""

    has_constants = False
    storage = "static inline"

    def is_vectorised(self, function: Callable[..., Any]) -> bool:
        """Return whether a function is decorated as one that fills vector registers."""
        kernel = function.__globals__.get(function.__name__)
        return isinstance(kernel, Kernel) and kernel.targetoptions.get("inline") == "never"

    def array(self, dtype: Any, n_dimensions: int = 1) -> Array:
        """Return the type of an array of numpy."""
        return array_of(dtype, n_dimensions, self.struct)

    def arrays(self, *dtypes: Any) -> tuple[Array, ...]:
        """Return the types of arrays of one dimension."""
        return tuple(map(self.array, dtypes))


class KernelEntry(NamedTuple):
    """A kernel that Python calls, and the types of its arguments."""

    kernel: Any
    kinds: tuple[Value, ...]

    @property
    def name(self) -> str:
        """Its name, by which it is found."""
        return name_of(self.kernel)


class StepLoop(NamedTuple):
    """The loop of a step: the step, the number of its inputs, and the function that is translated."""

    step: Callable[..., float]
    n_inputs: int
    function: Callable[..., None]

    @property
    def name(self) -> str:
        """Its name, by which it is found."""
        return f"{name_of(self.step)}/{self.n_inputs}"


def name_of(function: Any) -> str:
    """Return the name of a function, with its module."""
    return f"{function.__module__}.{function.__qualname__}"


def new_unit() -> KernelUnit:
    """Return a unit without functions."""
    return KernelUnit(DOUBLE)


def entries(unit: KernelUnit) -> Iterator[KernelEntry]:
    """Yield all kernels."""
    yield from _of_features(unit)
    yield from _of_engine(unit)
    yield from _of_classifiers(unit)
    yield from _of_joiner(unit)
    yield from _of_training(unit)


def loops() -> Iterator[StepLoop]:
    """Yield the loop of each step."""
    steps = {(kind.step.function, kind.n_columns): None for kind in KINDS if isinstance(kind.step, Step)}
    for function, n_inputs in steps:
        known = {**vars(_loop), "step": function, "n_inputs": n_inputs}
        yield StepLoop(function, n_inputs, FunctionType(_loop._loop.__code__, known))  # noqa: SLF001 - of one kind


def _of_features(unit: KernelUnit) -> Iterator[KernelEntry]:
    table, inputs, params = unit.arrays(_driver.ENTRY, I8, F8)
    table_and_samples = table, inputs, params, unit.array(F8, 2), unit.array(I8), unit.array(F8, 2), unit.array(F8)
    common = *table_and_samples, unit.array(F8, 2), *unit.arrays(F8, I8)
    yield KernelEntry(_driver.run, common)
    yield KernelEntry(_driver.run_side_by_side, (*common, WHOLE))


def _of_engine(unit: KernelUnit) -> Iterator[KernelEntry]:
    arena, rows, times = unit.arrays(_arena.ARENA, I8, F8)
    samples = unit.array(F8, 2)
    for many, single in (_ticks.BY_TREE, _ticks.BY_FOREST):
        yield KernelEntry(many, (arena, rows, times, samples))
        yield KernelEntry(single, (arena,))
    yield KernelEntry(_ticks.first_unknown, (arena, rows))
    yield KernelEntry(_ticks.place, (arena, rows, times, samples, unit.array(I8)))
    yield KernelEntry(_ticks.settle, (arena, rows, *unit.arrays(I8), samples, unit.array(I8)))
    yield KernelEntry(_ticks.find_overdue, (arena, REAL, unit.array(I8)))


def _of_classifiers(unit: KernelUnit) -> Iterator[KernelEntry]:
    rows, row, numbers = unit.array(F8, 2), unit.array(F8), unit.array(I8)
    yield KernelEntry(_evaluate.spread_rows, (unit.array(_evaluate.NODE), rows, rows, numbers, row, rows))
    forest = unit.array(_forest.WAY), rows, unit.array(U8), unit.array(_calibration.CALIBRATION)
    yield KernelEntry(_forest.write_probabilities, (*forest, WHOLE, rows, row, unit.array(U8), rows, rows))
    yield KernelEntry(_calibration.write_logits, (row, row))
    yield KernelEntry(_calibration.calibrate, (REAL, row, REAL, row, row))
    yield KernelEntry(_calibration.apply, (REAL, REAL, REAL, row, rows, rows))
    scales = Together((row, row, row, unit.array(FLAG)), _neighbours.Scales._fields)
    yield KernelEntry(_neighbours.find_nearest, (rows, scales, rows, WHOLE, row, rows, unit.array(I8, 2)))
    stored = Together((rows, row, row, row, unit.array(FLAG)), _lazy.Stored._fields)
    asked = unit.array(FLAG, 2)
    for vote in (_lazy.vote, _tied.vote_with_ties):
        yield KernelEntry(vote, (stored, numbers, rows, asked, numbers, row, numbers, rows))
    yield KernelEntry(_tied.count_tied, (rows, scales, rows, WHOLE, row, row, numbers, rows))
    yield KernelEntry(_query_sensitive.nearest_others, (stored, numbers, numbers, numbers))
    yield KernelEntry(_query_sensitive.update_thresholds, (stored, numbers, numbers, row, REAL, row))
    of_class = rows, unit.array(FLAG), row, row, row, row
    yield KernelEntry(_kernel_density._add_log_sums, (*of_class, rows, row, row))  # noqa: SLF001 - a kernel
    counts, count = unit.array(I8, 2), unit.array(I8)
    yield KernelEntry(_rank_bets.bet_on_ranks, (counts, count, count, counts, count, rows, rows, count))


def _of_joiner(unit: KernelUnit) -> Iterator[KernelEntry]:
    of_nodes = unit.arrays(_grid.GRID, I8, _node_time.NODE, _duplicates.SLOT)
    of_cells = unit.arrays(_grid.STREAM, _waiting.CELL, _waiting.PAGE, _waiting.PENDING, I4, _thinned.POLICY)
    said, cursor = unit.array(_said.SAID), unit.array(I8)
    held = Together((*of_nodes, *of_cells, said))
    values, sources = unit.array(F8, 2), unit.array(I8, 2)
    output = Together((unit.array(_grid.ENTRY), values, sources))
    yield KernelEntry(_grid.take, (held, output, *unit.arrays(_grid.PART, F8, F8), cursor))
    yield KernelEntry(_grid.let_time_pass, (held, output, cursor))
    yield KernelEntry(_grid.flush, (held, output, unit.array(I8), cursor))
    yield KernelEntry(_grid.tick_of, (REAL, REAL))
    yield KernelEntry(_grid.forget, (held, WHOLE))
    of_slot = unit.array(_duplicates.SLOT), said
    yield KernelEntry(_duplicates.has_come, (*of_slot, WHOLE, WHOLE, WHOLE, REAL, WHOLE, REAL))
    shown = *unit.arrays(_grid.ENTRY), values, sources, *unit.arrays(_grid.STREAM, _waiting.CELL)
    columns = unit.arrays(I8, I8, I8)
    found = *unit.arrays(I8, I8, F8), values
    yield KernelEntry(_samples.choose, (cursor, REAL, *shown, *columns, *found))


def _of_training(unit: KernelUnit) -> Iterator[KernelEntry]:
    columns, column, numbers = unit.array(F8, 2), unit.array(F8), unit.array(I8)
    given = columns, numbers, numbers, column, WHOLE, WHOLE, REAL, WHOLE
    rows = Together(given, _extra_trees.WeightedRows._fields)
    room = column, column, numbers, numbers, numbers, columns, columns
    scratch = Together(room, _extra_trees.NodeScratch._fields)
    generator, nodes = unit.arrays(U8, _extra_trees.GROWN)
    yield KernelEntry(_extra_trees.fill_tree, (rows, scratch, numbers, generator, nodes, columns))
    yield from _of_relief(unit)
    yield from _of_trees(unit)
    yield from _of_sampling(unit)


def _of_relief(unit: KernelUnit) -> Iterator[KernelEntry]:
    rows, row, numbers = unit.array(F8, 2), unit.array(F8), unit.array(I8)
    singles, lane = unit.array(F4, 2), unit.array(F4)
    measured = Together((rows, row, rows, singles), _kernels.Measured._fields)
    sieve = Together((singles, singles, singles, numbers, numbers, WHOLE, SINGLE), _sieve.Sieve._fields)
    members = Together((numbers,) * 5, _field.Members._fields)
    field = Together((measured, sieve, unit.array(I8, 2), members), _field.Field._fields)
    voting = Together((unit.array(I8, 2), rows, WHOLE, TRUTH), _search.Voting._fields)
    found = unit.array(_search.NEIGHBOUR, 2), numbers, lane, lane
    passed = numbers, numbers, numbers, row, singles
    lists = Together((*found, *passed), _search.Lists._fields)
    of_rows = numbers, WHOLE, WHOLE, unit.array(F8, 3), unit.array(I8, 2)
    yield KernelEntry(_search.search, (field, voting, lists, *of_rows))
    room = singles, numbers, lane, lane, rows, unit.array(I8, 2)
    scratch = Together(room, _probe_search.ProbeScratch._fields)
    of_probes = numbers, WHOLE, WHOLE, rows, numbers
    yield KernelEntry(_probe_search.search_probes, (field, voting, measured, scratch, *of_probes))


def _of_trees(unit: KernelUnit) -> Iterator[KernelEntry]:
    rows, row, numbers, flags = unit.array(F8, 2), unit.array(F8), unit.array(I8), unit.array(FLAG)
    orders, order = unit.array(_columns.ENTRY, 2), unit.array(_columns.ENTRY)
    yield KernelEntry(_columns.fill_column, (row, numbers, row, order, numbers, numbers))
    yield KernelEntry(_split.fill_logs, (row,))
    given = numbers, flags, numbers, row, WHOLE, REAL, flags, row, row
    table = Together(given, _split.TrainingTable._fields)
    scratch = Together((row, row, numbers, row, rows, rows), _split.SplitScratch._fields)
    branches = Together((numbers, row, numbers, numbers, numbers, order), _branches.Branches._fields)
    nodes, pending = unit.arrays(_grow.GROWN, _grow.PENDING)
    growth = Together((nodes, rows, pending, orders, row, row, numbers), _grow.Growth._fields)
    yield KernelEntry(_grow.begin, (table, growth))
    yield KernelEntry(_grow.grow_on, (table, growth, scratch, branches))
    yield KernelEntry(_prune.cut_back, (nodes, rows, REAL, REAL, row, row))


def _of_sampling(unit: KernelUnit) -> Iterator[KernelEntry]:
    cubes, rows, row, numbers = unit.array(F8, 3), unit.array(F8, 2), unit.array(F8), unit.array(I8)
    known = Together((cubes, rows, rows, REAL, rows), _benefit.Estimate._fields)
    pools = Together((numbers, numbers, numbers, numbers, rows, row), _sampling.Pools._fields)
    yield KernelEntry(_benefit.count_value, (known, WHOLE, WHOLE, WHOLE, REAL))
    yield KernelEntry(_benefit.all_benefits, (known, rows))
    yield KernelEntry(_sampling.lay_out, (numbers,) * 4)
    yield KernelEntry(_sampling.open_pools, (known, pools))
    yield KernelEntry(_sampling.draw, (pools,))
    yield KernelEntry(_sampling.renew, (known, pools, WHOLE))
    yield KernelEntry(_sampling.count_and_update, (known, pools, WHOLE, WHOLE))
    yield KernelEntry(_sampling.sample, (known, pools, numbers, TRUTH, numbers, cubes, numbers, row))
