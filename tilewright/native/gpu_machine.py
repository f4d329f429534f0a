"""Instructions of which each vendor's GPUs have their own: ids of threads, barriers, lanes, the order of memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, ClassVar

import llvmlite.binding as llvm
from llvmlite import ir

from tilewright.device.gpu_targets import GpuTarget
from tilewright.native.gpu_instructions import written
from tilewright.native.traps import Untranslatable
from tilewright.native.types import declared
from tilewright.native.values import I32, I64, index, natural_alignment, number_of

if TYPE_CHECKING:
    from tilewright.native.gpu_kernel import KernelLowering

GLOBAL_SPACE, SHARED_SPACE = 1, 3
"""Address spaces that NVPTX and AMDGPU number alike; an address in global memory is the same as a generic one."""
GLOBAL_POINTER = ir.PointerType(addrspace=GLOBAL_SPACE)
DYNAMIC_SHARED = "dynamic_shared_memory"
"""The memory of a block that a launch asks for."""
DIMENSIONS = "x", "y", "z"


@dataclass(frozen=True)
class GpuMachine(ABC):
    """A chip to make code for, with waves of `wave_size` lanes."""

    target: GpuTarget
    wave_size: int
    contract: bool = True
    """Whether sums may be fused with products, as the compilers of CUDA and HIP do unless told otherwise."""

    TRIPLE: ClassVar[str]
    CONVENTION: ClassVar[str]
    """The calling convention of kernels."""
    private_space: ClassVar[int] = 0
    """Where the stack is."""
    casts_numbers: ClassVar[bool] = True
    """Whether pointers made of numbers can be said to be global where they are made; LLVM 22 fails on it for PTX."""
    declared_bytes: ClassVar[int | None] = None
    """How much memory of a block code can declare; the rest is asked for at the launch. None: all there is."""
    INTRINSICS: ClassVar[str]
    """What the names of LLVM's intrinsics for such a GPU begin with."""
    ASSEMBLY_OPERANDS: ClassVar[str]
    """A pattern of what inline assembly can ask its operands to be; nothing if LLVM assembles none."""
    EXP2: ClassVar[str]
    LOG2: ClassVar[str]
    """Intrinsics for powers of 2 and logarithms to base 2, of an f32."""
    SCOPES: ClassVar[Mapping[str, str]]
    """Who takes part in the order of atomic accesses: the names that programs use, and LLVM's for this vendor."""

    @property
    def chip(self) -> str:
        return self.target.chip

    @property
    @abstractmethod
    def features(self) -> str:
        """What LLVM is told about the chip besides its name."""

    def make(self) -> llvm.TargetMachine:
        """LLVM's code generator for the chip."""
        found = llvm.Target.from_triple(self.TRIPLE)
        return found.create_target_machine(cpu=self.chip, features=self.features, opt=3)

    def register(self, lowering: KernelLowering, what: str, dimension: str) -> ir.Value:
        """One of `thread`, `block`, `threads`, `blocks`: an i32, and a constant where the program says how many."""
        if what == "threads" and lowering.block is not None:
            return i32(lowering.block[DIMENSIONS.index(dimension)])
        return self.read_register(lowering, what, dimension)

    @abstractmethod
    def read_register(self, lowering: KernelLowering, what: str, dimension: str) -> ir.Value: ...

    @abstractmethod
    def lane(self, lowering: KernelLowering) -> ir.Value:
        """Which lane of its wave the thread is: an i32."""

    @abstractmethod
    def barrier(self, lowering: KernelLowering) -> None:
        """Wait for all threads of the block, and see what they have written."""

    @abstractmethod
    def wave_barrier(self, lowering: KernelLowering) -> None:
        """Wait for all lanes of the wave, where they do not go in step by themselves."""

    @abstractmethod
    def wave_fence(self, lowering: KernelLowering, ordering: str) -> None:
        """See what the other lanes of the wave have written; all of them come here."""

    @abstractmethod
    def read_lane(self, lowering: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
        """What another lane of the wave has: an i32."""

    def mark_kernel(self, lowering: KernelLowering) -> None:
        """Say that a function is a kernel, and what is known of its launches."""
        lowering.function.calling_convention = self.CONVENTION

    @abstractmethod
    def finish_module(self, module: ir.Module) -> None:
        """What a module needs besides its functions."""

    def scope(self, name: str) -> str:
        """LLVM's `syncscope`, with a space behind it; nothing for the whole system."""
        if name not in self.SCOPES:
            raise Untranslatable(f"scope '{name}' is none of {', '.join(map(repr, self.SCOPES))}")
        found = self.SCOPES[name]
        return f'syncscope("{found}") ' if found else ""

    # Written out: llvmlite has no scopes for atomic accesses.
    def atomic_load(
        self, builder: ir.IRBuilder, pointer: ir.Value, type: ir.Type, ordering: str, scope: str
    ) -> ir.Value:
        aligned = f"align {natural_alignment(type)}"
        return written(builder, type, f"load atomic {type}, {{0}} {self.scope(scope)}{ordering}, {aligned}", pointer)

    def atomic_store(
        self, builder: ir.IRBuilder, value: ir.Value, pointer: ir.Value, ordering: str, scope: str
    ) -> None:
        text = f"store atomic {{0}}, {{1}} {self.scope(scope)}{ordering}, align {natural_alignment(value.type)}"
        written(builder, ir.VoidType(), text, value, pointer)

    def fence(self, builder: ir.IRBuilder, ordering: str, scope: str) -> None:
        written(builder, ir.VoidType(), f"fence {self.scope(scope)}{ordering}")

    def exchange(
        self,
        builder: ir.IRBuilder,
        operands: tuple[ir.Value, ir.Value, ir.Value],
        orderings: tuple[str, str],
        scope: str,
    ) -> ir.Value:
        """Compare and exchange: pointer, what is expected, what is written; gives what was there, and a success."""
        # What was there, and whether that was expected.
        result = ir.LiteralStructType([operands[2].type, ir.IntType(1)])
        text = f"cmpxchg {{0}}, {{1}}, {{2}} {self.scope(scope)}{' '.join(orderings)}"
        return written(builder, result, text, *operands)

    def update(
        self, builder: ir.IRBuilder, kind: str, pointer: ir.Value, value: ir.Value, ordering: str, scope: str
    ) -> ir.Value:
        """`atomicrmw`: gives what was there."""
        text = f"atomicrmw {kind} {{0}}, {{1}} {self.scope(scope)}{ordering}"
        return written(builder, value.type, text, pointer, value)


def call(lowering: KernelLowering, name: str, result: ir.Type, *values: ir.Value) -> ir.Value:
    """A call of one of LLVM's intrinsics."""
    function = declared(lowering.unit.module, name, result, [value.type for value in values])
    return lowering.builder.call(function, values)


def i32(number: int) -> ir.Constant:
    return ir.Constant(I32, number)


def thread_number(lowering: KernelLowering) -> ir.Value:
    """Which of all the threads of its block a thread is, x first."""
    builder, machine = lowering.builder, lowering.machine
    number: ir.Value = i32(0)
    for dimension in reversed(DIMENSIONS):
        size = machine.register(lowering, "threads", dimension)
        number = builder.mul(number, size)
        # Where a block has one thread in a dimension, the id there is 0 and need not be read.
        if number_of(size) != 1:
            number = builder.add(number, machine.register(lowering, "thread", dimension))
    return number


def thread_count(lowering: KernelLowering) -> ir.Value:
    sizes = [lowering.machine.register(lowering, "threads", dimension) for dimension in DIMENSIONS]
    return reduce(lowering.builder.mul, sizes, i32(1))


def as_index(builder: ir.IRBuilder, value: ir.Value) -> ir.Value:
    """A register as an index: none of those that there are is negative."""
    known = number_of(value)
    return builder.zext(value, I64) if known is None else index(known)
