"""Stopping by expected cost, written from the paper, group by group and point by point.

Achenchabe, Bondu, Cornuéjols and Dachraoui, Early classification of time series: cost-based optimization criterion
and algorithms (Machine Learning 110, 2021), ECONOMY-gamma: the series that are known at a point are divided into
groups of equal size by confidence; the group of a later point is foretold by a Markov chain; the best time to
decide is the point of the least expected cost, and one decides if that is the present one.
"""

import numpy as np


def group_of(confidence, at_point, n_groups):
    """The number of quantiles that the confidence reaches."""
    return sum(confidence >= np.quantile(at_point, k / n_groups) for k in range(1, n_groups))


def expected_cost(confidence, costs, point, group, later, n_groups):
    """The expected cost of deciding at `later` a series that is in `group` at `point`."""
    here = [
        i for i in range(len(costs)) if group_of(confidence[i, point], confidence[:, point], n_groups) == group
    ]
    if point == later:
        return np.mean([costs[i, point] for i in here or range(len(costs))])
    total = 0.0
    for following in range(n_groups):
        go = [group_of(confidence[i, point + 1], confidence[:, point + 1], n_groups) == following for i in here]
        share = np.mean(go) if here else 1 / n_groups
        if share:
            total += share * expected_cost(confidence, costs, point + 1, following, later, n_groups)
    return total


def waits(confidence, costs, point, group, n_groups):
    """Whether a later point is expected to cost less than the present one."""
    now, *then = (
        expected_cost(confidence, costs, point, group, later, n_groups) for later in range(point, costs.shape[1])
    )
    return any(cost < now for cost in then)


def levels(confidence, costs, n_groups):
    """The lowest confidence of each point above all groups that wait."""
    found = []
    for point in range(costs.shape[1]):
        waiting = [g for g in range(n_groups) if waits(confidence, costs, point, g, n_groups)]
        above = max(waiting, default=-1) + 1
        found.append(
            0.0
            if above == 0
            else 1.0
            if above == n_groups
            else np.quantile(confidence[:, point], above / n_groups)
        )
    return found
