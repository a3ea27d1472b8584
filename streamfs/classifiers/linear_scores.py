"""Linear scores of classes by segments of a stream, which a model file holds and a gateway evaluates."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamfs.classifiers._evaluate import Array, Indices
from streamfs.classifiers._linear import TERM, FlatScores
from streamfs.errors import ModelError


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores of classes, whose exponentials give probabilities: in each segment of a stream sums of features.

    A value beyond those of the training rows counts as the nearest of these, and a missing one as its centre.

    Parameters
    ----------
    clock : int
        The feature that counts samples; -1 if there is one segment.
    starts : ndarray of shape (n_segments,)
        The number of samples from which each segment counts, rising; before the second, the first does.
    features : ndarray of int64 of shape (n_terms,)
        The features that are summed, rising.
    lowest, highest : ndarray of shape (n_terms,)
        The least and the greatest value of each.
    offsets : ndarray of shape (n_segments, n_classes)
        The scores where all features have their centres.
    centres : ndarray of shape (n_segments, n_terms)
        What is subtracted from the features.
    factors : ndarray of shape (n_segments, n_terms, n_classes)
        What each feature adds to the scores, for each unit above its centre.

    Raises
    ------
    streamfs.errors.ModelError
        If an array is of another type or shape, not finite, or not in order.
    """

    clock: int
    starts: Array
    features: Indices
    lowest: Array
    highest: Array
    offsets: Array
    centres: Array
    factors: Array

    def __post_init__(self) -> None:
        self._check_shapes()
        for name in ("starts", "features"):
            if (np.diff(getattr(self, name)) <= 0).any():
                raise ModelError(f"linear.{name} is {getattr(self, name).tolist()}, expected rising numbers")
        if self.features[0] < 0:
            raise ModelError(f"linear.features is {self.features[0]} at term 0, expected a feature")
        if self.clock < -1 or (self.clock < 0 and len(self.starts) > 1):
            raise ModelError(f"linear.clock is {self.clock}, expected a feature, or -1 with one segment")
        for k in np.flatnonzero(self.lowest > self.highest):
            raise ModelError(f"linear.lowest is {self.lowest[k]} at term {k}, expected at most {self.highest[k]}")

    def _check_shapes(self) -> None:
        shape = np.shape(self.factors)
        if len(shape) != 3 or not all(shape):
            raise ModelError(f"linear.factors has shape {shape}, expected some segments, terms and classes")
        n_segments, n_terms, n_classes = shape
        names = ("features", "lowest", "highest")
        sizes: dict[str, tuple[int, ...]] = dict.fromkeys(names, (n_terms,))
        sizes |= {"starts": (n_segments,), "offsets": (n_segments, n_classes)}
        sizes |= {"centres": (n_segments, n_terms), "factors": shape}
        for name, expected in sizes.items():
            array, kind = np.asarray(getattr(self, name)), np.int64 if name == "features" else np.float64
            if array.shape != expected or array.dtype != kind:
                raise ModelError(
                    f"linear.{name} is of {array.dtype} and shape {array.shape}, "
                    f"expected {np.dtype(kind)} and shape {expected}"
                )
            if not np.isfinite(array).all():
                raise ModelError(f"linear.{name} holds {array[~np.isfinite(array)][0]}, expected finite numbers")

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.offsets.shape[1])

    @property
    def read(self) -> tuple[int, ...]:
        """The features that are read, the clock among them, ascending."""
        return tuple(sorted({*self.features.tolist(), *([self.clock] if self.clock >= 0 else [])}))

    def reading(self, features: Sequence[int]) -> Self:
        """Return the scores of rows of these features alone, ascending, with all that are read among them."""
        places = np.searchsorted(features, self.features)
        clock = int(np.searchsorted(features, self.clock)) if self.clock >= 0 else -1
        return replace(self, clock=clock, features=places.astype(np.int64))

    def flat(self) -> FlatScores:
        """Return the scores as kernels read them."""
        terms = np.zeros(len(self.features), dtype=TERM)
        for name in ("lowest", "highest"):
            terms[name] = getattr(self, name)
        terms["feature"] = self.features
        tables = self.starts, self.offsets, self.centres, self.factors.reshape(-1, self.n_classes)
        starts, offsets, centres, factors = (np.require(each, requirements=["C", "W"]) for each in tables)
        return FlatScores(self.clock, starts, offsets, terms, centres, factors)

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all fields as arrays, which `from_arrays` takes."""
        return {each.name: np.atleast_1d(np.asarray(getattr(self, each.name))) for each in fields(self)}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Read what `to_arrays` made; raise a ModelError if a field is missing or wrong."""
        for each in fields(cls):
            if each.name not in arrays:
                raise ModelError(f"linear.{each.name} is missing")
        clock = arrays["clock"]
        if clock.shape != (1,) or clock.dtype != np.int64:
            raise ModelError(f"linear.clock is of {clock.dtype} and shape {clock.shape}, expected a number")
        return cls(int(clock[0]), *(arrays[each.name] for each in fields(cls)[1:]))


def no_scores(n_classes: int) -> FlatScores:
    """Return the scores of a forest that has none, as kernels read them."""
    nothing = np.zeros((0, n_classes))
    return FlatScores(-1, np.zeros(0), nothing, np.zeros(0, dtype=TERM), np.zeros((0, 0)), nothing)
