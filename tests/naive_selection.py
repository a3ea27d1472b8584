"""The selection systems of four papers, plain and slow, beside which every fast one is laid.

Nothing here knows the library. The papers: Veeramachaneni & Avesani, "Active Sampling for Feature Selection"
(ICDM 2003); Somol, Grim, Filip & Pudil, "On Stopping Rules in Dependency-Aware Feature Ranking" (CIARP 2013);
Acuna & Coaquira, "Feature Selection for Supervised Classification" (slides); Tong & Gu, "Query-Sensitive Feature
Selection for Lazy Learners". "Taken" names a reading where a paper is wrong or silent. Values are finite or NaN
(missing); nominal values are codes. Classes go in rising order. Sums are explicit loops in order; of equal
values the lowest index comes first.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Sequence

import numpy as np
from naive import Array, Integers, bounds, distinct_values, nominal_diff, numeric_diff

Subset = tuple[int, ...]
Score = Callable[[Subset], float]


def total(values: Sequence[float]) -> float:
    """The sum, from the first value to the last."""
    result = 0.0
    for value in values:
        result += value
    return result


def known(x: Array) -> Array:
    """The values that are not missing."""
    return np.array([value for value in x if not math.isnan(value)])


# Inconsistency and discretisation (Acuna & Coaquira, slides 29 to 32)


def inconsistency(X: Array, y: Integers) -> float:
    """Inconsistency rate: rows outside the largest class of their group, over all rows (Liu & Setiono 1996).

    Rows of equal values are a group, a missing value being a value of its own. Without features all rows are one
    group. Taken is Liu's count; the slide's legend would count the largest class too.
    """
    groups: dict[tuple[float | None, ...], list[int]] = {}
    for row, label in zip(X, y, strict=True):
        key = tuple(None if math.isnan(value) else float(value) for value in row)
        groups.setdefault(key, []).append(int(label))
    n_inconsistent = 0
    for labels in groups.values():
        n_inconsistent += len(labels) - max(Counter(labels).values())
    return n_inconsistent / len(y)


def bins_of_width(x: Array, span: float) -> int:
    """Bins of Freedman & Diaconis' width in a range `span`: ceil(span / h), h = 2 IQR n^(-1/3).

    `x` has known values only. Quartiles are interpolated linearly; with an IQR of 0, Sturges' ceil(log2 n) + 1
    (taken). There is no upper bound.
    """
    lower, upper = np.quantile(x, [0.25, 0.75])
    if upper == lower:
        return math.ceil(math.log2(len(x))) + 1
    width = 2.0 * float(upper - lower) * float(len(x) ** (-1.0 / 3.0))
    return math.ceil(span / width)


def freedman_diaconis_bins(x: Array) -> int:
    """Number of equal-width bins of a feature; 1 if its known values are all equal, or it has none."""
    values = known(x)
    if len(values) == 0 or values.min() == values.max():
        return 1
    return bins_of_width(values, float(values.max() - values.min()))


def supervised_bins(x: Array, y: Integers) -> int:
    """The largest number of bins that a class asks for: its own IQR and size, the range of the whole feature.

    A class without known values asks for none; a feature with a range of 0, or no known value, has 1 bin (taken).
    """
    values = known(x)
    if len(values) == 0 or values.min() == values.max():
        return 1
    classes = [known(x[y == c]) for c in sorted(set(y.tolist()))]
    span = float(values.max() - values.min())
    return max(bins_of_width(of_class, span) for of_class in classes if len(of_class))


def equal_width_codes(x: Array, n_bins: int) -> Array:
    """Bin of each value, 0 to n_bins - 1: floor((value - low) / (high - low) n_bins), the highest in the last.

    So a bin holds its lower edge. A range of 0 gives bin 0; a missing value stays missing.
    """
    values = known(x)
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)

    def code(value: float) -> float:
        if math.isnan(value):
            return math.nan
        return 0.0 if high == low else float(min(math.floor((value - low) / (high - low) * n_bins), n_bins - 1))

    return np.array([code(float(value)) for value in x])


# The Las Vegas filter and Finco (Acuna & Coaquira, slides 26 and 33 to 34)


def las_vegas(codes: Array, y: Integers, subsets: Sequence[Sequence[int]], threshold: float) -> Subset:
    """The smallest of the drawn subsets with a rate of at most `threshold`, the last drawn of equal sizes; rising.

    Beginning with all features, of the size p: a smaller one takes the place of the best, and so does one of the
    same size. Taken: "at most" in both branches (the slide prints < in the first, which would let none in at a
    threshold of 0). A drawn subset may be empty, or hold all features, and is then treated as any other.
    """
    best = tuple(range(codes.shape[1]))
    for drawn in subsets:
        subset = tuple(sorted(drawn))
        if len(subset) <= len(best) and inconsistency(codes[:, list(subset)], y) <= threshold:
            best = subset
    return best


def finco(codes: Array, y: Integers, threshold: float) -> Subset:
    """Forward selection by the inconsistency rate, in order of entry.

    Each step adds the feature with the smallest rate, while the rate falls, until it is at most `threshold`;
    the feature that reaches it is kept. Taken: the first feature enters whatever its rate is (slide 33: the rate
    of no features is not spoken of), so the selection is never empty.
    """
    chosen: Subset = ()
    rate = math.inf
    while rate > threshold and len(chosen) < codes.shape[1]:
        out = [j for j in range(codes.shape[1]) if j not in chosen]
        rates = [inconsistency(codes[:, [*chosen, j]], y) for j in out]
        if min(rates) >= rate:
            break
        rate = min(rates)
        chosen = (*chosen, out[rates.index(rate)])
    return chosen


# Sequential selection (Acuna & Coaquira, slides 18 to 20; Pudil, Novovicova & Kittler 1994)


def with_best(chosen: Subset, score: Score, n_features: int) -> Subset:
    """`chosen` and, last, the feature that gives the highest score with it."""
    out = [j for j in range(n_features) if j not in chosen]
    scores = [score(tuple(sorted((*chosen, j)))) for j in out]
    return (*chosen, out[scores.index(max(scores))])


def without_worst(chosen: Subset, score: Score) -> Subset:
    """`chosen` without the feature whose absence gives the highest score, the lowest index of several."""
    inside = sorted(chosen)
    scores = [score(tuple(k for k in inside if k != j)) for j in inside]
    worst = inside[scores.index(max(scores))]
    return tuple(k for k in chosen if k != worst)


def sequential(
    score: Score,
    n_features: int,
    direction: str = "forward",
    floating: bool = False,
    take: int | None = None,
    remove: int | None = None,
) -> Subset:
    """Sequential selection; forward in order of entry, backward what is left, rising.

    `score` is given subsets of rising indices, is larger for the better, and is never asked for the empty subset.
    What the slides leave open:

    - A step forward adds the feature with the highest score, and stands if it raises the score strictly; the first
      feature enters whatever its score is. A step backward removes the feature without which the score is
      highest, and stands if the score does not fall: equal goes on. The last feature is never removed.
    - Take-l-remove-r, forward if l = `take` is above r = `remove`, backward if below: a round adds l features one
      by one, then removes r one by one (backward: removes r, then adds l), each the best at its step, and none of
      these is held against the score before it. The round as a whole stands or falls as a step does; where it
      falls, the subset before it is the result. Rounds are whole: forward ends where fewer than l features are
      out (l above all of them is a ValueError), backward where r or fewer are in. (1, 0) is SFS, (0, 1) is SBS;
      these are the defaults.
    - A feature that was removed and enters anew stands last in the order of entry.
    - With `floating`: see `floating_forward` and `floating_backward`.
    """
    if floating:
        floating_search = {"forward": floating_forward, "backward": floating_backward}[direction]
        return floating_search(score, n_features)
    forward = {"forward": True, "backward": False}[direction]
    take = int(forward) if take is None else take
    remove = int(not forward) if remove is None else remove
    if take == remove or (take > remove) != forward or (forward and take > n_features):
        raise ValueError(take, remove)
    search = rounds_forward if forward else rounds_backward
    return search(score, n_features, take, remove)


def rounds_forward(score: Score, n_features: int, take: int, remove: int) -> Subset:
    """From no feature: rounds of `take`, then `remove`, while the score rises."""
    chosen: Subset = ()
    current = -math.inf
    while n_features - len(chosen) >= take:
        trial = chosen
        for _ in range(take):
            trial = with_best(trial, score, n_features)
        for _ in range(remove):
            trial = without_worst(trial, score)
        reached = score(tuple(sorted(trial)))
        if not reached > current:
            break
        chosen, current = trial, reached
    return chosen


def rounds_backward(score: Score, n_features: int, take: int, remove: int) -> Subset:
    """From all features: rounds of `remove`, then `take`, while the score does not fall."""
    chosen = tuple(range(n_features))
    current = score(chosen)
    while len(chosen) > remove:
        trial = chosen
        for _ in range(remove):
            trial = without_worst(trial, score)
        for _ in range(take):
            trial = with_best(trial, score, n_features)
        reached = score(tuple(sorted(trial)))
        if reached < current:
            break
        chosen, current = trial, reached
    return tuple(sorted(chosen))


def best_of_all(best: dict[int, tuple[float, Subset]]) -> Subset:
    """Of the best subset of each size the one with the highest score, of equal ones the smallest."""
    size = min(best, key=lambda k: (-best[k][0], k))
    return best[size][1]


def floating_forward(score: Score, n_features: int) -> Subset:
    """SFFS: each inclusion is followed by exclusions.

    An inclusion must raise the score of the present subset strictly, else the search ends (slide 20); an exclusion
    (the feature without which the score is highest) stands if its score is strictly above the best met so far
    for its size, be that below the score before it (Pudil 1994), and is tried again until one does not. Each
    subset on the way becomes the best of its size if strictly above the last. Taken: the result is the best
    of all sizes, of equal ones the smallest, for an exclusion may leave the highest score behind.
    """
    chosen: Subset = ()
    current = -math.inf
    best: dict[int, tuple[float, Subset]] = {}
    while len(chosen) < n_features:
        trial = with_best(chosen, score, n_features)
        reached = score(tuple(sorted(trial)))
        if not reached > current:
            break
        chosen, current = trial, reached
        if len(chosen) not in best or current > best[len(chosen)][0]:
            best[len(chosen)] = current, chosen
        while len(chosen) > 1:
            trial = without_worst(chosen, score)
            reached = score(tuple(sorted(trial)))
            if not reached > best[len(trial)][0]:
                break
            chosen, current = trial, reached
            best[len(chosen)] = current, chosen
    return best_of_all(best)


def floating_backward(score: Score, n_features: int) -> Subset:
    """SFBS, the mirror: each exclusion is followed by inclusions; rising.

    An exclusion must not lower the score of the present subset, else the search ends; an inclusion stands if its
    score is strictly above the best met so far for its size. The best and the result are as in SFFS.
    """
    chosen = tuple(range(n_features))
    current = score(chosen)
    best = {n_features: (current, chosen)}
    while len(chosen) > 1:
        trial = without_worst(chosen, score)
        reached = score(tuple(sorted(trial)))
        if reached < current:
            break
        chosen, current = trial, reached
        if len(chosen) not in best or current > best[len(chosen)][0]:
            best[len(chosen)] = current, chosen
        while len(chosen) < n_features:
            trial = with_best(chosen, score, n_features)
            reached = score(tuple(sorted(trial)))
            if not reached > best[len(trial)][0]:
                break
            chosen, current = trial, reached
            best[len(chosen)] = current, chosen
    return tuple(sorted(best_of_all(best)))


# Kernel density classifier (Acuna & Coaquira, slides 6 to 7; Silverman 1986; Aitchison & Aitken 1976)


def deviation(x: Array) -> float:
    """Standard deviation of the known values, n - 1 below; 0 if they are all equal, or fewer than two."""
    values = known(x)
    if len(values) < 2 or values.min() == values.max():
        return 0.0
    mean = total(values.tolist()) / len(values)
    return math.sqrt(total([(value - mean) ** 2 for value in values.tolist()]) / (len(values) - 1))


def bandwidths(X: Array, rows: Array, nominal: Collection[int] = ()) -> Array:
    """Silverman's normal reference of each numeric feature for the rows of one class; NaN for a nominal one.

    h_j = s_j (4 / ((d + 2) n_c))^(1 / (d + 4)): n_c all rows of the class, be a value missing or not; d the
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
    l = (V - 1) / (V + n_c), which alone gives Laplace's (count + 1) / (n_c + V); V is how many distinct values all
    training rows have. A cell missing on either side leaves its factor out (it is 1).
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


