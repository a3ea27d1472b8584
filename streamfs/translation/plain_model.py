"""A procedure as a module of plain Python, for nodes with MicroPython."""

from collections.abc import Sequence
from typing import Any

from feature_extractors.base import LARGEST
from feature_extractors.report import Policy, split_channel
from streamfs.classifiers import _calibration, _evaluate, _forest
from streamfs.classifiers._evaluate import FlatTree
from streamfs.classifiers._forest import FlatForest
from streamfs.errors import TranslationError
from streamfs.procedure.procedure import Procedure
from streamfs.translation import on_node
from streamfs.translation.model import columns_of, rule_of
from streamfs.translation.parts import about, longest_silence
from streamfs.translation.plain import Plain
from streamfs.translation.precision import DOUBLE, Precision
from streamfs.translation.self_test import Expected
from streamfs.translation.states import Placed, placed, step_of
from streamfs.translation.tables import most_pending, packed


def translate_plainly(procedure: Procedure, precision: Precision = DOUBLE) -> str:
    """Translate a procedure to a module of plain Python.

    Parameters
    ----------
    procedure : Procedure
        As for `streamfs.translation.model.translate`.
    precision : Precision
        Of the reals where it runs; under CPython, and in double precision, the decisions are those of an engine.

    Returns
    -------
    str
        The module, with a class `Stream`; it imports `math` alone.

    Raises
    ------
    TranslationError
        If a part of the procedure has no translation.
    """
    return _PlainModel(procedure, precision).text()


class _PlainModel:
    """The parts of a model in plain Python."""

    def __init__(self, procedure: Procedure, precision: Precision) -> None:
        self._rule = rule_of(procedure)
        self._procedure = procedure
        self._unit = Plain(precision)
        self._precision = precision
        self._columns = columns_of(procedure)
        self._reports: list[str] = []
        self._tables: dict[str, str] = {}

    def text(self) -> str:
        """Return the module."""
        procedure = self._procedure
        seen = [self._seen(*split_channel(channel)) for channel in procedure.channels]
        found, _ = placed(procedure.features)
        starts = sorted({each.start: each.feature.state_size for each in found if not each.is_updated}.items())
        places = {start: place for place, (start, _) in enumerate(starts)}
        steps = [self._step(k, each, places[each.start]) for k, each in enumerate(found)]
        ask = self._ask()
        return _MODULE.format(
            about=about(procedure).replace("\n", "\n#"),
            functions=self._unit.text(),
            columns=self._literal(self._columns),
            classes=self._literal(procedure.classes),
            tables="".join(f"{name} = {text}\n" for name, text in self._tables.items()),
            ticks=self._literal(self._rule.ticks),
            levels=self._literal(self._rule.levels),
            floors=self._literal(self._rule.floors),
            limit=procedure.time_limit,
            largest=self._literal(self._precision.constants.get("LARGEST", LARGEST)),
            n_values=len(procedure.features),
            sizes=self._literal([size for _, size in starts]),
            n_reports=len(self._reports),
            report_size=on_node.REPORT_SIZE,
            seen="".join(f"            {each},\n" for each in seen),
            steps="".join(steps),
            ask=ask,
            period=self._literal(procedure.period),
        )

    def _literal(self, value: Any) -> str:
        if isinstance(value, Sequence) and all(isinstance(each, str) for each in value):
            return f"({''.join(f'{each!a}, ' for each in value)})"
        return self._unit.literal(value)

    def _seen(self, column: str, policy: Policy) -> str:
        """Return the expression of what the model sees of a channel."""
        reading = f"_reading_of(readings[{self._columns.index(column)}])"
        if not policy.holds:
            return reading
        function = self._unit.entry(on_node.POLICIES[policy.kind])
        self._reports.append(column)
        numbers = f"{self._literal(policy.value)}, {self._literal(longest_silence(self._procedure, policy))}"
        return f"{function}(self._reports[{len(self._reports) - 1}], {reading}, {numbers})"

    def _step(self, place: int, found: Placed, state: int) -> str:
        """Return the statements that update a feature."""
        feature = found.feature
        function = self._unit.entry(step_of(feature), found.is_updated)
        inputs = [self._procedure.channels.index(channel) for channel in feature.columns]
        known = " and ".join(f"_is_reading(sample[{channel}])" for channel in inputs) or "True"
        given = f"({''.join(f'sample[{channel}], ' for channel in inputs)})"
        params = self._literal([*map(float, feature.params.values())])
        return (
            f"        # {feature.name!a}\n        if {known}:\n"
            f"            values[{place}] = {function}(self._states[{state}], {given}, {params}, seconds)\n"
        )

    def _ask(self) -> str:
        classifier = self._procedure.classifier
        forest, tree = classifier.flat_forest(), classifier.flat_tree()
        if forest is not None:
            return self._ask_forest(forest)
        if tree is not None:
            return self._ask_tree(tree)
        raise TranslationError(f"the classifier is {classifier.describe()}, expected a tree or a forest")

    def _ask_tree(self, tree: FlatTree) -> str:
        spread = self._unit.entry(_evaluate.spread)
        likeliest = self._unit.entry(_calibration.likeliest_class)
        names = tree.nodes.dtype.names or ()
        rows = "".join(f"    _Node({self._row(names, row)}),\n" for row in tree.nodes)
        self._tables["_NODES"] = f"(\n{rows})"
        self._tables["_SHARES"] = self._literal(tree.shares.tolist())
        most = most_pending(tree)
        return (
            f"        result = [[0.0] * {tree.shares.shape[1]}]\n"
            f"        {spread}(_NODES, _SHARES, [self._values], 0, [0] * {most}, [0.0] * {most}, result, 0)\n"
            f"        best = {likeliest}(result, 0)\n"
        )

    def _row(self, names: Sequence[str], row: Any) -> str:
        """Return the fields of a node."""
        return ", ".join(
            self._unit.number(self._precision.threshold(row[name]))
            if name == "threshold"
            else self._literal(row[name].item())
            for name in names
        )

    def _ask_forest(self, forest: FlatForest) -> str:
        thresholds, tables, shares = packed(forest)
        total, likeliest = self._unit.entry(on_node.sum_shares), self._unit.entry(_calibration.likeliest_class)
        rounded = (self._unit.number(self._precision.threshold(each)) for each in thresholds.tolist())
        self._tables["_THRESHOLDS"] = f"({''.join(f'{each}, ' for each in rounded)})"
        for name, table in tables.items():
            self._tables[f"_{name.upper()}"] = self._literal(table.tolist())
        self._tables["_SHARES"] = self._literal(shares.tolist())
        n_classes = shares.shape[1]
        text = (
            f"        sums = [[0.0] * {n_classes}]\n"
            f"        {total}(_THRESHOLDS, _FEATURES, _SKIPS, _ROWS, _SIZES, _SHARES, [self._values], sums)\n"
        )
        text += self._combine(forest) + self._calibrate(forest, n_classes)
        return text + f"        best = {likeliest}(result, 0)\n"

    def _combine(self, forest: FlatForest) -> str:
        if forest.adds:
            return f"        {self._unit.entry(_forest.turn_to_probabilities)}(sums, 0)\n"
        if len(forest.roots) == 1:
            return ""  # one tree is its own mean
        return f"        {self._unit.entry(on_node.divide)}(sums, {self._literal(float(len(forest.roots)))})\n"

    def _calibrate(self, forest: FlatForest, n_classes: int) -> str:
        found = forest.calibration[0]
        if not found["is_given"]:
            return "        result = sums\n"
        apply = self._unit.entry(_calibration.apply_to_row)
        count = f"self._values[{found['clock']}]" if found["clock"] >= 0 else "1.0"
        numbers = ", ".join(self._literal(float(found[name])) for name in ("slope", "intercept", "growth"))
        return f"        result = [[0.0] * {n_classes}]\n        {apply}({numbers}, {count}, sums, 0, result)\n"


