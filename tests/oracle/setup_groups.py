"""A job with replica groups and its failures, as the slow simulator takes them, and the seconds of one recovery."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class World:
    """Times in seconds; `unit` GPUs go out and come back as one, at most `most_out` units at once."""

    gpus: int
    per_node: int
    groups: int
    by_node: bool
    unit: int
    most_out: int
    stall: float
    catch_up: float
    catch_up_stall: float
    join_timeout: float
    discard: bool
    bubbles: float
    step: float
    useful: float
    update: float
    skew: float
    spares: int
    activation: float
    process: float
    communicator: float
    warmup: float
    pause: float
    reset: float
    in_place: bool
    horizon: float
    work_steps: int
    every: int  # steps between saves; 0: none are made
    blocked: float
    lag: float
    read: float


@dataclass
class Failure:
    """One failure by hand: GPUs struck, whether their memory is lost, and what is done about it."""

    when: float
    running: bool
    struck: range
    lost: bool
    nodes: int  # to replace
    repair: float
    detect: float
    device: float  # reset or reboot
    rejoins: bool  # a new process joins where it stood: replaced or rebooted
    remap: bool = False
    lives: bool = False  # a contained page in place
    silent: bool = False
    on_node: bool = True  # it strikes one node, if there is one
    since: float | None = None
    hit: float = 0.0
    spare_at: float = 0.0
    units: set[int] = field(default_factory=set)


@dataclass
class Stretch:
    """From one place of the lineage to another, in steps: useful seconds done and missing."""

    begin: float
    end: float
    done: float
    missing: float


Course = list[float]  # detection, activation, device, restart, recovery


def spend(course: Course, held_up: float) -> list[float]:
    """Seconds by column, when all spares are at hand `held_up` s from now."""
    detection, activation, device, restart, recovery = course
    return [detection, max(activation + max(0.0, held_up - detection), device), restart, recovery]


def longer(one: Course, other: Course, held_up: float) -> Course:
    """The steps of the one with more to do, after as long a wait as the longer of both needs."""
    graver = max(one, other, key=work)
    total = max(sum(spend(course, held_up)) for course in (one, other))
    if sum(spend(graver, held_up)) == total:
        return graver
    return [total - work(graver), *graver[1:]]


def work(course: Course) -> float:
    """Seconds after the detection, when nobody is waited for."""
    return sum(spend(course, 0.0)[1:])
