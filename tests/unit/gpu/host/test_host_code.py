"""Host code runs as native code: it prints, computes, calls the runtime, and errors in it are located."""

from __future__ import annotations

import ctypes
import re
import struct
import time
from collections.abc import Callable
from threading import Barrier, Thread
from typing import Any

import numpy as np
import pytest

from tilewright import air
from tilewright.gpu.host import program
from tilewright.gpu.host.arguments import ArgumentError
from tilewright.ir.diagnostics import DiagnosedError
from tilewright.passes.air.hierarchies import find_target

Run = Callable[..., Any]

PRINTF = """
  llvm.func @printf(!llvm.ptr, ...) -> i32
  func.func private @exit(i32)
"""


def test_prints_what_c_would_print(run_host: Run):
    """Integers, floats and strings reach printf as C's conventions have it; lines come in order."""
    result = run_host(
        PRINTF
        + r"""
  llvm.mlir.global internal constant @line("%d %ld %.2f %s|\0A\00") {addr_space = 0 : i32}
  llvm.mlir.global internal constant @word("g\C3\BCte\00") {addr_space = 0 : i32}
  func.func @main() {
    %format = llvm.mlir.addressof @line : !llvm.ptr
    %word = llvm.mlir.addressof @word : !llvm.ptr
    %a = arith.constant -7 : i32
    %b = arith.constant 1099511627776 : i64
    %c = arith.constant 2.5 : f32
    %d = arith.extf %c : f32 to f64
    %n = llvm.call @printf(%format, %a, %b, %d, %word) vararg(!llvm.func<i32 (ptr, ...)>)
        : (!llvm.ptr, i32, i64, f64, !llvm.ptr) -> i32
    return
  }"""
    )
    assert result.output == "-7 1099511627776 2.50 güte|\n"
    assert result.status == 0


@pytest.mark.parametrize(
    "ending, status",
    [
        ("%c = arith.constant 3 : i32\n    call @exit(%c) : (i32) -> ()", 3),
        ("%c = arith.constant 0 : i32\n    call @exit(%c) : (i32) -> ()", 0),
    ],
)
def test_exit_ends_the_program_at_once(run_host: Run, ending: str, status: int):
    """exit leaves from inside of other functions too; what was printed before it is there, what follows is not."""
    result = run_host(
        PRINTF
        + rf"""
  llvm.mlir.global internal constant @before("before\0A\00") {{addr_space = 0 : i32}}
  func.func @leave() {{
    {ending}
    return
  }}
  func.func @main() {{
    %text = llvm.mlir.addressof @before : !llvm.ptr
    %n = llvm.call @printf(%text) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr) -> i32
    call @leave() : () -> ()
    %m = llvm.call @printf(%text) vararg(!llvm.func<i32 (ptr, ...)>) : (!llvm.ptr) -> i32
    return
  }}"""
    )
    assert result.output == "before\n"
    assert result.ranks[0].status == status


def test_main_returns_the_exit_status(run_host: Run):
    result = run_host("func.func @main() -> i32 {\n  %c = arith.constant 4 : i32\n  return %c : i32\n}")
    assert (result.ranks[0].status, result.status) == (4, 1)


def test_other_functions_are_called_with_arrays_and_numbers(run_host: Run):
    """Arrays are changed in place, numbers come back; sizes that the type leaves open are those of the array."""
    values = np.arange(6, dtype=np.float32)
    result = run_host(
        """
  func.func @scale(%m: memref<?xf32>, %by: f32, %n: index) -> (f32, index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %size = memref.dim %m, %c0 : memref<?xf32>
    scf.for %i = %c0 to %size step %c1 {
      %x = memref.load %m[%i] : memref<?xf32>
      %y = arith.mulf %x, %by : f32
      memref.store %y, %m[%i] : memref<?xf32>
    }
    %more = arith.addi %n, %size : index
    return %by, %more : f32, index
  }""",
        values,
        1.5,
        10,
    )
    np.testing.assert_array_equal(values, np.arange(6) * np.float32(1.5))
    assert list(result.ranks[0].values) == [1.5, 16]