# Dependency-aware ranking (Somol et al., eq. 1 to 3)


def daf(subsets: Sequence[Sequence[int]], scores: Sequence[float], n_features: int) -> Array:
    """Mean score of the probes with the feature less that of the probes without it, shape (n_features,) (eq. 3).

    NaN where no probe, or every probe, holds it. A probe drawn twice counts twice.
    """
    result = []
    for j in range(n_features):
        inside = [score for subset, score in zip(subsets, scores, strict=True) if j in subset]
        outside = [score for subset, score in zip(subsets, scores, strict=True) if j not in subset]
        if inside and outside:
            result.append(total(inside) / len(inside) - total(outside) / len(outside))
        else:
            result.append(math.nan)
    return np.array(result)


def order_change(before: Array, after: Array) -> float:
    """Condition 1, C: mean absolute change of a feature's place by descending DAF, ties by index.

    Taken: the place, where the paper prints the formula of condition 2 again. NaN if a DAF is NaN.
    """
    if np.isnan(before).any() or np.isnan(after).any():
        return math.nan

    def places(values: Array) -> list[int]:
        order = sorted(range(len(values)), key=lambda j: (-values[j], j))
        return [order.index(j) for j in range(len(values))]

    changes = [abs(a - b) for a, b in zip(places(before), places(after), strict=True)]
    return total(changes) / len(changes)


