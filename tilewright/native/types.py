"""MLIR types as LLVM types."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir
from xdsl.dialects.builtin import BFloat16Type, Float16Type, Float32Type, Float64Type, IndexType, IntAttr, IntegerType
from xdsl.ir import Attribute

from tilewright.device.tensor_maps import MAP_BYTES
from tilewright.dialects.llvm import LLVMArrayType, LLVMPointerType, LLVMStructType
from tilewright.dialects.nvgpu import TensorMapDescriptorType
from tilewright.ir.shown import shown

INDEX_BITS = 64


class BFloat(ir.Type):
    """LLVM's `bfloat`, which llvmlite does not know."""

    def _to_string(self) -> str:
        return "bfloat"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BFloat)

    def __hash__(self) -> int:
        return hash(BFloat)


def llvm_type(type: Attribute) -> ir.Type:
    """The LLVM type of a scalar, a pointer or a struct; `index` has 64 bits on every host we know."""
    match type:
        case IntegerType():
            return ir.IntType(type.width.data)
        case IndexType():
            return ir.IntType(INDEX_BITS)
        case Float32Type():
            return ir.FloatType()
        case Float64Type():
            return ir.DoubleType()
        case Float16Type():
            return ir.HalfType()
        case BFloat16Type():
            return ir.IntType(16)
        # memory of a block of a GPU, or of its cluster, has addresses of its own
        case LLVMPointerType(addr_space=IntAttr(data=3 | 7 as space)):
            return ir.PointerType(addrspace=space)
        case LLVMPointerType():
            return ir.PointerType()
        case LLVMStructType():
            return ir.LiteralStructType([llvm_type(member) for member in type.types.data])
        case LLVMArrayType():
            return ir.ArrayType(llvm_type(type.type), type.size.data)
        # as a value: kernels have addresses of those that are passed to them
        case TensorMapDescriptorType():
            return ir.ArrayType(ir.IntType(64), MAP_BYTES // 8)
        case _:
            raise TypeError(f"no native type for {shown(type)}")


def declared(module: ir.Module, name: str, result: ir.Type, arguments: Sequence[ir.Type]) -> ir.Function:
    """The declaration of a function, made when it is needed first."""
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(result, arguments), name)
