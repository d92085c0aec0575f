"""Which simultaneous losses a code or a set of replicas survives: tails, exact counts and occupancy.

One idea: a set of losses is survived when no group (stripe, replica set) loses more than it tolerates, so every
question counts subsets with a cap per group. Counts are exact integers; the result is rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

Groups = tuple[tuple[int, int], ...]
"""Groups as (size, how many of that size)."""


class Outcome(NamedTuple):
    """Probabilities that add up to one, each correctly rounded by itself (so a tiny one keeps its digits)."""

    survive: float
    lose: float


def binomial_tail(trials: int, probability: float, more_than: int) -> float:
    """P(X > more_than) for X binomial(trials, probability). Dimensionless. Kind: exact (relative error about 1e-12)."""
    if not 0.0 <= probability <= 1.0:
        raise ValueError(f"probability must be in [0, 1], not {probability!r}")
    if more_than < 0:
        return 1.0
    if more_than >= trials or probability == 0.0:
        return 0.0
    if probability == 1.0:
        return 1.0
    odds = probability / (1.0 - probability)
    if more_than + 1 > trials * probability:
        first = _binomial_term(trials, probability, more_than + 1)
        return first * _rising_sum(trials, odds, more_than + 1)
    # below the mean the lower tail is the smaller part, and it falls going down from more_than
    first = _binomial_term(trials, probability, more_than)
    return 1.0 - first * _rising_sum(trials, 1.0 / odds, trials - more_than)


def _binomial_term(trials: int, probability: float, count: int) -> float:
    log_ways = math.log(math.comb(trials, count))
    return math.exp(log_ways + count * math.log(probability) + (trials - count) * math.log1p(-probability))


def _rising_sum(trials: int, odds: float, start: int) -> float:
    """Sum of binomial terms from `start` up, in units of the first; stops when a term no longer counts."""
    total, term = 0.0, 1.0
    for count in range(start, trials + 1):
        total += term
        term *= (trials - count) / (count + 1) * odds
        if term < 1e-18 * total:
            break
    return total


def stripe_loss(k: int, m: int, probability: float) -> float:
    """P(a stripe of k data and m parity members loses more than m), each lost independently with `probability`.

    Holds for any MDS code, whatever the mixture of data and parity lost. Kind: exact.
    """
    return binomial_tail(k + m, probability, m)


def nines(loss: float) -> float:
    """Number of nines of a survival probability, -log10(loss); inf for loss = 0."""
    return -math.log10(loss) if loss > 0.0 else math.inf


def hypergeometric_tail(population: int, marked: int, drawn: int, more_than: int) -> float:
    """P(more than `more_than` of `marked` items among `drawn` of `population`, without replacement). Kind: exact.

    So P(one stripe of n members loses more than m) when `drawn` of `population` members are lost at once.
    """
    if not (0 <= marked <= population and 0 <= drawn <= population):
        raise ValueError(f"need 0 <= marked, drawn <= population, not {marked}, {drawn}, {population}")
    top = min(marked, drawn)
    ways = sum(
        math.comb(marked, hits) * math.comb(population - marked, drawn - hits)
        for hits in range(max(0, more_than + 1), top + 1)
    )
    return ways / math.comb(population, drawn)


def equal_groups(total: int, groups: int) -> Groups:
    """`total` items in `groups` groups whose sizes differ by at most one."""
    if groups < 1 or total < 0:
        raise ValueError(f"need at least one group and no negative total, not {groups} and {total}")
    size, larger = divmod(total, groups)
    return tuple(pair for pair in ((size + 1, larger), (size, groups - larger)) if pair[1])


@lru_cache(maxsize=4096)
def occupancy(groups: Groups, lost: int, tolerate: int) -> Outcome:
    """P(`lost` distinct items drawn at random leave every group with at most `tolerate` of them gone).

    Counts subsets as the coefficient of x^lost in the product of sum_{j <= tolerate} C(size, j) x^j over the groups, in
    integers; cost about distinct sizes x lost x tolerate. Source: elementary (generating functions). Kind: exact.
    """
    items = sum(size * count for size, count in groups)
    if not 0 <= lost <= items:
        raise ValueError(f"cannot lose {lost} of {items} items")
    if tolerate < 0:
        raise ValueError(f"tolerate must be >= 0, not {tolerate}")
    patterns = [1] + [0] * lost
    for size, count in groups:
        capped = [math.comb(size, hits) for hits in range(min(tolerate, lost) + 1)]
        patterns = _times(patterns, _power(capped, count, lost), lost)
    return _outcome(patterns[lost], math.comb(items, lost))


def _power(base: Sequence[int], exponent: int, degree: int) -> list[int]:
    """Coefficients up to `degree` of base(x)^exponent for base[0] = 1.

    From Q = P^n, P Q' = n P' Q: k q_k = sum_j ((n + 1) j - k) p_j q_{k-j}; the divisions come out even.
    """
    result = [1]
    for k in range(1, degree + 1):
        top = min(k, len(base) - 1)
        scaled = sum(((exponent + 1) * j - k) * base[j] * result[k - j] for j in range(1, top + 1))
        result.append(scaled // k)
    return result


def _times(left: Sequence[int], right: Sequence[int], degree: int) -> list[int]:
    return [sum(left[j] * right[k - j] for j in range(k + 1)) for k in range(degree + 1)]


def _outcome(good: int, ways: int) -> Outcome:
    return Outcome(survive=good / ways, lose=(ways - good) / ways)


def replica_bound(machines: int, copies: int, lost: int, *, placement: str = "group") -> float:
    """Union bound on P(no shard loses all its copies) when `lost` of `machines` fail at once.

    Group placement: Wang et al. (GEMINI, SOSP 2023), Corollary 1; exact for lost < 2 x copies, a lower bound from
    there on. Ring placement has machines instead of machines / copies fatal sets: what the paper prints for the ring,
    a lower bound.
    Kind: bound.
    """
    _check_replicas(machines, copies, lost)
    if placement not in ("group", "ring"):
        raise ValueError(f"placement must be group or ring, not {placement!r}")
    if placement == "group" and machines % copies:
        raise ValueError(f"group placement needs copies to divide machines, not {copies} and {machines}")
    if lost < copies:
        return 1.0
    sets = machines // copies if placement == "group" else machines
    fatal = sets * math.comb(machines - copies, lost - copies)
    ways = math.comb(machines, lost)
    return max(0, ways - fatal) / ways


def replica_upper_bound(machines: int, copies: int) -> float:
    """Best P(survive) of any placement when exactly `copies` machines fail: 1 - ceil(N / m) / C(N, m).

    Source: Wang et al. (GEMINI, SOSP 2023), Theorem 1; mixed placement is within (2m - 3) / C(N, m) of it. Kind: bound.
    """
    _check_replicas(machines, copies, copies)
    ways = math.comb(machines, copies)
    return (ways + (-machines // copies)) / ways


def replica_survival(machines: int, copies: int, lost: int, *, placement: str = "mixed") -> Outcome:
    """P(every shard keeps a copy) when `lost` of `machines` fail at once, uniformly at random.

    `mixed` (GEMINI's Algorithm 1): groups of `copies` machines; the machines % copies left over join the last group,
    which becomes a ring; with copies | machines plain groups. `ring`: a machine's shard is on it and on the next
    copies - 1.
    Source: counts of subsets; a ring by the cycle lemma, N / (N - k) [x^k] (1 + ... + x^(m-1))^(N-k). Kind: exact.
    """
    _check_replicas(machines, copies, lost)
    if placement not in ("mixed", "ring"):
        raise ValueError(f"placement must be mixed or ring, not {placement!r}")
    ways = math.comb(machines, lost)
    if placement == "ring":
        return _outcome(_ring_patterns(machines, copies, lost)[lost], ways)
    extra = machines % copies
    plain = machines // copies - (1 if extra else 0)
    group = [math.comb(copies, hits) for hits in range(min(copies - 1, lost) + 1)]
    patterns = _power(group, plain, lost)
    if extra:
        patterns = _times(patterns, _ring_patterns(copies + extra, copies, lost), lost)
    return _outcome(patterns[lost], ways)


def _ring_patterns(machines: int, copies: int, degree: int) -> list[int]:
    """Number of sets of 0..degree machines on a ring without `copies` neighbours all in the set."""
    counts = [0] * (degree + 1)
    for lost in range(min(degree, machines - 1) + 1):
        standing = machines - lost
        runs = _power([1] * min(copies, lost + 1), standing, lost)[lost]
        counts[lost] = runs * machines // standing
    return counts


def _check_replicas(machines: int, copies: int, lost: int) -> None:
    if not 1 <= copies <= machines or not 0 <= lost <= machines:
        raise ValueError(f"need 1 <= copies <= machines >= lost >= 0, not {copies}, {machines}, {lost}")


def page_groups(pages: int, k: int, m: int, *, mapping: str) -> Groups:
    """Stripe sizes (data and parity pages) of `pages` data pages in one GPU, at most k data pages to a stripe.

    Interleaved: S = ceil(pages / k) stripes as equal as possible. Contiguous: k in a row, a shorter last stripe.
    """
    if not (k >= 1 and pages >= 1 and m >= 0):
        raise ValueError(f"need k >= 1, pages >= 1 and m >= 0, not {k}, {pages}, {m}")
    if mapping == "interleaved":
        return tuple((size + m, count) for size, count in equal_groups(pages, -(-pages // k)))
    if mapping == "contiguous":
        full, rest = divmod(pages, k)
        return tuple(pair for pair in ((k + m, full), (rest + m, 1 if rest else 0)) if pair[1])
    raise ValueError(f"mapping must be interleaved or contiguous, not {mapping!r}")


@lru_cache(maxsize=4096)
def burst_outcome(pages: int, k: int, m: int, rows: int, *, mapping: str) -> Outcome:
    """P(a run of `rows` adjacent pages leaves every stripe decodable), its first page uniform over all coded pages.

    Data pages come first, then the m S parity pages (interleaved: stripe = index mod S; contiguous: m in a row per
    stripe). A run that would pass the last page is cut there. Every start is judged: start a is fatal when some
    stripe has m + 1 pages from a to a + rows - 1. Cost about pages x log pages. Kind: exact.
    """
    import numpy as np

    if rows < 0:
        raise ValueError(f"rows must be >= 0, not {rows}")
    page_groups(pages, k, m, mapping=mapping)
    stripes = -(-pages // k)
    total = pages + m * stripes
    index = np.arange(total)
    if mapping == "interleaved":
        stripe = index % stripes
    else:
        stripe = np.concatenate([index[:pages] // k, np.repeat(np.arange(stripes), m)])
    place = np.argsort(stripe, kind="stable")
    first, last = place[: total - m], place[m:]
    near = (stripe[first] == stripe[last]) & (last - first < rows)
    change = np.zeros(total + 1, dtype=np.int64)
    np.add.at(change, np.maximum(last[near] - rows + 1, 0), 1)
    np.add.at(change, first[near] + 1, -1)
    return _outcome(int(np.count_nonzero(np.cumsum(change[:-1]) == 0)), total)


def worst_burst(pages: int, k: int, m: int, *, mapping: str) -> int:
    """Longest run of adjacent pages that is decodable wherever it starts.

    Interleaved: a run of r takes ceil(r / S) of some stripe, so r <= m S, the number of parity pages. Contiguous: m
    while a stripe has more than m data pages; else only a run from the data of the first stripe to its parity is
    fatal, which takes pages - k + m + 1 pages. Kind: exact.
    """
    page_groups(pages, k, m, mapping=mapping)
    if mapping == "interleaved":
        return m * -(-pages // k)
    data = min(k, pages)
    return m if data > m else pages - data + m
