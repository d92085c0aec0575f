"""A job whose memory errors lie in cold pages: timelines by hand, and rates at which unseen errors do pile up."""

from __future__ import annotations

from typing import Any

from gemsim.scenario import Scenario, build
from tests.engine.small import PAUSE, Hit, checkpoint, profile, scenario, spec

GPUS, PAGES = 16, 31  # 27 pages of 1 GiB with state, in 4 stripes of 8 + 1
SCRUB = 1000.0
SPEED = {"failures__page": "1 GiB"}

PAGE: dict[str, Any] = {
    "name": "page", "scope": "memory", "rate": "1 / 1000 d", "gpus": 16, "detect": "4 s", "contained": 0.5,
    "action": "drain_and_reset", "latent": {"share": 0.4, "read": "30 d"},
}  # fmt: skip
GPU: dict[str, Any] = {
    "name": "gpu", "scope": "gpu", "rate": "1 / 1000 d", "gpus": 16, "detect": "4 s", "action": "replace",
    "repair": "500 s",
}  # fmt: skip


def stripe(**keys: Any) -> dict[str, Any]:
    """Eight pages and a parity page, scrubbed every 1000 s."""
    return {"stripe": {"layout": "gpu", "k": 8, "m": 1, "scrub": f"{SCRUB} s", **keys}}


def cold(*tiers: dict[str, Any], page: dict[str, Any] | None = None, **changes: Any) -> Scenario:
    """The small job with stripes in its GPUs before these tiers, a checkpoint unless told."""
    kinds = [{**PAGE, **(page or {})}, GPU]
    return scenario(*(tiers or (stripe(), checkpoint())), **{**SPEED, "failures__classes": kinds, **changes})


def hit(time: float, page: int, gpu: int = 0, *, seen: bool = False, read: float = 0.5, **keys: Any) -> Hit:
    """An error in one of the 31 pages: page p lies in stripe p mod 4."""
    marks = {"place": (page + 0.5) / PAGES, "latent": 0.9 if seen else 0.1, "read": read}
    return Hit("page", time, gpu, marks=marks, **keys)


def crowded(
    *, scrub: float, hits: float, horizon: float, share: float = 1.0, read: float = 1e8, m: int = 1, extra: Any = ()
) -> Scenario:
    """One stripe over all pages of each GPU, with `hits` errors of state per GPU and second, and no vulnerable window
    to speak of; what the stripe cannot rebuild goes back to the start."""
    page = {
        **PAGE, "contained": 1.0, "lands": "critical", "rate": f"{hits * GPUS * 86400.0} / 1 d", "detect": "0 s",
        "latent": {"share": share, "read": f"{read} s"},
    }  # fmt: skip
    of = spec(
        stripe(k=27, m=m, scrub=f"{scrub} s"), *extra, **SPEED, failures__classes=[page], workload__update="1 us",
        workload__skew="0 s", restart__pause=f"{PAUSE} s", run__horizon=f"{horizon} s",
    )  # fmt: skip
    return build(of, profile=_fast())


def _fast() -> Any:
    """A device that codes in no time."""
    return profile().model_copy(update={"copy_bandwidth": 1e18})
