"""A matrix product on a 4x4 array: rows of A go along rows of cores, columns of B along columns, C is gathered."""

from __future__ import annotations

from collections.abc import Iterator

ROWS = COLUMNS = 4
TILE = 32
"""Tiles are 32x32 of i16, and 32 deep."""
MACS_PER_CYCLE = 64
"""Vector peak of an AIE2 core for i16: AM020 and public product briefs."""
LANES = 16
"""Elements of i16 in a store of 256 bits, one in a cycle: AM020 ch. 4."""
ELEMENT = f"memref<{TILE}x{TILE}xi16>"


KERNELS = f"""  func.func private @zero(%c: {ELEMENT})
      attributes {{tilewright.cycles = {TILE * TILE // LANES} : i64}} {{
    %zero = arith.constant dense<0> : vector<{TILE}xi16>
    %c0 = arith.constant 0 : index
    affine.for %i = 0 to {TILE} {{
      vector.store %zero, %c[%i, %c0] : {ELEMENT}, vector<{TILE}xi16>
    }}
    return
  }}
  func.func private @matmul(%a: {ELEMENT}, %b: {ELEMENT}, %c: {ELEMENT})
      attributes {{tilewright.cycles = {TILE**3 // MACS_PER_CYCLE} : i64}} {{
    %c0 = arith.constant 0 : index
    affine.for %i = 0 to {TILE} {{
      %before = vector.load %c[%i, %c0] : {ELEMENT}, vector<{TILE}xi16>
      %after = affine.for %k = 0 to {TILE} iter_args(%sum = %before) -> (vector<{TILE}xi16>) {{
        %x = memref.load %a[%i, %k] : {ELEMENT}
        %xs = vector.broadcast %x : i16 to vector<{TILE}xi16>
        %ys = vector.load %b[%k, %c0] : {ELEMENT}, vector<{TILE}xi16>
        %xy = arith.muli %xs, %ys : vector<{TILE}xi16>
        %next = arith.addi %sum, %xy : vector<{TILE}xi16>
        affine.yield %next : vector<{TILE}xi16>
      }}
      vector.store %after, %c[%i, %c0] : {ELEMENT}, vector<{TILE}xi16>
    }}
    return
  }}"""
"""What the cores call: written to be quick here, with the cycles that the device's vector unit would take."""


def gemm_text(m: int, k: int, n: int) -> str:
    """A design for the product of an m x k and a k x n matrix of i16; all are multiples of 128, 32 and 128."""
    return "\n".join(["aie.device(npu1) {", *_tiles(), *_fifos(), *_cores(k), *_sequence(m, k, n), "}"])


def _tiles() -> Iterator[str]:
    for column in range(COLUMNS):
        for row in range(2 + ROWS):
            yield f"  %t{column}_{row} = aie.tile({column}, {row})"
    yield from KERNELS.splitlines()


def _fifo(name: str, producer: str, consumers: str, element: str = ELEMENT) -> str:
    return f"  aie.objectfifo @{name}({producer}, {{{consumers}}}, 2 : i32) : !aie.objectfifo<{element}>"


def _fifos() -> Iterator[str]:
    for i in range(COLUMNS):
        row = ", ".join(f"%t{column}_{2 + i}" for column in range(COLUMNS))
        column = ", ".join(f"%t{i}_{2 + row}" for row in range(ROWS))
        for name, cores in (("a", row), ("b", column)):
            yield _fifo(f"{name}{i}", f"%t{i}_0", f"%t{i}_1")
            yield _fifo(f"{name}{i}_cores", f"%t{i}_1", cores)
            yield f"  aie.objectfifo.link [@{name}{i}] -> [@{name}{i}_cores] ([] [])"
        for j in range(ROWS):
            yield _fifo(f"c{i}_{j}", f"%t{i}_{2 + j}", f"%t{i}_1")
        yield _fifo(f"c{i}", f"%t{i}_1", f"%t{i}_0", f"memref<{ROWS * TILE}x{TILE}xi16>")
        parts = ", ".join(f"@c{i}_{j}" for j in range(ROWS))
        offsets = ", ".join(str(j * TILE * TILE) for j in range(ROWS))
        yield f"  aie.objectfifo.link [{parts}] -> [@c{i}] ([{offsets}] [])"


