"""NVIDIA GPUs: PTX.

A wave of 64 lanes is two warps. They meet at a named barrier and read each other's values through shared memory, so
all lanes of the wave have to take part in a shuffle, as they do on a GPU whose waves have 64 lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar

from llvmlite import ir
from xdsl.dialects.builtin import IntegerAttr

from tilewright.device.gpu_targets import NAMED_BARRIERS
from tilewright.device.layout import WORD_BYTES
from tilewright.dialects.gpu.kernels import LEAST_BLOCKS
from tilewright.native.gpu_instructions import add_attribute
from tilewright.native.gpu_machine import GpuMachine, call, i32, thread_count, thread_number
from tilewright.native.traps import Untranslatable
from tilewright.native.values import I1, I8, I32, I64

if TYPE_CHECKING:
    from tilewright.native.gpu_kernel import KernelLowering

WARP = 32
ALL_LANES = i32(-1)
PTX_VERSION = "+ptx80"
"""CUDA 12.0: the first with all that code for sm_90 needs, known to drivers from 525 on."""
NEWER_PTX = {"sm_90a": "+ptx83", "sm_100": "+ptx86", "sm_120": "+ptx87"}
"""Chips that came later need a later version; sm_90a has all instructions that are Hopper's alone."""
REGISTERS = {"thread": "tid", "block": "ctaid", "threads": "ntid", "blocks": "nctaid"}
ORDERINGS = {"monotonic": "relaxed", "acquire": "acquire", "release": "release", "acq_rel": "acq_rel"}
PTX_SCOPES = {"": "sys", "device": "gpu", "block": "cta", "singlethread": "cta"}
UPDATES = {
    "xchg": ("exch", "b"),
    "add": ("add", "u"),
    "and": ("and", "b"),
    "or": ("or", "b"),
    "xor": ("xor", "b"),
    "max": ("max", "s"),
    "min": ("min", "s"),
    "umax": ("max", "u"),
    "umin": ("min", "u"),
    "fadd": ("add", "f"),
}
"""LLVM's kinds of updates that PTX has, with the kind of number."""
REGISTER_KINDS = {"i16": "h", "i32": "r", "i64": "l", "float": "f", "double": "d"}


