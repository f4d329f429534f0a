"""A module of kernels as an LLVM module for a GPU.

The operations are translated by the same table as those of cores and host programs; what a GPU does in its own way is
in the rows of `gpu_operations` and in its `GpuMachine`. Buffers are generic pointers: LLVM finds out which memory they
are in. Functions that kernels call are put in place of their calls.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import prod
from typing import cast

from llvmlite import ir
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute, Block, BlockArgument, Operation

from tilewright.device.tensor_maps import MAP_ALIGNMENT
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.gpu.kernels import GPUFuncOp, GPUModuleOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.dialects.nvgpu import TensorMapDescriptorType
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.escapes import is_plain_word, visible
from tilewright.native.aggregates import flattened_types
from tilewright.native.gpu_instructions import InPlace, KernelBuilder, SpacedAlloca
from tilewright.native.gpu_loops import mark_short_loops
from tilewright.native.gpu_machine import DYNAMIC_SHARED, SHARED_SPACE, GpuMachine
from tilewright.native.gpu_spins import SpinWaits, find_waiting
from tilewright.native.kernel_facts import KernelFacts
from tilewright.native.lowering import Handler, Lowering, Unit
from tilewright.native.values import (
    I8,
    I32,
    POINTER,
    MemRef,
    Value,
    constant_sizes,
    global_data,
    index,
    known_or,
    offset_of,
    size_of,
    strides_of,
    value_type,
    whole_buffer,
)

VECTOR_BYTES = 16
"""What the widest access of a lane is aligned to."""
ENDLESS_BYTES = 1 << 62
"""The size of buffers whose accesses are not checked."""
FRAME_BYTES = 4096
"""Of a thread's private memory: left to LLVM for registers that it spills."""