def _cores(k: int) -> Iterator[str]:
    view = f"!aie.objectfifosubview<{ELEMENT}>"
    for column in range(COLUMNS):
        for row in range(ROWS):
            takes = f"a{row}_cores", f"b{column}_cores"
            yield f"  aie.core(%t{column}_{2 + row}) {{"
            yield "    %c0 = arith.constant 0 : index"
            yield "    %c1 = arith.constant 1 : index"
            yield "    %many = arith.constant 4294967295 : index"
            yield f"    %steps = arith.constant {k // TILE} : index"
            yield "    scf.for %tile = %c0 to %many step %c1 {"
            yield f"      %cv = aie.objectfifo.acquire @c{column}_{row}(Produce, 1) : {view}"
            yield f"      %c = aie.objectfifo.subview.access %cv[0] : {view} -> {ELEMENT}"
            yield f"      func.call @zero(%c) : ({ELEMENT}) -> ()"
            yield "      scf.for %step = %c0 to %steps step %c1 {"
            for name, fifo in zip("ab", takes, strict=True):
                yield f"        %{name}v = aie.objectfifo.acquire @{fifo}(Consume, 1) : {view}"
                yield f"        %{name} = aie.objectfifo.subview.access %{name}v[0] : {view} -> {ELEMENT}"
            yield f"        func.call @matmul(%a, %b, %c) : ({ELEMENT}, {ELEMENT}, {ELEMENT}) -> ()"
            for fifo in takes:
                yield f"        aie.objectfifo.release @{fifo}(Consume, 1)"
            yield "      }"
            yield f"      aie.objectfifo.release @c{column}_{row}(Produce, 1)"
            yield "    }"
            yield "    aie.end"
            yield "  }"


def _sequence(m: int, k: int, n: int) -> Iterator[str]:
    yield f"  aie.runtime_sequence @gemm(%a: memref<{m}x{k}xi16>, %b: memref<{k}x{n}xi16>, %c: memref<{m}x{n}xi16>) {{"
    blocks = [(r, c) for r in range(m // (ROWS * TILE)) for c in range(n // (COLUMNS * TILE))]
    for number, (r, c) in enumerate(blocks):
        first = 3 * (number % 2)
        for i in range(COLUMNS):
            row, column = TILE * (ROWS * r + i), TILE * (COLUMNS * c + i)
            deep = f"[1, {k // TILE}, {TILE}, {TILE}]"
            yield _transfer("a", f"[0, 0, {row}, 0]{deep}[0, {TILE}, {k}, 1]", first, f"a{i}", f"{m}x{k}")
            yield _transfer("b", f"[0, 0, 0, {column}]{deep}[0, {TILE * n}, {n}, 1]", first + 1, f"b{i}", f"{k}x{n}")
            whole = f"[0, 0, {ROWS * TILE * r}, {column}][1, 1, {ROWS * TILE}, {TILE}][0, 0, {n}, 1]"
            yield _transfer("c", whole, first + 2, f"c{i}", f"{m}x{n}", token=True)
        if number:
            yield from _waits()
    yield from _waits()
    yield "  }"


def _waits() -> Iterator[str]:
    for i in range(COLUMNS):
        yield f"    aiex.npu.dma_wait {{symbol = @c{i}}}"


def _transfer(buffer: str, pattern: str, bd: int, fifo: str, shape: str, token: bool = False) -> str:
    issue = ", issue_token = true" if token else ""
    fields = f"{{id = {bd} : i64, metadata = @{fifo}{issue}}}"
    return f"    aiex.npu.dma_memcpy_nd(%{buffer}{pattern}) {fields} : memref<{shape}xi16>"
