"""Erasure codes for GPU memory: encode, decode, update and verify stripes on the host or a GPU, with the same bytes.

`family(k, m)` is the one place that knows which code protects k data and m parity shards, and where it ends; `Code` is
that code at work.
"""

from gemsim_kernels.backends import NoBackend
from gemsim_kernels.codec import Code
from gemsim_kernels.codes import CodeLimit, Family, family
from gemsim_kernels.matrices import TooManyLost
from gemsim_kernels.protected_state import ProtectedState
from gemsim_kernels.shards import BadShards

__all__ = ["BadShards", "Code", "CodeLimit", "Family", "NoBackend", "ProtectedState", "TooManyLost", "family"]
