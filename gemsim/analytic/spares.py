"""How many nodes are broken at once, whether a spare is at hand, and how many spares that takes.

One idea: nodes that leave in a Poisson stream and come back after a time of any law are Poisson in number (Palm), and
compound Poisson where several leave at the same instant. Rates per second, times in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, log, sqrt

from gemsim.analytic.markov import poisson_tail, spares_for_repairs, spares_for_units
from gemsim.analytic.survival import binomial_tail

Sizes = Sequence[tuple[int, float]]
"""How many nodes leave at the same instant, and with which probability."""


def mean_size(sizes: Sizes) -> float:
    """Mean number of nodes of a batch."""
    return fsum(size * share for size, share in sizes) / fsum(share for _, share in sizes)


def broken_at_once(batches: float, mean: float, *, sizes: Sizes = ((1, 1.0),), together: bool = False) -> list[float]:
    """P(n nodes are broken) for n = 0, 1, ... up to where less than 1e-15 is left.

    Batches begin at rate `batches`. Nodes of a batch come back each after its own exponential time of this mean, or
    all at once after one time of any law (`together`). Single nodes: any law. By Panjer's recursion (1981) from the
    rates at which k nodes of one batch are broken: batches x mean x P(size >= k) / k, or P(size = k) if together.
    Kind: exact.
    """
    if batches < 0.0 or mean < 0.0:
        raise ValueError(f"rate and mean must be >= 0, not {batches!r} and {mean!r}")
    whole = fsum(share for _, share in sizes)
    largest = max(size for size, _ in sizes)
    load = batches * mean / whole
    if together:
        jumps = [load * fsum(share for size, share in sizes if size == k) for k in range(1, largest + 1)]
    else:
        jumps = [load * fsum(share for size, share in sizes if size >= k) / k for k in range(1, largest + 1)]
    return _compound(jumps)


def _compound(jumps: Sequence[float]) -> list[float]:
    """Law of a sum of jumps of size k at rates `jumps[k - 1]`: n p(n) = sum_k k jumps_k p(n - k), all terms >= 0.

    Scaled whenever it grows large, and normed in the end, so that exp(-rate) may underflow.
    """
    weights = [(k, k * jump) for k, jump in enumerate(jumps, start=1) if jump > 0.0]
    center = fsum(weight for _, weight in weights)
    spread = sqrt(fsum(k * weight for k, weight in weights))
    largest = max((k for k, _ in weights), default=0)
    top = int(center + 12.0 * spread + 60.0 * largest)
    found = [1.0]
    for n in range(1, top + 1):
        found.append(sum(weight * found[n - k] for k, weight in weights if k <= n) / n)
        if found[-1] > 1e200:
            found = [value * 1e-200 for value in found]
    total = fsum(found)
    return [value / total for value in found]


def short(spares: int, rate: float, mean: float, *, sizes: Sizes = ((1, 1.0),), together: bool = False) -> float:
    """P(more nodes are broken than there are spares); `rate`: of nodes that leave, not of batches. Kind: exact.

    So the job waits for this share of the time, where failures go on meanwhile.
    """
    if largest_size(sizes) == 1:
        return poisson_tail(rate * mean, spares)
    law = broken_at_once(rate / mean_size(sizes), mean, sizes=sizes, together=together)
    return fsum(reversed(law[max(0, spares + 1) :]))


def largest_size(sizes: Sizes) -> int:
    """Nodes of the largest batch that can happen."""
    return max(size for size, share in sizes if share > 0.0)


def spares_needed(
    rate: float, mean: float, *, confidence: float, sizes: Sizes = ((1, 1.0),), together: bool = False
) -> int:
    """Fewest spares with `short` <= 1 - confidence. Kind: exact."""
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be between 0 and 1, not {confidence!r}")
    if largest_size(sizes) == 1:
        return spares_for_repairs(rate, mean, confidence=confidence)
    law = broken_at_once(rate / mean_size(sizes), mean, sizes=sizes, together=together)
    left = 0.0
    for count in range(len(law) - 1, 0, -1):
        left += law[count]
        if left > 1.0 - confidence:
            return count
    return 0


def spares_among(needed: int, unavailability: float, *, confidence: float) -> int:
    """Fewest spares so that `needed` are up with `confidence`, each down a share of its time. Kind: exact."""
    return spares_for_units(needed, unavailability, confidence=confidence)


def short_among(needed: int, spares: int, unavailability: float) -> float:
    """P(fewer than `needed` of needed + spares nodes are up). Kind: exact (binomial)."""
    return binomial_tail(needed + spares, unavailability, spares)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What failures meet that want a spare. `standing`: share of time in which the job lacks a node; `waits`: share of
    failures that find no spare; `wait`: mean seconds that a failure waits for one; `idle`: mean number idle."""

    standing: float
    waits: float
    wait: float
    idle: float


def wanted(spares: int, rate: float, mean: float) -> Wanted:
    """Spares of a job that fails at `rate` all the time, with repairs of any law and no limit of crews.

    M/G/inf: the number broken is Poisson; who fails sees the same law (PASTA); waits by Little's law. Kind: exact.
    """
    load = rate * mean
    if load == 0.0:
        return Wanted(0.0, 0.0 if spares else 1.0, 0.0, float(spares))
    finds_none = poisson_tail(load, spares - 1)
    standing = poisson_tail(load, spares)
    lacking = max(0.0, load * finds_none - spares * standing)  # E(N - s)+ = a P(N >= s) - s P(N > s)
    return Wanted(standing, finds_none, lacking / rate, lacking + spares - load)


def mean_activation(counts: Sequence[int], seconds: Sequence[float], *, broken: Sequence[float]) -> float:
    """Mean seconds until a spare can start: `counts` of each kind are used up in this order, `seconds` for each.

    `broken`: P(n nodes are broken), as a failure meets it. One that finds none takes the kind last listed. Kind: exact
    where whoever comes back refills the kinds in the same order.
    """
    total, used = 0.0, 0
    for count, each in zip(counts, seconds, strict=True):
        total += each * fsum(broken[used : used + count])
        used += count
    return total + seconds[-1] * fsum(broken[used:])


@dataclass(frozen=True, slots=True)
class Joining:
    """Spares used for one replacement, and mean seconds lost by those that did not join."""

    spares: float
    lost: float


def joining(join_fails: float, timeout: float) -> Joining:
    """Each spare fails to join with probability `join_fails`, which shows after `timeout`; then another is tried.

    The number of tries is geometric. `join_fails` = 1: nobody ever joins (inf). So the pool sees nodes leave at the
    rate of failures x `spares`, in batches of a geometric size. Kind: exact.
    """
    if not 0.0 <= join_fails <= 1.0:
        raise ValueError(f"join_fails must be in [0, 1], not {join_fails!r}")
    if join_fails == 1.0:
        return Joining(float("inf"), float("inf"))
    return Joining(1.0 / (1.0 - join_fails), timeout * join_fails / (1.0 - join_fails))


def tries(join_fails: float, *, left: float = 1e-15) -> list[tuple[int, float]]:
    """The geometric number of spares that one replacement uses, as batch sizes, up to where `left` remains.

    With exponential repairs the number broken is then negative binomial: shape = load / join_fails.
    """
    if not 0.0 <= join_fails < 1.0:
        raise ValueError(f"join_fails must be in [0, 1), not {join_fails!r}")
    top = 1 if join_fails == 0.0 else max(1, int(log(left) / log(join_fails)) + 1)
    return [(size, (1.0 - join_fails) * join_fails ** (size - 1)) for size in range(1, top + 1)]
