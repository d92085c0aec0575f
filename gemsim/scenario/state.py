"""Spec to memory map: bytes of each region of one GPU, live copies, what is coded; and the seconds inside a step."""

from __future__ import annotations

from gemsim.costs.links import all_gather_seconds
from gemsim.costs.profiles import Profile
from gemsim.errors import Infeasible
from gemsim.protection.state import Layout, Memory, Region
from gemsim.protection.tier import Steps
from gemsim.spec import catalog
from gemsim.spec.study import StudySpec


def layout(spec: StudySpec) -> Layout:
    """The parallel layout of the workload."""
    width, cut = spec.workload.bytes, spec.workload.parallel
    return Layout(
        parameters=spec.workload.parameters,
        weight_bytes=width.weight,
        gradient_bytes=width.gradient,
        optimizer_bytes=width.optimizer,
        tensor=cut.tensor,
        pipeline=cut.pipeline,
        data=cut.data,
        shard=cut.shard,
    )


def memory(spec: StudySpec) -> Memory:
    """Regions of one GPU. Activations default to half of what the other regions leave. Raises Infeasible when full."""
    cut, other = layout(spec), spec.workload.memory
    capacity = catalog.gpu(spec.cluster.gpu).memory
    state = {name: cut.per_gpu(name) for name in ("weights", "moments", "gradients")}
    fixed = sum(state.values()) + other.workspace + other.buffers + other.context
    activations = max(0.0, (capacity - fixed) / 2) if other.activations is None else other.activations
    free = capacity - fixed - activations
    if free < 0:
        raise Infeasible(
            f"the job does not fit into GPU memory: {fixed + activations:.4g} of {capacity:.4g} bytes per GPU; "
            "shard more, use more GPUs or less memory per GPU"
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


def _coded(protect: str | tuple[str, ...], regions: list[Region]) -> set[str]:
    """Names of the regions that a stripe covers."""
    critical = [r for r in regions if r.critical]
    if protect == "critical":
        return {r.name for r in critical}
    if protect == "unique":
        return {r.name for r in critical if r.copies == 1}
    return set(protect)


def update_seconds(spec: StudySpec, held: Memory) -> float:
    """The optimizer update: HBM traffic of reading gradients and reading and writing state, and, where moments are
    sharded and weights are not, gathering all weights over the NIC. Derived, unless the study gives it."""
    if spec.workload.update is not None:
        return spec.workload.update
    cut = layout(spec)
    shard = cut.data if cut.shard in ("optimizer", "gradients") else 1
    touched = held.bytes_of("moments") * 2 + held.bytes_of("weights") * 2 / shard
    touched += held.bytes_of("gradients") / (cut.data if cut.shard == "optimizer" else 1)
    seconds = touched / catalog.gpu(spec.cluster.gpu).hbm_bandwidth
    if shard > 1:
        seconds += all_gather_seconds(held.bytes_of("weights"), members=cut.data, bandwidth=spec.cluster.nic)
    return seconds


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
