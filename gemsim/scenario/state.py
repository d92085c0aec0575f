"""Spec to memory map: bytes of each region of one GPU, live copies, what is coded; and the seconds inside a step."""

from __future__ import annotations

from dataclasses import replace

from gemsim.costs.links import all_gather_seconds
from gemsim.costs.profiles import Profile
from gemsim.errors import Infeasible
from gemsim.protection.state import Layout, Memory, Region
from gemsim.protection.tier import Steps
from gemsim.spec import catalog
from gemsim.spec.protection.undo_log import UndoLogSpec
from gemsim.spec.recommendation import HARDWARE, PhasesSpec, published_phases
from gemsim.spec.study import StudySpec
from gemsim.units import brief


def layout(spec: StudySpec) -> Layout:
    """The parallel layout of the workload."""
    width, cut, experts = spec.workload.bytes, spec.workload.parallel, spec.workload.experts
    return Layout(
        parameters=spec.workload.parameters,
        weight_bytes=width.weight,
        gradient_bytes=width.gradient,
        optimizer_bytes=width.optimizer,
        tensor=cut.tensor,
        pipeline=cut.pipeline,
        data=cut.data,
        shard=cut.shard,
        replicas=cut.replicas,
        expert_share=0.0 if experts is None else experts.share,
        expert_parallel=1 if experts is None else experts.parallel,
    )


def memory(spec: StudySpec) -> Memory:
    """Regions of one GPU. Activations default to half of what the other regions leave. Raises Infeasible when full."""
    cut, other = layout(spec), spec.workload.memory
    capacity = catalog.gpu(spec.cluster.gpu).memory
    state = _state(cut)
    fixed = sum(state.values()) + other.workspace + other.buffers + other.context
    activations = max(0.0, (capacity - fixed) / 2) if other.activations is None else other.activations
    free = capacity - fixed - activations
    if free < 0:
        whole = replace(cut, shard="full")
        saved = sum(state.values()) - sum(_state(whole).values())
        sharding = "write workload.parallel.shard: full, or " if free + saved >= 0 and saved > 0.0 else "shard more, "
        raise Infeasible(
            f"the job does not fit into GPU memory: {brief(fixed + activations, 'bytes')} of "
            f"{brief(capacity, 'bytes')} per GPU; {sharding}use more GPUs or less memory per GPU"
        )
    sizes = {
        **state,
        "activations": activations,
        "workspace": other.workspace,
        "buffers": other.buffers,
        "context": other.context,
        "free": free,
    }
    copies = {name: cut.copies(name) for name in state}
    regions = [Region(name, size, copies.get(name, 1), False) for name, size in sizes.items()]
    coded = _coded(spec.workload.protect, regions)
    return Memory(tuple(Region(r.name, r.bytes, r.copies, r.name in coded) for r in regions), capacity)


def _state(cut: Layout) -> dict[str, float]:
    """Bytes of the regions that the optimizer reads or writes; those of experts only where there are any."""
    names = ["weights", "moments"]
    if cut.expert_share > 0.0:
        names += ["expert_weights", "expert_moments"]
    gradients = cut.per_gpu("gradients") + cut.per_gpu("expert_gradients")
    return {**{name: cut.per_gpu(name) for name in names}, "gradients": gradients}


def _coded(protect: str | tuple[str, ...], regions: list[Region]) -> set[str]:
    """Names of the regions that a stripe covers."""
    critical = [r for r in regions if r.critical]
    if protect == "critical":
        return {r.name for r in critical}
    if protect == "unique":
        return {r.name for r in critical if r.copies == 1}
    return set(protect)


def _batch(spec: StudySpec) -> PhasesSpec | None:
    """The phases of a recommendation batch, given or published; those on CXL hardware where no tier names another."""
    work = spec.workload
    if work.phases is not None or work.recommendation is None:
        return work.phases
    variant = next((one.variant for one in spec.protection if isinstance(one, UndoLogSpec)), "cxl")
    return published_phases(work.recommendation, variant) if variant in HARDWARE else None


def update_seconds(spec: StudySpec, held: Memory) -> float:
    """The optimizer update: HBM traffic of reading gradients and reading and writing state, and, where moments are
    sharded and weights are not, gathering all weights over the NIC. Derived, unless the study gives it or the phases of
    a recommendation batch."""
    if spec.workload.update is not None:
        return spec.workload.update
    batch = _batch(spec)
    if batch is not None:
        return batch.update
    cut, nic = layout(spec), spec.cluster.nic
    touched, gather = 0.0, 0.0
    for of in ("", "expert_") if cut.expert_share > 0.0 else ("",):
        weights, moments = held.bytes_of(f"{of}weights"), held.bytes_of(f"{of}moments")
        shard = cut.cut(f"{of}moments") // cut.cut(f"{of}weights")
        touched += moments * 2 + weights * 2 / shard
        touched += cut.per_gpu(f"{of}gradients") / (cut.cut(f"{of}moments") // cut.cut(f"{of}gradients"))
        if shard > 1:
            gather += all_gather_seconds(weights, members=shard, bandwidth=nic)
    return touched / catalog.gpu(spec.cluster.gpu).hbm_bandwidth + gather


def steps(spec: StudySpec, held: Memory, slower: float) -> Steps:
    """Durations inside one step; `slower` = seconds that overlapped work adds to it. Raises Infeasible."""
    work = spec.workload
    update = update_seconds(spec, held)
    if update >= work.step:
        raise Infeasible(f"the update takes {update:.4g} s, a step of {work.step:.4g} s cannot hold it")
    skew = min(update if work.skew is None else work.skew, work.step - update)
    microbatch = (work.step - update) / work.microbatches
    layer = microbatch / max(1.0, work.layers / work.parallel.pipeline)
    return Steps(work.step + slower, update, skew, microbatch, layer, layer / work.kernels_per_layer)


def copy_seconds(size: float, profile: Profile) -> float:
    """Copying `size` bytes within GPU memory: read and written once."""
    return 2 * size / profile.copy_bandwidth
