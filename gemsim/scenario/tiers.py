"""Spec to tiers: geometry, feasibility, and the seconds that kernels, links and stores need."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

from gemsim.costs.kernels import Cost, decode_seconds, encode_seconds
from gemsim.costs.links import exposed_seconds, parity_exchange_seconds, store_seconds
from gemsim.costs.profiles import Profile
from gemsim.errors import Infeasible
from gemsim.protection.checkpoint import Checkpoint
from gemsim.protection.damage import Grid
from gemsim.protection.layouts import MemberStripes, PageStripes
from gemsim.protection.peer_copy import PeerCopy
from gemsim.protection.retry import Retry
from gemsim.protection.state import Memory
from gemsim.protection.stripe import Cadence, MemberStripe, PageStripe
from gemsim.protection.tier import Tier
from gemsim.scenario.state import copy_seconds, layout
from gemsim.spec import catalog
from gemsim.spec.protection import CheckpointSpec, PeerCopySpec, RetrySpec, StripeSpec
from gemsim.spec.study import StudySpec
from gemsim.units import brief
from gemsim_kernels.codes import CodeLimit, family

DOMAINS = {"gpus": "gpu", "nodes": "node", "racks": "rack"}


@dataclass(frozen=True, slots=True)
class Workshop:
    """What the making of a tier needs."""

    spec: StudySpec
    memory: Memory
    grid: Grid
    profile: Profile
    notes: list[str] = field(default_factory=list)


def make_tiers(shop: Workshop) -> tuple[Tier, ...]:
    """The tiers of the study in order; a stripe without parity is no tier. Raises Infeasible."""
    tiers: list[Tier] = []
    for one in shop.spec.protection:
        if isinstance(one, StripeSpec) and one.m == 0:
            continue
        tiers.append(_tier(shop, one, len(tiers)))
    return tuple(tiers)


def _tier(shop: Workshop, one: RetrySpec | PeerCopySpec | StripeSpec | CheckpointSpec, number: int) -> Tier:
    if isinstance(one, RetrySpec):
        granularity = (
            "mixed" if one.granularity == "kernel" else one.granularity
        )  # one and the same: the least that works
        return Retry(number, one.label, granularity)
    if isinstance(one, PeerCopySpec):
        return PeerCopy(number, one.label, layout(shop.spec).model_gpus, shop.spec.cluster.nic, shop.spec.failures.page)
    if isinstance(one, StripeSpec):
        return _page_stripe(shop, one, number) if one.inside else _member_stripe(shop, one, number)
    return _checkpoint(shop, one, number)


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
    return PageStripe(number, one.label, stripes, _cadence(shop, one, encode, 0.0), coded, decode, page)


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


def _checkpoint(shop: Workshop, one: CheckpointSpec, number: int) -> Checkpoint:
    write, read = store_times(shop, one)
    blocked = write if one.blocked is None else one.blocked
    lag = 0.0 if one.mode == "sync" else write
    if not isinstance(one.interval, str) and one.interval < write:
        raise Infeasible(
            f"interval {one.interval:.4g} s of tier '{one.label}' is shorter than its write time, {write:.4g} s: "
            "saves pile up"
        )
    every = 0 if isinstance(one.interval, str) else _steps_between(one.interval, write, shop.spec.workload.step)
    return Checkpoint(
        number=number,
        name=one.label,
        target=one.target,
        every=every,
        blocked=blocked,
        lag=lag,
        read=read,
        keep_seconds=inf if one.keep.seconds is None else one.keep.seconds,
        keep_count=one.keep.count or 0,
        copies=one.copies if one.target == "cpu_memory" else 1,
        stride=shop.spec.cluster.nodes_per_rack if one.domain == "rack" and one.target == "cpu_memory" else 1,
        invalid=one.invalid,
        notice=one.notice,
        wall_anchor=one.anchor == "wall",
    )


def _steps_between(interval: float, write: float, step: float) -> int:
    """A given interval in whole steps; rounding does not make it shorter than the write."""
    every = max(1, round(interval / step))
    return every if every * step >= write else every + 1


def store_times(shop: Workshop, one: CheckpointSpec) -> tuple[float, float]:
    """(write, read) seconds of one copy of the unique state, where the study does not give them.

    Remote: each node writes its part, max(S / b_node, N S / B_store); one reader per replica that reads. Disk: the
    node's part over its disk. CPU memory: the GPU's part over PCIe, and the other copies over the NIC beside it.
    """
    cluster, state = shop.spec.cluster, layout(shop.spec).unique_state
    each = state / cluster.nodes
    nodes, nics = cluster.nodes, cluster.gpus_per_node * cluster.nic
    if one.target == "remote":
        store = cluster.storage
        write = store_seconds(each, clients=nodes, node_bandwidth=store.node_write or nics, store_bandwidth=store.write)
        read = store_seconds(
            each * one.readers, clients=nodes, node_bandwidth=store.node_read or nics, store_bandwidth=store.read
        )
    elif one.target == "disk":
        write, read = each / cluster.disk.write, each / cluster.disk.read
    else:
        domains = cluster.nodes if one.domain == "node" else cluster.nodes // cluster.nodes_per_rack
        if one.copies > domains:
            raise Infeasible(f"{one.copies} copies are more than the {domains} {one.domain}s of the job")
        part = state / cluster.gpus
        write = max(part / cluster.pcie, (one.copies - 1) * part / cluster.nic)
        read = max(part / cluster.pcie, part / cluster.nic)
        if one.copies * each * 2 > cluster.cpu_memory:
            raise Infeasible(
                f"{one.copies} double-buffered copies need {one.copies * each * 2:.4g} bytes of CPU memory per node, "
                f"which has {cluster.cpu_memory:.4g}"
            )
    return (write if one.write is None else one.write), (read if one.read is None else one.read)
