"""Small designs with a hole in each, where an operation can be put that wants such surroundings."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache

from xdsl.dialects import builtin as b
from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.traits import IsolatedFromAbove, IsTerminator

from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source

CONTEXT = make_context(allow_unregistered=True)
HERE = '"test.here"() : () -> ()'
TOP = """
aiex.scratchpad_parameter @parameter : i32
aie.device(npu2) @other {
  aie.runtime_sequence @once(%a: memref<16xi32>) {
  }
}
"""
DEVICE = """
aie.device(npu2) {
  %shim = aie.tile(0, 0)
  %mem = aie.tile(0, 1)
  %core = aie.tile(0, 2)
  %next = aie.tile(0, 3)
  %lock = aie.lock(%core, 0) {sym_name = "lock"}
  %buffer = aie.buffer(%core) {address = 1024 : i32, sym_name = "buffer"} : memref<16xi32>
  %i32 = arith.constant 1 : i32
  memref.global "private" constant @words : memref<4xi32> = dense<[1, 2, 3, 4]>
  aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%mem, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.shim_dma_allocation @allocation(%shim, MM2S, 0)
"""
PLACES = [
    "HERE",
    """aie.objectfifo.pool @pool(%core) {depth = 2 : i32} : memref<16xi32>
    aie.objectfifo.pool @filled(%mem) {depth = 2 : i32} : memref<16xi32>
    aie.objectfifo.dma_endpoint @drains(%core) drains @pool
    aie.objectfifo.dma_endpoint @fills(%mem) fills @filled
    HERE""",
    "aie.switchbox(%next) { %select = aie.amsel<0>(1) HERE }",
    "aie.switchbox(%next) { %select = aie.amsel<0>(1) aie.packet_rules(North : 0) { HERE } }",
    "aie.shim_mux(%shim) { HERE }",
    "aie.packet_flow(1) { aie.packet_source<%core, Trace : 0> aie.packet_dest<%shim, South : 0> HERE }",
    "aiex.multicast(%core, DMA : 0) { HERE }",
    "aiex.broadcast_packet(%core, DMA : 0) { aiex.bp_id(1) { HERE } }",
    "aiex.broadcast_packet(%core, DMA : 0) { HERE }",
    "aie.mem(%core) { HERE aie.end ^bd: aie.dma_bd(%buffer : memref<16xi32>) aie.next_bd ^bd ^end: aie.end }",
    "aie.mem(%core) { HERE aie.end }",
    """aie.core(%core) {
      %window = aie.objectfifo.acquire @out(Consume, 2) : !aie.objectfifosubview<memref<16xi32>>
      HERE
      aie.end
    }""",
    """aie.objectfifo.pool @pool(%core) {depth = 2 : i32} : memref<16xi32>
    aie.objectfifo.core_endpoint @end(%core) drains @pool
    aie.core(%core) { HERE aie.end }""",
    "%length = arith.constant 1 : index %pattern = arith.constant dense<1> : tensor<1xi32> HERE",
    "aie.trace @trace(%core) { HERE }",
    "aie.trace.config @registers(%core) { HERE }",
    "aie.bd_chain @chain(%a: memref<16xi32>) { HERE aie.end }",
    """aie.bd_chain @chain(%a: memref<16xi32>) { aie.end }
    aie.runtime_sequence(%a: memref<16xi32>, %n: i32) {
      %words = memref.get_global @words : memref<4xi32>
      %task = aiex.dma_configure_task(%shim, MM2S, 0) {
        aie.dma_bd(%a : memref<16xi32> offset = 0 len = 8) {bd_id = 1 : i32}
        aie.end
      } {issue_token = true}
      HERE
    }""",
    "aie.runtime_sequence(%a: memref<16xi32>) { aiex.configure @other { HERE } }",
    "aiex.cert.uc_dma_chain @chain { HERE }",
    "aiex.cert.section @section { HERE }",
    "aiex.cert.attach_to_group(1) { aiex.cert.page { aiex.cert.job(0) { HERE } } }",
]
BODIES = [
    "aie.packet_source<%core, DMA : 0> aie.packet_dest<%mem, DMA : 0>",
    """aie.use_lock(%lock, AcquireGreaterEqual, %i32)
    aie.dma_bd(%buffer : memref<16xi32>)
    aie.use_lock(%lock, Release, %i32)""",
]
"""What may stand in the regions of an operation, in front of the terminator."""


class Place:
    """A design with a hole at the end of one of its blocks."""

    def __init__(self, text: str):
        self.module = parse_source(CONTEXT, text, "design")
        *bodies, self.hole = [op for op in self.module.walk() if isinstance(op, UnregisteredOp)]
        self.bodies = [Region(Block()), *(body.regions[0] for body in bodies)]
        for body in bodies:
            body.detach()
        assert self.hole.parent is not None
        self.block = self.hole.parent
        self.end = self.hole.next_op
        if self.end is not None:
            self.end.detach()
        self.values = list(_values_before(self.hole))
        names = (op.get_attr_or_prop("sym_name") for op in self.module.walk())
        symbols = [b.SymbolRefAttr(name) for name in names if isinstance(name, b.StringAttr)]
        self.symbols: list[Attribute] = [*symbols, *(b.ArrayAttr([symbol]) for symbol in symbols)]

    @property
    def parent_name(self) -> str:
        parent = self.block.parent_op()
        assert parent is not None
        return parent.name

    @property
    def other_blocks(self) -> list[Block]:
        assert self.block.parent is not None
        return [block for block in self.block.parent.blocks if block is not self.block]

    @contextmanager
    def holding(self, *ops: Operation) -> Generator[b.ModuleOp]:
        """The design with operations in the hole."""
        self.hole.detach()
        end = () if self.end is None or ops[-1].has_trait(IsTerminator) else (self.end.clone(),)
        inside = (*ops, *end)
        self.block.add_ops(inside)
        try:
            yield self.module
        finally:
            for op in reversed(inside):
                op.detach()
                op.erase()
            self.block.add_op(self.hole)


def _values_before(op: Operation) -> Iterator[SSAValue]:
    """What may be used where an operation is."""
    at: Operation | None = op
    while at is not None and not at.has_trait(IsolatedFromAbove, value_if_unregistered=False):
        block = at.parent
        assert block is not None
        yield from block.args
        for earlier in block.ops:
            if earlier is at:
                break
            yield from earlier.results
        at = block.parent_op()


@cache
def places() -> list[Place]:
    bodies = "".join(f'"test.body"() ({{ {body} }}) : () -> ()\n' for body in BODIES)
    device = [f"{TOP}{DEVICE}\n{bodies}\n{place.replace('HERE', HERE)} }}" for place in PLACES]
    return [Place(text) for text in (TOP + HERE, *device)]
