"""Matrix products as AIR programs, written out for a size and a shape of tiles.

`C = A B` in f32: a block computes a tile of C. Its threads copy tiles of A (transposed) and B into shared memory with
loads of 16 bytes, the next tiles while the present ones are multiplied, and keep a tile of C each in registers. Where
tiles reach over the edges, loads give zeros and stores are left out; rows whose length is no multiple of four elements
are loaded and stored one by one.
"""

from __future__ import annotations

from dataclasses import dataclass

VECTOR = 4
"""Elements of 16 bytes."""


@dataclass(frozen=True)
class Tiles:
    """Rows, columns and depth of a block's tile; rows and columns of a thread's."""

    m: int
    n: int
    k: int
    rows: int
    columns: int
    lane_rows: int = 8
    """A wave is so many threads high."""
    wave: int = 32

    @property
    def threads(self) -> int:
        return self.m // self.rows * (self.n // self.columns)

    @property
    def a_stride(self) -> int:
        """Rows of the transposed tile are padded, so that writing columns does not meet in one bank."""
        return self.m + VECTOR

    def check(self) -> None:
        lane_columns = self.wave // self.lane_rows
        assert self.m // self.rows % self.lane_rows == 0 and self.n // self.columns % lane_columns == 0
        assert self.m * self.k % (VECTOR * self.threads) == 0 and self.n * self.k % (VECTOR * self.threads) == 0


