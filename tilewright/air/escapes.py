"""Ways out of the language: instructions of one vendor's GPUs, as text or by the name of an intrinsic, and printing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import IndexType, UnitAttr, f64, i32, i64
from xdsl.ir import Operation

from tilewright.air.dtypes import element_of
from tilewright.air.trace import current, declared, text_constant
from tilewright.device.gpu_targets import Vendor
from tilewright.dialects import llvm
from tilewright.dialects.gpu.lanes import PrintfOp
from tilewright.iron.builders.handles import Value, ssa_of, value_of
from tilewright.iron.builders.location import refuse, user_location
from tilewright.iron.builders.operations import InsertionPoint, build
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.iron.builders.types import is_float_type, is_integer_type

EMULATOR = "emulator"


def inline_asm(
    args: Sequence[Any],
    result: Any = None,
    *,
    ptx: str | None = None,
    gcn: str | None = None,
    constraints: str,
    otherwise: Callable[..., Any] | None = None,
    side_effects: bool = True,
) -> Any:
    """Instructions as text: `ptx` for NVIDIA's GPUs, `gcn` for AMD's; `$0` and so on are the result and `args`.

    `otherwise` is called with the arguments where there is no text, as on the emulator, and builds the same in other
    words. `constraints` are LLVM's, results first: `"=f,f,f"`. `result` is a dtype. Without `side_effects` what is not
    used may be left out.
    """
    text = _chosen({Vendor.NVIDIA: ptx, Vendor.AMD: gcn})
    if text is None:
        return _other(otherwise, args, "assembly")
    types = [] if result is None else [element_of(result)]
    mark = UnitAttr() if side_effects else None
    fields: dict[str, Any] = {"asm_string": text, "constraints": constraints, "has_side_effects": mark}
    op = build(llvm.InlineAsmOp, results=types, operands_=[ssa_of(arg) for arg in args], **fields)
    return value_of(op.results[0]) if op.results else None


def intrinsic(
    args: Sequence[Any],
    result: Any = None,
    *,
    nvidia: str | None = None,
    amd: str | None = None,
    otherwise: Callable[..., Any] | None = None,
) -> Any:
    """One of LLVM's intrinsics by its name, such as `llvm.nvvm.rcp.approx.ftz.f`.

    `nvidia` is the name for NVIDIA's GPUs, `amd` for AMD's; `args`, `result` and `otherwise` are as for `inline_asm`.
    """
    name = _chosen({Vendor.NVIDIA: nvidia, Vendor.AMD: amd})
    if name is None:
        return _other(otherwise, args, "intrinsic")
    types = [] if result is None else [element_of(result)]
    op = build(llvm.CallIntrinsicOp, results=types, intrin=name, args=[ssa_of(arg) for arg in args])
    return value_of(op.results[0]) if op.results else None


def _chosen(texts: dict[Vendor, str | None]) -> str | None:
    trace = current()
    if not trace.is_kernel:
        refuse("instructions of a GPU are for kernels", (None, "write them in a launch"))
    return None if trace.backend == EMULATOR else texts[trace.target.vendor]


def _other(otherwise: Callable[..., Any] | None, args: Sequence[Any], what: str) -> Any:
    trace = current()
    if otherwise is None:
        place = "the emulator" if trace.backend == EMULATOR else trace.target.chip
        refuse(f"there is no {what} for {place}", (None, "say in other words what it does: `otherwise=lambda x: ...`"))
    return otherwise(*args)


def print_line(*values: Any, sep: str = " ") -> None:
    """Print a line when the program gets here: texts, and numbers of Python or of the program, with `sep` between.

    On the host, or in a kernel on the emulator, where each lane prints.
    """
    parts, numbers = list[str](), list[ScalarValue]()
    for value in values:
        if isinstance(value, ScalarValue):
            code, number = _printed(value)
            parts.append(code)
            numbers.append(number)
        elif isinstance(value, Value):
            refuse(f"only numbers can be printed, not {value!r}")
        else:
            parts.append(str(value).replace("%", "%%"))
    text = sep.join(parts) + "\n"
    if current().is_kernel:
        build(PrintfOp, values=numbers, format=text)
        return
    pointer = llvm.LLVMPointerType()
    type = llvm.LLVMFunctionType([pointer], i32, is_variadic=True)
    declared("printf", lambda: _inserted(llvm.FuncOp("printf", type)))
    operands = [text_constant(text), *(ssa_of(number) for number in numbers)]
    _inserted(llvm.CallOp("printf", *operands, return_type=i32, var_callee_type=type))


def _inserted(op: Operation) -> Operation:
    """Constructors of the llvm dialect know about its many settings."""
    op.location = user_location()
    InsertionPoint.current.insert(op)
    return op


def _printed(value: ScalarValue) -> tuple[str, ScalarValue]:
    """The code of C for a number, and the number as C takes it."""
    if is_float_type(value.type):
        return "%g", value.astype(f64)
    if isinstance(value.type, IndexType) or (is_integer_type(value.type) and value.type.bitwidth == 64):
        return "%ld", value.astype(i64)
    return "%d", value.astype(i32)
