"""GEMINI (Wang et al., SOSP 2023): sizes, times and ratios that follow from its inputs; the larger parts lie beside.

`placement` has G1 to G4, `effective_time` Figure 15 (G15, G16).
"""

from __future__ import annotations

from math import ceil

from gemsim.analytic.first_order import gemini_wasted
from gemsim.costs.interleave import Interleaving, Path, interleave
from gemsim.spec.published import Inputs
from gemsim.study.validate import effective_time, placement
from gemsim.study.validate.checks import Ours, Rows
from gemsim.study.validate.effective_time import systems


def rows(inputs: Inputs, *, quick: bool) -> Rows:
    """G1 to G17."""
    return {
        **placement.rows(inputs, quick=quick),
        **_wasted(inputs),
        **_traffic(inputs),
        **_often(inputs),
        **_interleaved(inputs),
        **effective_time.rows(inputs, quick=quick),
    }


def _wasted(inputs: Inputs) -> Rows:
    large = inputs.large_parameters * inputs.bytes_per_parameter / inputs.store
    gpus = inputs.machines * inputs.gpus_per_machine
    each = inputs.parameters * inputs.bytes_per_parameter / gpus
    gemini = gemini_wasted(inputs.iteration, inputs.iteration, 0.0)
    by_name = systems(inputs)
    high, straw = by_name["highfreq"].wasted, by_name["strawman"].wasted
    transfer = by_name["strawman"].lag
    bar = (high + 2.0 * inputs.serialise) / 60.0
    return {
        "G5.save": Ours(large),
        "G5.wasted": Ours(gemini_wasted(large, large, large)),
        "G6.each": Ours(each),
        "G7.multiple": Ours(gemini / inputs.iteration),
        "G7.figure": Ours(gemini),
        "G8.ratio": Ours(high / gemini, note=f"{high:.0f} s over {gemini:.0f} s"),
        "G9.strawman": Ours(
            straw, note=f"Eq. 1; the bar is {(straw - transfer) / 60.0:.1f} min with one transfer instead of two"
        ),
        "G9.highfreq": Ours(
            high, note=f"Eq. 1; {bar:.1f} min with torch.save in both save and load, as the bar has it"
        ),
        "G9.equation": Ours((straw, high)),
    }


def _traffic(inputs: Inputs) -> Rows:
    """Bulk transfers: every machine sends at once, while the store's bandwidth is shared by all."""

    efficiency, store = float(inputs.bulk_efficiency), float(inputs.store)

    def shorter(machines: float, gigabits: float) -> float:
        return machines * gigabits * 1e9 / 8.0 * efficiency / store

    machine = inputs.parameters * inputs.bytes_per_parameter / inputs.machines
    return {
        "G8.retrieval": Ours(machine / (inputs.network * inputs.bulk_efficiency)),
        "G10.100": Ours(shorter(inputs.machines, 100)),
        "G10.200": Ours(shorter(inputs.machines, 200)),
        "G10.400": Ours(shorter(inputs.machines, 400)),
        "G10.four": Ours((shorter(4, 200), shorter(4, 400))),
        "G10.store": Ours(inputs.machines * inputs.network),
    }


def _often(inputs: Inputs) -> Rows:
    high = systems(inputs)["highfreq"]
    period = high.work + high.blocked
    software = inputs.detection + inputs.serialise_replicas + inputs.warmup
    low, top = (software + more for more in inputs.replacement)
    return {
        "G11.highfreq": Ours(
            float(ceil(high.lag / inputs.iteration)), note="ceil(transfer / iteration); the paper saves each 9"
        ),
        "G11.strawman": Ours(inputs.strawman_interval / inputs.iteration),
        "G11.hour": Ours(3600.0 / inputs.iteration),
        "G11.highfreq_hour": Ours(3600.0 / period),
        "G14.software": Ours(software),
        "G14.hardware": Ours((low + top) / 2.0, interval=(low, top), note="middle of the range of replacement times"),
        "G17.stall": Ours(
            high.blocked / (period + high.blocked),
            linear=high.blocked / period,
            note="print divides by the 9 iterations alone; the stall is not part of them if they are work",
        ),
    }


