"""Studies that run in a blink, made from shipped ones."""

from __future__ import annotations

import gemsim as gs

K, M = "protection.stripe.k", "protection.stripe.m"


def small() -> gs.Study:
    """16 points of two widths: four restart modes, with and without parity; m = 0 makes two widths one design."""
    changes = {"protection.stripe.mapping": "interleaved", f"sweep.grid.{K}": [16, 32], f"sweep.grid.{M}": [0, 1]}
    return gs.load_study("widths", quick=True).with_({**changes, "run.horizon": "6 d", "run.replications": 3})


def one(*choice: str) -> gs.Study:
    """One design of it."""
    return small().point("restart=in_place", "lands=used", *choice)
