"""Functions that work on object FIFOs in a fixed pattern, from which the programs of cores are made.

Upstream has dropped this operation; programs written for its older versions have it.
"""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FlatSymbolRefAttrConstr, TensorType, i32
from xdsl.ir import SSAValue
from xdsl.irdl import IRDLOperation, operand_def, prop_def
from xdsl.utils.exceptions import VerifyException

from tilewright.device import ObjectFifoPort
from tilewright.dialects._ods import enum_value, op_definition
from tilewright.dialects.aie.attributes import OBJECT_FIFO_PORT
from tilewright.dialects.aie.core import INDEX
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.objectfifo import ObjectFifoOp, find_fifo, wrong
from tilewright.dialects.arith import ConstantOp

NUMBERS = TensorType.constr(i32)


@op_definition
class ObjectFifoRegisterProcessOp(IRDLOperation):
    """A function to call again and again, and how many buffers of a FIFO to acquire before and release after each time.

    A pattern is a constant; one with a single number stands for as many of them as the process is long.
    """

    name = "aie.objectfifo.register_process"

    port = prop_def(OBJECT_FIFO_PORT)
    fifo_name = prop_def(FlatSymbolRefAttrConstr, prop_name="objFifo_name")
    acquire_tensor = operand_def(NUMBERS)
    release_tensor = operand_def(NUMBERS)
    callee = prop_def(FlatSymbolRefAttrConstr)
    length = operand_def(INDEX)

    assembly_format = (
        "attr-dict $objFifo_name `(` $port `,` $acquire_tensor `:` type($acquire_tensor) `,` "
        "$release_tensor `:` type($release_tensor) `,` $callee `,` $length `)`"
    )

    @property
    def end(self) -> ObjectFifoPort:
        return enum_value(ObjectFifoPort, self.port)

    @property
    def fifo(self) -> ObjectFifoOp | None:
        return find_fifo(self, self.fifo_name)

    @property
    def steps(self) -> list[tuple[int, int]]:
        """How many buffers to acquire and to release, for each call."""
        length = constant_value(self.length) or 0
        patterns = [_numbers(self.acquire_tensor), _numbers(self.release_tensor)]
        acquires, releases = (pattern * length if len(pattern) == 1 else pattern for pattern in patterns)
        return list(zip(acquires, releases, strict=True))

    def verify_(self) -> None:
        length = constant_value(self.length)
        if length is None:
            raise VerifyException("process length must be a constant")
        if length < 1:
            raise VerifyException("process length must be >= 1")
        if self.fifo is None:
            raise wrong("cannot retrieve associated object FIFO")
        sizes = {len(_numbers(self.acquire_tensor)), len(_numbers(self.release_tensor))}
        if len(sizes) > 1 and sizes != {1, length}:
            raise VerifyException(
                "Acquire and Release patterns must be of equal length, or longest length of one must be equal to "
                "process length of the other"
            )


def _numbers(pattern: SSAValue) -> list[int]:
    constant = pattern.owner.value if isinstance(pattern.owner, ConstantOp) else None
    if not isinstance(constant, DenseIntOrFPElementsAttr):
        raise VerifyException("patterns must be constants")
    return [cast(int, number) for number in constant.iter_values()]


OPS = [ObjectFifoRegisterProcessOp]