def test_kernels_get_flattened_arguments(run_host: Run):
    """A memref is pointer, pointer, offset, sizes, strides; scalars have the bytes of their types."""
    seen = []

    def kernel(grid: Any, block: Any, arguments: list[bytes]) -> None:
        pointer, aligned, offset, *dims = (int.from_bytes(part, "little") for part in arguments[:7])
        ctypes.memmove(pointer, struct.pack("<f", 42.0), 4)
        print(grid, block, pointer == aligned, offset, dims, [len(part) for part in arguments[7:]], flush=True)

    result = run_host(
        """
module attributes {gpu.container_module} {
  gpu.module @kernels {
    gpu.func @fill(%m: memref<?x4xf32>, %x: i32, %y: f64, %z: i1) kernel { gpu.return }
  }
  func.func @main() -> f32 {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %c3 = arith.constant 3 : index
    %x = arith.constant 7 : i32
    %y = arith.constant 7.5 : f64
    %z = arith.constant true
    %m = gpu.alloc (%c3) : memref<?x4xf32>
    %host = memref.alloc(%c3) : memref<?x4xf32>
    gpu.launch_func @kernels::@fill blocks in (%c2, %c3, %c2) threads in (%c3, %c2, %c2)
        args(%m : memref<?x4xf32>, %x : i32, %y : f64, %z : i1)
    gpu.memcpy %host, %m : memref<?x4xf32>, memref<?x4xf32>
    gpu.dealloc %m : memref<?x4xf32>
    %got = memref.load %host[%c0, %c0] : memref<?x4xf32>
    memref.dealloc %host : memref<?x4xf32>
    return %got : f32
  }
}""",
        kernels={"fill": kernel},
    )
    assert result.output == "Size3(x=2, y=3, z=2) Size3(x=3, y=2, z=2) True 0 [3, 4, 4, 1] [4, 8, 1]\n", seen
    assert result.ranks[0].values == [42.0]
    assert result.counters == {"launches": 1}


def test_prints_buffers_as_mlir_does(run_host: Run):
    """The functions of MLIR's runner libraries, for buffers of any rank and strides."""
    result = run_host(
        """
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func private @printI64(i64)
  func.func private @printComma()
  func.func private @printF32(f32)
  func.func private @printNewline()
  memref.global "private" @numbers : memref<2x3xi32> = dense<[[1, 2, 3], [4, 5, -6]]>
  memref.global "private" @halves : memref<3xf32> = dense<[0.5, 1.0, 1.5]>
  func.func @main() {
    %numbers = memref.get_global @numbers : memref<2x3xi32>
    %any = memref.cast %numbers : memref<2x3xi32> to memref<*xi32>
    call @printMemrefI32(%any) : (memref<*xi32>) -> ()
    %right = memref.subview %numbers[0, 2] [2, 1] [1, 1] : memref<2x3xi32> to memref<2xi32, strided<[3], offset: 2>>
    %column = memref.cast %right : memref<2xi32, strided<[3], offset: 2>> to memref<*xi32>
    call @printMemrefI32(%column) : (memref<*xi32>) -> ()
    %halves = memref.get_global @halves : memref<3xf32>
    %floats = memref.cast %halves : memref<3xf32> to memref<*xf32>
    call @printMemrefF32(%floats) : (memref<*xf32>) -> ()
    %n = arith.constant -3 : i64
    %x = arith.constant 2.5 : f32
    call @printI64(%n) : (i64) -> ()
    call @printComma() : () -> ()
    call @printF32(%x) : (f32) -> ()
    call @printNewline() : () -> ()
    return
  }"""
    )
    lines = re.sub("base@ = 0x[0-9a-f]+", "base@ = X", result.output).split("\n")
    assert lines == [
        "Unranked Memref base@ = X rank = 2 offset = 0 sizes = [2, 3] strides = [3, 1] data = ",
        "[[1,   2,   3], ",
        " [4,   5,   -6]]",
        "Unranked Memref base@ = X rank = 1 offset = 2 sizes = [2] strides = [3] data = ",
        "[3,  -6]",
        "Unranked Memref base@ = X rank = 1 offset = 0 sizes = [3] strides = [1] data = ",
        "[0.5,  1,  1.5]",
        "-3, 2.5",
        "",
    ]


