"""Promises: the cheapest procedure that is right often enough, and the evidence that it is."""

from streamfs.promises.promise import Promise
from streamfs.promises.refusal import PromiseError

__all__ = ["Promise", "PromiseError"]
