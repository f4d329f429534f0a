"""Memory and locks of tiles."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import DictionaryAttr, TensorType, UnitAttr

from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie import buffers as ops
from tilewright.dialects.aie import locks as lock_ops
from tilewright.dialects.aiex.instructions import NpuWriteRTPOp
from tilewright.iron.builders.attributes import symbol_name
from tilewright.iron.builders.handles import OpView, Value, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.memrefs import Indexable, MemRefValue
from tilewright.iron.builders.operations import build
from tilewright.iron.builders.scalars import as_i32
from tilewright.iron.builders.types import convert_type, elements, is_buffer_type, is_integer


class buffer(Indexable, OpView):
    """A buffer in a tile's memory: `b[i]` loads, `b[i] = x` stores.

    With `use_write_rtp`, item assignment is for the runtime sequence: it writes a parameter of the running design.
    """

    OP = ops.BufferOp
    use_write_rtp = False  # also of those that are found in a program, which no constructor has seen

    def __init__(
        self,
        tile: Any,
        datatype: Any,
        name: str | None = None,
        address: int | None = None,
        initial_value: Any = None,
        use_write_rtp: bool = False,
        loc: Any = None,
        ip: Any = None,
    ):
        kind = convert_type(datatype)
        if not is_buffer_type(kind):
            refuse(f"a buffer has a shape, {kind} has none", (None, "write np.ndarray[(n,), np.dtype[...]]"))
        shape = TensorType(kind.element_type, kind.get_shape())
        super().__init__(
            build(
                ops.BufferOp,
                results=[kind],
                tile=tile,
                sym_name=name,
                address=address,
                initial_value=None if initial_value is None else elements(initial_value, shape),
                loc=loc,
                ip=ip,
            )
        )
        self.use_write_rtp = use_write_rtp

    @property
    def owner(self) -> OpView:
        return self

    def get_name(self) -> str:
        return symbol_name(self) or self.result.get_name()

    def __setitem__(self, key: Any, value: Any) -> None:
        if not self.use_write_rtp:
            Indexable.__setitem__(self, key, value)
            return
        if self.rank != 1 or not is_integer(key):
            refuse(
                "Buffer slicing not supported, only indexing supported",
                (None, "a runtime parameter is written at a constant index of a one-dimensional buffer"),
            )
        npu_write_rtp(self, int(key), value)


BufferOp = buffer  # upstream has both names


def external_buffer(
    datatype: Any, name: str | None = None, address: int | None = None, loc: Any = None, ip: Any = None
) -> MemRefValue:
    """A buffer in memory outside the array."""
    op = build(ops.ExternalBufferOp, results=[convert_type(datatype)], sym_name=name, address=address, loc=loc, ip=ip)
    return MemRefValue(op.buffer)


def npu_write_rtp(buffer: Any, index: int, value: Any, loc: Any = None, ip: Any = None) -> OpView:
    """Write a runtime parameter: a 32-bit word of a buffer, by a number or a value of the sequence."""
    return OpView(build(NpuWriteRTPOp, buffer=buffer, index=index, value=as_i32(value), loc=loc, ip=ip))


class LockOp(OpView):
    """A lock of a tile."""

    OP = lock_ops.LockOp


def lock(
    tile: Any,
    *,
    lock_id: int | None = None,
    init: int | None = None,
    sym_name: str | None = None,
    annot: str | None = None,
    loc: Any = None,
    ip: Any = None,
) -> Value:
    """A lock of a tile, with the value it starts from."""
    op = build(
        lock_ops.LockOp,
        results=[INDEX],
        tile=tile,
        lockID=lock_id,
        init=init,
        sym_name=sym_name or None,
        loc=loc,
        ip=ip,
    )
    if annot is not None:
        # the operation has no such property; upstream keeps it as a discardable attribute
        op.attributes["annot"] = DictionaryAttr({annot: UnitAttr()})
    return value_of(op.results[0])


def use_lock(
    lock: Any,
    action: Any,
    value: Any = None,
    *,
    blocking: Any = None,
    acq_en: bool | None = None,
    loc: Any = None,
    ip: Any = None,
) -> OpView:
    """Acquire or release a lock by `value`, 1 unless told; it may be a value of the program."""
    return OpView(
        build(
            lock_ops.UseLockOp,
            lock=lock,
            action=action,
            value=as_i32(1 if value is None else value),
            blocking=blocking,
            acq_en=acq_en,
            loc=loc,
            ip=ip,
        )
    )