@dataclass(frozen=True)
class NvptxMachine(GpuMachine):
    """A chip of NVIDIA's."""

    TRIPLE: ClassVar[str] = "nvptx64-nvidia-cuda"
    CONVENTION: ClassVar[str] = "ptx_kernel"
    INTRINSICS: ClassVar[str] = "nvvm"
    ASSEMBLY_OPERANDS: ClassVar[str] = r"~\{\w+\}|[=+]?&?[bchrlNqfdnis]|\d+"
    casts_numbers: ClassVar[bool] = False
    declared_bytes: ClassVar[int | None] = 48 << 10
    EXP2: ClassVar[str] = "llvm.nvvm.ex2.approx.f"
    LOG2: ClassVar[str] = "llvm.nvvm.lg2.approx.f"
    SCOPES: ClassVar[Mapping[str, str]] = {
        "": "",
        "agent": "device",
        "device": "device",
        "workgroup": "block",
        "block": "block",
        "wavefront": "block",
        "singlethread": "singlethread",
    }

    @property
    def features(self) -> str:
        return NEWER_PTX.get(self.chip, PTX_VERSION)

    def read_register(self, lowering: KernelLowering, what: str, dimension: str) -> ir.Value:
        return call(lowering, f"llvm.nvvm.read.ptx.sreg.{REGISTERS[what]}.{dimension}", I32)

    def lane(self, lowering: KernelLowering) -> ir.Value:
        return lowering.builder.and_(thread_number(lowering), i32(self.wave_size - 1))

    def barrier(self, lowering: KernelLowering) -> None:
        if self._one_warp(lowering):
            call(lowering, "llvm.nvvm.bar.warp.sync", ir.VoidType(), ALL_LANES)
            return
        call(lowering, "llvm.nvvm.barrier.cta.sync.aligned.all", ir.VoidType(), i32(0))

    def wave_barrier(self, lowering: KernelLowering) -> None:
        """Of the lanes that there are: the last wave of a block may have just one warp."""
        if self.wave_size <= WARP or self._one_warp(lowering):
            call(lowering, "llvm.nvvm.bar.warp.sync", ir.VoidType(), ALL_LANES)
            return
        builder, number = lowering.builder, thread_number(lowering)
        wave = builder.lshr(number, i32(self.wave_size.bit_length() - 1))
        behind = builder.sub(thread_count(lowering), builder.mul(wave, i32(self.wave_size)))
        whole = builder.icmp_unsigned(">=", behind, i32(self.wave_size))
        # A barrier's count is in whole warps.
        rounded = builder.and_(builder.add(behind, i32(WARP - 1)), i32(-WARP))
        count = builder.select(whole, i32(self.wave_size), rounded)
        # Number 0 belongs to the block's own barrier.
        barrier = builder.add(wave, i32(1))
        lowering.most_waves = NAMED_BARRIERS
        call(lowering, "llvm.nvvm.barrier.cta.sync.count", ir.VoidType(), barrier, count)

    def wave_fence(self, lowering: KernelLowering, ordering: str) -> None:
        """Lanes do not go in step here: they have to wait for each other, and a barrier orders their accesses."""
        self.wave_barrier(lowering)

    def _one_warp(self, lowering: KernelLowering) -> bool:
        return lowering.block is not None and prod(lowering.block) <= WARP

    def read_lane(self, lowering: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
        if self.wave_size <= WARP or self._one_warp(lowering):
            pair = ir.LiteralStructType([I32, I1])
            name = "llvm.nvvm.shfl.sync.idx.i32p"
            got = call(lowering, name, pair, ALL_LANES, value, source, i32(WARP - 1))
            return lowering.builder.extract_value(got, 0)
        return self._read_through_memory(lowering, value, source)

    def _read_through_memory(self, lowering: KernelLowering, value: ir.Value, source: ir.Value) -> ir.Value:
        """By turns through two places, so that one barrier is enough: who is still reading the one that was used before
        has not come to the barrier of this one."""
        builder, waves = lowering.builder, self._waves(lowering)
        room = lowering.exchange_room(2 * waves * self.wave_size * WORD_BYTES)
        number = thread_number(lowering)
        turn = builder.load(lowering.parity, typ=I32)
        builder.store(builder.xor(turn, i32(1)), lowering.parity)
        start = builder.mul(turn, i32(waves * self.wave_size))
        builder.store(value, self._word(builder, room, builder.add(start, number)))
        self.wave_barrier(lowering)
        first = builder.and_(number, i32(-self.wave_size))
        return builder.load(self._word(builder, room, builder.add(start, builder.add(first, source))), typ=I32)

    def _waves(self, lowering: KernelLowering) -> int:
        threads = self.target.max_block_threads if lowering.block is None else prod(lowering.block)
        waves = -(-threads // self.wave_size)
        if lowering.block is not None and waves > NAMED_BARRIERS:
            raise Untranslatable(
                f"{waves} waves of {self.wave_size} lanes exchange values, and a block of {self.chip} has barriers for "
                f"{NAMED_BARRIERS}; use fewer waves, or waves of {WARP} lanes"
            )
        return waves

    def _word(self, builder: ir.IRBuilder, room: ir.Value, number: ir.Value) -> ir.Value:
        return builder.gep(room, [builder.mul(number, i32(WORD_BYTES))], source_etype=I8)

    def update(
        self, builder: ir.IRBuilder, kind: str, pointer: ir.Value, value: ir.Value, ordering: str, scope: str
    ) -> ir.Value:
        """As PTX: LLVM 22 forgets the ordering and the scope of `atomicrmw` here."""
        if kind == "sub":
            # PTX has no atomic subtraction.
            kind, value = "add", builder.sub(ir.Constant(value.type, 0), value)
        if kind not in UPDATES or str(value.type) not in REGISTER_KINDS or value.type == ir.IntType(16):
            raise Untranslatable(f"PTX has no update '{kind}' of {value.type}")
        if ordering == "seq_cst":
            # `atom` has no sequentially consistent form: a fence before acquire and release is one.
            self.fence(builder, ordering, scope)
            ordering = "acq_rel"
        name, number = UPDATES[kind]
        width = {"float": 32, "double": 64}.get(str(value.type)) or value.type.width
        place = f"{ORDERINGS[ordering]}.{PTX_SCOPES[self.SCOPES[scope]]}"
        number = "b" if name == "exch" else number
        text = f"atom.{place}.{name}.{number}{width} $0, [$1], $2;"
        register = REGISTER_KINDS[str(value.type)]
        address = builder.ptrtoint(pointer, I64)  # casts of pointers behind those of parameters LLVM 22 fails on
        type = ir.FunctionType(value.type, [I64, value.type])
        return builder.asm(type, text, f"={register},l,{register},~{{memory}}", [address, value], side_effect=True)

    def finish_module(self, module: ir.Module) -> None:
        """Nothing: PTX says all in its functions."""

    def mark_kernel(self, lowering: KernelLowering) -> None:
        super().mark_kernel(lowering)
        if lowering.block is not None:
            threads = ",".join(map(str, lowering.block))
            add_attribute(lowering.function, "nvvm.reqntid", threads)
        least = lowering.op.attributes.get(LEAST_BLOCKS)
        if isinstance(least, IntegerAttr):
            add_attribute(lowering.function, LEAST_BLOCKS, str(least.value.data))
        if lowering.cluster is not None:
            add_attribute(lowering.function, "nvvm.cluster_dim", ",".join(map(str, lowering.cluster)))
