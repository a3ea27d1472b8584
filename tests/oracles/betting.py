"""Tests by betting from all observations anew, in lists."""

from math import exp, log, prod

STAKES = (0.06, 0.16, 0.35, 0.4)
POWERS = (0.125, 0.25, 0.5)


def part(n):
    """Of the wealth, what is bet from the n-th observation on."""
    return 0.5 if n == 1 else 0.5 / (2.1098 * n * log(n) ** 2)


def wealth(factors):
    """What has been bet so far, with the factors of each way for each observation."""
    total = 0.0
    for way in zip(*factors, strict=True):
        for first in range(len(way)):
            total += part(first + 1) * prod(way[first:]) / len(factors[0])
    return total


def share_wealth(outcomes, share):
    """Bets on wrong ones, at four stakes, against at least this share of right ones."""
    wrong = 1 - share
    return wealth([[1 + stake / wrong * ((not is_right) - wrong) for stake in STAKES] for is_right in outcomes])


def rank_wealth(reference, values, chances, weight):
    """Bets that ranks of values, each counted 1 / weight times, among all before fall where they fell."""
    factors, ranks = [], []
    for i, (value, chance) in enumerate(zip(values, chances, strict=True)):
        known = [*reference, *values[:i]]
        greater, equal = sum(other > value for other in known), sum(other == value for other in known)
        rank = (greater + chance * (equal + 1 / weight)) / (len(known) + 1 / weight)
        past = [weight * 0.99 ** (i - 1 - j) for j in range(i)]
        ways = []
        for n_cells in (8, 4):
            same = [int(n_cells * other) == int(n_cells * rank) for other in ranks]
            before = sum(count for count, is_same in zip(past, same, strict=True) if is_same)
            ways.append((n_cells * (before + 0.5) / (sum(past) + n_cells / 2)) ** weight)
        factors.append(ways)
        ranks.append(rank)
    return wealth(factors)


def error_wealth(reference, errors, chances, weight):
    """Bets on low ranks of errors among all before them, the worst first, an error counted 1 / weight times."""
    factors = []
    for i, (error, chance) in enumerate(zip(errors, chances, strict=True)):
        known = reference + errors[:i]
        n_greater, n_equal = sum(other > error for other in known), known.count(error) + 1 / weight
        rank = (n_greater + chance * n_equal) / (len(known) + 1 / weight)
        factors.append([(power * max(rank, 1e-9) ** (power - 1)) ** weight for power in POWERS])
    return wealth(factors)


def share_at_least(n_right, n_wrong, risk):
    """The least share, of thousand, against at most which rights do not bet a wealth of 1 / risk."""
    for share in range(1, 1000):
        gains = [1 + (i + 1) / 21 * (1000 - share) / share for i in range(20)]
        logs = [n_right * log(gain) + n_wrong * log(1 - (i + 1) / 21) for i, gain in enumerate(gains)]
        if max(logs) + log(sum(exp(each - max(logs)) for each in logs) / 20) < log(1 / risk):
            return share / 1000
    return 1.0