def test_globals_keep_what_is_stored_in_them(run_host: Run):
    """Buffers and variables with names, pointers with offsets, and atomic updates of them."""
    result = run_host(
        """
  memref.global "private" @table : memref<4xi32> = dense<[5, 6, 7, 8]>
  llvm.mlir.global internal @count(40 : i32) {addr_space = 0 : i32} : i32
  func.func @bump() {
    %p = llvm.mlir.addressof @count : !llvm.ptr
    %c1 = arith.constant 1 : i32
    %old = llvm.atomicrmw add %p, %c1 seq_cst : !llvm.ptr, i32
    return
  }
  func.func @main() -> i32 {
    call @bump() : () -> ()
    call @bump() : () -> ()
    %table = memref.get_global @table : memref<4xi32>
    %c2 = arith.constant 2 : index
    %c9 = arith.constant 9 : i32
    memref.store %c9, %table[%c2] : memref<4xi32>
    %at = memref.extract_aligned_pointer_as_index %table : memref<4xi32> -> index
    %number = arith.index_cast %at : index to i64
    %pointer = llvm.inttoptr %number : i64 to !llvm.ptr
    %third = llvm.getelementptr %pointer[2] : (!llvm.ptr) -> !llvm.ptr, i32
    %nine = llvm.load %third : !llvm.ptr -> i32
    %p = llvm.mlir.addressof @count : !llvm.ptr
    %count = llvm.load %p : !llvm.ptr -> i32
    %sum = arith.addi %nine, %count : i32
    return %sum : i32
  }"""
    )
    assert result.ranks[0].values == [51]


BOUNDS = """
  func.func @main() -> i32 {
    %c9 = arith.constant 9 : index
    %m = memref.alloc() : memref<4xi32>
    %x = memref.load %m[%c9] : memref<4xi32>
    return %x : i32
  }"""
FREED_TWICE = """
  func.func private @mgpuMemAlloc(i64, !llvm.ptr, i1) -> !llvm.ptr
  func.func private @mgpuMemFree(!llvm.ptr, !llvm.ptr)
  func.func @main() {
    %c8 = arith.constant 8 : i64
    %no = arith.constant false
    %null = llvm.mlir.zero : !llvm.ptr
    %p = call @mgpuMemAlloc(%c8, %null, %no) : (i64, !llvm.ptr, i1) -> !llvm.ptr
    call @mgpuMemFree(%p, %null) : (!llvm.ptr, !llvm.ptr) -> ()
    call @mgpuMemFree(%p, %null) : (!llvm.ptr, !llvm.ptr) -> ()
    return
  }"""
COPY_TOO_LONG = """
  func.func private @mgpuMemAlloc(i64, !llvm.ptr, i1) -> !llvm.ptr
  func.func private @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
  func.func @main() {
    %c8 = arith.constant 8 : i64
    %c9 = arith.constant 9 : i64
    %no = arith.constant false
    %null = llvm.mlir.zero : !llvm.ptr
    %p = call @mgpuMemAlloc(%c8, %null, %no) : (i64, !llvm.ptr, i1) -> !llvm.ptr
    %q = call @mgpuMemAlloc(%c9, %null, %no) : (i64, !llvm.ptr, i1) -> !llvm.ptr
    call @mgpuMemcpy(%p, %q, %c9, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
    return
  }"""
NO_HEAP = """
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func @main() {
    %c8 = arith.constant 8 : i64
    %null = llvm.mlir.zero : !llvm.ptr
    %p = call @mgpuSymmetricAlloc(%c8, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    return
  }"""
HEAP_TOO_SMALL = """
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func @main() {
    %c8 = arith.constant 8 : i64
    %c512 = arith.constant 512 : i64
    %null = llvm.mlir.zero : !llvm.ptr
    call @mgpuSymmetricHeapInit(%c512) : (i64) -> ()
    %p = call @mgpuSymmetricAlloc(%c8, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    %q = call @mgpuSymmetricAlloc(%c512, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    return
  }"""
ASSERTION = """
  func.func @main() {
    %no = arith.constant false
    cf.assert %no, "never mind"
    return
  }"""


@pytest.mark.parametrize(
    "text, line, message",
    [
        pytest.param(BOUNDS, 5, "accesses bytes 36 up to 40 of a buffer that has 16", id="load out of bounds"),
        pytest.param(FREED_TWICE, 10, "airgpu: free of unknown pointer", id="freed twice"),
        pytest.param(COPY_TOO_LONG, 11, "copies 9 bytes to byte 0 of an allocation that has 8", id="copy too long"),
        pytest.param(NO_HEAP, 6, "airgpu: symmetric heap not initialized", id="no heap"),
        pytest.param(
            HEAP_TOO_SMALL,
            10,
            "airgpu: symmetric heap out of memory (requested 512, used 256, total 512)",
            id="heap too small",
        ),
        pytest.param(ASSERTION, 4, "stops the program: never mind", id="assertion"),
    ],
)
def test_errors_while_running_are_located(run_host: Run, text: str, line: int, message: str):
    result = run_host(text)
    (error,) = result.ranks[0].messages
    assert result.status == 1
    assert message in error.text
    assert error.position is not None
    assert error.position[1] == line


