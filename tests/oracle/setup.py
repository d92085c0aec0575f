"""What the slow engine is told: plain numbers of one small job, its protection and its failures. Seconds throughout."""

from __future__ import annotations

from dataclasses import dataclass, field

CRITICAL = ("weights", "moments")


@dataclass(frozen=True)
class Redo:
    """`retry`: kernel | layer | microbatch | step | mixed."""

    name: str
    granularity: str


@dataclass(frozen=True)
class Code:
    """A stripe. `pages` = data pages in a GPU, or 0 for members across domains of `domain` GPUs each.

    `stall` stops the job after every `every`-th step. A snapshot's parity is there `lag` s later. Overlapped, an
    in-place encode runs during the first `encode` s of the next step.
    """

    name: str
    every: int
    snapshot: bool
    stall: float
    encode: float
    overlap: bool
    lag: float
    buckets: int
    k: int
    m: int
    pages: int = 0
    interleaved: bool = True
    decode_page: float = 0.0
    domain: int = 1
    rebuild: tuple[float, ...] = (0.0,)  # by the number of members lost


@dataclass(frozen=True)
class Store:
    """A checkpoint tier. `hosts`: the copies lie on hosts, `copies` of each shard on neighbours."""

    name: str
    every: int
    blocked: float
    lag: float
    read: float
    keep_count: int = 0
    keep_seconds: float = float("inf")
    hosts: bool = False
    copies: int = 1


@dataclass(frozen=True)
class Failure:
    """One failure, `when` on the wall or on the clock of running time.

    scope: pages, gpu, node, rack, process, link or silent.
    """

    when: float
    scope: str
    action: str
    gpu: int
    detect: float
    repair: float = 0.0
    survives: bool = False
    region: str = ""
    rows: int = 1
    same_page: bool = False
    place: float = 0.0
    running: bool = False


@dataclass(frozen=True)
class Setup:
    """One job. `slower` of each step's seconds is protection's, the rest useful work."""

    gpus: int
    per_node: int
    per_rack: int
    step: float
    slower: float
    update: float
    skew: float
    granules: dict[str, float]  # kernel, layer, microbatch
    tiers: tuple[Redo | Code | Store, ...]
    mode: str
    process: float
    communicator: float
    warmup: float
    pause: float
    reset: float
    reboot: float
    spares: int
    activation: float
    encode_anew: float
    horizon: float
    work_steps: int = 0
    remap_now: bool = False
    failures: tuple[Failure, ...] = field(default=())


@dataclass
class Save:
    """A version kept by a tier: the state as it was at `captured`, there from `usable` on."""

    version: int
    captured: float
    usable: float
    hosts_lost: set[int] = field(default_factory=set)


def keeps(tier: object) -> bool:
    """Its versions outlive the step."""
    return isinstance(tier, Store) or (isinstance(tier, Code) and tier.snapshot)
