"""A procedure in two halves: nodes compute its features, and a gateway classifies what they send."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import feature_extractors as fx
from feature_extractors.base import Feature
from feature_extractors.report import SENDS, Policy, channel_name, split_channel, split_column, split_opening
from streamfs.classifiers.crossings import CountedThresholds
from streamfs.data.derived import DerivedColumn
from streamfs.errors import TranslationError
from streamfs.procedure.procedure import Procedure


class SplitProcedure(NamedTuple):
    """What a node computes, and the procedure of the gateway, which reads that.

    Parameters
    ----------
    columns : tuple of DerivedColumn
        What the node computes, in the order of the gateway's channels.
    gateway : Procedure
        With the same classes, stopping rule and time limit, and features of the derived columns.
    """

    columns: tuple[DerivedColumn, ...]
    gateway: Procedure

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels of the derived columns."""
        return self.gateway.channels


def split(procedure: Procedure, sends: str = "crossings") -> SplitProcedure:
    """Split a procedure between nodes and a gateway: decisions, ticks and confidence remain the same.

    Parameters
    ----------
    procedure : Procedure
        Of streams of one node each, with channels that are open from the first tick on.
    sends : {"crossings", "values"}
        On ``crossings``, a node sends the number of the classifier's thresholds that a feature is above, first and
        on change: between crossings a tree takes the same branches. On ``values`` it sends the feature itself,
        first and on change, for any classifier.

    Returns
    -------
    SplitProcedure
        Features without columns, such as ``count()``, stay with the gateway. Its costs are those of the procedure.

    Raises
    ------
    TranslationError
        If the procedure cannot be split so; the message says which part of it is in the way.
    ValueError
        If `sends` is another word.

    Examples
    --------
    >>> import numpy as np
    >>> from streamfs import Costs, Procedure
    >>> from streamfs.classifiers import Forest
    >>> tables = {"feature": [0, -1, -1], "first_child": [1, 0, 0], "missing_child": [1, 0, 0], "roots": [0]}
    >>> forest = Forest(threshold=np.array([20.5, 0, 0]), shares=np.array([[0.5, 0.5], [1, 0], [0, 1]]),
    ...     **{name: np.array(table) for name, table in tables.items()})
    >>> whole = Procedure((fx.get("mean(t)"),), forest, ("cold", "warm"), Costs([1.0]), 0.9, 5)
    >>> split(whole).channels
    ('"crossings(mean(t))"@delta:0',)
    """
    if sends not in SENDS:
        raise ValueError(f"sends is {sends!r}, expected one of {', '.join(SENDS)}")
    require_one_node(procedure.channels)
    if procedure.classifier.releases_features:
        raise TranslationError(f"the classifier, {procedure.classifier.describe()}, releases features")
    read = {k: feature.name for k, feature in enumerate(procedure.features) if feature.columns}
    whole = CountedThresholds({}, procedure.classifier)
    levels, classifier = procedure.classifier.counting(read) if sends == "crossings" else whole
    columns = [DerivedColumn(feature, levels.get(k)) for k, feature in enumerate(procedure.features)]
    features = tuple(_received(column) if column.feature.columns else column.feature for column in columns)
    about = {name: known for name, known in procedure.about.items() if name != "sends"}
    gateway = replace(procedure, features=features, classifier=classifier, about=about)
    return SplitProcedure(tuple(column for column in columns if column.feature.columns), gateway)


def _received(column: DerivedColumn) -> Feature:
    """Return the feature of a derived column that has the value of the node's feature."""
    channel = channel_name(column.name, Policy("delta", 0.0))
    return fx.get(f"last({channel}; lowest={column.lowest!r})")


def require_one_node(channels: Sequence[str]) -> None:
    """Raise a TranslationError unless a node can compute features of these channels, and knows when to begin."""
    if not channels:
        raise TranslationError("no feature reads a column, so that there is nothing that a node could compute")
    for channel in channels:
        role, _ = split_column(split_channel(channel)[0])
        if role:
            raise TranslationError(f"{channel} has role {role}, expected streams of one node each")
        if split_opening(channel)[1] > 1:
            raise TranslationError(f"{channel} opens later, expected channels of the first tick")
