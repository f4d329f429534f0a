"""Whose kernel it is that a call finds: the user's, then the source's, then the library's."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np
import pytest
from declared_kernels import declared

import tilewright as tw
from tilewright.errors import KernelWarning
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.kernels.registry import all_definitions
from tilewright.sim.kernel_sources import SourceError
from tilewright.sim.kernels import KernelError

ZERO = "@zero_i32(memref<4xi32>)"
needs_cc = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler")


def test_declaration_is_enough() -> None:
    memory = np.ones(4, np.int32)
    declared(ZERO)["zero_i32"](memory)
    assert not memory.any()


def test_users_kernel_comes_first() -> None:
    def mine(_memory: Any) -> None: ...

    kernels = declared(ZERO, own={"zero_i32": mine})
    assert kernels["zero_i32"] is mine and list(kernels) == ["zero_i32"]


def test_digest_before_a_name_does_not_matter() -> None:
    memory = np.ones(4, np.int32)
    declared('@"0123abcd_zero_i32"(memref<4xi32>)')["0123abcd_zero_i32"](memory)
    assert not memory.any()


@pytest.mark.parametrize("declaration", ["@unheard_of(memref<4xi32>)", "@zero_i33(memref<4xi32>)"])
def test_unknown_names_stay_unknown(declaration: str) -> None:
    kernels = declared(declaration)
    assert list(kernels) == [] and kernels.get(declaration[1:].partition("(")[0]) is None


def test_signless_bytes_may_be_either() -> None:
    source, target = np.arange(8, dtype=np.int8), np.zeros(8, np.int8)
    kernel = declared("@passThroughLine(memref<8xi8>, memref<8xi8>, i32)")["passThroughLine"]
    kernel(source, target, 8)
    assert (target == source).all()


@pytest.mark.parametrize(
    "declaration, complaint",
    [
        ("@zero_i32(memref<4xi16>)", "declares @zero_i32(memref<4xi16>), but the kernel of the library takes other"),
        (
            "@zero_i32(memref<4xi32>, i32)",
            "declares @zero_i32(memref<4xi32>, i32), but the kernel of the library takes",
        ),
        ("@bf16_relu(memref<512xbf16>, memref<512xbf16>)", "@bf16_relu always works on 1024 elements of 'a_in'"),
        (
            "@transpose_4x4(memref<64xi32>, memref<64xi32>)",
            '@transpose_4x4 has to know how wide the matrix is: tilewright.compile_flags = ["-DDIM_m=..."]',
        ),
        (
            "@zero_i32(memref<4xi32>) attributes {tilewright.compile_flags = 3 : i32}",
            "'tilewright.compile_flags' is '3 : i32', but should be a list of strings",
        ),
    ],
)
def test_declarations_that_do_not_fit(declaration: str, complaint: str) -> None:
    with pytest.raises(DiagnosedError) as error:
        declared(declaration)[declaration[1:].partition("(")[0]]
    assert f"design.mlir:2:3: error: {complaint}" in str(error.value)


def test_memory_has_to_be_in_a_row() -> None:
    every_other = np.ones(8, np.int32)[::2]
    with pytest.raises(
        KernelError, match="gets a pointer to the first element of 'c_out', the others do not follow it"
    ):
        declared(ZERO)["zero_i32"](every_other)


PRODUCT = "@matmul_i16_i32(memref<16x16xi16>, memref<16x16xi16>, memref<16x16xi32>)"


@pytest.mark.parametrize(
    "words, frozen, complaint",
    [
        pytest.param((256, 256, 255), None, "takes 256 elements as 'c_out', not", id="too short"),
        pytest.param((256, 256, 256), 2, "writes 'c_out', and the array given for it is read-only", id="read-only"),
        pytest.param((256, 256, 256), 0, None, id="what is only read may be read-only"),
    ],
)
def test_machine_code_gets_memory_that_it_may_use(
    words: tuple[int, int, int], frozen: int | None, complaint: str | None
) -> None:
    arrays = [np.ones(count, dtype) for count, dtype in zip(words, (np.int16, np.int16, np.int32), strict=True)]
    if frozen is not None:
        arrays[frozen].flags.writeable = False
    kernel = declared(PRODUCT)["matmul_i16_i32"]
    if complaint is None:
        kernel(*arrays)
        assert set(arrays[2].tolist()) == {17}
        return
    with pytest.raises(KernelError, match=complaint):
        kernel(*arrays)


@needs_cc
def test_source_comes_before_the_library(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    source = 'extern \\"C\\" void fill(int *c) { for (int i = 0; i < 4; i++) c[i] = VALUE; }'
    attributes = (
        f'{{tilewright.source = "{source}", tilewright.symbol = "fill", tilewright.compile_flags = ["-DVALUE=7"]}}'
    )
    memory = np.ones(4, np.int32)
    declared(f"{ZERO} attributes {attributes}")["zero_i32"](memory)
    assert memory.tolist() == [7] * 4


@needs_cc
def test_source_for_cores_only_leaves_it_to_the_library(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", str(tmp_path))
    attributes = '{tilewright.source = "#include <aie_api/aie.hpp>"}'
    memory = np.ones(4, np.int32)
    with pytest.warns(KernelWarning, match="the library's @zero_i32 is used: zero_i32.cc defines no function"):
        declared(f"{ZERO} attributes {attributes}")["zero_i32"](memory)
    assert not memory.any()
    with pytest.raises(KernelError, match=r"defines no function 'unheard_of'"):
        declared(f"@unheard_of(memref<4xi32>) attributes {attributes}")["unheard_of"]


@needs_cc
def test_a_source_that_does_not_compile_shows_the_error_and_its_line() -> None:
    source = "void add(int *a) {\\n  a[0] = missing;\\n}"
    with pytest.raises(SourceError) as caught:
        declared(f'@unheard_of(memref<4xi32>) attributes {{tilewright.source = "{source}"}}')["unheard_of"]
    assert caught.value.position == ("unheard_of.cc", 2, 10)
    assert "error: " in str(caught.value) and "a[0] = missing;" in str(caught.value)


def test_every_kernel_says_what_it_is() -> None:
    definitions = all_definitions()
    assert len({(definition.name, str(definition.parameters)) for definition in definitions}) == len(definitions)
    assert all(definition.summary and definition.parameters for definition in definitions)


DESIGN = """
aie.device(npu1_1col) {
  func.func private @passThroughLine(memref<16xi32>, memref<16xi32>, i32)
  %shim = aie.tile(0, 0)
  %core = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {%core}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.objectfifo @out(%core, {%shim}, 2 : i32) : !aie.objectfifo<memref<16xi32>>
  aie.core(%core) {
    %count = arith.constant COUNT : i32
    %source = aie.objectfifo.acquire @in (Consume, 1) : !aie.objectfifosubview<memref<16xi32>>
    %a = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    %target = aie.objectfifo.acquire @out (Produce, 1) : !aie.objectfifosubview<memref<16xi32>>
    %b = aie.objectfifo.subview.access %target[0] : !aie.objectfifosubview<memref<16xi32>> -> memref<16xi32>
    func.call @passThroughLine(%a, %b, %count) : (memref<16xi32>, memref<16xi32>, i32) -> ()
    aie.objectfifo.release @in (Consume, 1)
    aie.objectfifo.release @out (Produce, 1)
    aie.end
  }
  aie.runtime_sequence @run(%a: memref<16xi32>, %b: memref<16xi32>) {
    aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1]) {id = 0 : i64, metadata = @in} : memref<16xi32>
    aiex.npu.dma_memcpy_nd(%b[0, 0, 0, 0][1, 1, 1, 16][0, 0, 0, 1])
      {id = 1 : i64, metadata = @out, issue_token = true} : memref<16xi32>
    aiex.npu.dma_wait {symbol = @out}
  }
}
"""


def test_design_runs_with_the_library() -> None:
    given, result = np.arange(16, dtype=np.int32), np.zeros(16, np.int32)
    tw.compile(DESIGN.replace("COUNT", "16")).run(given, result)
    assert (result == given).all()


def test_call_for_too_much_is_an_error_at_the_call() -> None:
    design = tw.compile(DESIGN.replace("COUNT", "17"))
    complaint = "<text>:14:5: error: cannot call @passThroughLine: it is to work on 17 elements of a buffer that has 16"
    with pytest.raises(tw.CompileError) as error:
        design.run(np.zeros(16, np.int32), np.zeros(16, np.int32))
    assert complaint in str(error.value)
