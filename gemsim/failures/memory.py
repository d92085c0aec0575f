"""Memory faults as the hardware has them: which rows of which bank an error takes, which pages those lie in, and
whether the row remapper still has a spare for them.

Idea: an error destroys pages at once, but costs the GPU itself only when its remap budget is spent. So the book of a
run keeps the rows of the few GPUs that were hit, and nothing of the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

SAME_BANK = 85 / 105
"""Chance that an error on a GPU with an earlier one lies in the same bank. Derived from counts of the Calchas data set
(github.com/wrl297/Calchas): 141 events (97.9 % in one bank, else two) make 144 hits of banks; 39 are the first of their
device, and 59 banks are all there are, so 85 of the 105 others met a known bad bank. Another generation of HBM."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The memory of one GPU: `banks` banks over `stacks` stacks, each with `rows` rows of `row_bytes` bytes.

    Addresses run over the same row of every bank, `granule` bytes from each in turn, before the next row begins (an
    assumption: no vendor publishes its address map). So one row of all banks is a span of `banks * row_bytes` bytes.
    """

    stacks: int
    banks: int
    rows: int
    row_bytes: int
    granule: int = 0  # 0: whole rows

    @property
    def span(self) -> int:
        """Bytes from one row of a bank to the next."""
        return self.banks * self.row_bytes

    def stack_of(self, bank: int) -> int:
        """The stack that a bank lies in."""
        return bank * self.stacks // self.banks

    def pages(self, bank: int, rows: Iterable[int], page: int) -> list[int]:
        """The pages of `page` bytes that rows of one bank lie in, in order."""
        granule = self.granule or self.row_bytes
        found: set[int] = set()
        for row in rows:
            for piece in range(self.row_bytes // granule):
                first = row * self.span + (piece * self.banks + bank) * granule
                found.update(range(first // page, (first + granule - 1) // page + 1))
        return sorted(found)


CALCHAS = Geometry(stacks=4, banks=4 * 2 * 16 * 4 * 4, rows=16_384, row_bytes=1024)
"""The accelerators of the Calchas data set (derived there from its field widths): 2,048 banks, 32 GiB, a span of
2 MiB, so that adjacent rows are adjacent 2 MiB pages."""


def rows_to_pages(span: int, page: int) -> str:
    """How adjacent rows of a bank lie in pages, as a failure class says it: `adjacent_pages` where a page is a span."""
    apart = Fraction(span, page)
    return "adjacent_pages" if apart == 1 else f"{apart} pages apart"


@lru_cache(maxsize=64)
def pages_apart(mapping: str) -> Fraction | None:
    """Pages from one row of a bank to the next: 1 for adjacent_pages, None for a mapping that is not by address."""
    if mapping == "adjacent_pages":
        return Fraction(1)
    number, _, words = mapping.partition(" ")
    return Fraction(number) if words == "pages apart" else None


@dataclass(frozen=True, slots=True)
class RemapBudget:
    """Uncorrectable remaps that a bank and a GPU have room for.

    NVIDIA, RMA policy thresholds for row remapping (docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt): a remap fails in a
    bank with eight, on a row remapped before, and after 512 on the GPU.
    """

    bank: int = 8
    gpu: int = 512


@dataclass(frozen=True, slots=True)
class RemapResult:
    """What the remapper did with the rows of one error: `recorded` wait for a reset, `refused` have no spare.

    `rule` is what refused the first of them: row (remapped before), bank or gpu (no room); empty where none was.
    """

    bank: int
    recorded: int
    refused: int
    rule: str = ""


@dataclass(slots=True)
class _Gpu:
    """Rows by bank that a GPU's remapper knows; `bank` is where its latest error was."""

    bank: int = 0
    total: int = 0
    active: dict[int, set[int]] = field(default_factory=dict)
    waiting: dict[int, set[int]] = field(default_factory=dict)
    failed: bool = False