def _interleaved(inputs: Inputs) -> Rows:
    """G12 and G13 by the partition algorithm, for one GPU of a machine."""
    gpus = inputs.machines * inputs.gpus_per_machine
    each = inputs.parameters * inputs.bytes_per_parameter / gpus
    share = inputs.network / inputs.gpus_per_machine
    spans = [[idle / inputs.idle_spans] * int(inputs.idle_spans) for idle in inputs.idle]
    large = [_send(inputs, "gemini", one, each, share) for one in spans]
    found: Rows = {
        "G12.added": Ours(tuple(one.added / inputs.iteration for one in large), note="spans assumed equal"),
        "G12.time": Ours(large[0].transfer, note="chunk efficiency as on the other cluster"),
    }
    each = inputs.small_parameters * inputs.bytes_per_parameter / gpus
    share = inputs.small_network / inputs.gpus_per_machine
    small = {
        scheme: _send(inputs, scheme, inputs.small_spans, each, share)
        for scheme in ("gemini", "naive", "no_pipeline", "blocking")
    }
    memory = tuple(float(one.out_of_memory(inputs.small_free)) for one in small.values())
    sizes = [parameters * inputs.bytes_per_parameter / gpus for parameters in inputs.small_models]
    times = tuple(_send(inputs, "gemini", inputs.small_spans, one, share).transfer for one in sizes)
    assumed = "list of spans assumed; a copy to CPU memory as fast as a bulk transfer, as on the other cluster"
    return found | {
        "G13.blocking": Ours(small["blocking"].added / inputs.small_iteration),
        "G13.single": Ours(
            small["no_pipeline"].added / inputs.small_iteration, note=f"{assumed}; {_one_buffer(inputs, each, share)}"
        ),
        "G13.gemini": Ours(small["gemini"].added / inputs.small_iteration, note=assumed),
        "G13.memory": Ours(memory),
        "G13.times": Ours(times, note="in proportion to size; 0.39 s more for each checkpoint would fit print"),
        "G13.naive": Ours(small["naive"].buffer, note="a chunk as long as the largest span, at the bulk efficiency"),
    }


def _one_buffer(inputs: Inputs, size: float, share: float) -> str:
    """What one buffer costs with other spans of the published sum and maximum, and other copies to CPU memory."""
    total, largest = sum(inputs.small_spans), max(inputs.small_spans)
    many = [largest] + [(total - largest) / 10.0] * 10
    few = [largest] * int(total / largest) + [total % largest]
    chunk, bulk = inputs.chunk_efficiency, inputs.bulk_efficiency
    added = []
    for spans in (many, few, inputs.small_spans):
        for copied in (chunk, bulk, 2.0):
            path = Path(bandwidth=share * chunk, startup=0.0, pcie=share * copied)
            one = interleave(
                "no_pipeline", spans, size, copies=int(inputs.copies), path=path, reserved=inputs.reserved, buffers=1
            )
            added.append(100.0 * one.added / inputs.small_iteration)
    return (
        f"{min(added):.1f} to {max(added):.1f} % over other lists with its sum and largest and copies at {chunk:g} to "
        "2 times the network: ours is one choice among them, no prediction"
    )


def _send(inputs: Inputs, scheme: str, spans: list[float], size: float, share: float) -> Interleaving:
    """One checkpoint of `size` bytes through a GPU's share of the network, in bytes per second.

    A naive chunk is one long transfer, so it gets the bulk efficiency, and so do copies to CPU memory.
    """
    efficiency = inputs.bulk_efficiency if scheme == "naive" else inputs.chunk_efficiency
    path = Path(bandwidth=share * efficiency, startup=0.0, pcie=share * inputs.bulk_efficiency)
    reserved, buffers = inputs.reserved, int(inputs.buffers)
    return interleave(scheme, spans, size, copies=int(inputs.copies), path=path, reserved=reserved, buffers=buffers)
