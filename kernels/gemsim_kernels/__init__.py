"""Erasure codes for GPU memory. This version only selects the code of a stripe; it cannot encode or decode yet.

`family(k, m)` is the one place that knows which code protects k data and m parity shards, and where it ends.
"""

from gemsim_kernels.codes import CodeLimit, Family, family

__all__ = ["CodeLimit", "Family", "family"]
