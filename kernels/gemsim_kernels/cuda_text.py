"""The CUDA C of every kernel, as straight-line text: no coefficient and no table in the loops of the families' codes.

`text(kernel)` is compiled by NVRTC on a GPU machine and, unchanged, by g++ in the tests. Text rather than templates:
the same algebra as constexpr recursion takes NVRTC half a minute.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from gemsim_kernels.cuda_finish import SECOND, add_maps, finish, split
from gemsim_kernels.cuda_kernel import ARGUMENTS, BLOCK, Kernel
from gemsim_kernels.cuda_planes import horner_step, transpose


def text(kernel: Kernel) -> str:
    """The kernel's whole source."""
    arguments = ", ".join(f"{kind} {name}" for kind, name in ARGUMENTS)
    step = 16 if kernel.vector else kernel.bits // 8
    lines = [
        f'extern "C" __global__ void __launch_bounds__({BLOCK}, {_blocks(kernel)}) {kernel.name}({arguments}) {{',
        f"const u64 at = begin + (((u64)blockIdx.x * blockDim.x + threadIdx.x) >> 5) * {kernel.tile}u"
        f" + (threadIdx.x & 31u) * {step}u;",
        "if (at >= end) return;",
        "for (u32 stripe = blockIdx.y; stripe < stripes; stripe += gridDim.y) {",
        *_start(kernel),
        f"#pragma unroll {_unroll(kernel)}",
        "for (u32 j = k; j != 0u; --j) {",
        *_load(kernel),
        *_step(kernel),
        "}",
        *finish(kernel),
        "}",
        "}",
    ]
    return words() + "\n".join(lines) + "\n"


@cache
def words() -> str:
    """The hand-written part: words of symbols, and access to shards."""
    return (files("gemsim_kernels") / "cuda" / "words.h").read_text(encoding="utf-8")


def _blocks(kernel: Kernel) -> int:
    """Blocks to keep on a multiprocessor, for loads in flight: 40, 64, 80 or 128 registers a thread at most."""
    rows = len(kernel.rows)
    if kernel.kind == "horner" and kernel.finish == "store" and rows <= 2:
        return 6
    if kernel.kind == "horner" and rows <= 3:
        return 4 if kernel.bits == 8 or kernel.finish == "store" else 3
    if kernel.kind == "sliced" and rows <= 4:
        return 3
    return 4 if kernel.kind == "generic" and kernel.bits == 8 and rows <= 4 else 2


def _unroll(kernel: Kernel) -> int:
    return 4 if kernel.vector and kernel.kind == "horner" else 1


def _start(kernel: Kernel) -> list[str]:
    """Accumulators at zero, and where the loop begins: at the last shard, as Horner's rule goes down."""
    if kernel.kind == "horner":
        names = [f"s{r}_{w}" for r in range(len(kernel.rows)) for w in range(4)]
        zeros = f"u32 {', '.join(f'{name} = 0u' for name in names)};"
    elif kernel.kind == "sliced":
        names = [f"s{r}_{b}" for r in range(len(kernel.rows)) for b in range(8)]
        zeros = f"u32 {', '.join(f'{name} = 0u' for name in names)};"
    else:
        names = [f"a{r}_{p}" for r in range(len(kernel.rows)) for p in range(2)]
        zeros = f"Pair {', '.join(name + ' = {0u, 0u}' for name in names)};"
    column = "at" if kernel.vector else "0u"
    if kernel.table:
        per = "2u * k" if kernel.delta else "k"
        return [
            zeros,
            f"const u64 offset = stripe * stripe_stride + {column};",
            f"const u64* entry = table + stripe * table_stride + {per};",
        ]
    return [zeros, f"const u8* p = data + stripe * stripe_stride + (u64)(k - 1u) * shard_stride + {column};"]


def _load(kernel: Kernel) -> list[str]:
    """The shard's columns into v0 (and v1); a lost shard counts as zeros."""
    if kernel.delta:
        new, old = (_fetch(kernel, f"(const u8*){name} + offset", 0) for name in ("later", "earlier"))
        return ["const u64 later = *--entry, earlier = *--entry;", f"const uint4 v0 = add16({new}, {old});"]
    if kernel.table:
        lines = ["const u64 address = *--entry;", "const bool here = (long long)address >= 0;"]
        for v in range(kernel.vectors):
            present = f"here && {SECOND}" if v and kernel.vector else "here"
            lines += [f"uint4 v{v} = zero16();"]
            lines += [f"if ({present}) v{v} = {_fetch(kernel, '(const u8*)address + offset', v)};"]
        return lines
    lines = [f"uint4 v0 = {_fetch(kernel, 'p', 0)};"]
    if kernel.vectors == 2:
        lines += ["uint4 v1 = zero16();", f"{f'if ({SECOND}) ' if kernel.vector else ''}v1 = {_fetch(kernel, 'p', 1)};"]
    return [*lines, "p -= shard_stride;"]


def _fetch(kernel: Kernel, pointer: str, vector: int) -> str:
    """An expression for 16 bytes of the thread's columns; its second vector lies 512 bytes on."""
    on = f" + {512 * vector}u" if vector else ""
    if kernel.vector:
        return f"load16({pointer}{on})"
    return f"gather16<{kernel.bits // 8}u>({pointer}, at{on}, end)"


def _step(kernel: Kernel) -> list[str]:
    """What one shard does to the accumulators."""
    if kernel.kind == "horner":
        return [
            f"s{r}_{w} = {_times(kernel.bits, row, f's{r}_{w}', f'v0.{lane}')};"
            for r, row in enumerate(kernel.rows)
            for w, lane in enumerate("xyzw")
        ]
    if kernel.kind == "sliced":
        names = [f"w{b}" for b in range(8)]
        given = [f"v{v}.{lane}" for v in range(2) for lane in "xyzw"]
        lines = ["u32 " + ", ".join(f"{name} = {word}" for name, word in zip(names, given, strict=True)) + ";"]
        lines += transpose(names)
        for r, row in enumerate(kernel.rows):
            lines += horner_step(r, row)
        return lines
    first = "const uint4* map = (const uint4*)maps + (u64)(j - 1u)"
    maps = (kernel.bits // 8) ** 2
    lines = [f"{first} * {2 * maps * len(kernel.rows)}u;", *split(kernel.bits, [f"v0.{w}" for w in "xyzw"])]
    for r in range(len(kernel.rows)):
        lines += add_maps(kernel.bits, [f"a{r}_0", f"a{r}_1"], 2 * maps * r)
    return lines


def _times(bits: int, exponent: int, symbol: str, plus: str) -> str:
    """An expression for α^exponent · symbol + plus, by the cheapest steps."""
    if exponent == 0:
        return f"{symbol} ^ {plus}"
    if exponent < 0:
        inner = symbol if exponent == -1 else _times(bits, exponent + 1, symbol, "0u")
        return f"down{bits}({inner}, {plus})"
    stride = 1 if exponent == 1 else 2
    inner = symbol if exponent == stride else _times(bits, exponent - stride, symbol, "0u")
    return f"{'up' if stride == 1 else 'up2_'}{bits}({inner}, {plus})"
