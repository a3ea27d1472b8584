"""Selectors of features, and what measures a subset of them."""

from streamfs.selection.active_sampling import ActiveFeatureSampling
from streamfs.selection.criteria import Consistency, WrapperAccuracy
from streamfs.selection.dependency_aware import DependencyAwareRanking
from streamfs.selection.discretise import EqualWidthDiscretiser
from streamfs.selection.finco import Finco
from streamfs.selection.inconsistency import SubsetInconsistency, inconsistency
from streamfs.selection.lvf import LasVegasFilter
from streamfs.selection.query_sensitive import QuerySensitiveNeighbors
from streamfs.selection.repeated import RepeatedSelector
from streamfs.selection.sequential import SequentialSelector

__all__ = [
    "ActiveFeatureSampling",
    "Consistency",
    "DependencyAwareRanking",
    "EqualWidthDiscretiser",
    "Finco",
    "LasVegasFilter",
    "QuerySensitiveNeighbors",
    "RepeatedSelector",
    "SequentialSelector",
    "SubsetInconsistency",
    "WrapperAccuracy",
    "inconsistency",
]