def value_change(before: Array, after: Array) -> float:
    """Condition 2, which the paper names C^2: mean absolute change of DAF; NaN if a DAF is NaN."""
    changes = [abs(float(a) - float(b)) for a, b in zip(before, after, strict=True)]
    return total(changes) / len(changes)


# Active sampling (Veeramachaneni & Avesani, sections 3 and 4)


def posterior(counts: Array) -> Array:
    """Bayes' estimate under a Dirichlet prior of ones, along the last axis: (n + 1) / (N + V)."""
    return np.asarray((counts + 1.0) / (counts.sum(axis=-1, keepdims=True) + counts.shape[-1]))


def class_entropy(p: Array) -> float:
    """H(C | X, Y) of a joint p(c, x, y), in nats (eq. 1); 0 log 0 is 0."""
    terms = []
    for c, x, y in np.ndindex(p.shape):
        if p[c, x, y] > 0:
            terms.append(-float(p[c, x, y]) * math.log(p[c, x, y] / total(p[:, x, y].tolist())))
    return total(terms)


def benefit(counts: Array, p_cx: Array) -> Array:
    """Eq. 3 by brute force for every region (c, x), shape (n_classes, n_x), in nats.

    `counts` are the samples taken so far, shape (n_classes, n_x, n_y); `p_cx` is p_N(c, x). The whole joint is
    made anew for every region and every value that the sample could have. Taken: eq. 2's probability of a value
    is that of the region tried.
    """
    joint = posterior(counts) * p_cx[:, :, np.newaxis]
    now = class_entropy(joint)
    result = np.zeros(p_cx.shape)
    for a, b in np.ndindex(p_cx.shape):
        terms = []
        for value in range(counts.shape[2]):
            more = counts.copy()
            more[a, b, value] += 1
            terms.append(
                float(posterior(counts)[a, b, value]) * class_entropy(posterior(more) * p_cx[:, :, np.newaxis])
            )
        result[a, b] = abs(total(terms) - now)
    return result


