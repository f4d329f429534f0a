"""Matrix products of bf16 on Hopper's tensor cores, as AIR programs with a few instructions of PTX in them.

A block computes a tile of 128 x 256: two groups of four waves multiply with `wgmma`, 64 rows each, and one more wave
has the copy engine bring tiles of A and B to four places in shared memory. Barriers in shared memory say which places
are full and which are empty. The engine reads the shapes of A and B from descriptions that each block writes where
its tile of C will be. Sums are f32, the result is rounded to bf16.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager

from matmul import Text
from matmul_bf16 import matrix_types, tiled_program

ROWS, COLUMNS, DEPTH, STAGES, WAVE = 128, 256, 64, 4, 32
GROUP_ROWS = 64
COPIER = ROWS // GROUP_ROWS * 4
"""The wave behind those that multiply."""
ACROSS = 64
"""Elements of the 128 bytes that the engine exchanges chunks within, and so the width of what it copies at a time."""
A_BYTES, B_BYTES, BLOCK_BYTES = 2 * ROWS * DEPTH, 2 * DEPTH * COLUMNS, 2 * DEPTH * ACROSS
STAGE_BYTES = A_BYTES + B_BYTES
FULL = STAGES * STAGE_BYTES
EMPTY = FULL + 8 * STAGES
MAP_BYTES = 128
MAPS = FULL + MAP_BYTES
ALIGNMENT = 1024
SHARED = f"memref<{MAPS + 2 * MAP_BYTES + ALIGNMENT}xi8, 1>"
SUMS = GROUP_ROWS * COLUMNS // (4 * WAVE)
BAND = 16
"""Blocks that run at the same time share this many rows of tiles."""
BF16, SWIZZLE_128 = 10, 3
"""Codes of `tensormap.replace`."""
SWIZZLED = 1 << 62
"""In a matrix descriptor: chunks of 16 bytes are exchanged within 128 bytes."""


def grid(m: int, n: int) -> tuple[int, int]:
    return n // COLUMNS, m // ROWS


def matmul_bf16_wgmma(m: int, n: int, k: int) -> str:
    """The program for sizes that are multiples of the tiles; C holds two elements in each i32."""
    assert m % ROWS == 0 and n % COLUMNS == 0 and k % DEPTH == 0
    types = matrix_types(m, n, k)
    return tiled_program(types, grid(m, n), COPIER + 1, SHARED, _Body(m, n, k, types).text)


def _wait(barrier: str, parity: str) -> str:
    """Until a barrier's phase of that parity is over."""
    wait = f"mbarrier.try_wait.parity.shared::cta.b64 done, [{barrier}], {parity};"
    return f"{{ .reg .pred done; WAITING: {wait} @!done bra WAITING; }}"


def _description(place: int, address: str, size: tuple[int, int], box: tuple[int, int]) -> Iterator[str]:
    """What tells the copy engine the shape of a matrix, and of the parts that it is to copy."""
    fields = [("global_address", 64, address), ("rank", 32, 1)]
    for dimension in range(2):
        fields += [("box_dim", 32, f"{dimension}, {box[dimension]}"), ("element_stride", 32, f"{dimension}, 1")]
        fields += [("global_dim", 32, f"{dimension}, {size[dimension]}")]
    fields += [("global_stride", 64, f"0, {2 * size[0]}"), ("elemtype", 32, BF16), ("interleave_layout", 32, 0)]
    fields += [("swizzle_mode", 32, SWIZZLE_128), ("fill_mode", 32, 0)]
    for name, width, value in fields:
        yield f"@first tensormap.replace.tile.{name}.shared::cta.b1024.b{width} [$0+{place}], {value};"


