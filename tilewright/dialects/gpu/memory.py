"""Device memory, as the host deals with it."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, UnitAttr, UnrankedMemRefType, i32
from xdsl.ir import Operation
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    base,
    operand_def,
    opt_prop_def,
    opt_result_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import EffectInstance, MemoryEffect, MemoryEffectKind
from xdsl.utils.exceptions import VerifyException

from tilewright.dialects._ods import op_definition
from tilewright.dialects._syntax import (
    INDEX,
)
from tilewright.dialects.gpu.attributes import ANY_TOKEN, ASYNC, AsyncDependencies
from tilewright.dialects.memref.types import ANY_MEMREF
from tilewright.ir.constraints import described

RANKED = described(base(MemRefType), "memref of any type values")
UNRANKED = described(base(UnrankedMemRefType), "unranked memref of any type values")


@op_definition
class WaitOp(IRDLOperation):
    """Wait for tokens, or make one that stands for all of them."""

    name = "gpu.wait"

    async_dependencies = var_operand_def(ANY_TOKEN)
    async_token = opt_result_def(ANY_TOKEN)
    custom_directives = (AsyncDependencies,)
    assembly_format = f"{ASYNC} attr-dict"


class AllocEffects(MemoryEffect):
    """Makes the buffer that it gives."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        # On the value: an allocation without uses has no other effect, and can go.
        return {EffectInstance(MemoryEffectKind.ALLOC, op.results[0])}


@op_definition
class AllocOp(IRDLOperation):
    """A buffer in device memory, or one that host and device share."""

    name = "gpu.alloc"

    async_dependencies = var_operand_def(ANY_TOKEN)
    dynamic_sizes = var_operand_def(INDEX)
    symbol_operands = var_operand_def(INDEX)
    host_shared = opt_prop_def(UnitAttr, prop_name="hostShared")
    memref = result_def(RANKED)
    async_token = opt_result_def(ANY_TOKEN)

    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(AllocEffects())
    custom_directives = (AsyncDependencies,)
    # The space is printed in any case, as in MLIR.
    assembly_format = (
        f"{ASYNC} (` ` `host_shared` $hostShared^)? ` ` `(` $dynamic_sizes `)` (`` `[` $symbol_operands^ `]`)? "
        "attr-dict `:` type($memref)"
    )

    def result_names(self) -> Sequence[str | None]:
        # ODS names: several results are named after their declarations.
        return "memref", "asyncToken"

    def verify_(self) -> None:
        dynamic = self.memref.type.get_shape().count(DYNAMIC_INDEX)
        if dynamic != len(self.dynamic_sizes):
            raise VerifyException("dimension operand count does not equal memref dynamic dimension count")


class MemcpyEffects(MemoryEffect):
    """Reads the source and writes the destination."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        destination, source = op.operands[-2:]
        return {
            EffectInstance(MemoryEffectKind.WRITE, destination),
            EffectInstance(MemoryEffectKind.READ, source),
        }


@op_definition
class MemcpyOp(IRDLOperation):
    """Copy between host and device, in the direction that the buffers give."""

    name = "gpu.memcpy"
    async_dependencies = var_operand_def(ANY_TOKEN)
    dst = operand_def(ANY_MEMREF)
    src = operand_def(ANY_MEMREF)
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(MemcpyEffects())
    custom_directives = (AsyncDependencies,)
    assembly_format = f"{ASYNC} $dst `,` $src attr-dict `:` type($dst) `,` type($src)"


class FirstOperandEffects(MemoryEffect):
    """Writes a buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        # The buffer; the last operand is the value.
        return {EffectInstance(MemoryEffectKind.WRITE, op.operands[-2])}


@op_definition
class MemsetOp(IRDLOperation):
    """Set all elements of a buffer to a value."""

    name = "gpu.memset"
    async_dependencies = var_operand_def(ANY_TOKEN)
    dst = operand_def(ANY_MEMREF)
    value = operand_def()
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(FirstOperandEffects())
    custom_directives = (AsyncDependencies,)
    assembly_format = f"{ASYNC} $dst `,` $value attr-dict `:` type($dst) `,` type($value)"


class FreeEffects(MemoryEffect):
    """Frees a buffer."""

    @classmethod
    def get_effects(cls, op: Operation) -> set[EffectInstance]:
        return {EffectInstance(MemoryEffectKind.FREE, op.operands[-1])}


@op_definition
class DeallocOp(IRDLOperation):
    """Give device memory back."""

    name = "gpu.dealloc"
    async_dependencies = var_operand_def(ANY_TOKEN)
    memref = operand_def(ANY_MEMREF)
    async_token = opt_result_def(ANY_TOKEN)

    traits = traits_def(FreeEffects())
    custom_directives = (AsyncDependencies,)
    assembly_format = f"{ASYNC} $memref attr-dict `:` type($memref)"


@op_definition
class HostRegisterOp(IRDLOperation):
    """Let kernels use a buffer of the host."""

    name = "gpu.host_register"
    value = operand_def(UNRANKED)
    assembly_format = "$value attr-dict `:` type($value)"


@op_definition
class HostUnregisterOp(IRDLOperation):
    """End what `gpu.host_register` began."""

    name = "gpu.host_unregister"
    value = operand_def(UNRANKED)
    assembly_format = "$value attr-dict `:` type($value)"


@op_definition
class SetDefaultDeviceOp(IRDLOperation):
    """Choose the device that this thread of the host uses from now on."""

    name = "gpu.set_default_device"
    device = operand_def(i32)
    assembly_format = "attr-dict $device"


OPS: Sequence[type[IRDLOperation]] = [
    WaitOp,
    AllocOp,
    MemcpyOp,
    MemsetOp,
    DeallocOp,
    HostRegisterOp,
    HostUnregisterOp,
    SetDefaultDeviceOp,
]
