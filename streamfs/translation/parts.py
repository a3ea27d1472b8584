"""What nodes do with readings, in C: report policies and features, whoever decides."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from feature_extractors.base import LARGEST, Feature, channels_of
from feature_extractors.report import Policy, silent_ticks, split_channel
from streamfs.procedure.card_schema import is_certified, read_promise
from streamfs.procedure.procedure import Procedure
from streamfs.translation import on_node
from streamfs.translation.precision import Precision
from streamfs.translation.states import STEP, Placed, placed, step_of
from streamfs.translation.templates import HEADER, READINGS
from streamfs.translation.unit import Unit
from streamfs.translation.values import POINTER, REAL

_NAME = re.compile(r"[A-Za-z]\w{0,30}")


@dataclass(frozen=True)
class Sources:
    """The two files of a model in C, and how many numbers a stream keeps.

    Parameters
    ----------
    name : str
        Prefix of all that they declare, and their name without suffix.
    header, body : str
        The files' texts.
    n_reals : int
        Reals that a stream keeps.
    parts : mapping of str to str
        The names in C of the functions in the body, by names that are the same in every model.
    n_whole : int
        Whole numbers of 32 bits that a stream keeps.
    calls : mapping of str to tuple of str
        The functions that each calls, by the same names.
    """

    name: str
    header: str
    body: str
    n_reals: int
    parts: Mapping[str, str] = field(default_factory=dict, hash=False)
    n_whole: int = 2
    calls: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)


class NodeParts:
    """The statements that see channels and update features, and the functions that they call.

    Parameters
    ----------
    procedure : Procedure
        Whose channels, silence and period they are.
    features : sequence of Feature
        The features, which are the first values of a stream.
    precision : Precision
        Of the reals.
    """

    def __init__(self, procedure: Procedure, features: Sequence[Feature], precision: Precision) -> None:
        self.unit = Unit(precision)
        self.precision = precision
        self._procedure = procedure
        self._features = features
        self.channels = channels_of(features)
        self.columns = tuple(dict.fromkeys(split_channel(channel)[0] for channel in self.channels))
        self._n_reports = 0
        self._n_state = len(features)

    def texts(self, name: str) -> dict[str, Any]:
        """Return the texts and numbers of the templates, given the name of the files; once."""
        found, self._n_state = placed(self._features, len(self._features))
        return {
            "about": about(self._procedure),
            "name": name,
            "upper": name.upper(),
            "real": self.precision.text,
            "seen": "".join(self._seen(place, channel) for place, channel in enumerate(self.channels)),
            "steps": "".join(self._step(k, each) for k, each in enumerate(found)),
            "suffix": self.precision.suffix,
            "n_bytes": self.precision.dtype().itemsize,
            "largest": self.literal(self.precision.constants.get("LARGEST", LARGEST)),
            "n_columns": len(self.columns),
            "channels": len(self.channels),
            "width": max(1, *(len(feature.columns) for feature in self._features)),
            "n_values": len(self._features),
            "report_size": on_node.REPORT_SIZE,
            "column_names": texts_in_c(self.columns),
        }

    def sources(
        self, texts: Mapping[str, Any], declared: str, body: str, what: str, names: Sequence[str]
    ) -> Sources:
        """Return the files, given texts, the templates of what a node answers, and what its answers are called."""
        n_reals = self._n_state + self.n_report_reals
        given = {**texts, "n_reals": n_reals, "state": self.n_report_reals, "functions": self.unit.text()}
        seconds = self._procedure.period
        in_header = {**given, "period": f"{seconds:g}", "columns": listed(self.columns), "what": what}
        header = HEADER.format(**in_header, listed=listed(names), declared=declared.format(**in_header))
        text = (READINGS + body).format(**given, period=self.literal(seconds))
        return Sources(texts["name"], header, text, n_reals, self.unit.parts(), calls=self.unit.calls())

    @property
    def n_report_reals(self) -> int:
        """The number of reals that reports keep."""
        return self._n_reports * on_node.REPORT_SIZE

    def literal(self, value: float) -> str:
        """Return a number in C."""
        return self.precision.literal(value)

    def report(self, value: str, policy: Policy) -> str:
        """Return what is seen of a value under a policy that holds; it has a report's state of its own."""
        function = self.unit.entry(on_node.POLICIES[policy.kind], (POINTER, REAL, REAL, REAL))
        report, self._n_reports = f"reports + {self.n_report_reals}", self._n_reports + 1
        most = longest_silence(self._procedure, policy)
        return f"{function.name}({report}, {value}, {self.literal(policy.value)}, {self.literal(most)})"

    def _seen(self, place: int, channel: str) -> str:
        """Return the statement that writes what the model sees of a channel."""
        column, policy = split_channel(channel)
        reading = f"reading_of(readings[{self.columns.index(column)}])"
        return f"  sample[{place}] = {self.report(reading, policy) if policy.holds else reading};\n"

    def _step(self, place: int, found: Placed) -> str:
        """Return the statements that update a feature."""
        feature, start, is_updated = found
        function = self.unit.entry(step_of(feature), STEP, is_updated)
        inputs = [self.channels.index(channel) for channel in feature.columns]
        params = ", ".join(self.literal(value) for value in feature.params.values()) or self.literal(0.0)
        given = "".join(f"    inputs[{k}] = sample[{channel}];\n" for k, channel in enumerate(inputs))
        known = " && ".join(f"is_reading(inputs[{k}])" for k in range(len(inputs)))
        call = f"values[{place}] = {function.name}(values + {start}, inputs, params, seconds);"
        guarded = f"    if ({known}) {{\n      {call}\n    }}\n" if known else f"    {call}\n"
        name = commented(feature.name)
        return f"  {{ /* {name} */\n    static const real params[] = {{{params}}};\n{given}{guarded}  }}\n"


def longest_silence(procedure: Procedure, policy: Policy) -> float:
    """Return the ticks after which a value of a report policy is no longer held."""
    silence = silent_ticks(procedure.max_silence, procedure.period)
    most = inf if silence is None else float(silence)
    return max(most, policy.value) if policy.kind in ("every", "mean") else most


def about(procedure: Procedure) -> str:
    """Return what a file says of its model: its digest, and what is certified."""
    promise = read_promise(procedure.about.get("promise"))
    if promise is None or not is_certified(procedure.rule, promise):
        return f"model {procedure.digest}, by streamfs"
    completeness = promise["completeness"] or 0.0
    return (
        f"model {procedure.digest}, by streamfs\n"
        f"   certified: accuracy at least {promise['accuracy']:g}, completeness at least {completeness:g}"
    )


def require_name(name: str) -> None:
    """Raise a ValueError if a name cannot be that of a model in C."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name is {name!r}, expected a letter, and up to 30 letters, digits and underscores")


def texts_in_c(texts: Sequence[str]) -> str:
    """Return texts as literals in C."""
    return ", ".join(f'"{_escaped(text)}"' for text in texts)


def listed(texts: Sequence[str]) -> str:
    """Return texts as numbered lines of a comment."""
    return "".join(f"   {place}: {commented(text)}\n" for place, text in enumerate(texts))


def commented(text: str) -> str:
    """Return a text as it can stand in a comment."""
    return _escaped(text).replace("\\042", '"').replace("*/", "* /").replace("/*", "/ *")


def _escaped(text: str) -> str:
    """Return a text as a literal in C has it: other characters than ASCII's as bytes, and no trigraphs."""
    plain = [
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in text.encode()
    ]
    return "".join(plain)
