"""Machine code on 16 cores: a design in which each takes blocks from the host, adds to their words and gives them back.

The loop has a load, a sum and a store in each bundle, and all cores are busy. Speed is that of the second run on a
loaded device, as modelled cycles in a second of the processor, the best of several runs; and the bundles of one core on
its own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from timing import best

import tilewright as tw
from tilewright.containers.cdo import cdo_of
from tilewright.containers.pdi import pdi_from_cdos
from tilewright.device import model as device_model
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.driver.compiled_design import Design
from tilewright.isa import assemble
from tilewright.isa.core import FlatMemory
from tilewright.isa.native_core import NativeCore
from tilewright.txn.containers import read_container
from tilewright.xrt.partition import ConfiguredDevice, Settings, carry_out

COLUMNS, ROWS = range(4), range(2, 6)
BLOCK = 1024
"""Words of a block: an object of a FIFO, in 128 vectors of 32 bytes."""
BLOCKS = 64
AMOUNT = 3
DATA, OWN_LOCKS, PROGRAM = 0x70000, 48, 0x20000
TURNS = 16
"""Of the loop over the vectors of a block, in which a core does them all again."""

COLUMN = """
  %shim{c} = aie.tile({c}, 0)
  %mem{c} = aie.tile({c}, 1)
  {tiles}
  aie.objectfifo @in{c}(%shim{c}, {{%mem{c}}}, 2 : i32) : !aie.objectfifo<memref<{all}xi32>>
  aie.objectfifo @out{c}(%mem{c}, {{%shim{c}}}, 2 : i32) : !aie.objectfifo<memref<{all}xi32>>
  {fifos}
  aie.objectfifo.link [@in{c}] -> [{ins}] ([] [{offsets}])
  aie.objectfifo.link [{outs}] -> [@out{c}] ([{offsets}] [])
"""
CORE = """
  %tile{c}{r} = aie.tile({c}, {r})
  %core{c}{r} = aie.core(%tile{c}{r}) {{ aie.end }}
"""
FIFOS = """
  aie.objectfifo @in{c}{r}(%mem{c}, {{%tile{c}{r}}}, 2 : i32) : !aie.objectfifo<memref<{block}xi32>>
  aie.objectfifo @out{c}{r}(%tile{c}{r}, {{%mem{c}}}, 2 : i32) : !aie.objectfifo<memref<{block}xi32>>
"""
TRANSFER = """
  aiex.npu.dma_memcpy_nd(%{way}{c}[0,0,0,0][1,1,1,{total}][0,0,0,1]) {{id={id}:i64, {token} metadata=@{way}{c}}}
    : memref<{total}xi32>
