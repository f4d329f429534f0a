"""Signatures of the functions that host programs may call without defining them, in type codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llvmlite import ir
from xdsl.dialects.builtin import Float32Type, Float64Type, IndexType, IntegerType, UnrankedMemRefType
from xdsl.ir import Attribute

from tilewright.dialects.llvm import LLVMPointerType, LLVMVoidType
from tilewright.native.values import F32, F64, I32, I64, POINTER

VOID = ir.VoidType()
_NATIVE = {"p": POINTER, "l": I64, "i": I32, "b": I32, "h": I32, "f": F32, "d": F64, "v": VOID}
"""LLVM's type for each code; callers widen small integers, as C's conventions have it."""
_WORDS = {
    "p": "!llvm.ptr",
    "l": "i64",
    "i": "i32",
    "b": "i1",
    "h": "i16",
    "f": "f32",
    "d": "f64",
    "v": "()",
    "?": "a type that no function of the runtime has",
}
_WIDTHS = {1: "b", 8: "b", 16: "h", 32: "i", 64: "l"}


@dataclass(frozen=True)
class CSignature:
    """`result(parameters)`, one code each: p pointer, l i64, i i32, h i16, b i1, f f32, d f64, v nothing."""

    codes: str

    @property
    def result(self) -> str:
        return self.codes[0]

    @property
    def parameters(self) -> str:
        return self.codes[2:-1]

    def native(self) -> ir.FunctionType:
        return ir.FunctionType(_NATIVE[self.result], [_NATIVE[code] for code in self.parameters])

    def __str__(self) -> str:
        return f"({', '.join(_WORDS[code] for code in self.parameters)}) -> {_WORDS[self.result]}"


def codes_of(type: Attribute) -> str:
    """The code of a type in a program; `?` if there is none. A memref without rank is a rank and a pointer."""
    match type:
        case UnrankedMemRefType():
            return "lp"
        case LLVMPointerType():
            return "p"
        case IndexType():
            return "l"
        case IntegerType():
            return _WIDTHS.get(type.width.data, "?")
        case Float32Type():
            return "f"
        case Float64Type():
            return "d"
        case _:
            return "?"


def declared_signature(inputs: Sequence[Attribute], outputs: Sequence[Attribute]) -> CSignature:
    """What a declaration in a program says."""
    # llvm.func says void where func.func says nothing
    results = [type for type in outputs if not isinstance(type, LLVMVoidType)]
    result = "v" if not results else codes_of(results[0]) if len(results) == 1 else "?"
    return CSignature(f"{result}({''.join(map(codes_of, inputs))})")


# Names and parameters: facts of mlir-air's runtime_lib/airgpu (gpu_runtime.cpp, symmetric_heap.h, gpu_test_utils.cpp);
# a stream is the last parameter of most. Those that print: MLIR's mlir_runner_utils and mlir_c_runner_utils.
_TABLE = {
    "mgpuMemAlloc": "p(lpb)",
    "mgpuMemFree": "v(pp)",
    "mgpuMemcpy": "v(pplp)",
    "mgpuMemset32": "v(pilp)",
    "mgpuMemset16": "v(phlp)",
    "mgpuMemHostRegister": "v(pl)",
    "mgpuMemHostUnregister": "v(p)",
    "mgpuMemHostRegisterMemRef": "v(lpl)",
    "mgpuMemHostUnregisterMemRef": "v(lpl)",
    "mgpuSetDefaultDevice": "v(i)",
    "mgpuSetDevice": "v(i)",
    "mgpuStreamCreate": "p()",
    "mgpuStreamDestroy": "v(p)",
    "mgpuStreamSynchronize": "v(p)",
    "mgpuStreamWaitEvent": "v(pp)",
    "mgpuEventCreate": "p()",
    "mgpuEventDestroy": "v(p)",
    "mgpuEventSynchronize": "v(p)",
    "mgpuEventRecord": "v(pp)",
    "mgpuEventElapsedTime": "i(ppp)",
    "mgpuSymmetricHeapInit": "v(l)",
    "mgpuSymmetricHeapDestroy": "v()",
    "mgpuGetRank": "i()",
    "mgpuGetWorldSize": "i()",
    "mgpuSymmetricAlloc": "p(lp)",
    "mgpuSymmetricFree": "v(pp)",
    "mgpuGetHeapBase": "p(i)",
    "mgpuGetHeapBases": "p()",
    "mgpuBarrier": "v()",
    "mgpuInit": "v(ppll)",
    "mgpuCheckOutput": "v(pppll)",
    "exit": "v(i)",
    "printI64": "v(l)",
    "printU64": "v(l)",
    "printF32": "v(f)",
    "printF64": "v(d)",
    "printOpen": "v()",
    "printClose": "v()",
    "printComma": "v()",
    "printNewline": "v()",
    "rtclock": "d()",
    **{f"printMemref{element}": "v(lp)" for element in ("F32", "F64", "I8", "I16", "I32", "I64", "Ind")},
}
SYMBOLS = {name: CSignature(codes) for name, codes in _TABLE.items()}
"""By name; everything else is looked for in the C library."""

OWN = {"launch": CSignature("v(illlllllp)"), "tensor_map": CSignature("v(pliiiilp)")}
"""What operations become, which programs cannot call. A launch has its number, blocks, threads, dynamic shared memory,
and where its arguments are; a tensor map where it goes, the address, numbers of the driver for type, exchange of
chunks, promotion and fill, how many dimensions there are, and where sizes, strides and the box are, innermost first."""
