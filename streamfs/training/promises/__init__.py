"""Promises: the cheapest procedure that is right often enough, and the evidence that it is."""

from streamfs.training.promises.promise import Promise
from streamfs.training.promises.refusal import PromiseError

__all__ = ["Promise", "PromiseError"]
