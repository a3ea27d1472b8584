from .default_features import default_features as default_features
from .feature_table import FeatureTable as FeatureTable
from .feature_table import tabulate as tabulate
from .instances import Instances as Instances
from .pattern_features import pattern_features as pattern_features
from .recordings.layout import Layout as Layout
from .streams import StreamSet as StreamSet
