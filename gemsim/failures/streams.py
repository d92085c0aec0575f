"""Named random streams: which uniform belongs to which use.

A stream is keyed by (study seed, replication, names...) and by nothing of the design point, so that two designs meet
the same failures whatever order they ask in (common random numbers).
"""

from __future__ import annotations

import hashlib

import numpy as np


def generator(seed: int, replication: int, *names: str) -> np.random.Generator:
    """A generator of its own for one named use; equal names give equal draws on every machine."""
    text = "\x1f".join((str(seed), str(replication), *names))
    key = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=16).digest(), "little")
    return np.random.Generator(np.random.Philox(key=key))


def uniforms(seed: int, replication: int, *names: str, count: int) -> list[float]:
    """The first `count` uniforms in [0, 1) of a named stream; a longer request begins with the shorter one."""
    drawn: list[float] = generator(seed, replication, *names).random(count).tolist()
    return drawn
