from .c45 import C45Classifier as C45Classifier
from .calibration import Calibration as Calibration
from .extra_trees import ExtraTreesClassifier as ExtraTreesClassifier
from .forest import Forest as Forest
from .kernel_density import KernelDensityClassifier as KernelDensityClassifier
from .neighbours import NeighborsClassifier as NeighborsClassifier
from .online import OnlineClassifier as OnlineClassifier
