"""Closed forms on published cases: intervals between saves, their waste, codes and spares."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb

from gemsim.analytic.first_order import availability_interval, daly_interval, first_order_waste, young_interval
from gemsim.analytic.markov import poisson_tail, spares_for_repairs, spares_for_units
from gemsim.analytic.renewal import optimal_interval, roll_back_ettr
from gemsim.analytic.survival import nines, occupancy, stripe_loss
from gemsim.spec.published import Inputs
from gemsim.study.validate.checks import Ours, Rows

DAY = 86_400.0


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """Each case by the form it asks for; `quick` makes no difference."""
    return {
        **_bloom(inputs),
        **_daly(inputs),
        **_codes(inputs),
        **_llama(inputs),
        **_spares(inputs),
        "case11.best": Ours(_spot(inputs), note="no periodic saving works at this rate"),
        "availability": Ours(_availability_is_best()),
    }


def _bloom(inputs: Inputs) -> Rows:
    iteration, save, rate = inputs.bloom_iteration, inputs.bloom_save, 1.0 / inputs.bloom_failures
    waste = tuple(first_order_waste(every * iteration, save, rate=rate) for every in inputs.bloom_every)
    return {
        "case1.most": Ours(inputs.bloom_every[1] * iteration),
        "case1.lost": Ours(inputs.bloom_every[3] * iteration),
        "case1.share": Ours(save / (inputs.bloom_every[1] * iteration), note="at 100 iterations"),
        "case1.best": Ours(young_interval(save, rate) / iteration),
        "case1.waste": Ours(waste),
    }


def _daly(inputs: Inputs) -> Rows:
    save, rates = inputs.daly_save, [1.0 / mean for mean in inputs.daly_failures]
    best = tuple(optimal_interval(save, rate) for rate in rates)
    ettr = tuple(
        roll_back_ettr(tau, save, rate=rate, restart=inputs.daly_restart) for tau, rate in zip(best, rates, strict=True)
    )
    return {
        "case3.daly": Ours(tuple(daly_interval(save, rate) for rate in rates)),
        "case3.exact": Ours(best),
        "case3.young": Ours(tuple(young_interval(save, rate) for rate in rates)),
        "case3.best": Ours(ettr),
    }


def _codes(inputs: Inputs) -> Rows:
    k, m = (int(n) for n in inputs.shards)
    lost = stripe_loss(k, m, inputs.disk_failure)
    data, parity = (int(n) for n in inputs.patterns)
    whole = data + parity
    rebuilt = tuple(comb(whole, gone) * occupancy(((whole, 1),), gone, parity).survive for gone in (parity, parity + 1))
    return {
        "case4.nines": Ours(nines(lost), note="2,000 x 0.01^5 is 2e-7, ten times what is printed"),
        "case4.tail": Ours(lost),
        "case5.patterns": Ours(rebuilt),
    }


def _llama(inputs: Inputs) -> Rows:
    size = inputs.llama_parameters * inputs.llama_bytes
    jobs = [
        (save, 1.0 / mean) for save in (inputs.llama_save, size / inputs.llama_disk) for mean in inputs.llama_failures
    ]
    intervals = tuple(young_interval(save, rate) for save, rate in jobs)
    waste = tuple(first_order_waste(tau, save, rate=rate) for tau, (save, rate) in zip(intervals, jobs, strict=True))
    return {
        "case8.speed": Ours(size / inputs.llama_save),
        "case8.interval": Ours(intervals),
        "case8.waste": Ours(waste),
    }


def _spares(inputs: Inputs) -> Rows:
    high, higher = inputs.confidence
    repairs = [spares_for_repairs(inputs.opt_rate, lead, confidence=high) for lead in inputs.opt_leads]
    rates = [nodes / inputs.node_failures for nodes in inputs.fleets]
    day = [spares_for_repairs(rate, DAY, confidence=level) for level in (high, higher) for rate in rates]
    units = [
        spares_for_units(int(needed), inputs.unavailable, confidence=level)
        for level in (high, higher)
        for needed in inputs.needed
    ]
    shares = [100.0 * spare / needed for spare, needed in zip(units, (*inputs.needed, *inputs.needed), strict=True)]
    rarer = shares[len(inputs.needed) :]
    return {
        "case2.spares": Ours(_floats(repairs)),
        "case2.five": Ours(poisson_tail(inputs.opt_rate * DAY, 4)),
        "case9.spares": Ours(_floats(day)),
        "case10.share": Ours(
            f"{shares[0]:.1f} to {shares[len(inputs.needed) - 1]:.1f} %", note="at 99 %: falls with the number of nodes"
        ),
        "case10.sixty_four": Ours(f"{shares[1]:.1f} %", note=f"{rarer[1]:.1f} % for 99.9 %; either is an assumption"),
        "case10.spares": Ours(_floats(units)),
    }


def _spot(inputs: Inputs) -> tuple[float, ...]:
    """Best effective time of periodic saving for a short save, one with a restart, and a long one."""
    rate = 1.0 / inputs.spot_failures
    jobs = [(inputs.bloom_save, 0.0), (inputs.bloom_save, inputs.spot_restart), (inputs.llama_save, 0.0)]
    return tuple(
        roll_back_ettr(optimal_interval(save, rate), save, rate=rate, restart=restart) for save, restart in jobs
    )


def _availability_is_best() -> bool:
    """Whether no interval near `availability_interval` has a better availability, for saves from seconds to hours."""
    for save in (1.0, 60.0, 3600.0):
        for to_failure, recovery in ((3600.0, 60.0), (1e5, 600.0), (1e6, 1e4)):
            best = availability_interval(save, time_to_failure=to_failure, recovery=recovery)

            def up(cycle: float, save: float = save, to_failure: float = to_failure, down: float = recovery) -> float:
                return (1.0 - save / cycle) * to_failure / (to_failure + down + cycle / 2.0)

            if any(up(best * factor) > up(best) for factor in (0.9, 0.99, 1.01, 1.1)):
                return False
    return True


def _floats(numbers: Sequence[float]) -> tuple[float, ...]:
    return tuple(float(number) for number in numbers)