def entropy(p: Array) -> float:
    """Entropy of a distribution, in nats; 0 log 0 is 0."""
    return total([-share * math.log(share) for share in p.tolist() if share > 0])


def mixture(p_y: Array, p_c: Array) -> Array:
    """p(y | x) = sum over c of p(c, x) p(y | c, x), over p(x); `p_y`: p(y | c, x) by class, `p_c`: p(c, x)."""
    joint = [p * row for p, row in zip(p_c, p_y, strict=True)]
    result = np.zeros(p_y.shape[1])
    for row in joint:
        result = result + row
    return result / total(p_c.tolist())


def decoupled_benefit(counts: Array, p_cx: Array) -> Array:
    """Eq. 3 by the region's own terms alone, shape (n_classes, n_x), in nats; 0 where p(x) is 0.

    |p(a,b) [E H_{k+1}(Y|a,b) - H_k(Y|a,b)] - p(b) [E H_{k+1}(Y|b) - H_k(Y|b)]|. Taken: p(b) weighs the second
    pair, where the paper prints p(a, b).
    """
    result = np.zeros(p_cx.shape)
    for a, b in np.ndindex(p_cx.shape):
        p_b = total(p_cx[:, b].tolist())
        if p_b == 0.0:
            continue
        now = posterior(counts)[:, b]
        later_ab, later_b = [], []
        for value in range(counts.shape[2]):
            more = counts.copy()
            more[a, b, value] += 1
            later = posterior(more)[:, b]
            later_ab.append(float(now[a, value]) * entropy(later[a]))
            later_b.append(float(now[a, value]) * entropy(mixture(later, p_cx[:, b])))
        change_ab = total(later_ab) - entropy(now[a])
        change_b = total(later_b) - entropy(mixture(now, p_cx[:, b]))
        result[a, b] = abs(float(p_cx[a, b]) * change_ab - p_b * change_b)
    return result


