"""Object FIFOs at work: data that the host sends through a small design comes back as it should."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import tilewright as tw
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import run_pipeline
from tilewright.ir.printer import module_text
from tilewright.passes.pipelines import pipeline_of

Words = npt.NDArray[np.int32]
BLOCK = 8
BLOCKS = 4
FRAME = """aie.device(npu1) {{
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %a = aie.tile(0, 2)
  %b = aie.tile(0, 4)
  %c = aie.tile(0, 5)
  {parts}
  aie.runtime_sequence(%in: memref<{sent}xi32>, %out: memref<{received}xi32>) {{
    aiex.npu.dma_memcpy_nd(%out[0, 0, 0, 0][1, 1, 1, {received}][0, 0, 0, 1])
        {{id = 1 : i64, metadata = @out}} : memref<{received}xi32>
    aiex.npu.dma_memcpy_nd(%in[0, 0, 0, 0][1, 1, 1, {sent}][0, 0, 0, 1])
        {{id = 0 : i64, metadata = @in}} : memref<{sent}xi32>
    aiex.npu.dma_wait {{symbol = @out}}
  }}
}}"""


def fifo(name: str, ends: str, elements: int, depth: int = 2, attributes: str = "") -> str:
    return f"aie.objectfifo @{name}({ends}, {depth} : i32) {{{attributes}}} : !aie.objectfifo<memref<{elements}xi32>>"


def core(tile: str, steps: int, *body: str) -> str:
    constants = "\n".join(f"%c{number} = arith.constant {number} : index" for number in (0, 1, BLOCK))
    return f"""aie.core({tile}) {{
      {constants}
      %steps = arith.constant {steps} : index
      scf.for %i = %c0 to %steps step %c1 {{
        {" ".join(body)}
      }}
      aie.end
    }}"""


def take(name: str, port: str, count: int = 1) -> str:
    """Acquire some elements of a FIFO, as `%name0`, `%name1` and so on."""
    view = f"!aie.objectfifosubview<memref<{BLOCK}xi32>>"
    lines = [f"%{name} = aie.objectfifo.acquire @{name}({port}, {count}) : {view}"]
    for number in range(count):
        access = f"aie.objectfifo.subview.access %{name}[{number}] : {view} -> memref<{BLOCK}xi32>"
        lines.append(f"%{name}{number} = {access}")
    return "\n".join(lines)


def give(name: str, port: str) -> str:
    return f"aie.objectfifo.release @{name}({port}, 1)"


def add(result: str, first: str, second: str | int) -> str:
    """Add a constant or another buffer to each element of a buffer."""
    type = f"memref<{BLOCK}xi32>"
    other = f"memref.load {second}[%j] : {type}" if isinstance(second, str) else f"arith.constant {second} : i32"
    return f"""scf.for %j = %c0 to %c{BLOCK} step %c1 {{
      %x = memref.load {first}[%j] : {type}
      %y = {other}
      %z = arith.addi %x, %y : i32
      memref.store %z, {result}[%j] : {type}
    }}"""


def worker(tile: str, source: str, result: str, number: int, steps: int = BLOCKS) -> str:
    """A core that adds a number to all that passes."""
    before = (take(source, "Consume"), take(result, "Produce"))
    after = (give(source, "Consume"), give(result, "Produce"))
    return core(tile, steps, *before, add(f"%{result}0", f"%{source}0", number), *after)


DISTRIBUTED_AND_JOINED = [
    fifo("in", "%shim, {%mem}", 2 * BLOCK),
    *(fifo(f"to{tile}", f"%mem, {{%{tile}}}", BLOCK) for tile in "ab"),
    "aie.objectfifo.link [@in] -> [@toa, @tob]([] [0, 8])",
    *(fifo(f"from{tile}", f"%{tile}, {{%mem}}", BLOCK) for tile in "ab"),
    fifo("out", "%mem, {%shim}", 2 * BLOCK),
    "aie.objectfifo.link [@froma, @fromb] -> [@out]([0, 8] [])",
    worker("%a", "toa", "froma", 100),
    worker("%b", "tob", "fromb", 200),
]
JOINED_TWICE = [
    fifo("in", "%shim, {%a, %b}", BLOCK),
    *(fifo(f"from{tile}", f"%{tile}, {{%mem}}", BLOCK) for tile in "ab"),
    fifo("out", "%mem, {%shim}", 2 * BLOCK, attributes="repeat_count = 2 : i32"),
    "aie.objectfifo.link [@froma, @fromb] -> [@out]([0, 8] [])",
    worker("%a", "in", "froma", 100),
    worker("%b", "in", "fromb", 200),
]
SENT_THRICE = [
    fifo("in", "%shim, {%mem}", BLOCK),
    fifo("again", "%mem, {%a}", BLOCK, attributes="repeat_count = 3 : i32"),
    "aie.objectfifo.link [@in] -> [@again]([] [])",
    fifo("out", "%a, {%shim}", BLOCK),
    worker("%a", "again", "out", 1, 3 * BLOCKS),
]
NEIGHBOURS = [
    fifo("in", "%shim, {%b}", BLOCK),
    fifo("between", "%b, {%c}", BLOCK, depth=3),
    "aie.objectfifo.allocate @between(%c)",
    fifo("out", "%c, {%shim}", BLOCK),
    worker("%b", "in", "between", 10),
    worker("%c", "between", "out", 5),
]
SLIDING = [
    fifo("in", "%shim, {%a}", BLOCK, depth=3),
    fifo("out", "%a, {%shim}", BLOCK),
    core(
        "%a",
        BLOCKS - 1,
        *(take("in", "Consume", 2), take("out", "Produce"), add("%out0", "%in0", "%in1")),
        *(give("in", "Consume"), give("out", "Produce")),
    ),
]
THROUGH_CORE_TILE = [
    fifo("in", "%shim, {%a}", BLOCK, depth=3),
    fifo("on", "%a, {%c}", BLOCK, depth=2),
    "aie.objectfifo.link [@in] -> [@on]([] [])",
    fifo("out", "%c, {%shim}", BLOCK),
    worker("%c", "on", "out", 7),
]
PACKETS_AND_CIRCUITS = [
    fifo("in", "%shim, {%mem}", 2 * BLOCK),
    fifo("toa", "%mem, {%a}", BLOCK, attributes="packet"),
    fifo("tob", "%mem, {%b}", BLOCK),
    "aie.objectfifo.link [@in] -> [@toa, @tob]([] [0, 8])",
    fifo("froma", "%a, {%mem}", BLOCK),
    fifo("fromb", "%b, {%mem}", BLOCK, attributes="packet, packet_id = 9 : i8"),
    fifo("out", "%mem, {%shim}", 2 * BLOCK, attributes="packet"),
    "aie.objectfifo.link [@froma, @fromb] -> [@out]([0, 8] [])",
    worker("%a", "toa", "froma", 100),
    worker("%b", "tob", "fromb", 200),
]
BACK_TO_ITSELF = [
    fifo("in", "%shim, {%a}", BLOCK),
    fifo("self", "%a, {%a}", BLOCK, attributes="via_DMA = true"),
    fifo("out", "%a, {%shim}", BLOCK),
    core(
        "%a",
        BLOCKS,
        *(take("in", "Consume"), take("self", "Produce"), add("%self0", "%in0", 1)),
        *(give("in", "Consume"), give("self", "Produce")),
        *(take("self", "Consume").replace("%self", "%back"), take("out", "Produce"), add("%out0", "%back0", 1)),
        *(give("self", "Consume"), give("out", "Produce")),
    ),
]


def halves(data: Words) -> Words:
    return data.reshape(-1, 2, BLOCK) + np.array([[100], [200]], np.int32)


def both(data: Words) -> Words:
    """Each block from both cores, and all of that twice."""
    return np.repeat(np.stack([data + 100, data + 200], axis=1), 2, axis=0)


def in_pools(text: str) -> str:
    """The same, with each FIFO split into pools, endpoints and flows, as text."""
    ctx = make_context()
    module = parse_source(ctx, text, "split.mlir")
    run_pipeline(ctx, module, pipeline_of(["aie-objectfifo-split"]))
    split = module_text(module)
    assert "aie.objectfifo.pool" in split and "aie.objectfifo @" not in split
    return split


def by_objects(text: str) -> str:
    """The same, with cores that acquire objects instead of windows on them."""
    element = f"memref<{BLOCK}xi32>"
    view = f"!aie.objectfifosubview<{element}>"

    def acquire(found: re.Match[str]) -> str:
        name, access, count = found[1], found[2], int(found[3])
        return f"%{name}_objects:{count} = {access}{count}) : {', '.join([element] * count)}"

    text = re.sub(rf"%(\w+) = (aie.objectfifo.acquire @\w+\(\w+, )(\d)\) : {view}", acquire, text)
    accesses = rf"%(\w+) = aie.objectfifo.subview.access %(\w+)\[(\d)\] : {view} -> {element}"
    chosen = {found[1]: f"%{found[2]}_objects#{found[3]}" for found in re.finditer(accesses, text)}
    text = re.sub(accesses, "", text)
    return re.sub(r"%(\w+)\b(?!_)", lambda found: chosen.get(found[1], found[0]), text)


@pytest.mark.parametrize("form", [str, in_pools, by_objects])
@pytest.mark.parametrize(
    "parts, expected, blocks",
    [
        pytest.param(DISTRIBUTED_AND_JOINED, halves, 2 * BLOCKS, id="parts go to two cores and come together"),
        pytest.param(PACKETS_AND_CIRCUITS, halves, 2 * BLOCKS, id="some in packets, some not"),
        pytest.param(JOINED_TWICE, both, BLOCKS, id="what is joined is sent twice"),
        pytest.param(SENT_THRICE, lambda data: np.repeat(data, 3, axis=0) + 1, BLOCKS, id="each block is sent thrice"),
        pytest.param(NEIGHBOURS, lambda data: data + 15, BLOCKS, id="neighbours share memory"),
        pytest.param(SLIDING, lambda data: data[:-1] + data[1:], BLOCKS, id="a window slides"),
        pytest.param(THROUGH_CORE_TILE, lambda data: data + 7, BLOCKS, id="through a core tile, depths differ"),
        pytest.param(BACK_TO_ITSELF, lambda data: data + 2, BLOCKS, id="a core sends to itself"),
    ],
)
def test_data_arrives(
    parts: list[str], expected: Callable[[Words], Words], blocks: int, form: Callable[[str], str]
) -> None:
    data = np.arange(blocks * BLOCK, dtype=np.int32).reshape(blocks, BLOCK)
    wanted = expected(data).ravel()
    design = tw.compile(form(FRAME.format(parts="\n  ".join(parts), sent=data.size, received=wanted.size)))
    received = np.zeros_like(wanted)
    design.run(data.ravel(), received)
    np.testing.assert_array_equal(received, wanted)
