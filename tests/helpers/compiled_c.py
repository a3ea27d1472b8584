"""C that tests compile and call."""

import ctypes
import subprocess

import numpy as np

from sensors_sim.deciding import ExportedModel, SplitModel
from streamfs.translation.estimate import ram_of
from streamfs.translation.model import columns_of, translate
from streamfs.translation.precision import DOUBLE
from streamfs.translation.sending import translate_sending

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1", "-ffp-contract=off")


def compiled(folder, text, name="library", **files):
    """Compile a text, beside which lie other files, without a warning; return the library."""
    for file, content in files.items():
        (folder / file.replace("_", ".")).write_text(content, encoding="utf-8")
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(text, encoding="utf-8")
    subprocess.run(["gcc", *STRICT, "-fPIC", "-shared", source, "-o", library, "-lm"], check=True)  # noqa: S607
    return ctypes.CDLL(str(library))


def address(array):
    """Return an array as an argument."""
    return ctypes.c_void_p(array.ctypes.data)


class Model:
    """A translated model that was compiled."""

    def __init__(self, folder, sources, precision):
        self._library = compiled(folder, sources.body, sources.name, model_h=sources.header)
        self._dtype = precision.dtype
        self._stream = np.zeros(sources.n_reals * np.dtype(precision.dtype).itemsize + 16, np.uint8)

    def decide(self, readings):
        """Return the answer, the number of ticks taken, and the last confidence, of a stream's readings."""
        rows = np.ascontiguousarray(readings, dtype=self._dtype)
        confidence = np.full(1, np.nan, self._dtype)
        self._library.model_begin(address(self._stream))
        answer, n_taken = -1, 0
        while answer == -1 and n_taken < len(rows):
            answer = self._library.model_take(address(self._stream), address(rows[n_taken]), address(confidence))
            n_taken += 1
        return answer, n_taken, float(confidence[0])


def exported_model(folder, procedure):
    """Return a procedure as simulated nodes run it."""
    sources = translate(procedure)
    compiled(folder, sources.body, sources.name, model_h=sources.header)
    columns, n_bytes = columns_of(procedure), ram_of(sources, DOUBLE)
    return ExportedModel(folder / "model.so", columns, procedure.classes, n_bytes)


def split_model(folder, procedure, halves):
    """Return what a node computes of a split procedure, as simulated nodes run it."""
    sources = translate_sending(procedure, halves)
    compiled(folder, sources.body, sources.name, model_h=sources.header)
    return SplitModel(
        ExportedModel(folder / "model.so", columns_of(procedure), (), ram_of(sources, DOUBLE)), halves.channels
    )