class RemapBook:
    """The row remappers of all GPUs in one run. GPUs are named by any number that stays with the device."""

    def __init__(
        self, geometry: Geometry, budget: RemapBudget = RemapBudget(), *, same_bank: float = SAME_BANK
    ) -> None:
        self.geometry, self.budget, self.same_bank = geometry, budget, same_bank
        self._gpus: dict[int, _Gpu] = {}
        self.waiting: dict[int, None] = {}
        """GPUs that need a reset, in the order of their errors: rows wait for their spares, or a remap failed."""

    def place(self, gpu: int, rows: int, *, bank: float, row: float) -> tuple[int, range]:
        """The bank and the adjacent rows of an error of `rows` rows, from two uniforms in [0, 1).

        A GPU with an earlier error meets the bank of the latest again with probability `same_bank`, else any bank.
        """
        geometry, known = self.geometry, self._gpus.get(gpu)
        count = min(rows, geometry.rows)
        first = min(int(row * (geometry.rows - count + 1)), geometry.rows - count)
        if known is not None:
            if bank < self.same_bank:
                return known.bank, range(first, first + count)
            bank = (bank - self.same_bank) / (1.0 - self.same_bank)
        return min(int(bank * geometry.banks), geometry.banks - 1), range(first, first + count)

    def hit(self, gpu: int, bank: int, rows: Iterable[int]) -> RemapResult:
        """Record the rows of one error. A row that already waits for its remap is not recorded twice (assumption: its
        page is offlined, so only an error that was under way can meet it)."""
        known = self._gpus.setdefault(gpu, _Gpu())
        known.bank = bank
        active = known.active.get(bank, ())
        waiting = known.waiting.setdefault(bank, set())
        recorded, refused, rule = 0, 0, ""
        for row in rows:
            if row in waiting:
                continue
            why = self._refusal(known, row, active, waiting)
            if why:
                refused, rule = refused + 1, rule or why
                continue
            waiting.add(row)
            known.total += 1
            recorded += 1
        known.failed = known.failed or refused > 0
        if recorded or refused:
            self.waiting[gpu] = None
        return RemapResult(bank, recorded, refused, rule)

    def _refusal(self, known: _Gpu, row: int, active: set[int] | tuple[()], waiting: set[int]) -> str:
        if row in active:
            return "row"
        if len(active) + len(waiting) >= self.budget.bank:
            return "bank"
        return "gpu" if known.total >= self.budget.gpu else ""

    def pending(self, gpu: int) -> int:
        """Rows of this GPU that wait for a reset."""
        known = self._gpus.get(gpu)
        return 0 if known is None else sum(len(rows) for rows in known.waiting.values())

    def failed(self, gpu: int) -> bool:
        """Whether a remap of this GPU ever failed: it has to be replaced, at its next reset if not at once."""
        known = self._gpus.get(gpu)
        return known is not None and known.failed

    def serve(self, gpu: int) -> bool:
        """A reset: rows that waited are swapped for their spares. Returns whether the GPU has to go instead."""
        known = self._gpus.get(gpu)
        self.waiting.pop(gpu, None)
        if known is None:
            return False
        for bank, rows in known.waiting.items():
            known.active.setdefault(bank, set()).update(rows)
        known.waiting.clear()
        return known.failed

    def serve_all(self) -> list[int]:
        """A reset of every GPU that waits for one, as when a job restarts. Returns those that have to go instead."""
        return [gpu for gpu in list(self.waiting) if self.serve(gpu)]

    def replaced(self, gpu: int) -> None:
        """Another device stands under this number: its remapper is empty."""
        self._gpus.pop(gpu, None)
        self.waiting.pop(gpu, None)


def strike_rows(book: RemapBook, gpu: int, rows: int, mark: Callable[[str], float]) -> RemapResult:
    """One memory error of `rows` rows on a GPU, its bank and rows from the marks `bank` and `row` of the failure."""
    bank, hit = book.place(gpu, rows, bank=mark("bank"), row=mark("row"))
    return book.hit(gpu, bank, hit)


def action_after(action: str, *, refused: bool) -> str:
    """What the hardware needs after an error: a GPU whose remap was refused is replaced where it must be reset anyway.

    Else its page stays offlined, and it goes at the next restart that serves row remaps.
    """
    return "replace" if refused and action in ("reset", "reboot") else action
