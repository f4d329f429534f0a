"""Matrix products of bf16 on NVIDIA's tensor cores, as AIR programs with a few instructions of PTX in them.

A block of four waves computes a tile of 128 x 128, each wave 64 x 64 with `mma.sync`. Tiles of A and B come through
three places in shared memory, filled by asynchronous copies two tiles ahead; chunks of 16 bytes are exchanged within
rows so that eight rows of a fragment lie in different banks. Sums are f32, the result is rounded to bf16.
"""

from __future__ import annotations

from matmul import Text

TILE, DEPTH, STAGES, WAVES, WAVE = 128, 64, 3, 4, 32
CHUNK = 8
"""Elements of 16 bytes."""
A_BYTES = B_BYTES = 2 * TILE * DEPTH
SHARED = f"memref<{STAGES * (A_BYTES + B_BYTES)}xi8, 1>"
FRAGMENT = "!llvm.struct<(i32, i32, i32, i32)>"
SUMS = "!llvm.struct<(f32, f32, f32, f32)>"
LOAD = "ldmatrix.sync.aligned.m8n8.x4{}.shared.b16 {{$0, $1, $2, $3}}, [$4+{}];"
MULTIPLY = (
    "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {$0, $1, $2, $3}, {$4, $5, $6, $7}, {$8, $9}, "
    "{$10, $11, $12, $13};"
)


