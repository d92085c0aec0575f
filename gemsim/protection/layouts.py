"""Stripe arithmetic: which chunk belongs to which stripe, and which losses leave every stripe decodable.

Chunks are memory pages inside one GPU, or GPUs (members) across the job. Nothing here knows time or cost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from gemsim.failures.memory import pages_apart
from gemsim.failures.streams import generator
from gemsim.protection.damage import Grid, PageHit


@dataclass(frozen=True, slots=True)
class PageStripes:
    """`pages` data pages in stripes of at most k, m parity pages each, in one GPU.

    Data pages come first, parity pages continue the index. Interleaved: page i is in stripe i mod S. Contiguous: k data
    pages in a row form a stripe, and so do the m parity pages in a row after them.
    """

    pages: int
    k: int
    m: int
    mapping: str

    @property
    def stripes(self) -> int:
        """S = ceil(pages / k): no stripe has more than k data pages."""
        return ceil(self.pages / self.k)

    @property
    def parity_pages(self) -> int:
        """m per stripe."""
        return self.m * self.stripes

    @property
    def total(self) -> int:
        """Data and parity pages."""
        return self.pages + self.parity_pages

    def stripe_of(self, page: int) -> int:
        """Stripe of a page by its index."""
        if self.mapping == "interleaved":
            return page % self.stripes
        return page // self.k if page < self.pages else (page - self.pages) // self.m

    def worst_in_stripe(self, lost: Iterable[int]) -> int:
        """Most lost pages in one stripe."""
        counts = Counter(self.stripe_of(page) for page in set(lost))
        return max(counts.values(), default=0)

    def survivable_burst(self) -> int:
        """Longest run of adjacent pages that is decodable wherever it starts.

        Interleaved: ceil(r / S) <= m, that is r <= the parity pages. Contiguous: m; where a stripe has no more than m
        data pages, only a run from the data of the first stripe to its parity is fatal.
        """
        if self.m == 0:
            return 0
        if self.mapping == "interleaved":
            return self.parity_pages
        data = min(self.k, self.pages)
        return self.m if data > self.m else self.pages - data + self.m


def pages_hit(hit: PageHit, stripes: PageStripes) -> list[int]:
    """Page indices that one hit destroys; a burst that runs past the end of the coded pages loses only those inside.

    The coded pages lie one after the other in physical memory (an assumption), so that rows a number of pages apart,
    perhaps a fraction, hit pages so far apart; where the first row lies in its page, the rest of the place says.
    """
    place = hit.place * stripes.total
    first = min(int(place), stripes.total - 1)
    if hit.to_pages == "same_page":
        return [first]
    if hit.to_pages == "adjacent_pages":
        return list(range(first, min(first + hit.rows, stripes.total)))
    apart = pages_apart(hit.to_pages)
    if apart is not None:
        phase = int((place - first) * apart.denominator)
        return [page for one in offsets(hit.rows, apart, phase) if (page := first + one) < stripes.total]
    rng = generator(int(hit.place * 2**53), 0, "scattered")
    drawn = rng.choice(stripes.total, size=min(hit.rows, stripes.total), replace=False)
    return [int(page) for page in drawn]


@lru_cache(maxsize=4096)
def offsets(rows: int, apart: Fraction, phase: int) -> tuple[int, ...]:
    """Pages that adjacent rows lie in, counted from that of the first, which begins at phase / denominator of it."""
    return tuple(sorted({(phase + row * apart.numerator) // apart.denominator for row in range(rows)}))


@dataclass(frozen=True, slots=True)
class MemberStripes:
    """Stripes over GPUs: the members of one stripe sit in distinct domains of one kind, `unit`, and of no wider one.

    The D domains are cut into ceil(D / n) groups of equal size as far as possible, n = k + m; GPU j of each domain
    of a group forms stripe j. A group smaller than n is a shortened stripe, and so is one with a last domain that the
    job fills only in part.
    """

    grid: Grid
    unit: str
    k: int
    m: int

    @property
    def domains(self) -> int:
        """Failure domains available to place members in."""
        return self.grid.count(self.unit)

    @property
    def groups(self) -> int:
        """Groups of domains."""
        return ceil(self.domains / (self.k + self.m))

    def stripe_of(self, gpu: int) -> tuple[int, int]:
        """(group, place in the domain) of a GPU."""
        size = self.grid.size(self.unit)
        return (gpu // size) * self.groups // self.domains, gpu % size

    def worst_in_stripe(self, gpus: Iterable[int]) -> int:
        """Most lost members in one stripe; a GPU that is named twice is lost once."""
        size, groups, domains = self.grid.size(self.unit), self.groups, self.domains
        counts = Counter((gpu // size * groups // domains, gpu % size) for gpu in set(gpus))
        return max(counts.values(), default=0)

    def first(self, group: int) -> int:
        """First domain of a group (or, for the number of groups, the one after the last)."""
        return -(-group * self.domains // self.groups)

    def worst_in_block(self, block: range) -> int:
        """Most lost members in one stripe when these GPUs in a row are lost."""
        size, groups, domains = self.grid.size(self.unit), self.groups, self.domains
        start, stop = block.start // size, -(-block.stop // size)
        low, high = start * groups // domains, (stop - 1) * groups // domains
        return max(
            min(stop, self.first(group + 1)) - max(start, self.first(group))
            for group in (low, high, *range(low + 1, high))
        )
