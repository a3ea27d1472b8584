"""The naive kernel density classifier, for comparison with the fast one.

Acuna & Coaquira, "Feature Selection for Supervised Classification" (slides 6 to 7); Silverman 1986; Aitchison &
Aitken 1976.

Independent of the library. "Taken" marks an interpretation where the paper is wrong or silent. Values are finite
or NaN (missing); nominal values are codes. Classes ascend. Sums are explicit loops in order; ties go to the lowest
index.
"""

import math
from collections.abc import Collection, Sequence

import numpy as np
from oracles.papers import Array, Integers, deviation, distinct_values, known, total


def bandwidths(X: Array, rows: Array, nominal: Collection[int] = ()) -> Array:
    """Silverman's normal reference of each numeric feature for the rows of one class; NaN for a nominal one.

    h_j = s_j (4 / ((d + 2) n_c))^(1 / (d + 4)): n_c all rows of the class, with missing values or not; d the
    numeric features with a known value in the class (taken); s_j the class's deviation of the known values, that
    of all rows `X` where it is 0, and 1 where that is 0 too.
    """
    numeric = [j for j in range(X.shape[1]) if j not in nominal]
    d = len([j for j in numeric if len(known(rows[:, j]))])
    factor = (4.0 / ((d + 2) * len(rows))) ** (1.0 / (d + 4))
    h = [(deviation(rows[:, j]) or deviation(X[:, j]) or 1.0) * factor for j in range(X.shape[1])]
    return np.array([h[j] if j in numeric else math.nan for j in range(X.shape[1])])


def log_mean_exp(values: Sequence[float]) -> float:
    """Log of the mean of exp(values)."""
    top = max(values)
    return top + math.log(total([math.exp(value - top) for value in values]) / len(values))


def log_density(query: Array, rows: Array, widths: Array, n_values: Integers, nominal: Collection[int]) -> float:
    """Log of f(query | class), the mean over the class's rows of the product of one kernel a feature.

    `widths` has the bandwidths of each row. Numeric: Gaussian. Nominal: 1 - l if equal, l / (V - 1) if not, with
    l = (V - 1) / (V + n_c), which alone gives Laplace's (count + 1) / (n_c + V); V is the number of
    distinct values in all training rows. A cell missing on either side leaves its factor out (it is 1).
    """
    logs = []
    for row, width in zip(rows, widths, strict=True):
        terms = []
        for j, (a, b) in enumerate(zip(query.tolist(), row.tolist(), strict=True)):
            if math.isnan(a) or math.isnan(b):
                continue
            if j in nominal:
                terms.append(math.log((1.0 + len(rows) * (a == b)) / (int(n_values[j]) + len(rows))))
            else:
                z = (a - b) / float(width[j])
                terms.append(-0.5 * z * z - math.log(float(width[j]) * math.sqrt(2.0 * math.pi)))
        logs.append(total(terms))
    return log_mean_exp(logs)


def kernel_density_probabilities(
    X: Array, y: Integers, query: Array, kernel: str = "standard", nominal: Collection[int] = ()
) -> Array:
    """Class probabilities of one query by Bayes' rule, shape (n_classes,): priors n_c / n, kernel densities.

    "adaptive" (Silverman 1986, section 5.3): a first standard estimate f at each row of a class, from that class,
    the row itself and the nominal features included, gives the row the factor (f / g)^(-1/2), g being the
    geometric mean of f over the class; the row's numeric bandwidths are multiplied by it.
    """
    n_values = distinct_values(X)
    logs = []
    for c in sorted(set(y.tolist())):
        rows = X[y == c]
        widths = np.tile(bandwidths(X, rows, nominal), (len(rows), 1))
        if kernel == "adaptive":
            pilot = [log_density(row, rows, widths, n_values, nominal) for row in rows]
            mean = total(pilot) / len(pilot)
            widths = widths * np.array([[math.exp(-0.5 * (f - mean))] for f in pilot])
        logs.append(math.log(len(rows) / len(y)) + log_density(query, rows, widths, n_values, nominal))
    shares = [math.exp(log - max(logs)) for log in logs]
    return np.array(shares) / total(shares)
