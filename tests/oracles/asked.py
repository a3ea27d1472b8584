"""The test by labels that are asked for, from all decisions anew, in lists."""

from math import sqrt

from oracles.betting import STAKES, wealth


def wrong_expected(confidence, labels):
    """The share of wrong labels at a confidence, by the labels of decisions of about the same."""
    near = [is_right for other, is_right in labels if min(int(16 * other), 15) == min(int(16 * confidence), 15)]
    prior = min(max(1 - confidence, 0.05), 0.5)
    return min((4 * prior + near.count(False)) / (4 + len(near)), 0.5)


def asked_wealth(decisions, share, rate):
    """The wealth after decisions whose labels came at once: confidence, chance, whether it was right."""
    below = 0.5 * (1 / rate - 1)
    labels, spreads, counted, wanted = [], [0.3] * 10, [], []
    for confidence, chance, is_right in decisions:
        wrong = wrong_expected(confidence, labels)
        spread = sqrt(wrong * (1 - wrong))
        mean = sum(spreads) / len(spreads)
        probability = min(1, max(rate / 5, wrong / (wrong + below), rate * spread / mean))
        spreads.append(spread)
        wanted.append(chance < probability)
        if wanted[-1]:
            labels.append((confidence, is_right))
        counted.append(wrong + wanted[-1] * ((not is_right) - wrong) / probability)
    factors = [[1 + stake / (1 - share + below) * (each - (1 - share)) for stake in STAKES] for each in counted]
    return wealth(factors), wanted
