"""A procedure in C: features, classifier, calibration, stopping rule and report policies, for a node."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from feature_extractors.report import split_channel
from streamfs.classifiers import _calibration, _evaluate, _forest
from streamfs.classifiers._evaluate import FlatTree
from streamfs.classifiers._forest import FlatForest
from streamfs.errors import TranslationError
from streamfs.procedure.procedure import Procedure
from streamfs.procedure.stopping import TickThresholds
from streamfs.translation import on_node
from streamfs.translation.grids import whole_forest
from streamfs.translation.parts import NodeParts, Sources, require_name, texts_in_c
from streamfs.translation.precision import DOUBLE, Precision
from streamfs.translation.tables import most_pending, packed
from streamfs.translation.templates import DECIDES, DECISION
from streamfs.translation.unit import wrapped
from streamfs.translation.values import REAL, WHOLE, Array, stored_in, struct_of

TABLE = Array(REAL, 2)


def translate(
    procedure: Procedure,
    name: str = "model",
    precision: Precision = DOUBLE,
    resolutions: Mapping[str, float] | None = None,
) -> Sources:
    """Translate a procedure to C99.

    Parameters
    ----------
    procedure : Procedure
        Of features that are no Python functions, a tree or a forest, and a stopping rule with thresholds.
    name : str
        Prefix of what the files declare: a name in C of at most 31 characters.
    precision : Precision
        Of its reals. In double precision the decisions are those of `streamfs.engine.Engine`.
    resolutions : mapping of str to float, optional
        Steps of which readings are multiples, by column: a forest of counts and readings alone (last, min, max)
        then has whole thresholds, and tests of four bytes. Decisions on such readings are the same.

    Returns
    -------
    Sources
        A header and a file, which need the standard headers math.h and stdint.h alone, allocate nothing and have
        no state of their own.

    Raises
    ------
    TranslationError
        If a part of the procedure has no translation.
    ValueError
        If the name is not one in C.
    """
    require_name(name)
    return _Model(procedure, name, precision, resolutions or {}).sources()


def columns_of(procedure: Procedure) -> tuple[str, ...]:
    """Return the columns of which a translated procedure takes readings, in their order."""
    return tuple(dict.fromkeys(split_channel(channel)[0] for channel in procedure.channels))


def rule_of(procedure: Procedure) -> TickThresholds:
    """Return the thresholds by which a node decides; refuse other rules, and channels that open later."""
    rule = procedure.rule.thresholds()
    if rule is None:
        raise TranslationError(f"the stopping rule is {procedure.rule.word}, expected one with thresholds")
    if max(procedure.openings) > 1:
        late = procedure.channels[int(np.argmax(procedure.openings))]
        raise TranslationError(f"{late} opens later, expected channels of the first tick")
    return rule


class _Model:
    """The parts of a model in C."""

    def __init__(
        self, procedure: Procedure, name: str, precision: Precision, resolutions: Mapping[str, float]
    ) -> None:
        self._procedure = procedure
        self._name = name
        self._precision = precision
        self._parts = NodeParts(procedure, procedure.features, precision)
        self._unit = self._parts.unit
        self._rule = rule_of(procedure)
        self._tables: list[str] = []
        self._resolutions = resolutions
        unknown = sorted(set(resolutions) - set(self._parts.columns))
        if unknown:
            raise TranslationError(f"the model reads no column {unknown[0]!r}, which has a resolution")

    def sources(self) -> Sources:
        """Return the files."""
        procedure, parts = self._procedure, self._parts
        texts = parts.texts(self._name) | {"ask": self._ask(), "tables": "".join(self._tables)}
        texts |= {"limit": procedure.time_limit, "begun": f"  stream->answer = {self._name.upper()}_WAIT;\n"}
        texts |= self._thresholds()
        classes = {"n_classes": len(procedure.classes), "class_names": texts_in_c(procedure.classes)}
        return parts.sources(texts | classes, DECISION, DECIDES, "Classes", procedure.classes)

    def _literal(self, value: float) -> str:
        return self._precision.literal(value)

    # Classifier

    def _ask(self) -> str:
        classifier = self._procedure.classifier
        forest, tree = classifier.flat_forest(), classifier.flat_tree()
        if forest is not None:
            return self._ask_forest(forest)
        if tree is not None and self._resolutions:
            raise TranslationError("the classifier is a tree, but only forests have whole thresholds")
        if tree is not None:
            return self._ask_tree(tree)
        raise TranslationError(f"the classifier is {classifier.describe()}, expected a tree or a forest")

    def _ask_tree(self, tree: FlatTree) -> str:
        record = struct_of("tree_node", tree.nodes)
        nodes, whole, reals = Array(record, 1), Array(WHOLE, 1), Array(REAL, 1)
        spread = self._unit.entry(
            _evaluate.spread.py_func, (nodes, TABLE, TABLE, WHOLE, whole, reals, TABLE, WHOLE)
        )
        likeliest = self._unit.entry(_calibration.likeliest_class.py_func, (TABLE, WHOLE))
        n_nodes, n_classes = tree.shares.shape
        n_pending = most_pending(tree)
        self._add_records("tree_nodes", "tree_node", tree.nodes)
        self._add_shares(tree.shares)
        return (
            f"  int32_t stack[{n_pending}];\n  real weights[{n_pending}];\n  real result[{n_classes}] = {{0}};\n"
            f"  int32_t best;\n"
            f"  {spread.name}(tree_nodes, {n_nodes}, shares, {n_nodes}, {n_classes}, values, 1, N_VALUES, 0,\n"
            f"      stack, {n_pending}, weights, {n_pending}, result, 1, {n_classes}, 0);\n"
            f"  best = {likeliest.name}(result, 1, {n_classes}, 0);\n"
        )

    def _ask_forest(self, forest: FlatForest) -> str:
        found, values, counting = packed(forest), "values", ""
        kind = Array(REAL, 1)
        if self._resolutions:
            found, steps = whole_forest(found, self._procedure.features, self._resolutions)
            kind, values, counting = Array(WHOLE, 1, "int16_t"), "rounded", self._counting(steps)
        thresholds, tables, shares = found
        (n_rows, n_classes), n_tests = shares.shape, len(thresholds)
        stored = {name: Array(WHOLE, 1, stored_in(table)) for name, table in tables.items()}
        given = kind, *stored.values(), TABLE, TABLE, TABLE
        total = self._unit.entry(on_node.sum_shares, given)
        likeliest = self._unit.entry(_calibration.likeliest_class.py_func, (TABLE, WHOLE))
        literal = str if self._resolutions else self._precision.threshold
        numbers = wrapped(map(literal, thresholds.tolist() or [0]))
        self._tables.append(f"static const {kind.text} thresholds[] = {{{numbers}}};\n")
        for name, table in tables.items():
            numbers = wrapped(map(str, table.tolist() or [0]))
            self._tables.append(f"static const {stored_in(table)} {name}[] = {{{numbers}}};\n")
        self._add_shares(shares)
        lengths = "".join(f", {name}, {len(table)}" for name, table in tables.items())
        text = (
            f"  real sums[{n_classes}] = {{0}};\n  real result[{n_classes}] = {{0}};\n  int32_t best, c;\n"
            f"{counting}  {total.name}(thresholds, {n_tests}{lengths},\n"
            f"      shares, {n_rows}, {n_classes}, {values}, 1, N_VALUES, sums, 1, {n_classes});\n"
        )
        text += self._combine(forest, n_classes) + self._calibrate(forest, n_classes)
        return text + f"  best = {likeliest.name}(result, 1, {n_classes}, 0);\n"

    def _counting(self, steps: npt.NDArray[np.float64]) -> str:
        """Return the statements that count the steps of values."""
        count = self._unit.entry(on_node.count_steps, (TABLE, Array(REAL, 1), TABLE))
        numbers = wrapped(map(self._literal, steps.tolist()))
        self._tables.append(f"static const real steps[] = {{{numbers}}};\n")
        call = f"{count.name}(values, 1, N_VALUES, steps, N_VALUES, rounded, 1, N_VALUES);"
        return f"  real rounded[N_VALUES];\n  {call}\n"

    def _combine(self, forest: FlatForest, n_classes: int) -> str:
        if forest.adds:
            turn = self._unit.entry(_forest.turn_to_probabilities.py_func, (TABLE, WHOLE))
            return f"  {turn.name}(sums, 1, {n_classes}, 0);\n"
        if len(forest.roots) == 1:
            return ""  # one tree is its own mean
        divide = self._unit.entry(on_node.divide, (TABLE, REAL))
        return f"  {divide.name}(sums, 1, {n_classes}, {self._literal(float(len(forest.roots)))});\n"

    def _calibrate(self, forest: FlatForest, n_classes: int) -> str:
        found = forest.calibration[0]
        if not found["is_given"]:
            return f"  for (c = 0; c < {n_classes}; c++) {{\n    result[c] = sums[c];\n  }}\n"
        apply = self._unit.entry(_calibration.apply_to_row.py_func, (REAL, REAL, REAL, REAL, TABLE, WHOLE, TABLE))
        count = f"values[{found['clock']}]" if found["clock"] >= 0 else self._literal(1.0)
        numbers = ", ".join(self._literal(float(found[name])) for name in ("slope", "intercept", "growth"))
        return (
            f"  (void)c;\n  {apply.name}({numbers}, {count}, sums, 1, {n_classes}, 0, result, 1, {n_classes});\n"
        )

    def _add_records(self, name: str, record: str, records: npt.NDArray[Any]) -> None:
        rows = [self._row(row) for row in records]
        self._tables.append(f"static const {record} {name}[] = {{{wrapped(rows)}}};\n")

    def _row(self, record: Any) -> str:
        """Return a record in C."""
        numbers = [
            self._precision.threshold(record[name])
            if name == "threshold"
            else self._literal(float(record[name]))
            if record.dtype[name].kind == "f"
            else str(int(record[name]))
            for name in record.dtype.names
        ]
        return f"{{{', '.join(numbers)}}}"

    def _add_shares(self, shares: npt.NDArray[np.float64]) -> None:
        numbers = wrapped(map(self._literal, shares.ravel().tolist()))
        self._tables.append(f"static const real shares[] = {{{numbers}}};\n")

    # Stopping

    def _thresholds(self) -> dict[str, Any]:
        ticks = np.array(self._rule.ticks, dtype=np.int64)
        return {
            "n_thresholds": len(ticks),
            "tick_type": stored_in(ticks),
            "ticks": ", ".join(map(str, self._rule.ticks)),
            "levels": ", ".join(map(self._literal, self._rule.levels)),
            "floors": ", ".join(map(self._literal, self._rule.floors)),
        }
