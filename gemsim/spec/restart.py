"""The restart: what lives on when the job stops, and how long it takes to go on."""

from __future__ import annotations

from typing import Literal

from gemsim.spec.types import Model, Time, assumed, sourced

Mode = Literal["all_processes", "holder", "in_process", "in_place"]


class RestartSpec(Model):
    """Times in seconds; `communicator` None: 17 s (N / 16,384)^1.376 for N GPUs."""

    mode: Mode = sourced("NVIDIA: every rank exits (Xid catalog)", "all_processes")
    process: Time = assumed("60 s")
    communicator: Time | None = sourced(
        "17 s (N / 16,384)^1.376, through 17 s at 16 k and 200 s at 98 k GPUs: FT-HSDP (arXiv 2602.00277)", None
    )
    warmup: Time = assumed("30 s")
    pause: Time = assumed("10 s", "stop, isolate, decode, resume")
    reset: Time = assumed("1 min", "GPU reset; no published value, 0.5 to 2 min suggested")
    reboot: Time = assumed("10 min", "node reboot; no published value, 5 to 15 min suggested")
