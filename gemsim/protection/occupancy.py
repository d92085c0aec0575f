"""Probability that a burst of pages leaves every stripe decodable, over its place: exact counts, no sampling."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from math import ceil, lgamma, log

import numpy as np
from numpy.typing import NDArray

from gemsim.failures.memory import pages_apart
from gemsim.protection.layouts import PageStripes, offsets

Ints = NDArray[np.int64]
_CHUNK = 50_000  # starts looked at together


@lru_cache(maxsize=4096)
def decodable_share(stripes: PageStripes, rows: int, to_pages: str) -> float:
    """Share of places at which a burst of `rows` rows loses at most m pages of any stripe."""
    if stripes.m == 0:
        return 0.0
    pages = 1 if to_pages == "same_page" else min(rows, stripes.total)
    if pages <= stripes.m:
        return 1.0
    apart = pages_apart(to_pages)
    if apart is None:
        return _scattered(stripes, pages)
    if apart != 1:
        return _spaced(stripes, rows, apart)
    if stripes.mapping == "interleaved":
        return _interleaved(stripes, pages)
    return _contiguous(stripes, pages)


def _spaced(stripes: PageStripes, rows: int, apart: Fraction) -> float:
    """Rows that lie `apart` pages apart: each phase of the first row in its page is as likely as any other."""
    shares = []
    for phase in range(apart.denominator):
        hit = np.array(offsets(rows, apart, phase))
        shares.append(_spaced_interleaved(stripes, hit) if stripes.mapping == "interleaved" else _sorted(stripes, hit))
    return float(np.mean(shares))


def _spaced_interleaved(stripes: PageStripes, hit: Ints) -> float:
    """Which pages share a stripe does not depend on the first, so a burst is fatal iff it reaches the first page that
    is one too many in its stripe."""
    seen: Counter[int] = Counter()
    one: int
    for one in hit.tolist():
        seen[one % stripes.stripes] += 1
        if seen[one % stripes.stripes] > stripes.m:
            return min(1.0, float(one) / stripes.total)
    return 1.0


def _sorted(stripes: PageStripes, hit: Ints) -> float:
    """Every start counted: fatal where a stripe occurs m + 1 times in a row among those of the pages hit, sorted."""
    good = 0
    for start in range(0, stripes.total, _CHUNK):
        pages = np.arange(start, min(start + _CHUNK, stripes.total))[:, None] + hit
        data = pages < stripes.pages
        owner = np.where(data, pages // stripes.k, (pages - stripes.pages) // stripes.m)
        owner = np.sort(np.where(pages < stripes.total, owner, -1 - np.arange(len(hit))), axis=1)
        good += len(owner) - int((owner[:, stripes.m :] == owner[:, : -stripes.m]).any(axis=1).sum())
    return good / stripes.total


def _interleaved(stripes: PageStripes, pages: int) -> float:
    """ceil(r / S) <= m wherever it starts, or a burst cut short by the end of the coded pages."""
    if ceil(pages / stripes.stripes) <= stripes.m:
        return 1.0
    return min(1.0, stripes.m * stripes.stripes / stripes.total)


def _contiguous(stripes: PageStripes, pages: int) -> float:
    """Walk every start over the runs that it touches; the pieces in one run must be at most m, and so must the data and
    the parity of one stripe together."""
    if stripes.stripes == 1:
        return min(1.0, stripes.m / stripes.total)
    ends = _run_ends(stripes)
    place = np.arange(stripes.total)
    left = np.minimum(pages, stripes.total - place)
    worst = np.zeros(stripes.total, dtype=np.int64)
    while left.any():
        end = ends[np.searchsorted(ends, place, side="right").clip(max=len(ends) - 1)]
        piece = np.minimum(left, end - place)
        worst = np.maximum(worst, piece)
        left = left - piece
        place = place + piece
    return float(np.mean((worst <= stripes.m) & ~_data_and_parity(stripes, pages)))


def _data_and_parity(stripes: PageStripes, pages: int) -> NDArray[np.bool_]:
    """Starts in the data whose burst goes on into the parity and takes more than m pages of one stripe together.

    It takes the data of the first stripe from the start on, all data of later ones, and the parity from stripe 0 on.
    """
    start = np.arange(stripes.total)
    parity = np.minimum(start + pages, stripes.total) - stripes.pages
    first = start // stripes.k
    whole, part = parity // stripes.m, parity % stripes.m
    data = np.minimum((first + 1) * stripes.k, stripes.pages) - start
    fatal = (whole > first) | ((whole == first) & (data + part > stripes.m))
    result: NDArray[np.bool_] = (start < stripes.pages) & (parity > 0) & fatal
    return result


def _run_ends(stripes: PageStripes) -> Ints:
    """Index after the last page of each run: k data pages, then m parity pages, stripe by stripe."""
    data = np.minimum(np.arange(1, stripes.stripes + 1) * stripes.k, stripes.pages)
    parity = stripes.pages + np.arange(1, stripes.stripes + 1) * stripes.m
    return np.concatenate([data, parity]).astype(np.int64)


def _scattered(stripes: PageStripes, pages: int) -> float:
    """Distinct random pages: coefficient of x^r in the product over stripes of sum_{j<=m} C(size, j) x^j, over
    C(total, r).

    x is scaled by r / total, so that the coefficients of all powers are of one size up to x^r and none is lost.
    """
    counts = _sizes(stripes)
    tilt = log(pages / stripes.total)
    poly = np.zeros(pages + 1)
    poly[0] = 1.0
    log_scale = 0.0
    for size, number in counts.items():
        powered, log_power = _power(_terms(size, stripes.m, pages, tilt), number, pages)
        poly = np.convolve(poly, powered)[: pages + 1]
        top = poly.max()
        poly, log_scale = poly / top, log_scale + log_power + np.log(top)
    if poly[pages] == 0.0:
        return 0.0
    ways = np.log(poly[pages]) + log_scale - pages * tilt
    return float(min(1.0, np.exp(ways - _log_choose(stripes.total, pages))))


def _sizes(stripes: PageStripes) -> dict[int, int]:
    """Pages per stripe, parity included -> number of stripes of that size."""
    s, k, m = stripes.stripes, stripes.k, stripes.m
    if stripes.mapping == "interleaved":
        longer = stripes.pages % s
        sizes = {stripes.pages // s + m: s - longer}
        if longer:
            sizes[stripes.pages // s + 1 + m] = longer
        return sizes
    last = stripes.pages - (s - 1) * k
    sizes = {k + m: s - 1} if s > 1 else {}
    sizes[last + m] = sizes.get(last + m, 0) + 1
    return sizes


def _terms(size: int, m: int, degree: int, tilt: float) -> NDArray[np.float64]:
    terms = np.zeros(degree + 1)
    for j in range(min(m, size, degree) + 1):
        terms[j] = np.exp(_log_choose(size, j) + j * tilt)
    return terms


def _power(poly: NDArray[np.float64], number: int, degree: int) -> tuple[NDArray[np.float64], float]:
    """poly ** number, cut at `degree`, scaled to a largest coefficient of 1, with the log of the scale."""
    result, log_result = np.zeros(degree + 1), 0.0
    result[0] = 1.0
    base, log_base = poly, 0.0
    while number:
        if number & 1:
            result = np.convolve(result, base)[: degree + 1]
            log_result += log_base + np.log(result.max())
            result = result / result.max()
        base = np.convolve(base, base)[: degree + 1]
        log_base = 2 * log_base + np.log(base.max())
        base = base / base.max()
        number >>= 1
    return result, log_result


def _log_choose(n: int, r: int) -> float:
    return lgamma(n + 1) - lgamma(r + 1) - lgamma(n - r + 1)
