"""The features that are offered where a forest chooses: of all kinds, and patterns."""

import feature_extractors as fx
from feature_extractors.base import Feature
from streamfs.data.default_features import RICH, default_features
from streamfs.data.pattern_features import pattern_features
from streamfs.data.streams import StreamSet

N_KERNELS, LEAST_KERNELS = 160, 8
"""Kernels of the patterns: over all columns, and of a column at least."""

FEW_KERNELS = 80
"""Kernels over all columns for a search that fits very many forests, such as that of a promise."""

FEW_COLUMNS = 6
"""Columns up to which all kinds of features of each are offered; of more, the essential ones."""


def rich_features(streams: StreamSet, seed: int, n_kernels: int = N_KERNELS) -> tuple[Feature, ...]:
    """Return features for a forest: of all kinds, and patterns that neither level, scale nor start changes."""
    kinds = RICH if len(streams.columns) <= FEW_COLUMNS else fx.ESSENTIAL
    n_each = max(n_kernels // len(streams.columns), LEAST_KERNELS)
    patterns = pattern_features(streams, n_kernels=n_each, normalised=True, shares=False, seed=seed)
    return (*default_features(streams, kinds), *patterns)