@pytest.mark.parametrize(
    "text, message",
    [
        pytest.param(
            "func.func private @nowhere()\nfunc.func @main() {\n  call @nowhere() : () -> ()\n  return\n}",
            "calls @nowhere, which neither the program nor the runtime nor the C library defines",
            id="unknown function",
        ),
        pytest.param(
            "func.func private @mgpuGetRank() -> i64\nfunc.func @main() {\n  %r = call @mgpuGetRank() : () -> i64\n"
            "  return\n}",
            "declares @mgpuGetRank as () -> i64, which is not what the runtime has",
            id="wrong declaration",
        ),
        pytest.param("func.func @f() { return }\nfunc.func @g() { return }", "no function @main", id="no main"),
        pytest.param(
            "func.func @main() {\n  gpu.barrier\n  return\n}", "'gpu.barrier' op cannot run on the host", id="barrier"
        ),
    ],
)
def test_what_cannot_run_is_refused_before(run_host: Run, text: str, message: str):
    with pytest.raises(DiagnosedError) as error:
        run_host(text)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "arguments, message",
    [
        pytest.param((), "@add takes 2 arguments, got 0", id="too few"),
        pytest.param((np.zeros(4, np.float32), 1), "got an array of shape (4,)", id="wrong shape"),
        pytest.param(
            (np.zeros((2, 4), np.float64), 1), "got float64; convert it first: .astype(np.float32)", id="wrong elements"
        ),
        pytest.param((3, 1), "is a buffer of type memref<2x4xf32>, got 3", id="number for a buffer"),
        pytest.param((np.zeros((2, 4), np.float32), np.zeros(1)), "is of type i32, got an array", id="array"),
    ],
)
def test_arguments_must_fit(run_host: Run, arguments: tuple[Any, ...], message: str):
    with pytest.raises(ArgumentError) as error:
        run_host("func.func @add(%m: memref<2x4xf32>, %n: i32) { return }", *arguments)
    assert message in str(error.value)


def test_errors_in_the_runtime_itself_do_not_crash(run_host: Run):
    """A defect in a device ends the rank with a message that says where it is."""

    def kernel(*_: Any) -> None:
        raise ZeroDivisionError("a defect")

    result = run_host(
        """
module attributes {gpu.container_module} {
  gpu.module @kernels { gpu.func @k() kernel { gpu.return } }
  func.func @main() {
    %c1 = arith.constant 1 : index
    gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
    return
  }
}""",
        kernels={"k": kernel},
    )
    (error,) = result.ranks[0].messages
    assert error.text.startswith("internal error: test_host_code.py:")
    assert error.text.endswith("ZeroDivisionError: a defect")


def test_programs_can_be_run_again():
    """A program keeps nothing from run to run, and can be looked at after each pass."""
    program = air.compile("func.func @main() -> i32 {\n  %c = arith.constant 0 : i32\n  return %c : i32\n}")
    seen: list[str] = []
    target = find_target("gfx942")
    program.lowered(target, watch=lambda name, module: seen.append(name))
    assert seen[-1] == "air-gpu-outlining"
    assert program.lowered(target) is not program.lowered(target)


def test_threads_that_begin_together_make_machine_code_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each finds it whole: where it starts is in code that is still there."""
    made, native = list[Any](), program.NativeModule

    def slowly(module: Any) -> Any:
        made.append(native(module))
        time.sleep(0.05)
        return made[-1]

    monkeypatch.setattr(program, "NativeModule", slowly)
    source = air.compile("func.func @main() -> i64 {\n  %a = arith.constant 7 : i64\n  return %a : i64\n}")
    for _ in range(3):
        host = source.host(source.lowered(find_target("sm_90")))
        together, found = Barrier(4), list[int]()

        def begin(host: Any = host, together: Barrier = together, found: list[int] = found) -> None:
            together.wait()
            host.prepare()
            context, room = (ctypes.c_int64 * 64)(), (ctypes.c_int64 * 1)()
            host.start(ctypes.addressof(context), 0, ctypes.addressof(room))
            found.append(room[0])

        threads = [Thread(target=begin) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [7] * 4
    assert len(made) == 3
