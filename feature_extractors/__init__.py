"""Functions from the prefixes of a stream of samples to numbers, in constant time and memory a tick."""

from feature_extractors.base import Feature
from feature_extractors.catalogue import catalogue, get
from feature_extractors.drive import Program, scan

__all__ = ["Feature", "Program", "catalogue", "get", "scan"]
