"""Bayes' classifier with the densities of the classes estimated by kernels."""

from collections.abc import Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt

from feature_extractors.arrays import Array
from streamfs.base.estimators import ProbableClassifier, query_rows, training_rows
from streamfs.base.parameters import OneOf, RealNumber, Wholes
from streamfs.classifiers.class_densities import KERNELS, MeasuredClasses, Smoothing


class KernelDensityClassifier(ProbableClassifier):
    """Bayes' classifier whose class densities are sums of kernels, one around each training row.

    Parameters
    ----------
    kernel : {"standard", "adaptive"}
        Whether all rows of a class have the same bandwidths, or wider ones where rows are sparse.
    nominal : sequence of int, optional
        Indices of the features that are codes of categories.
    bandwidth : float, optional
        Bandwidth of every numeric feature in standard deviations of its class; by default Silverman's normal
        reference, (4 / ((d + 2) n))^(1 / (d + 4)) for n rows of d numeric features.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes in training.
    bandwidths_ : ndarray of shape (n_classes, n_features)
        Standard bandwidths in the features' units; NaN for nominal features.
    densities_ : streamfs.classifiers.class_densities.ClassDensities
        The kernels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Notes
    -----
    The density of a class is the mean over its rows of a product of one kernel a feature. A numeric feature has a
    normal kernel, whose bandwidth is the class's standard deviation times the factor above; where the class has
    one value only, the deviation of all rows is taken, or the feature's unit where that is 0 as well. A nominal
    feature of V categories has Aitchison and Aitken's kernel, 1 - a for the same category and a / (V - 1) for
    each other one, with a = (V - 1) / (V + n), by which one feature alone is estimated as by Laplace's rule.

    The adaptive kernel first estimates the density f at each row of a class by the standard one, the row itself
    included, and then multiplies the row's numeric bandwidths by (f / g)^(-1/2), where g is the geometric mean
    of f over the class.

    A missing cell (NaN) of either side leaves its kernel out of the product, which is measured in ranges of the
    features: as if the missing value could be anywhere in the range. The computation is in logarithms: however far
    from all rows a query is, its probabilities sum to 1.

    A prediction's work is training rows times features. Fitting the adaptive kernel takes a prediction within the
    class for each row.

    References
    ----------
    E. Acuna and F. Coaquira, Feature selection for supervised classification, slides 6, 7 and 35, which give no
    bandwidths. B. W. Silverman, Density estimation for statistics and data analysis, 1986, sections 4.3.2 and 5.3.
    J. Aitchison and C. G. G. Aitken, Multivariate binary discrimination by the kernel method, Biometrika 63, 1976.

    Examples
    --------
    >>> X = [[20.1], [20.5], [20.9], [24.0], [25.0], [26.5]]
    >>> classifier = KernelDensityClassifier().fit(X, ["cold", "cold", "cold", "warm", "warm", "warm"])
    >>> classifier.predict([[21.0], [23.9], [1000.0]]).tolist()
    ['cold', 'warm', 'warm']
    >>> classifier.predict_proba([[21.6]]).round(3)
    array([[0.819, 0.181]])
    """

    _parameter_constraints: ClassVar = {
        "kernel": [OneOf(*KERNELS)],
        "nominal": [Wholes(), None],
        "bandwidth": [RealNumber(above=0.0), None],
    }

    def __init__(
        self,
        kernel: Literal["standard", "adaptive"] = "standard",
        nominal: Sequence[int] | None = None,
        bandwidth: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.nominal = nominal
        self.bandwidth = bandwidth

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Self:
        """Place the kernels.

        Parameters
        ----------
        X : array_like of shape (n_rows, n_features)
            Values; NaN is missing.
        y : array_like of shape (n_rows,)
            Classes.

        Raises
        ------
        ValueError
            If a parameter is out of its range, or a value infinite, or the values of a feature too far apart for a
            number.
        """
        values, y = training_rows(self, X, y)
        smoothing = Smoothing(self.kernel, self.bandwidth)
        is_nominal = self._is_nominal(values.shape[1])
        self.classes_, codes = np.unique(y, return_inverse=True)
        measured = MeasuredClasses.measure(values, codes, is_nominal)
        self.class_prior_ = measured.sizes / len(codes)
        self.densities_ = smoothing.place(measured)
        self.bandwidths_ = np.where(is_nominal, np.nan, self.densities_.bandwidths * measured.spans)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """Return the probability of each class, shape (n_rows, n_classes)."""
        queries = query_rows(self, X)
        return self.densities_.probabilities(queries)