def plain_test(name: str, streams: Sequence[Expected], precision: Precision = DOUBLE) -> str:
    """Return a program that prints how many streams a module in plain Python decides as expected."""
    unit = Plain(precision)
    rows = (
        f"    ({unit.literal(stream.readings.tolist())}, {stream.answer}, {stream.n_taken}),\n"
        for stream in streams
    )
    return _PROGRAM.format(name=name, n=len(streams), streams="".join(rows))


_MODULE = """\
# {about}
#
# stream = Stream()                  at the beginning of an episode, or stream.begin()
# answer = stream.take(readings)     once a tick: a reading for each of COLUMNS, NAN for one that is missing
#
# The answer is the number of the class in CLASSES, or WAIT, NO_LABEL, GIVEN_UP. The probability of the likeliest
# class is stream.confidence.
{functions}

class _Node:
    def __init__(self, feature, nominal, threshold, first_child, n_children, code, share):
        self.feature = feature
        self.nominal = nominal
        self.threshold = threshold
        self.first_child = first_child
        self.n_children = n_children
        self.code = code
        self.share = share


COLUMNS = {columns}
CLASSES = {classes}
WAIT, NO_LABEL, GIVEN_UP = -1, -2, -3
{tables}_TICKS = {ticks}
_LEVELS = {levels}
_FLOORS = {floors}


def _is_reading(x):
    return abs(x) <= {largest}


def _reading_of(x):
    return x if math.isfinite(x) else NAN


def _stop(tick, best, confidence):
    k = -1
    while k + 1 < len(_TICKS) and _TICKS[k + 1] <= tick:
        k += 1
    if k >= 0 and confidence >= _LEVELS[k]:
        return best
    if k >= 0 and confidence < _FLOORS[k]:
        return GIVEN_UP
    return NO_LABEL if tick == {limit} else WAIT


class Stream:
    def __init__(self):
        self.begin()

    def begin(self):
        self.tick = 0
        self.answer = WAIT
        self.confidence = NAN
        self._values = [NAN] * {n_values}
        self._states = [[0.0] * size for size in {sizes}]
        self._reports = [[NAN] + [0.0] * ({report_size} - 1) for _ in range({n_reports})]

    def take(self, readings):
        if self.answer != WAIT:
            return self.answer
        sample = (
{seen}        )
        if self.tick == 0 and not all([_is_reading(x) for x in sample]):
            return WAIT
        self.tick += 1
        self._advance(sample, (self.tick - 1) * {period})
        best, self.confidence = self._ask()
        self.answer = _stop(self.tick, best, self.confidence)
        return self.answer

    def _advance(self, sample, seconds):
        values = self._values
{steps}
    def _ask(self):
{ask}        return best, result[0][best]
"""

_PROGRAM = """\
# Take recorded streams to the model, and compare what it decides with what streamfs decides.
import {name}

NAN = float("nan")
INF = float("inf")
STREAMS = (
{streams})

n_equal = 0
for k, (readings, answer, n_taken) in enumerate(STREAMS):
    stream = {name}.Stream()
    n = 0
    while stream.answer == {name}.WAIT and n < len(readings):
        stream.take(readings[n])
        n += 1
    if (stream.answer, n) == (answer, n_taken):
        n_equal += 1
    else:
        print("stream", k, ":", stream.answer, "after", n, "ticks, expected", answer, "after", n_taken)
print(n_equal, "of {n} streams are decided as expected")
assert n_equal == {n}
"""
