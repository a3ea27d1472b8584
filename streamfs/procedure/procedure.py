"""A classification procedure: what training returns, a model file holds and a gateway runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

import feature_extractors as fx
from feature_extractors.arrays import Array
from feature_extractors.base import Feature, Kind, channels_of
from feature_extractors.own_parts import own_names
from feature_extractors.report import silent_ticks, split_opening
from streamfs.base import container
from streamfs.classifiers.classifier import Classifier, FileParts
from streamfs.costs.costs import Costs
from streamfs.errors import ModelError
from streamfs.procedure.header import LARGEST, check_distinct, check_header, read_stopping
from streamfs.procedure.signature import check_signature
from streamfs.procedure.stopping import StoppingRule, TickThresholds

KIND, VERSION, OLDEST = "model", 2, 1
"""A file without a stopping rule is of the oldest version, which earlier programs read."""
LONGEST = 2**53
"""Most ticks: the largest number up to which floats hold every whole number."""
SHORTEST_PERIOD, LONGEST_PERIOD = 1e-6, 1e9
"""Seconds of a tick."""
MOST_LISTED = 12
"""Features that `text` lists; of more, it lists the channels."""


@dataclass(frozen=True)
class Decision:
    """The outcome of one episode of a stream.

    Parameters
    ----------
    stream : str
        Name of the stream.
    episode : int
        Number of the stream's episode, from 1; with the stream's name, the decision's identity.
    label : str or None
        The class, or None if no class reached the confidence in time, or the stopping rule gave up.
    confidence : float
        Probability of the likeliest class at the last tick; NaN if no tick was classified.
    tick : int
        Ticks spent, from 1; 0 if the episode never opened.
    cost : float
        Equation 1, as if the stream were alone.
    reason : str
        ``confident``, ``timeout``, ``closed``, or ``given_up`` by the stopping rule; a gateway also publishes
        ``withdrawn`` for what it gives no label as the promise is not kept.
    time : float
        Event time of the last tick, seconds.
    """

    stream: str
    episode: int
    label: str | None
    confidence: float
    tick: int
    cost: float
    reason: str
    time: float

    def _repr_html_(self) -> str:
        from streamfs.procedure.notebook import decision_html  # noqa: PLC0415 - for notebooks alone

        return decision_html(self)

    def to_json(self) -> dict[str, Any]:
        """Return the decision as JSON, with its id; an unknown confidence or time is null."""
        known = {key: None if value != value else value for key, value in vars(self).items()}  # noqa: PLR0124
        return {"id": f"{self.stream}/{self.episode}", **known}


@dataclass(frozen=True, eq=False)
class Procedure:
    """Features, a classifier, a confidence threshold or another stopping rule, and a time limit.

    Parameters
    ----------
    features : tuple of Feature
        The features that the classifier reads, in order.
    classifier : Classifier
        Rows of features to probabilities.
    classes : tuple of str
        In the order of the probabilities.
    costs : Costs
        Of the features: what equation 1 charges.
    confidence : float
        Threshold: a stream is labelled as soon as a class has at least this probability. With `stopping` it is
        kept, as what the procedure was trained for, but decides nothing.
    time_limit : int
        Ticks after which a stream gets no label.
    period : float
        Seconds from one tick to the next.
    max_silence : float, optional
        Seconds after which a channel that sends on change repeats its value, and beyond which the gateway does not
        hold a value; by default there is no limit.
    offered : Costs, optional
        Of all features that the classifier could choose from; by default those of the features.
    about : dict
        How the procedure was made: versions, seed, model card.
    stopping : StoppingRule, optional
        What decides in place of the confidence, such as thresholds that depend on the tick; see `rule`.

    Raises
    ------
    ValueError
        If the confidence is not in (0, 1], the time limit below 1 or above 2**53 ticks, `stopping` or a channel's
        opening goes beyond the time limit, no channel is open from the first tick on, or sizes do not fit.
    """

    features: tuple[Feature, ...]
    classifier: Classifier
    classes: tuple[str, ...]
    costs: Costs
    confidence: float
    time_limit: int
    period: float = 1.0
    max_silence: float | None = None
    offered: Costs | None = None
    about: dict[str, Any] = field(default_factory=dict)
    stopping: StoppingRule | None = None

    def __post_init__(self) -> None:
        check_distinct("class", self.classes)
        check_distinct("feature", [feature.name for feature in self.features])
        if not 0 < self.confidence <= 1:
            raise ValueError(f"confidence is {self.confidence}, expected more than 0 and at most 1")
        if not 1 <= self.time_limit <= LONGEST:
            raise ValueError(f"time limit is {self.time_limit}, expected 1 to {LONGEST} ticks")
        if not SHORTEST_PERIOD <= self.period <= LONGEST_PERIOD:
            bounds = f"{SHORTEST_PERIOD:g} to {LONGEST_PERIOD:g}"
            raise ValueError(f"period is {self.period}, expected {bounds} seconds")
        if self.time_limit != int(self.time_limit):
            raise ValueError(f"time limit is {self.time_limit}, expected whole ticks")
        silent_ticks(self.max_silence, self.period)
        for name, kind in (("confidence", float), ("time_limit", int), ("period", float), ("max_silence", float)):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, kind(getattr(self, name)))  # numpy's numbers are not JSON
        if len(self.costs) != len(self.features):
            raise ValueError(f"there are {len(self.costs)} costs, expected {len(self.features)}, one per feature")
        self._check_classifier()
        self._check_stopping()
        self._check_openings()

    def _check_openings(self) -> None:
        if self.channels and min(self.openings) > 1:
            raise ValueError(f"channels are {', '.join(self.channels)}, expected one that is open from tick 1 on")
        if max(self.openings, default=1) > self.time_limit:
            last = self.channels[int(np.argmax(self.openings))]
            raise ValueError(f"{last} opens beyond the time limit of {self.time_limit} ticks")

    def _check_classifier(self) -> None:
        if self.classifier.n_classes != len(self.classes):
            raise ValueError(f"the classifier knows {self.classifier.n_classes} classes, expected {self.classes}")
        self.classifier.require_features(len(self.features))

    def _check_stopping(self) -> None:
        if not isinstance(self.stopping, StoppingRule | None):
            raise TypeError(f"stopping is {self.stopping!r}, expected a StoppingRule, such as TickThresholds")
        thresholds = self.rule.thresholds()
        if thresholds is not None and thresholds.ticks[-1] > self.time_limit:
            last = thresholds.ticks[-1]
            raise ValueError(f"stopping has tick {last}, expected none beyond the time limit of {self.time_limit}")

    @cached_property
    def rule(self) -> StoppingRule:
        """What decides streams: `stopping`, or the confidence as the threshold at every tick."""
        return TickThresholds((1,), (self.confidence,)) if self.stopping is None else self.stopping

    @cached_property
    def channels(self) -> tuple[str, ...]:
        """Channels that the features read, each once: the columns of the samples."""
        return channels_of(self.features)

    @cached_property
    def openings(self) -> tuple[int, ...]:
        """The tick of an episode from which each channel is asked for; 1 for most."""
        return tuple(split_opening(channel)[1] for channel in self.channels)

    @cached_property
    def program(self) -> fx.Program:
        """The steps of the features, which all engines of this process share."""
        return fx.Program(self.features, self.channels)

    @cached_property
    def digest(self) -> str:
        """Digest of the whole content, which snapshots carry."""
        return container.digest(self.packed)

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        reads, labels = ", ".join(self.channels), ", ".join(self.classes)
        return f"Procedure(reads {reads}, labels {labels}, within {self.time_limit} ticks of {self.period:g} s)"

    def _repr_html_(self) -> str:
        from streamfs.procedure.notebook import procedure_html  # noqa: PLC0415 - for notebooks alone

        return procedure_html(self)

    def with_confidence(self, confidence: float) -> "Procedure":
        """Return the procedure with one confidence threshold, in place of its own and of `stopping`."""
        return replace(self, confidence=confidence, stopping=None)

    def with_stopping(self, stopping: StoppingRule) -> "Procedure":
        """Return the procedure with another stopping rule; `about` still tells of the previous one."""
        return replace(self, stopping=stopping)

    def cost(self, ticks: int) -> float:
        """Return the cost of a classification that ends after `ticks` ticks (equation 1)."""
        return self.costs.classification(ticks)

    def offered_cost(self, ticks: int) -> float:
        """Return the same for all features that were offered to the classifier."""
        return (self.costs if self.offered is None else self.offered).classification(ticks)

    def text(self) -> str:
        """Return the procedure as readable text."""
        lines = [
            f"classes     {', '.join(self.classes)}",
            f"confidence  {self.confidence:g}"
            if self.stopping is None
            else f"stopping    {self.stopping.text(self.time_limit)}",
            f"time limit  {self.time_limit} ticks of {self.period:g} s",
            *self._feature_lines(),
        ]
        text = self.classifier.text([feature.name for feature in self.features], self.classes)
        return "\n".join([*lines, "", text] if text else lines)

    def _feature_lines(self) -> list[str]:
        """Return the features with their costs; of more than `MOST_LISTED`, only the channels."""
        lines = [
            f"{feature.name}  (each-time cost {cost:.4g})"
            for feature, cost in zip(self.features, self.costs.each, strict=True)
        ]
        if len(lines) > MOST_LISTED:
            total = f"(each-time cost {self.costs.each.sum():.4g} together)"
            lines = [f"{len(lines)}, of these channels  {total}", *channels_of(self.features)]
        return [f"{'features' if place == 0 else '':<12}{line}" for place, line in enumerate(lines)]

    def save(self, path: str | Path) -> None:
        """Write the model file atomically.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        container.write(Path(path), self.packed)

    @cached_property
    def packed(self) -> bytes:
        """The content of the model file."""
        kind, parts = self.classifier.word, self.classifier.to_file()
        header = {
            "features": [feature.name for feature in self.features],
            "classes": list(self.classes),
            "confidence": self.confidence,
            "time_limit": self.time_limit,
            "period": self.period,
            "max_silence": self.max_silence,
            "about": self.about,
            "classifier": kind,
            **parts.header,
        }
        version = OLDEST
        if self.stopping is not None:
            header["stopping"] = self.stopping.to_json()
            version = VERSION  # a program that knows only one threshold must not read the file
        arrays = _cost_arrays("costs", self.costs)
        if self.offered is not None:
            arrays |= _cost_arrays("offered", self.offered)
        arrays |= {f"{kind}.{name}": array for name, array in parts.arrays.items()}
        sealed = {f"{kind}.{name}": data for name, data in parts.sealed.items()}
        return container.pack(KIND, version, header, arrays, compress=True, **sealed)

    @classmethod
    def load(
        cls,
        path: str | Path,
        kinds: Sequence[Kind] = (),
        *,
        trust: bool = False,
        public_key: str | Path | None = None,
    ) -> Self:
        """Read a model file.

        Parameters
        ----------
        path : path
            The file.
        kinds : sequence of Kind, optional
            Kinds of features besides those of the catalogue: the ``feature.kind`` of each plain Python feature
            that the model reads.
        trust : bool
            Whether a pickled model of another library in it may be loaded: unpickling runs whatever code is
            in the file.
        public_key : path, optional
            The Ed25519 key, a PEM file, by which the file must be signed; needs the extra ``sign``.

        Raises
        ------
        ModelError
            If the file cannot be read, is damaged or of another version, unpacks to more than 256 MiB, reads
            features of an unknown kind, has control characters in its texts, holds a pickle and is not trusted, or
            is not signed by the key.
        """
        data = container.read(Path(path), LARGEST)
        if public_key is not None:
            check_signature(path, data, public_key)
        return cls.from_packed(data, path, kinds, trust=trust)

    @classmethod
    def from_packed(
        cls, data: bytes, path: str | Path = "the model", kinds: Sequence[Kind] = (), *, trust: bool = False
    ) -> Self:
        """Read the content of a model file, as `packed` has it; otherwise as `load`. `path` is for messages."""
        header, arrays, sealed = container.unpack(data, KIND, VERSION, str(path), OLDEST, LARGEST)
        kind = check_header(header, path)
        try:
            features = tuple(_feature(name, (*fx.KINDS, *kinds), path) for name in header["features"])
            classes = tuple(str(c) for c in header["classes"])
            parts = _parts_of(kind, header, arrays, sealed)
            procedure = cls(
                features,
                _load_classifier(kind, parts, header["features"], classes, path, trust=trust),
                classes,
                _read_costs("costs", arrays),
                float(header["confidence"]),
                int(header["time_limit"]),
                float(header["period"]),
                None if header["max_silence"] is None else float(header["max_silence"]),
                _read_costs("offered", arrays) if "offered.each" in arrays else None,
                dict(header["about"]),
                read_stopping(header, path),
            )
        except container.DAMAGED as error:
            raise container.damaged(path, error) from error
        procedure.__dict__["packed"] = data  # so that a loaded model has the digest of its file
        return procedure


