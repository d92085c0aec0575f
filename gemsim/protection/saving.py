"""What periodic saves keep of the work, where the clock of saves starts anew at each restart.

One idea: a save after `tau` seconds of work is one that no restart came before; repairs in place do not start the clock
anew. Kind: exact, for restarts at constant rates and steps much shorter than the interval.
"""

from __future__ import annotations

from gemsim.protection.arrays import either, exp, expm1

SELDOM = 1e-3  # share of restarts
SHORT = 1e-9  # interruptions in a cycle, below which none is seen


def stalled_share(every: float, seconds: float, *, ending: float) -> float:
    """Share of running time in a stall of `seconds` after each `every` seconds, where restarts come at the rate
    `ending` per running second and each begins the cycle anew.

    Of attempts at a cycle of w = every + seconds, each is cut at an exponential time: e^(-r every) (1 - e^(-r seconds))
    / (1 - e^(-r w)). Kind: exact.
    """
    cycle = every + seconds
    return either(
        ending * cycle < SHORT,
        lambda: either(cycle > 0.0, lambda: seconds / cycle, lambda: 0.0),
        lambda: exp(-ending * every) * expm1(-ending * seconds) / expm1(-ending * cycle),
    )


def not_durable(tau: float, delta: float, *, ending: float, lag: float = 0.0) -> float:
    """Mean work (seconds) that no durable save holds when a restart comes, where the restart before left none.

    Restarts at the rate `ending` per running second; a save counts `lag` seconds after it. Work done by then less tau
    for each save that counts: (1 - share in saves) / r - tau e^(-r lag) / (e^(r w) - 1), w = tau + delta. Kind: exact.
    """
    cycle = tau + delta

    def rarely() -> float:
        return either(cycle > 0.0, lambda: ((tau / 2.0 + delta) * tau + tau * lag) / cycle, lambda: 0.0)

    def often() -> float:
        done = (1.0 - stalled_share(tau, delta, ending=ending)) / ending
        return done - tau * exp(-ending * lag) / expm1(ending * cycle)

    return either(ending * cycle < SHORT, rarely, often)


def kept_share(
    tau: float, delta: float, *, roll_back: float, keep: float, lag: float = 0.0, carried: float | None = None
) -> float:
    """Useful share of running time: less saves, and less the work that roll-backs find in no save.

    Restarts per second of running: `roll_back`, and `keep` that lose nothing but begin the clock of saves anew; of
    these `carried` (all, where not given) take work on that no save holds yet. A save counts `lag` seconds after it.
    """
    lost = lost_work(tau, delta, roll_back=roll_back, keep=keep, lag=lag, carried=carried)
    return 1.0 - stalled_share(tau, delta, ending=roll_back + keep) - roll_back * lost


def lost_work(
    tau: float, delta: float, *, roll_back: float, keep: float, lag: float = 0.0, carried: float | None = None
) -> float:
    """Mean seconds of work that a roll-back finds in no save; arguments as `kept_share` has them.

    A stretch of work ends at some of the restarts. Where that is a small share it is written without a difference,
    which would be 0 once a float cannot tell.
    """
    ending = roll_back + keep
    carry = keep if carried is None else carried
    going = -expm1(-ending * (tau + delta + lag)) * carry
    ends = 1.0 - either(ending > 0.0, lambda: going / ending, float)

    def seldom() -> float:
        some = roll_back + (keep - carry) + carry * exp(-ending * (tau + delta + lag))
        return either(some > 0.0, lambda: some / ending, lambda: 1.0)

    return not_durable(tau, delta, ending=ending, lag=lag) / either(ends > SELDOM, lambda: ends, seldom)
