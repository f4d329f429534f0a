"""The functions that host programs may call without defining them, with upstream's names and types."""

from __future__ import annotations

from tilewright.gpu.host.signatures import Signature

# Names and parameters: facts of mlir-air's runtime_lib/airgpu (gpu_runtime.cpp, symmetric_heap.h, gpu_test_utils.cpp);
# a stream is the last parameter of most. Those that print: MLIR's mlir_runner_utils and mlir_c_runner_utils.
_LETTERS = {
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
SYMBOLS = {name: Signature(letters) for name, letters in _LETTERS.items()}
"""By name; everything else is looked for in the C library."""

LAUNCH = Signature("v(illlllllp)")
"""How a launch reaches the runtime: its number, blocks, threads, dynamic shared memory, and where its arguments are."""