def map_error(p_true: Array, p_estimated: Array) -> float:
    """Error of the maximum a posteriori classifier of one joint p(c, x, y) under another, a share from 0 to 1.

    1 - sum over (x, y) of p_true(phi(x, y), x, y), phi being the class of the largest estimated probability, the
    first of equal ones. Taken: the joint, where the paper prints a conditional; the paper's figures are 100 times
    this.
    """
    right = []
    for x, y in np.ndindex(p_true.shape[1:]):
        column = p_estimated[:, x, y].tolist()
        right.append(float(p_true[column.index(max(column)), x, y]))
    return 1.0 - total(right)


def mean_ranks(values: Sequence[float]) -> list[float]:
    """Rank from 1 up, rising; equal values have the mean of the ranks they take."""
    result = []
    for value in values:
        below = len([other for other in values if other < value])
        equal = len([other for other in values if other == value])
        result.append(below + (equal + 1) / 2.0)
    return result


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's correlation by the paper's formula 1 - 6 sum d^2 / (M (M^2 - 1)), M of at least 2.

    Taken: mean ranks for ties and the formula as it is, which with ties is not Pearson's correlation of the ranks.
    """
    squares = [(p - q) ** 2 for p, q in zip(mean_ranks(a), mean_ranks(b), strict=True)]
    return 1.0 - 6.0 * total(squares) / (len(a) * (len(a) ** 2 - 1))


def mse(true: float, estimates: Sequence[float]) -> float:
    """Mean square difference of the estimates of several runs from the true value."""
    return total([(true - estimate) ** 2 for estimate in estimates]) / len(estimates)


# Query-sensitive selection (Tong & Gu, tables 1 and 2)


def query_sensitive_subset(
    query: Array, subset: Sequence[int], mean: Array, sd: Array, numeric: Collection[int]
) -> Subset:
    """`subset` and, rising, the numeric features outside it on which |Q - M| >= SD (table 1).

    Taken: the absolute value, which the text has and table 1 lacks. QSFS2 hands the learned thresholds for `sd`,
    and all three in one unit. A feature missing in the query, or without a mean, is not added; one of deviation 0
    is added always, as >= has it.
    """
    added = [j for j in sorted(numeric) if j not in subset and abs(query[j] - mean[j]) >= sd[j]]
    return (*subset, *added)


def squared_diff(X: Array, a: Array, b: Array, j: int, nominal: Collection[int]) -> float:
    """delta^2 of eq. 2 on feature j, divided by the range in `X`; missing cells as in Relief (taken)."""
    if j in nominal:
        diff = nominal_diff(float(a[j]), float(b[j]), int(distinct_values(X)[j]))
    else:
        low, high = bounds(X)
        diff = numeric_diff(float(a[j]), float(b[j]), float(low[j]), float(high[j]))
    return diff * diff


def nearest(
    X: Array,
    query: Array,
    features: Sequence[int] | None = None,
    nominal: Collection[int] = (),
    without: int | None = None,
) -> int:
    """Row of `X` nearest to the query on `features` (all unless given), but not the row `without` (eq. 1).

    `X` and the query are as measured; ranges and numbers of nominal values are those of all of `X`. Sums of
    squares, in the order of `features`, are compared without taking their root (which could make ties). Without
    any feature the first row is the nearest.
    """
    features = range(X.shape[1]) if features is None else features

    def distance(i: int) -> float:
        return total([squared_diff(X, query, X[i], j, nominal) for j in features])

    return min((i for i in range(len(X)) if i != without), key=lambda i: (distance(i), i))


def learn_thresholds(
    X: Array,
    y: Integers,
    sd: Array | None = None,
    eta: float = 0.1,
    passes: int = 1,
    subset: Sequence[int] | None = None,
    nominal: Collection[int] = (),
) -> Array:
    """LearnT (table 2): thresholds in units of the range, shape (n_features,); NaN for a nominal feature.

    `X` is as measured and divided by its ranges here (a range of 0 gives 0); `sd` is in units of the range, the
    deviation of the training values (n - 1) unless given. The instances go in order, `passes` times over; the
    neighbour of each is the nearest other one on `subset`, on all features unless given (to the letter). Every
    numeric feature known in both is updated, inside `subset` or not:
    T <- T (1 +- eta (|q - c| - SD)), + if the classes agree. Taken: T stays at least 0, after each update.
    """
    low, high = bounds(X)
    numeric = [j for j in range(X.shape[1]) if j not in nominal]
    span = np.where(high > low, high - low, 1.0)
    deviations = [deviation((X[:, j] - low[j]) / span[j]) for j in range(X.shape[1])] if sd is None else sd
    thresholds = np.array([float(deviations[j]) if j in numeric else math.nan for j in range(X.shape[1])])
    for _ in range(passes):
        for i in range(len(X)):
            k = nearest(X, X[i], subset, nominal, without=i)
            sign = 1.0 if y[i] == y[k] else -1.0
            for j in numeric:
                if math.isnan(X[i, j]) or math.isnan(X[k, j]):
                    continue
                diff = numeric_diff(float(X[i, j]), float(X[k, j]), float(low[j]), float(high[j]))
                factor = 1.0 + sign * eta * (diff - float(deviations[j]))
                thresholds[j] = max(thresholds[j] * factor, 0.0)
    return thresholds