class KernelLowering(Lowering):
    """Builds one kernel. Nothing is checked in it and no time is counted."""

    checks = counts_cycles = False
    translation = "translation for a GPU"

    def __init__(self, unit: Unit, machine: GpuMachine, op: GPUFuncOp):
        self.machine, self.op = machine, op
        self.block, self.cluster = op.known_size("block"), op.known_size("cluster")
        self.shared_bytes = self.private_bytes = 0
        self.waiting: SpinWaits = find_waiting(op)
        inputs = op.function_type.inputs.data
        self.parameters = [(part, _is_in_place(type)) for type in inputs for part in flattened_types(type)]
        types = [POINTER if in_place else part for part, in_place in self.parameters]
        function = ir.Function(unit.module, ir.FunctionType(ir.VoidType(), types), op.symbol)
        super().__init__(unit, function, ir.Constant(POINTER, None))
        self.builder = KernelBuilder(self.begin, machine.contract)
        self.global_pointers: set[ir.Value] = set()
        """Those made of numbers of which is known where they point."""
        most, wanted = machine.declared_bytes, sum(_bytes_of(op, buffer) for buffer in op.workgroup_buffers)
        self.is_asked_for = most is not None and wanted > most
        """Whether memory of the block is more than code can declare."""
        self.most_waves: int | None = None
        self.begins_early = False
        """Whether it waits by itself for the launch before it."""
        self._parity: ir.Value | None = None
        self._room: ir.Value | None = None

    def trap_unless(self, op: Operation, fine: ir.Value, text: str, *details: ir.Value) -> None: ...

    def remedy(self, op: Operation) -> str:
        return f"code for {self.machine.chip} cannot be made of it"

    def lower(self, op: Operation) -> None:
        super().lower(op)
        self._check_memory(op)
        if op in self.waiting.joins:
            self.machine.wave_barrier(self)

    def lower_block(self, block: Block, arguments: Sequence[Value] = ()) -> list[Value]:
        if block in self.waiting.meetings:
            self.machine.wave_barrier(self)
        return super().lower_block(block, arguments)

    def variable(self, type: ir.Type, count: int | None = None) -> ir.Value:
        """Memory of the thread, as a generic pointer."""
        space = self.machine.private_space
        whole = type if count is None else ir.ArrayType(type, count)
        self.private_bytes += size_of(whole) if count is not None else 0  # single numbers become registers
        builder = ir.IRBuilder(self.entry)
        room = SpacedAlloca(builder.block, whole, space)
        room.align = VECTOR_BYTES if count is not None else None
        builder._insert(room)
        return builder.addrspacecast(room, POINTER) if space else room

    @contextmanager
    def promised(self, alignment: int | None) -> Generator[None]:
        """Accesses inside are aligned to so many bytes at least."""
        self.builder.promised_alignment = alignment or 1
        yield
        self.builder.promised_alignment = 1

    def shared(self, size_bytes: int, name: str) -> ir.Value:
        """Memory of the block, in its own address space."""
        size = -(-size_bytes // VECTOR_BYTES) * VECTOR_BYTES
        self.shared_bytes += size
        # Then all buffers of the block are parts of the memory that the launch asks for.
        if self.is_asked_for:
            place = ir.Constant(I32, self.shared_bytes - size)
            return ir.IRBuilder(self.entry).gep(self.dynamic_shared(), [place], source_etype=I8)
        full = self.unit.module.get_unique_name(f"{name}_{self.op.symbol}")
        variable = global_data(self.unit.module, ir.ArrayType(I8, size_bytes), full, SHARED_SPACE)
        # Memory of a block cannot be initialized, which LLVM wants to be said.
        variable.align, variable.initializer = VECTOR_BYTES, ir.Constant(variable.value_type, ir.Undefined)
        return variable

    def dynamic_shared(self) -> ir.Value:
        """The memory of the block that the launch asks for."""
        found = self.unit.module.globals.get(DYNAMIC_SHARED)
        if found is None:
            found = global_data(self.unit.module, ir.ArrayType(I8, 0), DYNAMIC_SHARED, SHARED_SPACE)
            found.linkage, found.align = "external", VECTOR_BYTES
        return found

    @property
    def parity(self) -> ir.Value:
        """A variable of the thread that says which of two places is next; it begins as 0."""
        if self._parity is None:
            self._parity = self.variable(I32)
            # In the entry block, which comes before all uses wherever the first of them is translated.
            ir.IRBuilder(self.entry).store(ir.Constant(I32, 0), self._parity)
        return self._parity

    def exchange_room(self, size_bytes: int) -> ir.Value:
        """Memory of the block that lanes read each other's values through."""
        if self._room is None:
            self._room = self.shared(size_bytes, "exchange")
        return self._room

    def build(self) -> KernelFacts:
        """The whole kernel."""
        self._check_block()
        self._keep_in_place()
        arguments = list(self._arguments())
        self._check_memory(self.op)
        self.lower_region(self.op.body, arguments)
        self.builder.ret_void()
        self.close()
        mark_short_loops(self.function)
        self.machine.mark_kernel(self)
        sizes = tuple(size_of(part) for part, _ in self.parameters)
        asked = self.shared_bytes if self.is_asked_for else 0
        most_waves, early = self.most_waves, self.begins_early
        return KernelFacts(self.op.symbol, sizes, self.shared_bytes, self.block, most_waves, asked, early)

    def _check_block(self) -> None:
        target = self.machine.target
        if self.block is not None and not 1 <= min(self.block) <= prod(self.block) <= target.max_block_threads:
            shape = " x ".join(map(str, self.block))
            fail_op(self.op, f"has blocks of {shape} threads; {target.chip} takes 1 to {target.max_block_threads}")
        if self.cluster is not None and (fault := target.cluster_fault(self.cluster)) is not None:
            fail_op(self.op, f"has {fault}")

    def _keep_in_place(self) -> None:
        """Have the kernel given addresses of tensor maps, which the engine takes where the launch has put them."""
        for parameter, (part, in_place) in zip(self.function.args, self.parameters, strict=True):
            if in_place:
                if (fault := self.machine.target.copy_engine_fault()) is not None:
                    fail_op(self.op, f"has {fault}")
                parameter.attributes = InPlace(part, MAP_ALIGNMENT)

    def _check_memory(self, op: Operation) -> None:
        """Whether all that the kernel has up to an operation fits the chip: LLVM would end the process otherwise."""
        target = self.machine.target
        if self.shared_bytes > target.shared_bytes:
            fail_op(
                op,
                f"brings kernel @{self.op.symbol} to {self.shared_bytes} bytes of memory of a block; {target.chip} has"
                f" {target.shared_bytes}",
                (op, "use smaller tiles, or use one buffer for several purposes"),
            )
        if self.private_bytes > target.max_thread_bytes - FRAME_BYTES:
            fail_op(
                op,
                f"brings kernel @{self.op.symbol} to {self.private_bytes} bytes of private memory of a thread;"
                f" {target.chip} has {target.max_thread_bytes}, {FRAME_BYTES} of them for spilled registers",
                (op, "use smaller buffers, or share them in a block"),
            )

    def _arguments(self) -> Iterator[Value]:
        parameters = iter(self.function.args)
        for type in self.op.function_type.inputs.data:
            yield self._assembled(type, [next(parameters) for _ in flattened_types(type)])
        for buffer in self.op.workgroup_buffers:
            base = self.shared(_bytes_of(self.op, buffer), "shared")
            yield self._buffer(self.builder.addrspacecast(base, POINTER), buffer)
        for buffer in self.op.private_buffers:
            type = cast(MemRefType, buffer.type)
            yield self._buffer(self.variable(value_type(type.element_type), element_count(type)), buffer)

    def _buffer(self, base: ir.Value, buffer: BlockArgument) -> MemRef:
        self.unit.apart.add(base)
        return whole_buffer(base, index(ENDLESS_BYTES), cast(MemRefType, buffer.type))

    def _assembled(self, type: Attribute, parts: Sequence[ir.Value]) -> Value:
        """An argument from the parameters that it is passed as; what its type says is not read."""
        if not is_ranked(type):
            return parts[0]
        # As in a descriptor: the pointer that was allocated is not needed.
        _, base, start, *rest = parts
        rank = type.get_num_dims()
        (offset,) = known_or([offset_of(type)], [start])
        sizes, strides = known_or(constant_sizes(type), rest[:rank]), known_or(strides_of(type), rest[rank:])
        return MemRef(base, index(ENDLESS_BYTES), offset, sizes, strides)


def _is_in_place(type: Attribute) -> bool:
    """Whether a kernel has the address of an argument."""
    return isinstance(type, TensorMapDescriptorType)


def _bytes_of(op: Operation, buffer: BlockArgument) -> int:
    type = cast(MemRefType, buffer.type)
    count = element_count(type)
    if count is None:
        fail_op(op, f"has a buffer {type} whose size is not known")
    return count * element_bytes(type)


def lower_kernels(
    module: GPUModuleOp, machine: GpuMachine, handlers: Mapping[str, Handler]
) -> tuple[ir.Module, list[KernelFacts]]:
    """The LLVM module of a module of kernels, and what there is to know of each."""
    native = ir.Module(visible(module.sym_name.data))
    native.triple = machine.TRIPLE
    unit = Unit(native, handlers)
    facts: list[KernelFacts] = []
    for op in (op for op in module.body.block.ops if isinstance(op, GPUFuncOp) and op.is_kernel):
        if op.function_type.outputs.data:
            fail_op(op, "is a kernel with results")
        # LLVM would put quotes around others, which PTX does not have.
        if not is_plain_word(op.symbol):
            fail_op(op, f"has a name that assemblers of GPUs cannot read: '{visible(op.symbol)}'")
        facts.append(KernelLowering(unit, machine, op).build())
    machine.finish_module(native)
    return native, facts
