"""Extremely randomized trees from their definition: nested dictionaries, lists of rows, every sum recomputed."""

import math

import numpy as np
from oracles.papers import total

MASK = 2**64 - 1
ROUNDING = 1e-9


class SplitMix:
    """The generator splitmix64, in unbounded integers."""

    def __init__(self, seed):
        self.state = seed

    def uniform(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        bits = self.state
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) & MASK
        bits ^= bits >> 31
        return (bits >> 11) / 2**53


def side_of(value, threshold, missing):
    """0 for the first side of a cut, 1 for the second."""
    return missing if math.isnan(value) else int(value > threshold)


def counts_of(rows, labels, weights, n_classes):
    counts = [0.0] * n_classes
    for row in rows:
        counts[labels[row]] += weights[row]
    return counts


def purity(counts):
    """Weight times one minus the Gini impurity."""
    return total(count * (count / total(counts)) for count in counts)


def candidates(X, rows, features, n_candidates, generator):
    """Features that are not constant in the rows, each with a random cut and a side for missing values.

    The side is None where no value is missing. Drawn features come first in `features` afterwards.
    """
    found = []
    for place in range(len(features)):
        if len(found) == n_candidates:
            break
        other = place + int(generator.uniform() * (len(features) - place))
        features[place], features[other] = features[other], features[place]
        values = [X[row][features[place]] for row in rows]
        known = [value for value in values if not math.isnan(value)]
        is_missing = len(known) < len(values)
        if not known or (min(known) == max(known) and not is_missing):
            continue
        if min(known) == max(known):
            found.append((features[place], float(np.finfo(float).max), 1))
            continue
        threshold = min(known) + generator.uniform() * (max(known) - min(known))
        threshold = threshold if threshold < max(known) else min(known)
        side = int(generator.uniform() < 0.5) if is_missing else None
        found.append((features[place], threshold, side))
    return found


def split(X, rows, cut):
    feature, threshold, side = cut
    sides = ([], [])
    for row in rows:
        sides[side_of(X[row][feature], threshold, side)].append(row)
    return sides


def best_of(cuts, X, rows, labels, weights, n_classes, least):
    """The purest of the cuts with enough on both sides, the first of equals: purity, cut, sides and missing."""
    best = None
    for cut in cuts:
        sides = split(X, rows, cut)
        weighed = [counts_of(side, labels, weights, n_classes) for side in sides]
        if min(total(side) for side in weighed) < least:
            continue
        score = purity(weighed[0]) + purity(weighed[1])
        if best is None or score > best[0]:
            missing = int(total(weighed[1]) > total(weighed[0])) if cut[2] is None else cut[2]
            best = score, cut, sides, missing
    return best


def clock_cuts(X, rows, clock, generator):
    """A random cut of the clock, if it is known in all rows and its largest value is more than twice its least."""
    values = [math.nan if clock < 0 else X[row][clock] for row in rows]
    if any(map(math.isnan, values)) or max(values) <= 2.0 * min(values):
        return []
    threshold = min(values) + generator.uniform() * (max(values) - min(values))
    return [(clock, threshold if threshold < max(values) else min(values), None)]


def grow_tree(X, labels, weights, n_classes, n_candidates, min_leaf, seed, clock=-1):
    """The root of a tree; a node has counts, and if it is cut a feature, a threshold, missing and children."""
    generator, features, least = SplitMix(seed), list(range(len(X[0]))), min_leaf * (1.0 - ROUNDING)
    root = {"rows": list(range(len(X)))}
    waiting = [root]
    while waiting:
        node = waiting.pop(0)
        rows = node["rows"]
        counts = node["counts"] = counts_of(rows, labels, weights, n_classes)
        if total(counts) < 2 * least or max(counts) == total(counts):
            continue
        best = best_of(clock_cuts(X, rows, clock, generator), X, rows, labels, weights, n_classes, least)
        if best is None:
            cuts = candidates(X, rows, features, n_candidates, generator)
            best = best_of(cuts, X, rows, labels, weights, n_classes, least)
        if best is not None:
            _, (node["feature"], node["threshold"], _), sides, node["missing"] = best
            node["children"] = [{"rows": side} for side in sides]
            waiting += node["children"]
    return root


def breadth_first(root):
    nodes = [root]
    for node in nodes:
        nodes += node.get("children", [])
    return nodes


def gini(counts):
    """The Gini impurity: the probability that two rows drawn by weight differ in class."""
    return 1.0 - total((count / total(counts)) ** 2 for count in counts)


def lowered_impurity(roots, n_features):
    """By how much cuts lower the impurity times the weight of the rows, by feature."""
    lowered = [0.0] * n_features
    for node in (node for root in roots for node in breadth_first(root) if "children" in node):
        before, *after = [total(each["counts"]) * gini(each["counts"]) for each in (node, *node["children"])]
        lowered[node["feature"]] += before - total(after)
    return lowered


def shares_of(counts, *, laplace):
    added = [count + 1.0 if laplace else count for count in counts]
    return [count / total(added) for count in added]


def probabilities(roots, row, *, laplace):
    """The mean of the shares of a row's leaves, tree by tree."""
    said = None
    for root in roots:
        shares = shares_of(leaf_of(root, row)["counts"], laplace=laplace)
        said = shares if said is None else [a + b for a, b in zip(said, shares, strict=True)]
    return [share / len(roots) for share in said]


def nested(forest):
    """The trees of a flat forest, as nested dictionaries whose nodes have shares."""

    def node_at(place):
        node = {"shares": forest.shares[place].tolist()}
        if forest.feature[place] >= 0:
            first = int(forest.first_child[place])
            node |= {"feature": int(forest.feature[place]), "threshold": float(forest.threshold[place])}
            node |= {"missing": int(forest.missing_child[place]) - first}
            node["children"] = [node_at(first), node_at(first + 1)]
        return node

    return [node_at(root) for root in forest.roots.tolist()]


def leaf_of(node, row):
    while "children" in node:
        node = node["children"][side_of(row[node["feature"]], node["threshold"], node["missing"])]
    return node


def evaluate(roots, row):
    """The mean of the shares of a row's leaves in trees of nested dictionaries."""
    said = np.zeros(len(roots[0]["shares"]))
    for root in roots:
        said += leaf_of(root, row)["shares"]
    return said / len(roots)