def matmul_bf16(m: int, n: int, k: int) -> str:
    """The program for sizes that are multiples of the tiles; C holds two elements in each i32."""
    assert m % TILE == 0 and n % TILE == 0 and k % DEPTH == 0 and k >= STAGES * DEPTH
    types = matrix_types(m, n, k)
    return tiled_program(types, (n // TILE, m // TILE), WAVES, SHARED, _Body(n, k, types).text)


def matrix_types(m: int, n: int, k: int) -> tuple[str, str, str]:
    """Of A, B and C."""
    return f"memref<{m}x{k}xbf16>", f"memref<{k}x{n}xbf16>", f"memref<{m}x{n // 2}xi32>"


def tiled_program(matrices: tuple[str, str, str], grid: tuple[int, int], waves: int, shared: str, body: Text) -> str:
    """A program whose waves have the body, which knows A, B, C, their block's bx, by and its memory S."""
    a, b, c = matrices
    types = ", ".join(matrices)
    lines = "\n".join(body.lines)
    return f"""module attributes {{gpu.container_module}} {{
func.func @matmul(%a: {a}, %b: {b}, %c: {c}) {{
  %gx = arith.constant {grid[0]} : index
  %gy = arith.constant {grid[1]} : index
  air.launch (%lx, %ly) in (%nx = %gx, %ny = %gy) args(%la = %a, %lb = %b, %lc = %c) : {types} {{
    air.segment @tile args(%sx = %lx, %sy = %ly, %sa = %la, %sb = %lb, %sc = %lc) : index, index, {types} {{
      %places = memref.alloc() : {shared}
      %waves = arith.constant {waves} : index
      %one = arith.constant 1 : index
      air.herd @compute tile (%wave, %unused) in (%w = %waves, %u = %one)
          args(%bx = %sx, %by = %sy, %A = %sa, %B = %sb, %C = %sc, %S = %places)
          : index, index, {types}, {shared} {{
{lines}
      }}
    }}
  }}
  return
}}
}}
"""


class _Body:
    """What a thread does. Addresses in shared memory are of 32 bits; what differs by a constant is written into PTX."""

    def __init__(self, n: int, k: int, types: tuple[str, str, str]):
        self.n, self.k, self.types = n, k, types
        self.text = text = Text()
        self.lane = text.let("gpu.lane_id")
        self.thread = text.binary("addi", text.binary("muli", "%wave", WAVE), self.lane)
        self.row0, self.column0 = text.binary("muli", "%by", TILE), text.binary("muli", "%bx", TILE)
        self.wave_row = text.binary("muli", text.binary("divui", "%wave", 2), TILE // 2)
        self.wave_column = text.binary("muli", text.binary("remui", "%wave", 2), TILE // 2)
        generic = text.let(f"memref.extract_aligned_pointer_as_index %S : {SHARED} -> index")
        wide = text.let(f"arith.index_cast {generic} : index to i64")
        near = text.let(f'llvm.inline_asm "cvta.to.shared.u64 $0, $1;", "=l,l" {wide} : (i64) -> i64')
        self.shared = text.let(f"arith.trunci {near} : i64 to i32")
        self._prepare_copies()
        self._prepare_fragments()
        zero = text.index(0)
        for stage in range(STAGES - 1):
            self._copy(text.index(stage * DEPTH), text.index(stage))
        self._write(self._loop(zero))

    def _i32(self, value: str) -> str:
        return self.text.let(f"arith.index_cast {value} : index to i32")

    def _sum32(self, lhs: str, rhs: str) -> str:
        return self.text.let(f"arith.addi {lhs}, {rhs} : i32")

    def _chunk(self, row: str, chunk: str, across: int) -> str:
        """Where a chunk of a tile that is `across` chunks wide lies, in bytes: exchanged with others of its row."""
        text = self.text
        moved = text.binary("xori", chunk, text.binary("remui", row, 8))
        return text.binary("muli", text.binary("addi", text.binary("muli", row, across), moved), 2 * CHUNK)

    def _prepare_copies(self) -> None:
        """Of both matrices: where the thread's first chunk comes from, where it goes, and how far apart all are."""
        text, threads = self.text, WAVES * WAVE
        self.sources: list[tuple[str, int, int]] = []
        self.targets: list[tuple[str, int]] = []
        for name, across, width, start in (
            ("A", DEPTH // CHUNK, self.k, 0),
            ("B", TILE // CHUNK, self.n, A_BYTES),
        ):
            row, chunk = (text.binary(operation, self.thread, across) for operation in ("divui", "remui"))
            first = text.binary("addi", self.row0, row) if name == "A" else row
            column = text.binary("muli", chunk, CHUNK)
            column = column if name == "A" else text.binary("addi", self.column0, column)
            element = text.binary("addi", text.binary("muli", first, width), column)
            type = self.types["AB".index(name)]
            matrix = text.let(f"memref.extract_aligned_pointer_as_index %{name} : {type} -> index")
            rows = threads // across
            source = text.binary("addi", matrix, text.binary("muli", element, 2))
            self.sources.append((source, 2 if name == "A" else 2 * self.n, 2 * rows * width))
            place = text.add_index(self._chunk(row, chunk, across), start)
            self.targets.append((self._i32(place), 2 * CHUNK * across * rows))

    def _prepare_fragments(self) -> None:
        """Where the lane's rows of the fragments lie: of A for each step in depth, of B for each pair of columns."""
        text = self.text
        half, low = text.binary("divui", self.lane, 16), text.binary("remui", self.lane, 16)
        row = text.binary("addi", self.wave_row, low)
        steps = [text.add_index(half, 2 * step) for step in range(DEPTH // 16)]
        self.a_places = [self._i32(self._chunk(row, chunk, DEPTH // CHUNK)) for chunk in steps]
        first = text.binary("addi", text.binary("divui", self.wave_column, CHUNK), half)
        pairs = [text.add_index(first, 2 * pair) for pair in range(4)]
        places = [text.add_index(self._chunk(low, chunk, TILE // CHUNK), A_BYTES) for chunk in pairs]
        self.b_places = [self._i32(place) for place in places]

    def _stage(self, number: str) -> str:
        offset = self._i32(self.text.binary("muli", number, A_BYTES + B_BYTES))
        return self._sum32(self.shared, offset)

    def _copy(self, at: str, stage: str) -> None:
        """Begin to copy the tiles that begin at depth `at` into one of the places."""
        text, base = self.text, self._stage(stage)
        for (source, scale, apart), (target, step) in zip(self.sources, self.targets, strict=True):
            here = text.binary("addi", source, text.binary("muli", at, scale))
            wide, place = text.let(f"arith.index_cast {here} : index to i64"), self._sum32(base, target)
            for number in range(TILE * DEPTH // CHUNK // (WAVES * WAVE)):
                copy = f"cp.async.cg.shared.global [$0+{number * step}], [$1+{number * apart}], 16;"
                begin = f'llvm.inline_asm has_side_effects "{copy}", "r,l,~{{memory}}"'
                text.add(f"{begin} {place}, {wide} : (i32, i64) -> ()")
        text.add('llvm.inline_asm has_side_effects "cp.async.commit_group;", "~{memory}" : () -> ()')

    def _loop(self, zero: str) -> list[str]:
        text, count = self.text, 4 * 8 * 4
        start = text.let("arith.constant 0.0 : f32")
        types = ", ".join(["f32"] * count)
        names = [f"%acc{number}" for number in range(count)]
        carried = ", ".join(f"{name} = {start}" for name in names)
        end, step = text.index(self.k), text.index(DEPTH)
        text.add(f"%done:{count} = scf.for %at = {zero} to {end} step {step} iter_args({carried}) -> ({types}) {{")
        text.add(f'llvm.inline_asm has_side_effects "cp.async.wait_group {STAGES - 2};", "~{{memory}}" : () -> ()')
        text.add("gpu.barrier")
        turn = text.binary("divui", "%at", DEPTH)
        ahead = text.binary("addi", "%at", (STAGES - 1) * DEPTH)
        last = text.index(self.k - DEPTH)
        following = text.let(f"arith.minui {ahead}, {last} : index")
        base = self._stage(text.binary("remui", turn, STAGES))
        a_places = [self._sum32(base, place) for place in self.a_places]
        b_places = [self._sum32(base, place) for place in self.b_places]
        self._copy(following, text.binary("remui", text.add_index(turn, STAGES - 1), STAGES))
        sums, loaded = names, self._fragments(a_places[0], b_places, 0)
        for number in range(len(a_places)):
            present, following = loaded, number + 1
            if following < len(a_places):
                loaded = self._fragments(a_places[following], b_places, following)
            sums = self._products(*present, sums)
        text.add(f"scf.yield {', '.join(sums)} : {types}")
        text.add("}")
        return [f"%done#{number}" for number in range(count)]

    def _fragment(self, place: str, offset: int, kind: str) -> list[str]:
        text = self.text
        load = f'llvm.inline_asm has_side_effects "{LOAD.format(kind, offset)}", "=r,=r,=r,=r,r"'
        got = text.let(f"{load} {place} : (i32) -> {FRAGMENT}")
        return [text.let(f"llvm.extractvalue {got}[{number}] : {FRAGMENT}") for number in range(4)]

    def _fragments(self, a_place: str, b_places: list[str], step: int) -> tuple[list[list[str]], list[list[str]]]:
        """Sixteen columns of A and sixteen rows of B; the next ones are loaded before these are multiplied."""
        a = [self._fragment(a_place, tile * 16 * 2 * DEPTH, "") for tile in range(4)]
        pairs = [self._fragment(place, step * 16 * 2 * TILE, ".trans") for place in b_places]
        return a, [half for pair in pairs for half in (pair[:2], pair[2:])]

    def _products(self, a: list[list[str]], b: list[list[str]], sums: list[str]) -> list[str]:
        return [
            found
            for tile in range(4)
            for column in range(8)
            for found in self._mma(a[tile], b[column], sums, tile, column)
        ]

    def _mma(self, a: list[str], b: list[str], sums: list[str], tile: int, column: int) -> list[str]:
        text, first = self.text, 4 * (8 * tile + column)
        operands = ", ".join([*a, *b, *sums[first : first + 4]])
        types = ", ".join(["i32"] * 6 + ["f32"] * 4)
        asm = f'llvm.inline_asm "{MULTIPLY}", "=f,=f,=f,=f,r,r,r,r,r,r,0,1,2,3"'
        got = text.let(f"{asm} {operands} : ({types}) -> {SUMS}")
        return [text.let(f"llvm.extractvalue {got}[{number}] : {SUMS}") for number in range(4)]

    def _write(self, sums: list[str]) -> None:
        text = self.text
        group, place = text.binary("divui", self.lane, 4), text.binary("remui", self.lane, 4)
        row0 = text.binary("addi", text.binary("addi", self.row0, self.wave_row), group)
        column0 = text.binary("divui", text.binary("addi", self.column0, self.wave_column), 2)
        column0 = text.binary("addi", column0, place)
        pack = 'llvm.inline_asm "cvt.rn.bf16x2.f32 $0, $1, $2;", "=r,f,f"'
        for tile in range(4):
            for half in range(2):
                row = text.add_index(row0, 16 * tile + 8 * half)
                for column in range(8):
                    first = 4 * (8 * tile + column) + 2 * half
                    low, high = sums[first], sums[first + 1]
                    value = text.let(f"{pack} {high}, {low} : (f32, f32) -> i32")
                    text.add(
                        f"memref.store {value}, %C[{row}, {text.add_index(column0, 4 * column)}] : {self.types[2]}"
                    )
