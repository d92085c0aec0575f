"""The kernels that the tests compile: all that the families launch, and the generic ones at their usual widths."""

from __future__ import annotations

from gemsim_kernels.cuda_kernel import Kernel
from gemsim_kernels.matrices import check_rows

ARCHITECTURES = ("sm_80", "sm_90", "sm_100")


def rows(count: int) -> tuple[int, ...]:
    return tuple(range(count))


XOR, PQ, PQR = (Kernel("horner", 8, rows(m)) for m in (1, 2, 3))
PQ16, PQR16 = (Kernel("horner", 16, rows(m)) for m in (2, 3))
RS = {m: Kernel("sliced", 8, tuple(check_rows(m)), "parity") for m in range(4, 9)}
RS16 = Kernel("horner", 16, (-2, -1, 0, 1), "maps")
XOR_HOLES = Kernel("horner", 8, (0,), table=True)
PQ_HOLES = Kernel("horner", 8, (0, 1), "maps", table=True)
THREE_HOLES = Kernel("horner", 8, (-1, 0, 1), "maps", table=True)
HOLES = {m: Kernel("sliced", 8, tuple(check_rows(m)), "maps", table=True) for m in range(4, 9)}
GENERIC = {m: Kernel("generic", 8, rows(m)) for m in (1, 2, 4, 8)}
GENERIC16 = {m: Kernel("generic", 16, rows(m)) for m in (2, 4)}
DELTA = {m: Kernel("generic", 8, rows(m), table=True, delta=True) for m in (1, 2, 4, 8)}

MAIN = [XOR, PQ, PQR, PQ16, PQR16, RS[4], RS[8], RS16, XOR_HOLES, PQ_HOLES, THREE_HOLES, HOLES[8], GENERIC[4], DELTA[8]]
REST = [
    *(RS[m] for m in (5, 6, 7)),
    *(HOLES[m] for m in (4, 5, 6, 7)),
    *(GENERIC[m] for m in (1, 2, 8)),
    *GENERIC16.values(),
    *(DELTA[m] for m in (1, 2, 4)),
    *(Kernel("horner", 8, rows(m), table=True) for m in (2, 3)),
    *(Kernel("sliced", 8, tuple(check_rows(m)), "parity", table=True) for m in (4, 8)),
    Kernel("horner", 8, rows(3), "maps", table=True),
    Kernel("horner", 16, rows(3), "maps", table=True),
    Kernel("horner", 16, (-2, -1, 0, 1), "maps", table=True),
    Kernel("horner", 16, (-4, -3, -2, -1), "maps"),
    Kernel("generic", 16, rows(4), table=True, delta=True),
    Kernel("horner", 8, rows(2), table=True, vector=False),
    Kernel("sliced", 8, tuple(check_rows(8)), "maps", table=True, vector=False),
    Kernel("generic", 16, rows(4), table=True, vector=False, delta=True),
]
EVERY = [*MAIN, *REST]