class _Body:
    """What a thread does. Addresses in shared memory are of 32 bits."""

    def __init__(self, m: int, n: int, k: int, types: tuple[str, str, str]):
        self.m, self.n, self.k, self.types = m, n, k, types
        self.text = text = Text()
        self.lane = text.let("gpu.lane_id")
        self.lane32 = self._i32(self.lane)
        self._find_tile()
        generic = text.let(f"memref.extract_aligned_pointer_as_index %S : {SHARED} -> index")
        near = f"cvta.to.shared.u64 $0, $1; add.s64 $0, $0, {ALIGNMENT - 1}; and.b64 $0, $0, -{ALIGNMENT};"
        wide = text.let(f'llvm.inline_asm "{near}", "=l,l" {self._i64(generic)} : (i64) -> i64')
        self.shared = text.let(f"arith.trunci {wide} : i64 to i32")
        self._find_maps()
        copies = text.let(f"arith.cmpi eq, %wave, {text.index(COPIER)} : index")
        with self._branch(copies):
            self._prepare()
        text.add("gpu.barrier")
        with self._branch(copies):
            with self._branch(text.let(f"arith.cmpi eq, {self.lane}, {text.index(0)} : index")):
                self._copy()
            text.add("} else {")
            self._write(self._multiply())

    @contextmanager
    def _branch(self, condition: str) -> Generator[None]:
        self.text.add(f"scf.if {condition} {{")
        yield
        self.text.add("}")

    def _i32(self, value: str) -> str:
        return self.text.let(f"arith.index_cast {value} : index to i32")

    def _i64(self, value: str) -> str:
        return self.text.let(f"arith.index_cast {value} : index to i64")

    def _effect(self, lines: Sequence[str], constraints: str, values: Sequence[str], types: str) -> None:
        asm = f'llvm.inline_asm has_side_effects "{{ {" ".join(lines)} }}", "{constraints},~{{memory}}"'
        self.text.add(f"{asm} {', '.join(values)} : ({types}) -> ()")

    def _find_tile(self) -> None:
        """Blocks go down bands of tiles, so that those that run at the same time read few rows and columns."""
        text, (across, down) = self.text, grid(self.m, self.n)
        high = next(high for high in range(BAND, 0, -1) if down % high == 0)
        block = text.binary("addi", text.binary("muli", "%by", across), "%bx")
        band, inside = (text.binary(operation, block, across * high) for operation in ("divui", "remui"))
        row = text.binary("addi", text.binary("muli", band, high), text.binary("remui", inside, high))
        self.row0 = text.binary("muli", row, ROWS)
        self.column0 = text.binary("muli", text.binary("divui", inside, high), COLUMNS)

    def _find_maps(self) -> None:
        text = self.text
        addresses = [
            text.let(f"memref.extract_aligned_pointer_as_index %{name} : {type} -> index")
            for name, type in zip("ABC", self.types, strict=True)
        ]
        element = text.binary("addi", text.binary("muli", self.row0, self.n), self.column0)
        room = text.binary("addi", addresses[2], text.binary("muli", element, 2))
        self.a, self.b, self.maps = (self._i64(address) for address in (*addresses[:2], room))

    def _prepare(self) -> None:
        """Barriers, and descriptions of A and B for the copy engine."""
        lines = [".reg .pred first; .reg .b32 at; setp.eq.u32 first, $4, 0; shl.b32 at, $4, 2; add.u32 at, at, $0;"]
        for stage in range(STAGES):
            lines.append(f"@first mbarrier.init.shared::cta.b64 [$0+{FULL + 8 * stage}], 1;")
            lines.append(f"@first mbarrier.init.shared::cta.b64 [$0+{EMPTY + 8 * stage}], {COPIER};")
        lines += ["fence.mbarrier_init.release.cluster;"]
        lines += [f"st.shared.b32 [at+{MAPS + MAP_BYTES * number}], 0;" for number in range(2)]
        lines += ["bar.warp.sync -1;"]
        lines += _description(MAPS, "$1", (self.k, self.m), (ACROSS, ROWS))
        lines += _description(MAPS + MAP_BYTES, "$2", (self.n, self.k), (ACROSS, DEPTH))
        lines += ["bar.warp.sync -1; .reg .b64 far; .reg .b32 near;"]
        for number in range(2):
            publish = "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned"
            lines.append(f"add.u32 near, $0, {MAPS + MAP_BYTES * number}; add.s64 far, $3, {MAP_BYTES * number};")
            lines.append(f"{publish} [far], [near], {MAP_BYTES};")
            lines.append(f"fence.proxy.tensormap::generic.acquire.gpu [far], {MAP_BYTES};")
        values = self.shared, self.a, self.b, self.maps, self.lane32
        self._effect(lines, "r,l,l,l,r", values, "i32, i64, i64, i64, i32")

    def _steps(self) -> str:
        """How many steps in depth there are, as a number that the compiler does not know: it would unroll them all."""
        count = self.text.let(f'llvm.inline_asm "mov.b64 $0, {self.k // DEPTH};", "=l" : () -> i64')
        return self.text.let(f"arith.index_cast {count} : i64 to index")

    def _turn(self, step: str) -> tuple[str, str]:
        """The stage of a step in depth, and the parity of how often the stage was used before."""
        text = self.text
        return text.binary("remui", step, STAGES), text.binary("remui", text.binary("divui", step, STAGES), 2)

    def _place(self, offset: int, stage: str, size: int) -> str:
        """Of a stage, among things of that size."""
        moved = self._i32(self.text.add_index(self.text.binary("muli", stage, size), offset))
        return self.text.let(f"arith.addi {self.shared}, {moved} : i32")

    def _copy(self) -> None:
        """One thread has all tiles copied, as soon as their places are empty."""
        text = self.text
        start, end, one = text.index(0), self._steps(), text.index(1)
        text.add(f"scf.for %step = {start} to {end} step {one} {{")
        stage, parity = self._turn("%step")
        place, barrier = self._place(0, stage, STAGE_BYTES), self._place(FULL, stage, 8)
        lines = [".reg .b32 to, at; .reg .b64 map;", _wait(f"$1+{EMPTY - FULL}", "$2")]
        lines += [f"mbarrier.arrive.expect_tx.shared::cta.b64 _, [$1], {STAGE_BYTES};"]
        lines += self._part("$0", "$3", "$4", "$5")
        lines += [f"add.s64 map, $3, {MAP_BYTES};"]
        for number in range(COLUMNS // ACROSS):
            lines += [f"add.u32 to, $0, {A_BYTES + BLOCK_BYTES * number}; add.u32 at, $6, {ACROSS * number};"]
            lines += self._part("to", "map", "at", "$4")
        before = self._i32(text.binary("xori", parity, 1))
        depth = self._i32(text.binary("muli", "%step", DEPTH))
        values = place, barrier, before, self.maps, depth, self._i32(self.row0), self._i32(self.column0)
        self._effect(lines, "r,r,r,l,r,r,r", values, "i32, i32, i32, i64, i32, i32, i32")
        text.add("}")

    def _part(self, to: str, map: str, column: str, row: str) -> Iterator[str]:
        copy = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
        yield f"{copy} [{to}], [{map}, {{{column}, {row}}}], [$1];"

    def _sums(self, lines: Sequence[str], constraints: Sequence[str], values: Sequence[str], types: str) -> list[str]:
        """Instructions that go on with the sums, which are the operands $0 to $127."""
        text, struct = self.text, f"!llvm.struct<({', '.join(['f32'] * SUMS)})>"
        all = ",".join([*["=f"] * SUMS, *map(str, range(SUMS)), *constraints, "~{memory}"])
        given = ", ".join(["f32"] * SUMS) + types
        asm = f'llvm.inline_asm has_side_effects "{{ {" ".join(lines)} }}", "{all}"'
        got = text.let(f"{asm} {', '.join(values)} : ({given}) -> {struct}")
        return [text.let(f"llvm.extractvalue {got}[{number}] : {struct}") for number in range(SUMS)]

    def _multiply(self) -> list[str]:
        text = self.text
        zero = text.let("arith.constant 0.0 : f32")
        start, end, one = text.index(0), self._steps(), text.index(1)
        names = [f"%acc{number}" for number in range(SUMS)]
        types = ", ".join(["f32"] * SUMS)
        carried = ", ".join(f"{name} = {zero}" for name in names)
        group = text.binary("muli", text.binary("divui", "%wave", 4), 2 * GROUP_ROWS * DEPTH)
        text.add(f"%done:{SUMS} = scf.for %at = {start} to {end} step {one} iter_args({carried}) -> ({types}) {{")
        text.add(f"scf.yield {', '.join(self._step(names, group))} : {types}")
        text.add("}")
        return self._sums(["wgmma.wait_group.sync.aligned 0;"], [], [f"%done#{n}" for n in range(SUMS)], "")

    def _step(self, sums: Sequence[str], group: str) -> list[str]:
        """Multiply the tiles of one stage; when the ones before are multiplied, their place is empty."""
        text, first = self.text, 2 * SUMS
        stage, parity = self._turn("%at")
        before = text.binary("remui", text.binary("addi", "%at", STAGES - 1), STAGES)
        place, barrier = self._place(0, stage, STAGE_BYTES), self._place(FULL, stage, 8)
        own = text.let(f"arith.addi {place}, {self._i32(group)} : i32")
        free = self._place(EMPTY, before, 8)
        is_first = text.binary("xori", text.binary("minui", "%at", 1), 1)
        silent = text.let(f"arith.addi {self.lane32}, {self._i32(is_first)} : i32")
        a, b, full, phase, empty, quiet = (f"${first + number}" for number in range(6))
        lines = [".reg .pred on; .reg .b64 a, b;", _wait(full, phase), "setp.eq.u32 on, 0, 0;"]
        lines += [*_descriptor("a", a, 0, 1, 8 * 128), *_descriptor("b", b, A_BYTES, BLOCK_BYTES, 8 * 128)]
        lines += ["wgmma.fence.sync.aligned;"]
        registers = ", ".join(f"${number}" for number in range(SUMS))
        for number in range(DEPTH // 16):
            if number:
                lines += ["add.s64 a, a, 2; add.s64 b, b, 128;"]
            multiply = f"wgmma.mma_async.sync.aligned.m64n{COLUMNS}k16.f32.bf16.bf16"
            lines += [f"{multiply} {{{registers}}}, a, b, on, 1, 1, 0, 1;"]
        lines += ["wgmma.commit_group.sync.aligned;", "wgmma.wait_group.sync.aligned 1;"]
        lines += [f"setp.eq.u32 on, {quiet}, 0; @on mbarrier.arrive.shared::cta.b64 _, [{empty}];"]
        values = *sums, own, place, barrier, self._i32(parity), free, silent
        return self._sums(lines, ["r"] * 6, values, ", i32" * 6)

    def _write(self, sums: Sequence[str]) -> None:
        text = self.text
        group, place = text.binary("divui", self.lane, 4), text.binary("remui", self.lane, 4)
        row0 = text.binary("addi", text.binary("addi", self.row0, text.binary("muli", "%wave", 16)), group)
        column0 = text.binary("addi", text.binary("divui", self.column0, 2), place)
        pack = 'llvm.inline_asm "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f"'
        for half in range(2):
            row = text.add_index(row0, 8 * half)
            for column in range(COLUMNS // 8):
                low, high = sums[4 * column + 2 * half :][:2]
                value = text.let(f"{pack} {high}, {low} : (f32, f32) -> i32")
                text.add(f"memref.store {value}, %C[{row}, {text.add_index(column0, 4 * column)}] : {self.types[2]}")


def _descriptor(name: str, address: str, offset: int, leading: int, stride: int) -> Iterator[str]:
    """Of a matrix in shared memory: where it is, and how far apart its parts are in its two directions."""
    fixed = SWIZZLED | (stride >> 4) << 32 | (leading >> 4) << 16
    yield f"cvt.u64.u32 {name}, {address}; add.s64 {name}, {name}, {offset}; shr.u64 {name}, {name}, 4;"
    yield f"or.b64 {name}, {name}, {fixed};"
