"""Stripes: their geometry and the seconds that kernels and links need."""

from __future__ import annotations

from math import inf

from gemsim.costs.kernels import Cost, decode_seconds, encode_seconds
from gemsim.costs.links import exposed_seconds, parity_exchange_seconds
from gemsim.errors import Infeasible
from gemsim.protection.layouts import MemberStripes, PageStripes
from gemsim.protection.stripe import Cadence, MemberStripe, PageStripe
from gemsim.scenario.state import copy_seconds
from gemsim.scenario.tiers.workshop import Workshop
from gemsim.spec import catalog
from gemsim.spec.protection.stripe import StripeSpec
from gemsim.units import brief
from gemsim_kernels.codes import CodeLimit, family

DOMAINS = {"gpus": "gpu", "nodes": "node", "racks": "rack", "switches": "switch", "power_domains": "power"}


def stripe(shop: Workshop, one: StripeSpec, number: int) -> PageStripe | MemberStripe:
    """A stripe inside each GPU or across GPUs. Raises Infeasible."""
    return _page_stripe(shop, one, number) if one.inside else _member_stripe(shop, one, number)


def _code(one: StripeSpec) -> None:
    try:
        family(one.k, one.m)
    except CodeLimit as error:
        raise Infeasible(str(error)) from error


def _coded(shop: Workshop, one: StripeSpec) -> float:
    if shop.memory.coded <= 0.0:
        raise Infeasible(
            "nothing to code: no region under `protect` has bytes (protect: critical codes weights and moments)"
        )
    if one.copy_mode == "snapshot" and shop.memory.coded < shop.memory.critical:
        raise Infeasible("a snapshot rolls all critical state back, but only a part is coded (write protect: critical)")
    return shop.memory.coded


def _encode(shop: Workshop, one: StripeSpec, size: float) -> float:
    """Seconds of the encode kernels, noted."""
    return _noted(shop, one, "encode", encode_seconds(shop.profile, k=one.k, m=one.m, data_bytes=size))


def _noted(shop: Workshop, one: StripeSpec, what: str, cost: Cost) -> float:
    """The seconds, with a note on what they rest on and their band."""
    band = f"{brief(cost.seconds, 'time')} ({brief(cost.lo, 'time')} to {brief(cost.hi, 'time')})"
    shop.notes.append(f"Tier {one.label} {one.k}+{one.m}: {band} per {what}; {cost.note}")
    return cost.seconds


def _page_stripe(shop: Workshop, one: StripeSpec, number: int) -> PageStripe:
    _code(one)
    page = shop.spec.failures.page
    pages = max(1, round(-(-_coded(shop, one) // page)))
    if one.k > pages:
        raise Infeasible(f"k = {one.k} is more than the {pages} pages of coded state per GPU (page {page:.0f} bytes)")
    stripes = PageStripes(pages, one.k, one.m, one.mapping)
    coded = tuple(r.name for r in shop.memory.regions if r.coded)
    encode = _encode(shop, one, pages * page)
    rebuilt = decode_seconds(shop.profile, k=one.k, m=one.m, lost=1, chunk_bytes=page)
    decode = _noted(shop, one, "rebuild of a page", rebuilt)
    scrubs = (inf, 0.0) if one.scrub is None else (one.scrub, _scrubbing(shop, one.scrub, stripes.total * page))
    return PageStripe(number, one.label, stripes, _cadence(shop, one, encode, 0.0), coded, decode, page, *scrubs)


def _scrubbing(shop: Workshop, interval: float, size: float) -> float:
    """Seconds that reading `size` bytes in each `interval` adds to a step: as an overlapped encode, its share of HBM
    bandwidth. Raises Infeasible."""
    reading = size / catalog.gpu(shop.spec.cluster.gpu).hbm_bandwidth
    if reading > interval:
        raise Infeasible(
            f"a scrub each {brief(interval, 'time')}, but reading the coded pages takes {brief(reading, 'time')}"
        )
    return reading * shop.spec.workload.step / interval


def _member_stripe(shop: Workshop, one: StripeSpec, number: int) -> MemberStripe:
    _code(one)
    unit = DOMAINS[one.layout]
    stripes = MemberStripes(shop.grid, unit, one.k, one.m)
    if one.k + one.m > stripes.domains:
        raise Infeasible(f"{one.k} + {one.m} members are more than the {stripes.domains} {one.layout} of the job")
    coded, nic = _coded(shop, one), shop.spec.cluster.nic
    kernel = _encode(shop, one, coded)
    traffic = parity_exchange_seconds(coded, k=one.k, m=one.m, bandwidth=nic)
    return MemberStripe(number, one.label, stripes, _cadence(shop, one, kernel, traffic), coded, one.rebuild, nic)


def _cadence(shop: Workshop, one: StripeSpec, kernel: float, traffic: float) -> Cadence:
    """Where the seconds of an encode go.

    Serial: they stop the job. Overlapped: the kernel slows the next forward by its share of HBM bandwidth, and
    traffic beyond
    the network's idle spans adds to the step. A snapshot stops the job for the copy (and a serial kernel); its
    traffic runs in the idle spans of `cadence` steps, and what these do not hide stops the job too.
    """
    idle = shop.spec.workload.network_idle
    hbm = catalog.gpu(shop.spec.cluster.gpu).hbm_bandwidth
    share = min(1.0, shop.memory.coded * (1 + one.m / one.k) / hbm / kernel) if kernel else 0.0
    overlap = one.encode == "overlap"
    if one.copy_mode == "snapshot":
        exposed = exposed_seconds(traffic, idle=idle * one.cadence)
        stall = copy_seconds(shop.memory.coded, shop.profile) + exposed + (0.0 if overlap else kernel)
        slower = kernel * share / one.cadence if overlap else 0.0
        lag = traffic - exposed + (kernel if overlap else 0.0)
        return Cadence(one.cadence, "snapshot", kernel + traffic, stall, slower, lag, one.buckets, overlap)
    if overlap:
        slower = (kernel * share + exposed_seconds(traffic, idle=idle)) / one.cadence
        return Cadence(one.cadence, "in_place", kernel + traffic, 0.0, slower, 0.0, one.buckets, True)
    return Cadence(one.cadence, "in_place", kernel + traffic, kernel + traffic, 0.0, 0.0, one.buckets, False)
