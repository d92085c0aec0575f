"""Vector code for the host as LLVM instructions: one block of columns of  outputs[i] = Σ_j matrix[i, j] · sources[j].

A block holds `units` vectors of every row in registers while it walks the sources from the last to the first. Products
are linear maps of bits: one affine instruction where the CPU has GFNI, two 16-entry shuffles where it has those, else
eight masked additions, which any CPU can do. Rows of powers of α need no product at all: Horner's rule doubles the sum.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from gemsim_kernels.fields import POLYNOMIAL

_I8, _I16, _I32, _I64 = (ir.IntType(bits) for bits in (8, 16, 32, 64))
_PSHUFB = {16: "llvm.x86.ssse3.pshuf.b.128", 32: "llvm.x86.avx2.pshuf.b", 64: "llvm.x86.avx512.pshuf.b.512"}
_AFFINE = {bytes_: f"llvm.x86.vgf2p8affineqb.{8 * bytes_}" for bytes_ in (16, 32, 64)}
_PREFETCH = ir.FunctionType(ir.VoidType(), [_I8.as_pointer(), _I32, _I32, _I32])
AHEAD = 512  # bytes; hardware does not follow tens of streams, and this much asked for in time doubles wide stripes
MAP_BYTES = {"gfni": 8, "pshufb": 32, "masks": 8}  # of the table of one 8 x 8 bit map


@dataclass(frozen=True, slots=True)
class Shape:
    """What a kernel is compiled for. `method` is xor, horner, gfni, pshufb or masks; `width` the bytes of a vector.

    `rows` outputs at a time, of which the first `ones` have coefficients 1 throughout; `units` vectors (pairs of
    vectors for products over GF(2^16), whose low and high bytes are taken apart) of each.
    """

    method: str
    width: int
    bits: int
    rows: int
    ones: int
    units: int

    @property
    def split(self) -> bool:
        """Whether low and high bytes of 16-bit symbols are worked apart."""
        return self.bits == 16 and self.method in ("gfni", "pshufb")

    @property
    def step(self) -> int:
        """Bytes of a unit."""
        return self.width * (2 if self.split else 1)

    @property
    def table_bytes(self) -> int:
        """Of the table of one coefficient."""
        if self.method in ("xor", "horner"):
            return 0
        return MAP_BYTES[self.method] * (1 if self.bits == 8 else 4)


class _Emitter:
    """Writes the instructions of one block into `b`, an LLVM builder."""

    def __init__(self, b: Any, shape: Shape) -> None:
        self.b, self.shape = b, shape
        self.vector = ir.VectorType(_I8, shape.width)
        self.lanes = ir.VectorType(_I8, shape.width) if shape.bits == 8 else ir.VectorType(_I16, shape.width // 2)
        self.parts = 2 if shape.split else 1

    def call(self, name: str, arguments: list[Any]) -> Any:
        kinds = [argument.type for argument in arguments]
        known = self.b.module.globals.get(name)
        function = known or ir.Function(self.b.module, ir.FunctionType(self.vector, kinds), name)
        return self.b.call(function, arguments)

    def splat(self, scalar: Any, kind: Any) -> Any:
        nothing = ir.Constant(kind, ir.Undefined)
        one = self.b.insert_element(nothing, scalar, ir.Constant(_I32, 0))
        return self.b.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(_I32, kind.count), [0] * kind.count))

    def read(self, address: Any, kind: Any) -> Any:
        return self.b.load(self.b.inttoptr(address, kind.as_pointer()), align=1)

    def at(self, table: Any, index: Any) -> Any:
        """Entry `index` of a table of addresses."""
        place = self.b.add(table, self.b.mul(index, ir.Constant(_I64, 8)))
        return self.b.load(self.b.inttoptr(place, _I64.as_pointer()))

    def prefetch(self, address: Any) -> None:
        """Ask for the line at `address`; one that is not mapped does no harm."""
        pointer = _I8.as_pointer()
        function = self.b.module.declare_intrinsic("llvm.prefetch", [pointer], _PREFETCH)
        hints = [ir.Constant(_I32, hint) for hint in (0, 3, 1)]  # to read, into every cache, data
        self.b.call(function, [self.b.inttoptr(address, pointer), *hints])

    def offset(self, address: Any, count: int) -> Any:
        return self.b.add(address, ir.Constant(_I64, count))

    def shuffled(self, a: Any, c: Any, pattern: list[int]) -> Any:
        return self.b.shuffle_vector(a, c, ir.Constant(ir.VectorType(_I32, self.shape.width), pattern))

    def apart(self, pair: list[Any]) -> list[Any]:
        """Low bytes and high bytes of two vectors of 16-bit symbols, within 128-bit lanes so that it stays cheap."""
        width = self.shape.width
        even = [v + 2 * i for lane in range(0, width, 16) for v in (lane, lane + width) for i in range(8)]
        return [self.shuffled(pair[0], pair[1], [index + place for index in even]) for place in (0, 1)]

    def together(self, low: Any, high: Any) -> list[Any]:
        """The inverse of `apart`."""
        width = self.shape.width
        first = [v for lane in range(0, width, 16) for i in range(8) for v in (lane + i, lane + i + width)]
        return [self.shuffled(low, high, [index + half for index in first]) for half in (0, 8)]

    def gather(self, address: Any) -> list[Any]:
        """One unit: a vector, or low and high bytes."""
        pieces = [self.read(self.offset(address, part * self.shape.width), self.vector) for part in range(self.parts)]
        return self.apart(pieces) if self.shape.split else pieces

    def scatter(self, unit: list[Any], address: Any) -> None:
        for part, piece in enumerate(self.together(*unit) if self.shape.split else unit):
            place = self.b.inttoptr(self.offset(address, part * self.shape.width), self.vector.as_pointer())
            self.b.store(piece, place, align=1)

    def prepared(self, unit: list[Any]) -> list[Any]:
        """What products of this unit share: nibbles for shuffles, the bytes themselves otherwise."""
        if self.shape.method != "pshufb":
            return unit
        low = ir.Constant(self.vector, [15] * self.shape.width)
        four = ir.Constant(ir.VectorType(_I16, self.shape.width // 2), [4] * (self.shape.width // 2))
        nibbles = []
        for part in unit:
            moved = self.b.bitcast(self.b.lshr(self.b.bitcast(part, four.type), four), self.vector)
            nibbles += [self.b.and_(part, low), self.b.and_(moved, low)]
        return nibbles

    def maps(self, address: Any) -> list[Any]:
        """The table of one coefficient in registers."""
        shape = self.shape
        if shape.method == "gfni":
            kind = ir.VectorType(_I64, shape.width // 8)
            words = [self.read(self.offset(address, 8 * index), _I64) for index in range(shape.table_bytes // 8)]
            return [self.b.bitcast(self.splat(word, kind), self.vector) for word in words]
        if shape.method == "pshufb":
            sixteen = ir.VectorType(_I8, 16)
            again = ir.Constant(ir.VectorType(_I32, shape.width), [index % 16 for index in range(shape.width)])
            tables = [self.read(self.offset(address, 16 * index), sixteen) for index in range(shape.table_bytes // 16)]
            return [self.b.shuffle_vector(table, ir.Constant(sixteen, ir.Undefined), again) for table in tables]
        element = self.lanes.element
        size = shape.bits // 8
        images = [self.read(self.offset(address, size * bit), element) for bit in range(shape.bits)]
        return [self.splat(image, self.lanes) for image in images]

    def product(self, maps: list[Any], unit: list[Any]) -> list[Any]:
        """The maps of a coefficient applied to a prepared unit."""
        if self.shape.method == "masks":
            return [self._masked(maps, unit[0])]
        width = len(unit)  # 1 or 2 bytes by gfni, 2 or 4 nibbles by pshufb
        return [self._sum(maps[row * width : (row + 1) * width], unit) for row in range(self.parts)]

    def _sum(self, maps: list[Any], unit: list[Any]) -> Any:
        total = None
        for table, operand in zip(maps, unit, strict=True):
            if self.shape.method == "gfni":
                term = self.call(_AFFINE[self.shape.width], [operand, table, ir.Constant(_I8, 0)])
            else:
                term = self.call(_PSHUFB[self.shape.width], [table, operand])
            total = term if total is None else self.b.xor(total, term)
        return total

    def _masked(self, columns: list[Any], operand: Any) -> Any:
        """Σ of the images of the bits that are set, from the top bit down: the sign of a lane is its mask."""
        moving = self.b.bitcast(operand, self.lanes)
        total = ir.Constant(self.lanes, [0] * self.lanes.count)
        for column in reversed(columns):
            total = self.b.xor(total, self.b.and_(self.sign(moving), column))
            moving = self.b.add(moving, moving)
        return self.b.bitcast(total, self.vector)

    def sign(self, values: Any) -> Any:
        zero = ir.Constant(self.lanes, [0] * self.lanes.count)
        return self.b.sext(self.b.icmp_signed("<", values, zero), self.lanes)

    def doubled(self, part: Any) -> Any:
        """α times every symbol."""
        values = self.b.bitcast(part, self.lanes)
        reduction = POLYNOMIAL[self.shape.bits] & ((1 << self.shape.bits) - 1)
        taken = self.b.and_(self.sign(values), ir.Constant(self.lanes, [reduction] * self.lanes.count))
        return self.b.bitcast(self.b.xor(self.b.add(values, values), taken), self.vector)


class _Block:
    """One block of columns: the sums of every row, unit and part, on the stack until they become registers."""

    def __init__(self, b: Any, shape: Shape, arguments: tuple[Any, ...], rest: bool) -> None:
        self.e, self.b, self.shape, self.rest = _Emitter(b, shape), b, shape, rest
        sources, outputs, tables, stride, last, end, start, size, fresh = arguments
        self.sources, self.tables, self.stride, self.last, self.end = sources, tables, stride, last, end
        self.start, self.size, self.fresh = start, size, fresh
        parts = range(self.e.parts)
        self.sums = [
            [[cgutils.alloca_once(b, self.e.vector) for _ in parts] for _ in range(shape.units)]
            for _ in range(shape.rows)
        ]
        self.places = [b.add(self.e.at(outputs, ir.Constant(_I64, row)), start) for row in range(shape.rows)]
        if rest:
            room = ir.ArrayType(_I8, shape.step)
            buffer = cgutils.alloca_once(b, room)
            b.store(ir.Constant(room, None), buffer)
            self.buffer = b.ptrtoint(buffer, _I64)

    def emit(self) -> None:
        with self.b.if_else(self.fresh) as (new, old):
            with new:
                for place in (place for row in self.sums for unit in row for place in unit):
                    self.b.store(ir.Constant(self.e.vector, [0] * self.shape.width), place)
            with old:
                for row, base in zip(self.sums, self.places, strict=True):
                    for places, unit in zip(row, self.units(base), strict=True):
                        for place, part in zip(places, unit, strict=True):
                            self.b.store(part, place)
        with cgutils.for_range(self.b, self.b.sub(self.last, self.end)) as loop:
            self.add(self.b.sub(self.b.sub(self.last, ir.Constant(_I64, 1)), loop.index))
        for row, base in zip(self.sums, self.places, strict=True):
            for index, places in enumerate(row):
                self.put([self.b.load(place) for place in places], self.e.offset(base, index * self.shape.step))

    def units(self, base: Any) -> list[list[Any]]:
        """What one shard holds in this block."""
        if not self.rest:
            return [self.e.gather(self.e.offset(base, index * self.shape.step)) for index in range(self.shape.units)]
        self.copy(self.buffer, base)
        return [self.e.gather(self.buffer)]

    def put(self, unit: list[Any], address: Any) -> None:
        self.e.scatter(unit, self.buffer if self.rest else address)
        if self.rest:
            self.copy(address, self.buffer)

    def copy(self, target: Any, origin: Any) -> None:
        pointer = _I8.as_pointer()
        ends = (self.b.inttoptr(address, pointer) for address in (target, origin))
        cgutils.raw_memcpy(self.b, *ends, self.size, 1)

    def add(self, j: Any) -> None:
        """Add source j to every row."""
        e, shape = self.e, self.shape
        base = self.b.add(e.at(self.sources, j), self.start)
        for line in range(0, 0 if self.rest else shape.units * shape.step, 64):
            e.prefetch(e.offset(base, line + AHEAD))
        units = self.units(base)
        ready = [e.prepared(unit) for unit in units]
        table = self.b.add(self.tables, self.b.mul(j, self.stride))
        for row in range(shape.rows):
            plain = row < shape.ones or shape.method in ("xor", "horner")
            maps = [] if plain else e.maps(e.offset(table, row * shape.table_bytes))
            for index, unit in enumerate(units):
                terms = unit if plain else e.product(maps, ready[index])
                for place, term in zip(self.sums[row][index], terms, strict=True):
                    self.add_to(place, term, row)

    def add_to(self, place: Any, term: Any, row: int) -> None:
        total = self.b.load(place)
        for _ in range(row if self.shape.method == "horner" else 0):
            total = self.e.doubled(total)
        self.b.store(self.b.xor(total, term), place)


def block(shape: Shape, *, rest: bool = False) -> Callable[..., None]:
    """A function for numba-compiled code: block(sources, outputs, tables, stride, last, end, start, size, fresh).

    `sources` and `outputs` point to tables of addresses; sources last - 1 down to end are added, whose tables stand
    `stride` bytes apart; `fresh` starts from zero instead of from what the outputs hold. With `rest`, which needs one
    unit, it is the last `size` bytes of a shard, fewer than a unit, by way of the stack.
    """

    @intrinsic
    def emitted(  # type: ignore[no-untyped-def]
        typingctx, sources, outputs, tables, stride, last, end, start, size, fresh
    ):
        signature = types.void(*[types.int64] * 8, types.boolean)

        def codegen(context, builder, _signature, arguments):  # type: ignore[no-untyped-def]
            _Block(builder, shape, arguments, rest).emit()
            return context.get_dummy_value()

        return signature, codegen

    return emitted  # type: ignore[no-any-return]
