"""The functions into which the array's own instructions are compiled, by generation.

Names and types: what the AIE back end of LLVM (Peano) knows as intrinsics, as AIECoreToStandard.cpp of mlir-aie at
3ca0193cea9e declares them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import FunctionType, IntegerType, VectorType, f32, i32
from xdsl.ir import Attribute, Operation, SSAValue

from tilewright.device import Arch
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.ir.diagnostics import fail_op

I128, I384 = IntegerType(128), IntegerType(384)
ACCUMULATOR = VectorType(i32, [16])


@dataclass(frozen=True)
class Intrinsic:
    inputs: Sequence[Attribute] = ()
    outputs: Sequence[Attribute] = ()


AIE1_INTRINSICS = {
    "event0": Intrinsic(),
    "event1": Intrinsic(),
    "put.ms": Intrinsic([i32, i32]),  # channel, value
    "put.wms": Intrinsic([i32, I128]),
    "put.fms": Intrinsic([i32, f32]),
    "get.ss": Intrinsic([i32], [i32]),  # channel
    "get.wss": Intrinsic([i32], [I128]),
    "get.fss": Intrinsic([i32], [f32]),
    "put.mcd": Intrinsic([I384]),
    "get.scd": Intrinsic([], [I384]),
    "lock.acquire.reg": Intrinsic([i32, i32]),  # lock, value
    "lock.release.reg": Intrinsic([i32, i32]),
}

AIE2_INTRINSICS = {
    "event": Intrinsic([i32]),
    "put.ms": Intrinsic([i32, i32]),  # value, whether it is the last
    "get.ss": Intrinsic([], [i32, i32]),
    "mcd.write.vec": Intrinsic([ACCUMULATOR, i32]),  # value, enable
    "scd.read.vec": Intrinsic([i32], [ACCUMULATOR]),  # enable
    "acquire": Intrinsic([i32, i32]),  # lock, value; a negative value waits for at least so much
    "release": Intrinsic([i32, i32]),
    "set.ctrl.reg": Intrinsic([i32, i32]),  # register, value
}

INTRINSICS: Mapping[Arch, Mapping[str, Intrinsic]] = {
    Arch.AIE1: AIE1_INTRINSICS,
    Arch.AIE2: AIE2_INTRINSICS,
    Arch.AIE2p: AIE2_INTRINSICS,
}
TRIPLES = {Arch.AIE1: "aie", Arch.AIE2: "aie2", Arch.AIE2p: "aie2p"}
DEBUG = "debug_i32"


class Intrinsics:
    """The intrinsics of one generation, for whoever declares and calls them."""

    def __init__(self, arch: Arch):
        self.arch = arch
        self.triple = TRIPLES[arch]
        self._known = {DEBUG: Intrinsic([i32])}
        self._known |= {self.full_name(name): intrinsic for name, intrinsic in INTRINSICS[arch].items()}

    def full_name(self, name: str) -> str:
        return f"llvm.{self.triple}.{name}"

    def declarations(self) -> Iterator[FuncOp]:
        for name, intrinsic in self._known.items():
            type = FunctionType.from_lists(intrinsic.inputs, intrinsic.outputs)
            yield FuncOp.external(name, list(type.inputs), list(type.outputs))

    def input_types(self, name: str) -> Sequence[Attribute]:
        return self._known[self.full_name(name)].inputs

    def call(self, op: Operation, name: str, arguments: Sequence[SSAValue]) -> Operation:
        """A call in place of `op`, of an intrinsic or of a function whose whole name is given."""
        full_name = name if name in self._known else self.full_name(name)
        intrinsic = self._known.get(full_name)
        if intrinsic is None:
            fail_op(op, f"Could not find the intrinsic function {full_name}")
        return CallOp(full_name, arguments, intrinsic.outputs)