def _feature(name: str, kinds: Sequence[Kind], path: str | Path) -> Feature:
    word = name.partition("(")[0]
    if all(kind.name != word for kind in kinds) and word not in own_names("streamfs.features"):
        raise ModelError(
            f"{path} reads {name}, and {word} is not a kind of the catalogue: pass your own kinds by kinds=, or "
            "install the package that brings it"
        )
    return fx.get(name, kinds)


def _parts_of(
    kind: type[Classifier], header: Mapping[str, Any], arrays: container.Arrays, sealed: Mapping[str, bytes]
) -> FileParts:
    """The parts of a file that are its classifier's."""
    prefix = f"{kind.word}."
    return FileParts(
        {name: header[name] for name in kind.header_fields},
        {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)},
        {name.removeprefix(prefix): data for name, data in sealed.items() if name.startswith(prefix)},
    )


def _load_classifier(
    kind: type[Classifier],
    parts: FileParts,
    names: Sequence[str],
    classes: Sequence[str],
    path: str | Path,
    *,
    trust: bool,
) -> Classifier:
    try:
        pickled = kind.pickled_part(parts.header)
        if trust or not pickled:
            return kind.from_file(parts, names, classes)
    except ModelError as error:
        raise ModelError(f"{path} is damaged: {error}") from error
    raise ModelError(
        f"{path} holds a pickled {pickled}, and unpickling runs whatever code is in it; "
        "load it with trust=True (--trust) if you trust where the file came from"
    )


def _cost_arrays(name: str, costs: Costs) -> dict[str, Array]:
    return {
        f"{name}.each": costs.each,
        f"{name}.once": costs.once,
        f"{name}.weights": np.array([costs.a, costs.b]),
    }


def _read_costs(name: str, arrays: container.Arrays) -> Costs:
    for part in ("each", "once", "weights"):
        if f"{name}.{part}" not in arrays:
            raise ValueError(f"{name}.{part} is missing")
    weights = arrays[f"{name}.weights"]
    if weights.shape != (2,):
        raise ValueError(f"{name}.weights has shape {weights.shape}, expected (2,): a and b")
    return Costs(arrays[f"{name}.each"], arrays[f"{name}.once"], *weights.tolist())
