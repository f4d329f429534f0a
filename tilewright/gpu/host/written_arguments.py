"""Which arguments of an entry a program may write, as far as its text tells: all but those that are only read."""

from __future__ import annotations

from collections.abc import Iterable

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue, Use

from tilewright.dialects import func, memref
from tilewright.dialects.func import FuncOp
from tilewright.dialects.gpu.calls import LaunchFuncOp
from tilewright.dialects.gpu.kernels import GPUFuncOp, GPUModuleOp
from tilewright.dialects.gpu.memory import MemcpyOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.ir.symbols import lookup_symbol, symbol_in

READS = frozenset(
    (
        *("memref.load", "memref.dim", "memref.rank", "memref.prefetch", "affine.load", "affine.vector_load"),
        *("vector.load", "vector.transfer_read", "vector.maskedload", "vector.gather"),
        *("gpu.host_register", "gpu.host_unregister"),
    )
)
VIEWS = frozenset(
    f"memref.{name}"
    for name in (
        *("cast", "subview", "reinterpret_cast", "collapse_shape", "expand_shape", "memory_space_cast"),
        *("assume_alignment", "view", "transpose"),
    )
)
PRINTS = "printMemref"
"""How the names of functions begin that print a buffer and leave it as it is."""


def written_arguments(module: ModuleOp, entry: FuncOp) -> set[int]:
    """The numbers of the buffers that may be written."""
    arguments = enumerate(entry.body.blocks[0].args)
    return {number for number, argument in arguments if is_ranked(argument.type) and _is_written(module, argument)}


def _is_written(module: ModuleOp, buffer: SSAValue) -> bool:
    seen, work = set[SSAValue](), [buffer]
    while work:
        value = work.pop()
        if value in seen:
            continue
        seen.add(value)
        for use in value.uses:
            names = _other_names(module, use)
            if names is None:
                return True
            work += names
    return False


def _other_names(module: ModuleOp, use: Use) -> Iterable[SSAValue] | None:
    """What a use makes known the buffer as; None if the buffer may be written there, or nothing is known of the use."""
    op = use.operation
    if op.name in READS:
        return ()
    if op.name in VIEWS:
        return op.results
    match op:
        case memref.CopyOp():
            return () if use.index == 0 else None
        case MemcpyOp():
            return () if op.operands[use.index] is not op.dst else None
        case func.CallOp():
            return _in_function(op, use.index)
        case LaunchFuncOp():
            return _in_kernel(module, op, use.index)
        case _:
            return None


def _in_function(op: func.CallOp, number: int) -> Iterable[SSAValue] | None:
    callee = lookup_symbol(op, op.callee)
    if not isinstance(callee, FuncOp) or callee.is_declaration:
        return () if op.callee.string_value().startswith(PRINTS) else None
    return (callee.body.blocks[0].args[number],)


def _in_kernel(module: ModuleOp, op: LaunchFuncOp, number: int) -> Iterable[SSAValue] | None:
    kernels = symbol_in(module, op.kernel.root_reference.data)
    kernel = symbol_in(kernels, op.kernel_name) if isinstance(kernels, GPUModuleOp) else None
    place = number - (len(op.operands) - len(op.kernel_operands) - (op.async_object is not None))
    return (kernel.body.blocks[0].args[place],) if isinstance(kernel, GPUFuncOp) and place >= 0 else None
