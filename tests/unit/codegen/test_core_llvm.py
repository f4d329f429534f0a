"""LLVM IR of cores: its form, and that LLVM takes it for every design in tests and in the library."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest
from core_ir import ir_of

from tilewright.designs import SingleCoreGemm, SingleCoreGemmPlaced, SingleCoreGemmTasks, WholeArrayGemm
from tilewright.designs.any_size import GemmDesign
from tilewright.dialects.aie.core import CoreOp
from tilewright.driver.compiled_design import compile_source, devices_in
from tilewright.driver.core_programs import core_ir
from tilewright.ir.context import make_context
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.ir.parser import parse_source
from tilewright.ir.pass_manager import run_pipeline
from tilewright.ir.verifier import verify
from tilewright.native.host import with_llvm
from tilewright.passes.pipelines import PLACEMENT, RESOURCES, pipeline_of

TESTS = Path(__file__).parents[2]
REFUSED = {
    "Could not find the intrinsic function": "upstream has no such stream on AIE2",
    "'aiex.useToken' op": "tokens become locks in a pass of their own, which is not part of the lowering",
    "'aievec.": "vectors of the vendor's dialect: they become intrinsics by passes that are not here",
}
"""Core programs in tests that no LLVM IR is made of, by what the error says."""
SOURCES = sorted(
    path for path in TESTS.glob("**/*.mlir") if "invalid" not in path.name and "aie.core" in path.read_text()
)


def accepted(text: str) -> None:
    def check() -> None:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()

    with_llvm(check)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(TESTS)))
def test_every_core_in_tests_becomes_ir_that_llvm_takes(path: Path) -> None:
    ctx = make_context(True)
    for part in re.split(r"^// -----.*$", path.read_text(), flags=re.M):
        try:
            module = parse_source(ctx, part, path.name)
            if verify(module):
                continue
            run_pipeline(ctx, module, pipeline_of([*PLACEMENT, *RESOURCES]), verify_each=False)
        except (DiagnosedError, Exception):  # tests of what is wrong with designs
            continue
        for device in devices_in(module):
            for core in (op for op in device.body.ops if isinstance(op, CoreOp) and op.elf_file is None):
                try:
                    accepted(core_ir(device, core))
                except DiagnosedError as error:
                    assert any(text in str(error) for text in REFUSED), error


LIBRARY = [SingleCoreGemm(), SingleCoreGemmTasks(), SingleCoreGemmPlaced(), WholeArrayGemm("npu2", 4)]


@pytest.mark.parametrize("gemm", LIBRARY, ids=lambda gemm: type(gemm).__name__)
def test_designs_of_the_library_become_ir_that_llvm_takes(gemm: GemmDesign, tmp_path: Path) -> None:
    device = compile_source(gemm.program(), ()).device()
    texts = [core_ir(device, op) for op in device.body.ops if isinstance(op, CoreOp)]
    assert texts
    for text in texts:
        accepted(text)
    # LLVM's own assembler, of the version that llvmlite has inside; it need not be installed.
    if (tool := shutil.which("llvm-as-22")) is not None:
        subprocess.run([tool, "-o", tmp_path / "out.bc"], input=texts[0].encode(), check=True)


# What it looks like.


def test_buffers_are_outside_and_locks_have_the_numbers_that_the_core_knows() -> None:
    text = ir_of(
        """%c0 = arith.constant 0 : index
        aie.use_lock(%lock1, AcquireGreaterEqual, 1)
        %x = memref.load %data[%c0] : memref<4xi32>
        memref.store %x, %data[%c0] : memref<4xi32>
        aie.use_lock(%lock0, Release, 1)""",
        {"data": np.zeros(4, np.int32), "other": np.zeros(4, np.int32)},
    )
    assert text.startswith('target triple = "aie2p"\n')
    assert '@"data" = external global [4 x i32], align 32' in text
    assert "other" not in text, "a core has only what it uses"
    assert 'call void @"llvm.aie2p.acquire"(i32 49, i32 -1)' in text
    assert 'call void @"llvm.aie2p.release"(i32 48, i32 1)' in text
    assert 'define void @"core_0_2"() nounwind' in text


def test_kernels_take_bare_pointers_and_numbers_as_they_are_in_c() -> None:
    kernel = "func.func private @f(memref<4xi32, strided<[1], offset: ?>>, bf16, i8, index) -> i32"
    text = ir_of(
        """%part = memref.subview %data[4] [4] [1] : memref<8xi32> to memref<4xi32, strided<[1], offset: 4>>
        %any = memref.cast %part
          : memref<4xi32, strided<[1], offset: 4>> to memref<4xi32, strided<[1], offset: ?>>
        %number = arith.constant 1.5 : bf16
        %byte = arith.constant -1 : i8
        %c3 = arith.constant 3 : index
        %r = func.call @f(%any, %number, %byte, %c3)
          : (memref<4xi32, strided<[1], offset: ?>>, bf16, i8, index) -> i32""",
        {"data": np.zeros(8, np.int32)},
        kernel,
    )
    assert re.search(r'declare i32 @"f"\(ptr %".1", bfloat %".2", i8 %".3", i64 %".4"\)', text)
    assert re.search(r'getelementptr i8, ptr @"data", i64 16\n', text.replace('%".2"', "16")) or "i64 4, 4" in text
    accepted(text)


ACCESSES = {
    "a constant place": ("", "%c16", "<16 x i32>, ptr", 64),
    "a loop of whole vectors": ("scf.for %i = %c0 to %c64 step %c16 {", "%i", "<16 x i32>, ptr", 64),
    "any place": ("scf.for %i = %c0 to %c16 step %c1 {", "%i", "i32, ptr", 64),
    "a loop whose last step is short": ("scf.for %i = %c0 to %c63 step %c16 {", "%i", "<16 x i32>, ptr", 80),
}


@pytest.mark.parametrize("loop, place, expected, size", ACCESSES.values(), ids=ACCESSES)
def test_vectors_are_accessed_whole_only_where_they_are_aligned(
    loop: str, place: str, expected: str, size: int
) -> None:
    """The hardware drops the lower bits of other addresses."""
    constants = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 16, 63, 64))
    text = ir_of(
        f"""{constants}
        {loop}
        %x = vector.load %data[{place}] : memref<{size}xi32>, vector<16xi32>
        %y = arith.addi %x, %x : vector<16xi32>
        vector.store %y, %data[{place}] : memref<{size}xi32>, vector<16xi32>
        {"}" if loop else ""}""",
        {"data": np.zeros(size, np.int32)},
    )
    assert f"load {expected}" in text
    assert ("load <16 x i32>" in text) == expected.startswith("<")
    assert "add <16 x i32>" in text, "a sum of these vectors is one instruction"


def test_own_variables_have_to_fit_the_stack() -> None:
    body = """%c0 = arith.constant 0 : index
    %room = memref.alloca() : memref<512xi32>
    %x = memref.load %data[%c0] : memref<4xi32>
    memref.store %x, %room[%c0] : memref<512xi32>
    %y = memref.load %room[%x0] : memref<512xi32>
    memref.store %y, %data[%c0] : memref<4xi32>""".replace("%x0", "%c0")
    kernel = "func.func private @keep(memref<512xi32>)"
    body += "\nfunc.call @keep(%room) : (memref<512xi32>) -> ()"
    with pytest.raises(DiagnosedError, match=r"(?s)stack of the core to 2048 bytes, and it has 1024.*`stack_size`"):
        ir_of(body, {"data": np.zeros(4, np.int32)}, kernel)


NOT_FOR_CORES = {
    "f16": ("%x = arith.constant 1.0 : f16\nfunc.call @f(%x) : (f16) -> ()", "f16", "there is no f16 on cores"),
    "a size that is not known": (
        "%m = memref.cast %data : memref<4xi32> to memref<?xi32>\nfunc.call @f(%m) : (memref<?xi32>) -> ()",
        "memref<?xi32>",
        "whose sizes and strides functions of a core cannot be told",
    ),
}


@pytest.mark.parametrize("body, type, text", NOT_FOR_CORES.values(), ids=NOT_FOR_CORES)
def test_what_cores_cannot_have_is_an_error_with_its_place(body: str, type: str, text: str) -> None:
    with pytest.raises(DiagnosedError, match=rf"core.mlir:\d+:\d+: error: .*{text}"):
        ir_of(body, {"data": np.zeros(4, np.int32)}, f"func.func private @f({type})")
