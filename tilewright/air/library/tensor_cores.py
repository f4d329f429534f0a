"""Products of bf16 and f16 on Hopper's tensor cores, for matrices of any size, from one build.

A block computes a tile of 128 x 256: two groups of four waves multiply with `wgmma`, 64 rows each, and one more wave
has the copy engine bring tiles of A and B to four places in memory of the block. Barriers there say which places are
full and which are empty. The engine reads the shapes of A and B from descriptions, which a kernel of its own writes
first; what it copies from beyond their edges is zero. Sums are f32.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import DenseArrayBase, UnitAttr, i32, i64
from xdsl.ir import Attribute

from tilewright.air.arrays import Array
from tilewright.air.dtypes import f32, ui8, value_type
from tilewright.air.functions import jit
from tilewright.air.levels import cdiv, launch, sequential, yield_
from tilewright.air.tiles import shared
from tilewright.air.vectors import vector, vstore
from tilewright.air.waves import barrier, lane, wave
from tilewright.dialects import llvm
from tilewright.dialects import memref as ops
from tilewright.dialects._syntax import INDEX
from tilewright.iron import math
from tilewright.iron.builders.control import else_, if_
from tilewright.iron.builders.handles import ssa_of
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import ScalarValue, constant

ROWS, COLUMNS, DEPTH, STAGES, LANES = 128, 256, 64, 4, 32
GROUP_ROWS = 64
COPIER = ROWS // GROUP_ROWS * 4
"""The wave behind those that multiply."""
ACROSS = 64
"""Elements of the 128 bytes that the engine exchanges chunks within, and so the width of what it copies at a time."""
A_BYTES, B_BYTES, PART_BYTES = 2 * ROWS * DEPTH, 2 * DEPTH * COLUMNS, 2 * DEPTH * ACROSS
STAGE_BYTES = A_BYTES + B_BYTES
FULL = STAGES * STAGE_BYTES
EMPTY = FULL + 8 * STAGES
MAP_BYTES = 128
MAPS_BYTES = 2 * MAP_BYTES
ALIGNMENT = 1024
SUMS = GROUP_ROWS * COLUMNS // (4 * LANES)
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""
ELEMENTS = {"float16": (6, "f16"), "bfloat16": (10, "bf16")}
"""By dtype: the code of `tensormap.replace`, and the suffix of `wgmma`."""
SWIZZLE_128 = 3
SWIZZLED = 1 << 62
"""In a matrix descriptor: chunks of 16 bytes are exchanged within 128 bytes."""
GRANULE = 8
"""Elements of 16 bytes: rows of A and B begin at multiples of them."""


@jit
def tensor_product(
    a: Any, b: Any, bias: Any, c: Any, maps: Any, scale: Any, *, has_bias: bool, finish: Callable[[Any], Any] | None
) -> None:
    """`c = finish(scale * a b + bias)`; `maps` is room for descriptions, of 256 bytes."""
    (m, k), n = a.shape, b.shape[1]
    code, suffix = ELEMENTS[a.dtype.name]

    @launch(1, waves=1)
    def _(_: Any) -> None:
        _describe(a, b, maps, code)

    @launch(cdiv(m, ROWS) * cdiv(n, COLUMNS), waves=COPIER + 1)
    def _(block: Any) -> None:
        row, column = _tile_of(block, cdiv(m, ROWS), cdiv(n, COLUMNS))
        TensorBlock(maps, suffix, row * ROWS, column * COLUMNS, cdiv(k, DEPTH)).run(
            lambda value, y, x: _store(c, value, y, x, bias if has_bias else None, scale, finish)
        )


def _tile_of(block: Any, down: Any, across: Any) -> tuple[Any, Any]:
    """Blocks go down bands of tiles, so that those that run at the same time read few rows and columns."""
    size = across * BAND
    band, inside = block // size, block % size
    high = math.minimum(down - band * BAND, BAND)
    return band * BAND + inside % high, inside // high


def _store(c: Array, pair: tuple[Any, Any], row: Any, column: Any, bias: Array | None, scale: Any, finish: Any) -> None:
    """Two neighbouring elements of C, if it has them; rows have an even number of elements."""
    with if_((row < c.shape[0]) & (column < c.shape[1]), hasElse=False):
        values = [value * scale for value in pair]
        if bias is not None:
            values = [value + bias[column + number] for number, value in enumerate(values)]
        if finish is not None:
            values = [finish(value) for value in values]
        vstore(
            vector([value.astype(value_type(c.dtype)) for value in values]),
            c,
            (row, column),
            alignment=2 * c.dtype.itemsize,
        )


def _number(value: Any, type: Attribute) -> ScalarValue:
    return constant(value, type) if isinstance(value, int) else value.astype(type)


def _address(array: Array) -> ScalarValue:
    start = build(ops.ExtractAlignedPointerAsIndexOp, results=[INDEX], source=array).results[0]
    return ScalarValue(start).astype(i64)


def _effect(lines: Sequence[str], constraints: str, values: Sequence[Any]) -> None:
    _assembly(lines, f"{constraints},~{{memory}}", values, [])


def _assembly(lines: Sequence[str], constraints: str, values: Sequence[Any], results: Sequence[Attribute]) -> Any:
    fields: dict[str, Any] = {
        "asm_string": f"{{ {' '.join(lines)} }}",
        "constraints": constraints,
        "has_side_effects": UnitAttr(),
    }
    return build(llvm.InlineAsmOp, results=list(results), operands_=[ssa_of(value) for value in values], **fields)


def _near(room: Array) -> ScalarValue:
    """The address of memory of the block among its 32 bits of addresses, at a multiple of what the engine wants."""
    near = f"cvta.to.shared.u64 $0, $1; add.s64 $0, $0, {ALIGNMENT - 1}; and.b64 $0, $0, -{ALIGNMENT};"
    found = _assembly([near], "=l,l", [_address(room)], [i64])
    return ScalarValue(found.results[0]).astype(i32)


def _wait(place: str, parity: str) -> str:
    """Until a barrier's phase of that parity is over."""
    wait = f"mbarrier.try_wait.parity.shared::cta.b64 done, [{place}], {parity};"
    return f"{{ .reg .pred done; WAITING: {wait} @!done bra WAITING; }}"


