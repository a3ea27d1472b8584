"""Functions from the prefixes of a stream of samples to numbers, in bounded time and memory per tick."""

from feature_extractors.base import Feature
from feature_extractors.catalogue import ESSENTIAL, KINDS, catalogue, get
from feature_extractors.drive import Program, scan
from feature_extractors.python import python_feature

__all__ = ["ESSENTIAL", "KINDS", "Feature", "Program", "catalogue", "get", "python_feature", "scan"]
