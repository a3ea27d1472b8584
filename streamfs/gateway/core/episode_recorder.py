"""Labelled episodes as a model saw them, by which it may be certified anew."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from streamfs.gateway.core.model_streams import Chosen, ModelStreams
from streamfs.procedure.procedure import Decision, Procedure

MOST = 10_000
"""Episodes that are kept while they are open, and as many that wait for labels; then the oldest is dropped."""

Samples = list[list[float | None]]
"""The seconds of each tick, and values of the model's channels; a missing one is NaN, or None after a restart."""


class LabelledEpisode(NamedTuple):
    """An episode with its true label."""

    stream: str
    episode: int
    label: str
    samples: Samples


class EpisodeRecorder:
    """Keeps the samples of a model's episodes until their labels come, in batches of labelled ones.

    Of an episode that had begun before nothing is kept.

    Parameters
    ----------
    procedure : Procedure
        The model.
    n_episodes : int
        Labelled episodes of a batch.

    Attributes
    ----------
    batch : list of LabelledEpisode
        The last whole batch.
    number : int
        Number of whole batches so far.
    """

    def __init__(self, procedure: Procedure, n_episodes: int) -> None:
        self._procedure = procedure
        self.batch: list[LabelledEpisode] = []
        self.number = 0
        self._n_episodes = n_episodes
        self._open: dict[str, Samples] = {}
        self._decided: dict[str, tuple[int, Samples]] = {}
        self._labelled: list[LabelledEpisode] = []

    def pushed(self, model: ModelStreams, chosen: Chosen, decisions: Iterable[tuple[int, Decision]]) -> None:
        """Take samples that the model was given, and the decisions that it made of them."""
        names = map(model.engine.name, chosen.rows.tolist())
        for stream, time, sample in zip(names, chosen.times.tolist(), chosen.samples.tolist(), strict=True):
            self._open.setdefault(stream, []).append([time, *sample])
        for _, decision in decisions:
            begin = decision.time - (decision.tick - 0.5) * self._procedure.period
            end = decision.time + 0.5 * self._procedure.period
            samples = [each for each in self._open.pop(decision.stream, []) if begin < (each[0] or 0.0) < end]
            self._decided.pop(decision.stream, None)
            if len(samples) == decision.tick:
                self._decided[decision.stream] = decision.episode, samples
        for kept in (self._open, self._decided):
            while len(kept) > MOST:
                kept.pop(next(iter(kept)))

    def labelled(self, stream: str, episode: int, label: str) -> None:
        """Take the true label of an episode."""
        found = self._decided.get(stream)
        if found is None or found[0] != episode:
            return
        self._labelled.append(LabelledEpisode(stream, episode, label, self._decided.pop(stream)[1]))
        if len(self._labelled) == self._n_episodes:
            self.batch, self._labelled = self._labelled, []
            self.number += 1

    def to_state(self) -> dict[str, Any]:
        """Copy everything as plain JSON."""
        return {
            "batch": [list(each) for each in self.batch],
            "number": self.number,
            "open": dict(self._open),
            "decided": dict(self._decided),
            "labelled": [list(each) for each in self._labelled],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `to_state` has copied."""
        self.batch = [LabelledEpisode(*each) for each in state["batch"]]
        self.number = state["number"]
        self._open = dict(state["open"])
        self._decided = {stream: (episode, samples) for stream, (episode, samples) in state["decided"].items()}
        self._labelled = [LabelledEpisode(*each) for each in state["labelled"]]
