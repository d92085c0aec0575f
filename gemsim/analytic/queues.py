"""How long what is broken waits for a crew, and the job for a spare: Erlang's queues and birth-death chains.

One idea: weights of neighbouring states have a ratio, so all are built outward from the heaviest one. Nothing
overflows, nothing is subtracted. Rates per second, times in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, log

MOST_USED = 0.999  # of the crews' time, before a queue of thousands of nodes is a question of its own


def erlang_b(servers: int, load: float) -> float:
    """P(all `servers` are busy) where nobody waits; `load` = rate x mean time, for any law of that time.

    B(0) = 1, B(n) = a B(n-1) / (n + a B(n-1)). So a job that fails only while it runs and has servers - 1 spares stands
    waiting for this share of its time. Source: Erlang (1917); insensitivity by Sevastyanov (1957). Kind: exact.
    """
    if servers < 0 or not load >= 0.0:
        raise ValueError(f"need servers >= 0 and load >= 0, not {servers} and {load!r}")
    busy = 1.0
    for count in range(1, servers + 1):
        busy = load * busy / (count + load * busy)
    return busy


def erlang_c(servers: int, load: float) -> float:
    """P(an arrival waits), M/M/c; 1 where the servers cannot keep up. Source: Erlang (1917). Kind: exact."""
    if servers < 1:
        raise ValueError(f"need servers >= 1, not {servers}")
    busy = erlang_b(servers, load)
    used = load / servers
    return 1.0 if used >= 1.0 else busy / (1.0 - used * (1.0 - busy))


@dataclass(frozen=True, slots=True)
class Crews:
    """Repair by limited crews in equilibrium: P(wait), mean seconds of waiting, mean number waiting and inside."""

    waits: float
    wait: float
    queue: float
    inside: float

    def longer(self, seconds: float) -> float:
        """P(an arrival waits longer than this): the wait is exponential, given that there is one (M/M/c)."""
        return self.waits * exp(-seconds * self.waits / self.wait) if self.wait else 0.0


def crews(rate: float, mean: float, *, crews: int, variation: float = 1.0) -> Crews:
    """M/M/c, exact for exponential times (`variation` = 1), of repairs that arrive at `rate`.

    `variation` = variance / mean^2 of a repair. For others the wait is scaled by (1 + variation) / 2 (Lee and Longton
    1959): exact for one crew (Pollaczek-Khinchine), else first order. Raises ValueError where crews cannot keep up.
    """
    load = rate * mean
    if load >= crews:
        raise ValueError(f"{crews} crews cannot keep up with a load of {load:.4g}")
    waits = erlang_c(crews, load)
    wait = waits * mean / (crews - load) * (1.0 + variation) / 2.0
    return Crews(waits, wait, rate * wait, load + rate * wait)


def chain(up: Sequence[float], down: Sequence[float]) -> list[float]:
    """Equilibrium of a birth-death chain: `up[i]` is the rate i -> i + 1, `down[i]` that of i + 1 -> i (> 0).

    Kind: exact (relative error about n x 1e-16).
    """
    if len(up) != len(down):
        raise ValueError(f"need as many rates down as up, not {len(down)} and {len(up)}")
    if any(rate <= 0.0 for rate in down) or any(rate < 0.0 for rate in up):
        raise ValueError("rates down must be > 0 and rates up >= 0")
    heaviest = _heaviest(up, down)
    weights = [0.0] * (len(up) + 1)
    weights[heaviest] = 1.0
    for state in range(heaviest, len(up)):
        weights[state + 1] = weights[state] * up[state] / down[state]
    for state in range(heaviest, 0, -1):
        weights[state - 1] = weights[state] * down[state - 1] / up[state - 1]
    total = fsum(weights)
    return [weight / total for weight in weights]


def _heaviest(up: Sequence[float], down: Sequence[float]) -> int:
    """State of the largest weight. Products are kept in range by a restart at each new largest."""
    best, weight = 0, 1.0
    for state, (rate, back) in enumerate(zip(up, down, strict=True), start=1):
        if rate == 0.0:
            break
        weight *= rate / back
        if weight >= 1.0:
            best, weight = state, 1.0
    return best


@dataclass(frozen=True, slots=True)
class Pool:
    """Spares in equilibrium. `standing`: share of time in which the job lacks a node; `waits`: share of its failures
    that find no spare; `wait`: mean seconds that a failure waits for one; `idle`, `broken`: mean numbers."""

    standing: float
    waits: float
    wait: float
    idle: float
    broken: float


def pool(
    spares: int,
    rate: float,
    mean: float,
    *,
    crews: int = 0,
    idle_rate: float = 0.0,
    exposure: str = "wall",
) -> Pool:
    """A job that fails at `rate`, its spares, and `crews` (0: no limit) that repair one node each in `mean` seconds.

    State: nodes broken. Each idle spare fails at `idle_rate`. A job that lacks a node goes on failing (`wall`) or not
    (`running`). Exponential repairs. Raises ValueError where crews cannot keep up (`MOST_USED`) with failures that go
    on.
    Kind: exact.
    """
    if spares < 0 or rate <= 0.0 or mean <= 0.0 or crews < 0 or exposure not in ("wall", "running"):
        raise ValueError(f"need spares, crews >= 0, rate, mean > 0, not {spares}, {crews}, {rate}, {mean}, {exposure}")
    top = spares + 1 + (_states_beyond(rate * mean, crews) if exposure == "wall" else 0)
    up = [rate + max(0, spares - broken) * idle_rate for broken in range(top)]
    down = [min(broken, crews or broken) / mean for broken in range(1, top + 1)]
    shares = chain(up, down)
    failing = shares if exposure == "wall" else shares[: spares + 1]
    lacking = fsum((broken - spares) * share for broken, share in enumerate(shares) if broken > spares)
    return Pool(
        standing=fsum(shares[spares + 1 :]),
        waits=fsum(failing[spares:]) / fsum(failing),
        wait=lacking / (rate * fsum(failing)),  # Little
        idle=fsum((spares - broken) * share for broken, share in enumerate(shares[:spares])),
        broken=fsum(broken * share for broken, share in enumerate(shares)),
    )


def _states_beyond(load: float, crews: int) -> int:
    """States beyond the last spare after which less than 1e-17 of the weight is left out."""
    if not crews:
        return int(load + 20.0 * load**0.5 + 60.0)
    if load > MOST_USED * crews:
        raise ValueError(f"{crews} crews cannot keep up with a load of {load:.4g}")
    return crews + int(40.0 / log(crews / load)) + 1