"""


def design_text() -> str:
    total = BLOCKS * BLOCK * len(ROWS)
    columns = list[str]()
    for c in COLUMNS:
        ins, outs = (", ".join(f"@{way}{c}{r}" for r in ROWS) for way in ("in", "out"))
        tiles, fifos = ("".join(text.format(c=c, r=r, block=BLOCK) for r in ROWS) for text in (CORE, FIFOS))
        offsets = ", ".join(str(BLOCK * number) for number in range(len(ROWS)))
        whole = BLOCK * len(ROWS)
        columns.append(COLUMN.format(c=c, ins=ins, outs=outs, all=whole, tiles=tiles, fifos=fifos, offsets=offsets))
    arguments = ", ".join(f"%{way}{c}: memref<{total}xi32>" for c in COLUMNS for way in ("in", "out"))
    transfers = [
        TRANSFER.format(way=way, c=c, total=total, id=number, token=token)
        for c in COLUMNS
        for number, (way, token) in enumerate((("out", "issue_token=true,"), ("in", "")))
    ]
    waits = [f"aiex.npu.dma_wait {{symbol=@out{c}}}" for c in COLUMNS]
    sequence = f"aie.runtime_sequence @run({arguments}) {{ {''.join(transfers)} {' '.join(waits)} }}"
    return f"module {{ aie.device(npu1) {{ {''.join(columns)} {sequence} }} }}"


def bundle(number: int, stores: bool) -> str:
    """A load, the sum of what was loaded eight bundles before, and the store of the sum of two bundles before."""
    store = f" vst wl{8 + number % 2}, [p1], #32;" if stores else ""
    return f"vlda wl{number % 8}, [p0], #32;{store} vadd.32 x{8 + number % 2}, x{number % 8}, x10"


def block_code(taken: str, given: str) -> str:
    """All of a block, as often as `TURNS` says."""
    first, body = range(10), range(10, 18)
    return "\n".join(
        [
            f"movxm r5, #{TURNS - 1}",
            f"turn{taken}: movxm p0, #{taken}",
            f"movxm p1, #{given}",
            f"movxm ls, #body{taken}",
            f"movxm le, #last{taken}",
            f"movxm r6, #{BLOCK * 4 // 32 // len(body)}",
            "mov lc, r6",
            *(bundle(number, False) for number in first),
            ".align 16",
            f"body{taken}: " + bundle(body[0], True),
            *(bundle(number, True) for number in body[1:-1]),
            ".align 16",
            f"last{taken}: " + bundle(body[-1], True),
            f"movxm p2, #turn{taken}",
            "jnzd r5, r5, p2",
            *["nop"] * 5,
        ]
    )


def core_code(design: Design, column: int, row: int) -> bytes:
    """The program of a core: it takes two blocks in turn, for ever."""
    found = {op.sym_name.data: op for op in design.device().walk() if isinstance(op, BufferOp | LockOp) and op.sym_name}

    def address(name: str) -> str:
        buffer = found[name]
        assert isinstance(buffer, BufferOp) and buffer.address is not None
        return str(DATA + buffer.address.value.data)

    def lock(name: str) -> int:
        it = found[name]
        assert isinstance(it, LockOp) and it.lock_id is not None
        return OWN_LOCKS + it.lock_id.value.data

    taken, given = f"in{column}{row}_cons", f"out{column}{row}"
    lines = ["movx r1, #-1", "movx r3, #1", f"movx r4, #{AMOUNT}", "vbcst.32 x10, r4", "nop", "again: nop"]
    for number in range(2):
        lines += [f"acq #{lock(f'{taken}_cons_lock_0')}, r1", f"acq #{lock(f'{given}_prod_lock_0')}, r1"]
        lines += [block_code(address(f"{taken}_buff_{number}"), address(f"{given}_buff_{number}"))]
        lines += [f"rel #{lock(f'{taken}_prod_lock_0')}, r3", f"rel #{lock(f'{given}_cons_lock_0')}, r3"]
    return assemble("\n".join([*lines, "j #again", *["nop"] * 5, ".align 16"]))


def sixteen_cores() -> None:
    design = tw.compile(design_text())
    loading = [
        tw.txn.block_write(c << 25 | r << 20 | PROGRAM, np.frombuffer(core_code(design, c, r), "<u4").tolist())
        for c in COLUMNS
        for r in ROWS
    ]
    configuration = tw.txn.decode(design.configuration()).operations
    image = pdi_from_cdos([cdo_of([*tw.txn.Stream.of(tw.txn.Header(), loading).operations, *configuration])])
    device = ConfiguredDevice(device_model("npu1"), image, {}, Settings(), runs_machine_code=True)
    code = read_container(design.txn().astype("<u4").tobytes()).code(None)
    given = [np.arange(BLOCKS * BLOCK * len(ROWS), dtype=np.int32) * (c + 1) for c in COLUMNS]
    taken = [np.zeros_like(array) for array in given]
    pairs = [array.view(np.uint8) for pair in zip(given, taken, strict=True) for array in pair]
    arrays = {number: (str(number), array) for number, array in enumerate(pairs)}
    cycles = carry_out(device, code, arrays).cycles
    assert all((b == a + AMOUNT).all() for a, b in zip(given, taken, strict=True)), "the sums are wrong"
    seconds = best(lambda: carry_out(device, code, arrays), time.process_time)
    print(f"16 cores: {cycles:,} cycles, {cycles / seconds:.2e} in a second of the processor")


def one_core() -> None:
    again = ["movxm p2, #again", "jnzd r9, r9, p2", *["nop"] * 5, "done"]
    lines = ["movxm r9, #2000", "again: nop", block_code(str(DATA), str(DATA + 0x8000)), *again]
    program, around = assemble("\n".join(lines)), FlatMemory()

    def run() -> int:
        core = NativeCore(program, around, windows=around.windows())
        core.run(limit=1 << 40)
        return core.cycle

    bundles = run()
    print(f"one core: {bundles:,} bundles, {bundles / best(run, time.process_time):.2e} in a second of the processor")


def main() -> None:
    sixteen_cores()
    one_core()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parent))
    main()