class Text:
    """Lines of a program, with names for what they compute."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._count = 0

    def add(self, line: str) -> None:
        self.lines.append(line)

    def let(self, expression: str) -> str:
        self._count += 1
        self.add(f"%v{self._count} = {expression}")
        return f"%v{self._count}"

    def index(self, number: int) -> str:
        return self.let(f"arith.constant {number} : index")

    def binary(self, name: str, lhs: str, rhs: str | int) -> str:
        other = self.index(rhs) if isinstance(rhs, int) else rhs
        return self.let(f"arith.{name} {lhs}, {other} : index")

    def add_index(self, lhs: str, rhs: str | int) -> str:
        return lhs if rhs == 0 else self.binary("addi", lhs, rhs)


LARGE, SMALL = Tiles(128, 128, 8, 16, 8), Tiles(64, 64, 16, 8, 8)
MANY_BLOCKS = 200
"""Fewer of them leave much of a large GPU idle."""


def tiles_for(m: int, n: int) -> Tiles:
    """Large tiles read less memory, small ones keep the GPU busy with small matrices."""
    return LARGE if -(-m // LARGE.m) * -(-n // LARGE.n) >= MANY_BLOCKS else SMALL


def matmul_f32(m: int, n: int, k: int, tiles: Tiles | None = None) -> str:
    """The program for sizes that are known when it is compiled."""
    tiles = tiles or tiles_for(m, n)
    tiles.check()
    types = f"memref<{m}x{k}xf32>, memref<{k}x{n}xf32>, memref<{m}x{n}xf32>"
    a, b, c = types.split(", ")
    shared_a, shared_b = f"memref<2x{tiles.k}x{tiles.a_stride}xf32, 1>", f"memref<2x{tiles.k}x{tiles.n}xf32, 1>"
    body = "\n".join(_Body(m, n, k, tiles, (a, b, c), (shared_a, shared_b)).text.lines)
    return f"""module attributes {{gpu.container_module}} {{
func.func @matmul(%a: {a}, %b: {b}, %c: {c}) {{
  %gx = arith.constant {-(-n // tiles.n)} : index
  %gy = arith.constant {-(-m // tiles.m)} : index
  air.launch (%lx, %ly) in (%nx = %gx, %ny = %gy) args(%la = %a, %lb = %b, %lc = %c) : {types} {{
    air.segment @tile args(%sx = %lx, %sy = %ly, %sa = %la, %sb = %lb, %sc = %lc) : index, index, {types} {{
      %as = memref.alloc() : {shared_a}
      %bs = memref.alloc() : {shared_b}
      %waves = arith.constant {tiles.threads // tiles.wave} : index
      %one = arith.constant 1 : index
      air.herd @compute tile (%wave, %unused) in (%w = %waves, %u = %one)
          args(%bx = %sx, %by = %sy, %A = %sa, %B = %sb, %C = %sc, %As = %as, %Bs = %bs)
          : index, index, {types}, {shared_a}, {shared_b} {{
{body}
      }}
    }}
  }}
  return
}}
}}
"""


class _Body:
    """What a thread does."""

    def __init__(self, m: int, n: int, k: int, tiles: Tiles, types: tuple[str, str, str], shared: tuple[str, str]):
        self.m, self.n, self.k = m, n, k
        self.tiles, self.types, self.shared = tiles, types, shared
        self.zeros = "arith.constant dense<0.0> : vector<4xf32>"
        self.text = text = Text()
        lane = text.let("gpu.lane_id")
        self.thread = text.binary("addi", text.binary("muli", "%wave", tiles.wave), lane)
        self.row0, self.column0 = (text.binary("muli", *pair) for pair in (("%by", tiles.m), ("%bx", tiles.n)))
        self._place(lane)
        zero = text.index(0)
        self._copy(self._fetch(zero), zero)
        text.add("gpu.barrier")
        accumulators = self._loop(zero)
        self._write(accumulators)

    def _place(self, lane: str) -> None:
        """Which rows and columns of the tile are the thread's: groups of four, as far apart as all threads reach."""
        text, tiles = self.text, self.tiles
        lane_columns = tiles.wave // tiles.lane_rows
        waves_across = tiles.n // tiles.columns // lane_columns
        wave_row, wave_column = (text.binary(name, "%wave", waves_across) for name in ("divui", "remui"))
        lane_row, lane_column = (text.binary(name, lane, lane_columns) for name in ("divui", "remui"))
        y = text.binary("addi", text.binary("muli", wave_row, tiles.lane_rows), lane_row)
        x = text.binary("addi", text.binary("muli", wave_column, lane_columns), lane_column)
        self.y, self.x = text.binary("muli", y, VECTOR), text.binary("muli", x, VECTOR)

    def _slots(self, width: int, height: int) -> list[tuple[str, str]]:
        """The rows and columns of the vectors that the thread copies, of a tile that is `width` wide."""
        text, threads = self.text, self.tiles.threads
        across = width // VECTOR
        places: list[tuple[str, str]] = []
        for first in range(0, width * height // VECTOR, threads):
            number = text.add_index(self.thread, first)
            column = text.binary("muli", text.binary("remui", number, across), VECTOR)
            places.append((text.binary("divui", number, across), column))
        return places

    def _fetch(self, at: str) -> tuple[list[str], list[str]]:
        """The tiles that begin at `at`, from memory to registers."""
        tiles = self.tiles
        exact = self.k % tiles.k == 0
        a = [
            self._fetched(
                "%A", (self.m, self.k), self.types[0], (self.row0, row), (at, column), exact and self.m % tiles.m == 0
            )
            for row, column in self._slots(tiles.k, tiles.m)
        ]
        b = [
            self._fetched(
                "%B",
                (self.k, self.n),
                self.types[1],
                (at, row),
                (self.column0, column),
                exact and self.n % tiles.n == 0,
            )
            for row, column in self._slots(tiles.n, tiles.k)
        ]
        return a, b

    def _fetched(
        self,
        buffer: str,
        size: tuple[int, int],
        type: str,
        rows: tuple[str, str],
        columns: tuple[str, str],
        exact: bool,
    ) -> str:
        """Four elements of a matrix, zeros where it has none."""
        text = self.text
        row, column = (text.binary("addi", *pair) for pair in (rows, columns))
        if exact:
            return self._load(buffer, type, row, column)
        width = VECTOR if size[1] % VECTOR == 0 else 1
        parts = [
            self._guarded(buffer, size, type, row, text.add_index(column, at), width) for at in range(0, VECTOR, width)
        ]
        return parts[0] if width == VECTOR else text.let(f"vector.from_elements {', '.join(parts)} : vector<4xf32>")

    def _inside(self, size: tuple[int, int], row: str, column: str) -> str:
        text = self.text
        low, right = (
            text.let(f"arith.cmpi ult, {place}, {text.index(end)} : index")
            for place, end in zip((row, column), size, strict=True)
        )
        return text.let(f"arith.andi {low}, {right} : i1")

    def _guarded(self, buffer: str, size: tuple[int, int], type: str, row: str, column: str, width: int) -> str:
        """One element or four, from the beginning of the matrix where they would be outside, and zero then."""
        text, inside = self.text, self._inside(size, row, column)
        zero = text.index(0)
        row, column = (text.let(f"arith.select {inside}, {place}, {zero} : index") for place in (row, column))
        if width == VECTOR:
            value, kind = self._load(buffer, type, row, column), "vector<4xf32>"
            nothing = text.let(self.zeros)
        else:
            value, kind = text.let(f"memref.load {buffer}[{row}, {column}] : {type}"), "f32"
            nothing = text.let("arith.constant 0.0 : f32")
        return text.let(f"arith.select {inside}, {value}, {nothing} : {kind}")

    def _load(self, buffer: str, type: str, *indices: str) -> str:
        place = ", ".join(indices)
        return self.text.let(f"vector.load {buffer}[{place}] {{alignment = 16 : i64}} : {type}, vector<4xf32>")

    def _copy(self, fetched: tuple[list[str], list[str]], buffer: str) -> None:
        """From registers to one of the two places in shared memory."""
        text, tiles = self.text, self.tiles
        for (row, column), value in zip(self._slots(tiles.k, tiles.m), fetched[0], strict=True):
            for number in range(VECTOR):
                element = text.let(f"vector.extract {value}[{number}] : f32 from vector<4xf32>")
                depth = text.add_index(column, number)
                text.add(f"memref.store {element}, %As[{buffer}, {depth}, {row}] : {self.shared[0]}")
        for (row, column), value in zip(self._slots(tiles.n, tiles.k), fetched[1], strict=True):
            place = f"%Bs[{buffer}, {row}, {column}]"
            text.add(f"vector.store {value}, {place} {{alignment = 16 : i64}} : {self.shared[1]}, vector<4xf32>")

    def _loop(self, zero: str) -> list[str]:
        text, tiles = self.text, self.tiles
        count = tiles.rows * tiles.columns // VECTOR
        start = text.let(self.zeros)
        types = ", ".join(["vector<4xf32>"] * count)
        names = [f"%acc{number}" for number in range(count)]
        carried = ", ".join(f"{name} = {start}" for name in names)
        last = (-(-self.k // tiles.k) - 1) * tiles.k
        end, step = text.index(last + tiles.k), text.index(tiles.k)
        text.add(f"%done:{count} = scf.for %at = {zero} to {end} step {step} iter_args({carried}) -> ({types}) {{")
        turn = text.binary("remui", text.binary("divui", "%at", tiles.k), 2)
        other = text.binary("subi", text.index(1), turn)
        following = text.let(f"arith.minui {text.binary('addi', '%at', tiles.k)}, {text.index(last)} : index")
        fetched = self._fetch(following)
        results = self._multiply(turn, names, types)
        self._copy(fetched, other)
        text.add("gpu.barrier")
        text.add(f"scf.yield {', '.join(results)} : {types}")
        text.add("}")
        return [f"%done#{number}" for number in range(count)]

    def _multiply(self, turn: str, names: list[str], types: str) -> list[str]:
        """The products of one tile with another: a short loop that is unrolled."""
        text, tiles, count = self.text, self.tiles, len(names)
        inner = [f"%in{number}" for number in range(count)]
        carried = ", ".join(f"{new} = {old}" for new, old in zip(inner, names, strict=True))
        zero, end, one = text.index(0), text.index(tiles.k), text.index(1)
        text.add(f"%sum:{count} = scf.for %kk = {zero} to {end} step {one} iter_args({carried}) -> ({types}) {{")
        rows = self._fragment("%As", self.shared[0], turn, self.y, tiles.m, tiles.rows)
        columns = self._fragment("%Bs", self.shared[1], turn, self.x, tiles.n, tiles.columns)
        scalars = [self._spread(row, number) for row in rows for number in range(VECTOR)]
        sums: list[str] = []
        for row, scalar in enumerate(scalars):
            for column, vector in enumerate(columns):
                accumulator = inner[row * len(columns) + column]
                sums.append(text.let(f"vector.fma {scalar}, {vector}, {accumulator} : vector<4xf32>"))
        text.add(f"scf.yield {', '.join(sums)} : {types}")
        text.add("}")
        return [f"%sum#{number}" for number in range(count)]

    def _spread(self, vector: str, number: int) -> str:
        """Copies of one element."""
        element = self.text.let(f"vector.extract {vector}[{number}] : f32 from vector<4xf32>")
        return self.text.let(f"vector.broadcast {element} : f32 to vector<4xf32>")

    def _fragment(self, buffer: str, type: str, turn: str, first: str, extent: int, count: int) -> list[str]:
        apart = extent // (count // VECTOR)
        return [
            self._load(buffer, type, turn, "%kk", self.text.add_index(first, group * apart))
            for group in range(count // VECTOR)
        ]

    def _write(self, accumulators: list[str]) -> None:
        text, tiles = self.text, self.tiles
        groups, across = tiles.rows // VECTOR, tiles.columns // VECTOR
        for row in range(tiles.rows):
            offset = row // VECTOR * (tiles.m // groups) + row % VECTOR
            y = text.add_index(text.binary("addi", self.row0, self.y), offset)
            for column in range(across):
                x = text.add_index(text.binary("addi", self.column0, self.x), column * (tiles.n // across))
                self._store(accumulators[row * across + column], y, x)

    def _store(self, value: str, row: str, column: str) -> None:
        text, type, size = self.text, self.types[2], (self.m, self.n)
        whole = f"vector.store {value}, %C[{row}, {column}] {{alignment = 16 : i64}} : {type}, vector<4xf32>"
        if self.m % self.tiles.m == 0 and self.n % self.tiles.n == 0:
            text.add(whole)
        elif self.n % VECTOR == 0:
            text.add(f"scf.if {self._inside(size, row, column)} {{ {whole} }}")
        else:
            for number in range(VECTOR):
                element = text.let(f"vector.extract {value}[{number}] : f32 from vector<4xf32>")
                place = text.add_index(column, number)
                inside = self._inside(size, row, place)
                text.add(f"scf.if {inside} {{ memref.store {element}, %C[{row}, {place}] : {type} }}")
