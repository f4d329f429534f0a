"""The host's part of channels: memory for them on the symmetric heap, and a table of where each rank's heap is."""

from __future__ import annotations

from xdsl.dialects.builtin import DYNAMIC_INDEX, IndexType, MemRefType, ModuleOp, NoneAttr, i1, i8, i64
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from tilewright.dialects._strides import Strided
from tilewright.dialects.air.types import SYMMETRIC_HEAP
from tilewright.dialects.func import FuncOp, ReturnOp
from tilewright.passes.air.descriptors import POINTER, wrap_pointer
from tilewright.passes.air.emitter import Emitter
from tilewright.passes.air.runtime_calls import (
    BARRIER,
    GET_WORLD_SIZE,
    HEAP_BASES,
    MEM_ALLOC,
    MEM_FREE,
    MEMCPY,
    MEMSET32,
    STREAM_SYNCHRONIZE,
    SYMMETRIC_ALLOC,
    SYMMETRIC_FREE,
    call,
    declare,
)

ADDRESS_BYTES, WORD_BYTES = 8, 4
LINEAR = Strided((1,), 0)


class ChannelMemory:
    """What a function allocates at its start for the channels in it, and gives back at its end."""

    def __init__(self, module: ModuleOp, function: FuncOp, size_bytes: int):
        self._module, self._function, self._size_bytes = module, function, size_bytes
        self._mail: SSAValue | None = None
        self._bases: SSAValue | None = None

    @property
    def mail(self) -> SSAValue:
        """All mailboxes, cleared on all ranks."""
        if self._mail is None:
            self._mail = self._allocate_mail()
        return self._mail

    @property
    def bases(self) -> SSAValue:
        """The addresses of the ranks' heaps, in memory of the device."""
        if self._bases is None:
            self._bases = self._allocate_bases()
        return self._bases

    def _start(self) -> Emitter:
        return Emitter(InsertPoint.at_start(self._function.body.blocks[0]), self._function.location)

    def _ends(self) -> list[Emitter]:
        returns = [block.last_op for block in self._function.body.blocks if isinstance(block.last_op, ReturnOp)]
        return [Emitter.before(op) for op in returns]

    def _allocate_mail(self) -> SSAValue:
        declare(self._module, SYMMETRIC_FREE, SYMMETRIC_ALLOC, BARRIER, STREAM_SYNCHRONIZE, MEMSET32)
        emitter = self._start()
        stream = emitter.value("llvm.mlir.zero", (), POINTER)
        (pointer,) = call(emitter, SYMMETRIC_ALLOC, [emitter.i64(self._size_bytes), stream])
        words = emitter.i64(self._size_bytes // WORD_BYTES)
        call(emitter, MEMSET32, [pointer, emitter.i32(0), words, stream])
        call(emitter, STREAM_SYNCHRONIZE, [stream])
        call(emitter, BARRIER)
        type = MemRefType(i8, [self._size_bytes], NoneAttr(), SYMMETRIC_HEAP)
        for end in self._ends():
            call(end, BARRIER)
            call(end, SYMMETRIC_FREE, [pointer, end.value("llvm.mlir.zero", (), POINTER)])
        return wrap_pointer(emitter, pointer, type, LINEAR)

    def _allocate_bases(self) -> SSAValue:
        declare(self._module, MEM_FREE, MEMCPY, MEM_ALLOC, HEAP_BASES, GET_WORLD_SIZE)
        emitter = self._start()
        (ranks,) = call(emitter, GET_WORLD_SIZE)
        count = emitter.value("arith.extsi", (ranks,), i64)
        size = emitter.product(count, emitter.i64(ADDRESS_BYTES))
        stream = emitter.value("llvm.mlir.zero", (), POINTER)
        (pointer,) = call(emitter, MEM_ALLOC, [size, stream, emitter.constant(0, i1)])
        (table,) = call(emitter, HEAP_BASES)
        call(emitter, MEMCPY, [pointer, table, size, stream])
        for end in self._ends():
            call(end, MEM_FREE, [pointer, end.value("llvm.mlir.zero", (), POINTER)])
        type = MemRefType(IndexType(), [DYNAMIC_INDEX], NoneAttr(), SYMMETRIC_HEAP)
        return wrap_pointer(emitter, pointer, type, LINEAR, [count])
