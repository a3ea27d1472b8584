"""Tests by betting from all observations anew, in lists."""

from math import exp, log, prod, sqrt

STAKES = (0.06, 0.16, 0.35, 0.4)


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


def ranks_of(value, known, weight):
    """Between which ranks a value, counted 1 / weight times, is among those known, the greatest first."""
    greater, equal = sum(other > value for other in known), sum(other == value for other in known) + 1 / weight
    n = len(known) + 1 / weight
    return greater / n, (greater + equal) / n


def inside(ranks, n_cells):
    """Parts of the ranks between two that are in each of some equal cells."""
    first, last = ranks
    edges = [(max(first, cell / n_cells), min(last, (cell + 1) / n_cells)) for cell in range(n_cells)]
    return [max(end - begin, 0) / (last - first) for begin, end in edges]


def rank_wealth(reference, values, weight):
    """Bets that ranks of values, each counted 1 / weight times, among all before fall where they fell."""
    ranks = [ranks_of(value, [*reference, *values[:i]], weight) for i, value in enumerate(values)]
    factors = []
    for i in range(len(values)):
        past = [weight * 0.99 ** (i - 1 - j) for j in range(i)]
        ways = []
        for n_cells in (8, 4):
            earlier = [inside(each, n_cells) for each in ranks[:i]]
            before = [sum(c * parts[k] for c, parts in zip(past, earlier, strict=True)) for k in range(n_cells)]
            bets = [n_cells * (count + 0.5) / (sum(past) + n_cells / 2) for count in before]
            mean = sum(bet * there for bet, there in zip(bets, inside(ranks[i], n_cells), strict=True))
            ways.append(mean**weight)
        factors.append(ways)
    return wealth(factors)


def error_wealth(reference, errors, weight):
    """Bets on low ranks of errors among all before them, the worst first, an error counted 1 / weight times."""
    factors = []
    for i, error in enumerate(errors):
        first, last = ranks_of(error, reference + errors[:i], weight)
        factors.append([((sqrt(last) - sqrt(first)) / (last - first)) ** weight])
    return wealth(factors)


def share_at_least(n_right, n_wrong, risk):
    """The least share, of thousand, against at most which rights do not bet a wealth of 1 / risk."""
    for share in range(1, 1000):
        gains = [1 + (i + 1) / 21 * (1000 - share) / share for i in range(20)]
        logs = [n_right * log(gain) + n_wrong * log(1 - (i + 1) / 21) for i, gain in enumerate(gains)]
        if max(logs) + log(sum(exp(each - max(logs)) for each in logs) / 20) < log(1 / risk):
            return share / 1000
    return 1.0
