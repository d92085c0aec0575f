"""The end of a kernel: from accumulators to shards, stored, through the parity matrix, or by maps of the launch."""

from __future__ import annotations

from gemsim_kernels.cuda_kernel import ACCUMULATE, EXTRAS, Kernel
from gemsim_kernels.cuda_planes import parity_matrix, product, transpose

# Whether a thread's second vector, 512 bytes on, is still in the shard; spelt out each time, as registers are short.
SECOND = "at + 512u < end"


def finish(kernel: Kernel) -> list[str]:
    """The lines after the loop over shards."""
    if kernel.kind == "generic":
        return _generic(kernel)
    if kernel.finish == "store":
        return [
            line
            for r in range(len(kernel.rows))
            for line in _put(kernel, str(r), [f"{{{', '.join(f's{r}_{w}' for w in range(4))}}}"])
        ]
    return _parity(kernel) if kernel.finish == "parity" else _maps(kernel)


def _put(kernel: Kernel, index: str, vectors: list[str], accumulate: bool = False) -> list[str]:
    """Write (or compare, or add) one output shard's columns."""
    symbol = kernel.bits // 8
    lines = [
        "{",
        f"u8* const to = (out_table ? (u8*)out_table[stripe * out_table_stride + {index}]"
        f" : out + {index} * out_shard_stride) + stripe * out_stripe_stride{' + at' if kernel.vector else ''};",
    ]
    for v, vector in enumerate(vectors):
        lines.append(f"uint4 r{v} = {vector};")
        on = f" + {512 * v}u" if v else ""
        only = f"if ({SECOND}) " if v and kernel.vector else ""
        there = f"load16(to{on})" if kernel.vector else f"gather16<{symbol}u>(to, at{on}, end)"
        if accumulate:
            lines.append(f"{only}if (flags & {ACCUMULATE}u) r{v} = add16(r{v}, {there});")
        store = f"store16(to{on}, r{v})" if kernel.vector else f"scatter16<{symbol}u>(to, at{on}, end, r{v})"
        lines.append(f"{only}{{ if (good) {{ if (differ16({there}, r{v})) good[stripe] = 0; }} else {store}; }}")
    return [*lines, "}"]


def _generic(kernel: Kernel) -> list[str]:
    return [
        line
        for r in range(len(kernel.rows))
        for line in _put(kernel, str(r), [joined(kernel.bits, (f"a{r}_0", f"a{r}_1"))], accumulate=True)
    ]


def _parity(kernel: Kernel) -> list[str]:
    """The constant matrix on planes, one output after the other, each turned back into bytes."""
    names = [f"o{b}" for b in range(8)]
    lines = []
    for r, row in enumerate(parity_matrix(len(kernel.rows))):
        sums = ", ".join(f"{name} = {total}" for name, total in zip(names, product(row), strict=True))
        vectors = [f"{{{', '.join(names[4 * v : 4 * v + 4])}}}" for v in range(2)]
        lines += ["{", f"u32 {sums};", *transpose(names), *_put(kernel, str(r), vectors), "}"]
    return lines


def _maps(kernel: Kernel) -> list[str]:
    """Add the surviving parities to their syndromes, then multiply by the launch's maps, in a loop over outputs."""
    words = 4 * kernel.vectors
    rows = range(len(kernel.rows))
    size = 2 * (kernel.bits // 8) ** 2
    lines = _extras(kernel) if kernel.kind == "horner" else []
    if kernel.kind == "sliced":
        lines += [line for r in rows for line in transpose([f"s{r}_{b}" for b in range(8)])]
    pairs = [f"a{p}" for p in range(words // 2)]
    lines += [
        "#pragma unroll 1",
        "for (u32 o = 0u; o < outputs; ++o) {",
        f"const uint4* const all = (const uint4*)maps + (u64)o * {size * len(kernel.rows)}u;",
        f"Pair {', '.join(name + ' = {0u, 0u}' for name in pairs)};",
    ]
    for r in rows:
        lines += ["{", f"const uint4* const map = all + {size * r}u;"]
        if len(kernel.rows) > 2:  # selectors of many syndromes, kept for all outputs, would not fit the registers
            lines += [f'asm volatile("" : "+r"(s{r}_{w}));' for w in range(words)]
        for v in range(kernel.vectors):
            names = [f"s{r}_{4 * v + w}" for w in range(4)]
            lines += ["{", *split(kernel.bits, names), *add_maps(kernel.bits, pairs[2 * v : 2 * v + 2], 0), "}"]
        lines.append("}")
    vectors = [joined(kernel.bits, (pairs[2 * v], pairs[2 * v + 1])) for v in range(kernel.vectors)]
    return [*lines, *_put(kernel, "o", vectors, accumulate=True), "}"]


def _extras(kernel: Kernel) -> list[str]:
    """Parities of the P+Q(+R) family stand outside the sum over positions: shard k + r belongs to syndrome r."""
    if not kernel.table:
        return []
    lines = [f"if (flags & {EXTRAS}u) {{"]
    for r in range(len(kernel.rows)):
        lines += ["{", f"const u64 address = table[stripe * table_stride + k + {r}u];"]
        lines.append("if ((long long)address >= 0) {")
        there = "load16((const u8*)address + offset)"
        if not kernel.vector:
            there = f"gather16<{kernel.bits // 8}u>((const u8*)address + offset, at, end)"
        lines.append(f"const uint4 x = {there};")
        lines += [f"s{r}_{w} ^= x.{lane};" for w, lane in enumerate("xyzw")]
        lines += ["}", "}"]
    return [*lines, "}"]


def split(bits: int, words: list[str]) -> list[str]:
    """Selectors i0 and i1 of four words, taken in pairs; over GF(2^16) the low bytes first, then the high bytes."""
    a, b, c, d = words
    if bits == 8:
        return [f"const Index i0 = index_of({a}, {b}), i1 = index_of({c}, {d});"]
    low, high = (f"index_of({part}({a}, {b}), {part}({c}, {d}))" for part in ("even_bytes", "odd_bytes"))
    return [f"const Index i0 = {low}, i1 = {high};"]


def add_maps(bits: int, sums: list[str], first: int) -> list[str]:
    """Add the image of i0, i1 to two pairs. GF(2^16) takes four byte maps each: from either byte into either."""
    if bits == 8:
        return [f"add_map({name}, map + {first}, i{target});" for target, name in enumerate(sums)]
    return [
        f"add_map({name}, map + {first + 4 * target + 2 * source}, i{source});"
        for target, name in enumerate(sums)
        for source in range(2)
    ]


def joined(bits: int, pairs: tuple[str, str]) -> str:
    """The vector whose pairs these are: undoes `split` and the interleaving of selectors."""
    (a, b), (c, d) = ((f"even_bytes({p}.low, {p}.high)", f"odd_bytes({p}.low, {p}.high)") for p in pairs)
    if bits == 8:
        return f"{{{a}, {b}, {c}, {d}}}"
    low, high = "prmt({}, {}, 0x5140u)", "prmt({}, {}, 0x7362u)"
    return f"{{{low.format(a, c)}, {high.format(a, c)}, {low.format(b, d)}, {high.format(b, d)}}}"