def _describe(a: Array, b: Array, maps: Array, code: int) -> None:
    """What tells the copy engine the shapes of both matrices, and of the parts that it is to copy."""
    room = shared(MAPS_BYTES + ALIGNMENT, ui8)
    lines = [".reg .pred first; .reg .b32 at; setp.eq.u32 first, $4, 0; shl.b32 at, $4, 2; add.u32 at, at, $0;"]
    lines += [f"st.shared.b32 [at+{MAP_BYTES * number}], 0;" for number in range(2)]
    lines += ["bar.warp.sync -1;"]
    lines += _description(0, "$1", ("$5", "$6", "$8"), (ACROSS, ROWS), code)
    lines += _description(MAP_BYTES, "$2", ("$7", "$5", "$9"), (ACROSS, DEPTH), code)
    lines += ["bar.warp.sync -1; .reg .b64 far; .reg .b32 near;"]
    for number in range(2):
        publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
        lines.append(f"add.u32 near, $0, {MAP_BYTES * number}; add.s64 far, $3, {MAP_BYTES * number};")
        lines.append(f"{publish} [far], [near], {MAP_BYTES};")
    (m, k), n = a.shape, b.shape[1]
    addresses = [_address(array) for array in (a, b, maps)]
    sizes = [_number(size, i32) for size in (k, m, n)]
    strides = [_number(size * 2, i64) for size in (k, n)]
    values = [_near(room), *addresses, lane().astype(i32), *sizes, *strides]
    _effect(lines, "r,l,l,l,r,r,r,r,l,l", values)


