"""Certify a model anew by what a gateway has recorded, in a process of its own."""

import csv
import logging
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from streamfs.gateway.core.episode_recorder import EpisodeRecorder, LabelledEpisode
from streamfs.procedure.card_schema import read_promise
from streamfs.procedure.procedure import Procedure

_log = logging.getLogger(__name__)

OF_RISK = 0.6
"""Part of the promise's risk that the first attempt has; the k-th has 1 / k**2 of that: less than 1 in all."""

SAID = "said"
"""File of what the process says."""

_NICE = 19


class Recertifier:
    """Has a model file certified anew by each whole batch of labelled episodes, until that succeeds.

    Each attempt has streams of its own, and a part of the risk, so that all of them together keep the promise's.

    Parameters
    ----------
    model : path
        The model file, which is replaced once the model is certified.
    trust : bool
        Whether pickled models may be loaded.
    """

    def __init__(self, model: Path, *, trust: bool = False) -> None:
        self._model, self._trust = model, trust
        self._attempt = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._folder: TemporaryDirectory[str] | None = None

    def advance(self, recorder: EpisodeRecorder | None, procedure: Procedure) -> bool:
        """Begin and end processes as batches come; return whether there is a new model file."""
        if recorder is None:  # another model is followed
            self.close()
            self._attempt = 0
        elif self._process is not None:
            return self._process.poll() is not None and self._end(self._process.returncode)
        elif recorder.number > self._attempt:
            self._attempt = recorder.number
            try:
                self._begin(recorder.batch, procedure)
            except OSError as error:
                _log.warning("the model could not be certified anew: %s", error)
                self.close()
        return False

    @property
    def is_running(self) -> bool:
        """Whether there is a process, or was one whose end was not seen yet."""
        return self._process is not None

    def close(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._clear()

    def _begin(self, batch: list[LabelledEpisode], procedure: Procedure) -> None:
        promise = read_promise(procedure.about.get("promise"))
        if promise is None:
            return
        self._folder = TemporaryDirectory(prefix="streamfs-")
        streams, risk = self._folder.name + "/episodes.csv", OF_RISK * promise["risk"] / self._attempt**2
        write_episodes(batch, procedure, Path(streams))
        model, new = str(self._model), str(self._new_model)
        command = [sys.executable, "-m", "streamfs", "recertify", model, streams, "-o", new]
        command += ["--risk", f"{risk:.6g}", "--seed", str(self._attempt), *(["--trust"] if self._trust else [])]
        with Path(self._folder.name, SAID).open("wb") as said:
            self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=said)  # noqa: S603 - our own
        if hasattr(os, "setpriority"):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _NICE)
        _log.info("the model is certified anew by %d labelled episodes, attempt %d", len(batch), self._attempt)

    def _end(self, code: int) -> bool:
        if code == 0:
            self._new_model.replace(self._model)
            _log.info("the model was certified anew here")
        else:
            _log.warning("the model was not certified anew here: %s", self._last_words())
        self._clear()
        return code == 0

    def _last_words(self) -> str:
        """Return the last line of what the process has said."""
        if self._folder is None:
            return ""
        said = Path(self._folder.name, SAID).read_text(encoding="utf-8", errors="replace")
        return said.strip().rpartition("\n")[2]

    @property
    def _new_model(self) -> Path:
        """Where the new model is written, beside the file that it replaces."""
        return self._model.with_name(f".{self._model.name}.new")

    def _clear(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
        self._process = self._folder = None


def write_episodes(batch: list[LabelledEpisode], procedure: Procedure, path: Path) -> None:
    """Write labelled episodes as a table of streams, whose columns are the channels as they were seen."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["stream", "time", "label", *procedure.channels])
        for stream, episode, label, samples in batch:
            begin = samples[0][0] or 0.0
            for time, *values in samples:
                shown = ["" if value is None or value != value else value for value in values]  # noqa: PLR0124
                table.writerow([f"{stream}/{episode}", (time or 0.0) - begin, label, *shown])