def _description(
    place: int, address: str, size: tuple[str, str, str], box: tuple[int, int], code: int
) -> Iterator[str]:
    fields: list[tuple[str, int, Any]] = [("global_address", 64, address), ("rank", 32, 1)]
    for dimension in range(2):
        fields += [("box_dim", 32, f"{dimension}, {box[dimension]}"), ("element_stride", 32, f"{dimension}, 1")]
        fields += [("global_dim", 32, f"{dimension}, {size[dimension]}")]
    fields += [("global_stride", 64, f"0, {size[2]}"), ("elemtype", 32, code), ("interleave_layout", 32, 0)]
    fields += [("swizzle_mode", 32, SWIZZLE_128), ("fill_mode", 32, 0)]
    for name, width, value in fields:
        yield f"@first tensormap.replace.tile.{name}.shared::cta.b1024.b{width} [$0+{place}], {value};"


class TensorBlock:
    """The work of a block, from the place of one lane."""

    def __init__(self, maps: Array, suffix: str, row0: Any, column0: Any, steps: Any):
        self.suffix, self.row0, self.column0, self.steps = suffix, row0, column0, steps
        self.shared = _near(shared(EMPTY + 8 * STAGES + ALIGNMENT, ui8))
        self.maps = _address(maps)
        self.lane32 = lane().astype(i32)

    def run(self, store: Callable[[tuple[Any, Any], Any, Any], None]) -> None:
        """Compute the tile; `store` takes two neighbouring elements and their place."""
        copies = wave() == COPIER
        with if_(copies, hasElse=False):
            self._prepare()
        barrier()
        with if_(copies) as parts, if_(lane() == 0, hasElse=False):
            self._copy()
        with else_(parts):
            self._write(self._multiply(), store)

    def _prepare(self) -> None:
        """Barriers, and the descriptions as they are now."""
        lines = [".reg .pred first; .reg .b64 far; setp.eq.u32 first, $2, 0;"]
        for stage in range(STAGES):
            lines.append(f"@first mbarrier.init.shared::cta.b64 [$0+{FULL + 8 * stage}], 1;")
            lines.append(f"@first mbarrier.init.shared::cta.b64 [$0+{EMPTY + 8 * stage}], {COPIER};")
        lines += ["fence.mbarrier_init.release.cluster;"]
        for number in range(2):
            lines.append(f"add.s64 far, $1, {MAP_BYTES * number};")
            lines.append(f"fence.proxy.tensormap::generic.acquire.gpu [far], {MAP_BYTES};")
        _effect(lines, "r,l,r", [self.shared, self.maps, self.lane32])

    def _turn(self, step: Any) -> tuple[Any, Any]:
        """The stage of a step in depth, and the parity of how often the stage was used before."""
        return step % STAGES, step // STAGES % 2

    def _place(self, offset: int, stage: Any, size: int) -> ScalarValue:
        """Of a stage, among things of that size."""
        return self.shared + (stage * size + offset).astype(i32)

    def _copy(self) -> None:
        """One lane has all tiles copied, as soon as their places are empty."""
        for step in sequential(0, self.steps):
            stage, parity = self._turn(step)
            lines = [".reg .b32 to, at; .reg .b64 map;", _wait(f"$1+{EMPTY - FULL}", "$2")]
            lines += [f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], {STAGE_BYTES};"]
            lines += [_part("$0", "$3", "$4", "$5"), f"add.s64 map, $3, {MAP_BYTES};"]
            for number in range(COLUMNS // ACROSS):
                lines += [f"add.u32 to, $0, {A_BYTES + PART_BYTES * number}; add.u32 at, $6, {ACROSS * number};"]
                lines += [_part("to", "map", "at", "$4")]
            values = [
                self._place(0, stage, STAGE_BYTES),
                self._place(FULL, stage, 8),
                (1 - parity).astype(i32),
                self.maps,
                (step * DEPTH).astype(i32),
                self.row0.astype(i32),
                self.column0.astype(i32),
            ]
            _effect(lines, "r,r,r,l,r,r,r", values)

    def _with_sums(self, lines: Sequence[str], constraints: Sequence[str], values: Sequence[Any]) -> list[ScalarValue]:
        """Instructions that go on with the sums, which are the first operands."""
        number = value_type(f32)
        struct = llvm.LLVMStructType.from_type_list([number] * SUMS)
        all = ",".join([*["=f"] * SUMS, *map(str, range(SUMS)), *constraints, "~{memory}"])
        got = _assembly(lines, all, values, [struct]).results[0]
        places = [DenseArrayBase.from_list(i64, [place]) for place in range(SUMS)]
        return [
            ScalarValue(build(llvm.ExtractValueOp, results=[number], container=got, position=place).res)
            for place in places
        ]

    def _multiply(self) -> list[ScalarValue]:
        group = wave() // 4 * (2 * GROUP_ROWS * DEPTH)
        results: Any = ()
        for at, sums, results in sequential(0, self.steps, iter_args=[constant(0.0)] * SUMS):  # noqa: B007
            yield_(self._step(at, sums, group))
        return self._with_sums(["wgmma.wait_group.sync.aligned 0;"], [], results)

    def _step(self, at: Any, sums: Sequence[Any], group: Any) -> list[ScalarValue]:
        """Multiply the tiles of one stage; when the ones before are multiplied, their place is empty."""
        first = 2 * SUMS
        stage, parity = self._turn(at)
        place = self._place(0, stage, STAGE_BYTES)
        free = self._place(EMPTY, (at + STAGES - 1) % STAGES, 8)
        # in the first step there is none before
        silent = self.lane32 + math.where(at == 0, constant(1), constant(0))
        a, b, full, phase, empty, quiet = (f"${first + number}" for number in range(6))
        lines = [".reg .pred on; .reg .b64 a, b;", _wait(full, phase), "setp.eq.u32 on, 0, 0;"]
        lines += [*_descriptor("a", a, 0, 1, 8 * 128), *_descriptor("b", b, A_BYTES, PART_BYTES, 8 * 128)]
        lines += ["wgmma.fence.sync.aligned;"]
        registers = ", ".join(f"${number}" for number in range(SUMS))
        multiply = f"wgmma.mma_async.sync.aligned.m64n{COLUMNS}k16.f32.{self.suffix}.{self.suffix}"
        for number in range(DEPTH // 16):
            if number:
                lines += ["add.s64 a, a, 2; add.s64 b, b, 128;"]
            lines += [f"{multiply} {{{registers}}}, a, b, on, 1, 1, 0, 1;"]
        lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
        lines += [f"setp.eq.u32 on, {quiet}, 0; @on mbarrier.arrive.shared::cta.b64 _, [{empty}];"]
        values = [
            *sums,
            place + group.astype(i32),
            place,
            self._place(FULL, stage, 8),
            parity.astype(i32),
            free,
            silent,
        ]
        return self._with_sums(lines, ["r"] * 6, values)

    def _write(self, sums: Sequence[Any], store: Callable[[tuple[Any, Any], Any, Any], None]) -> None:
        row0 = self.row0 + wave() * 16 + lane() // 4
        column0 = self.column0 + lane() % 4 * 2
        for half in range(2):
            row = row0 + 8 * half if half else row0
            for column in range(COLUMNS // 8):
                low, high = sums[4 * column + 2 * half :][:2]
                store((low, high), row, column0 + 8 * column if column else column0)


def _part(to: str, map: str, column: str, row: str) -> str:
    copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
    return f"{copy} [{to}], [{map}, {{{column}, {row}}}], [$1];"


def _descriptor(name: str, address: str, offset: int, leading: int, stride: int) -> Iterator[str]:
    """Of a matrix in memory of the block: where it is, and how far apart its parts are in its two directions."""
    fixed = SWIZZLED | (stride >> 4) << 32 | (leading >> 4) << 16
    yield f"cvt.u64.u32 {name}, {address}; add.s64 {name}, {name}, {offset}; shr.u64 {name}, {name}, 4;"
    yield f"or.b64 {name}, {name}, {fixed};"
