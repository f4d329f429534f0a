"""The stand-in for drivers of GPUs: built once, and the programs that run on it."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("stand_in_driver.c")
COMPILER = shutil.which("cc") or shutil.which("gcc")
needs_compiler = pytest.mark.skipif(COMPILER is None, reason="no C compiler")

PROGRAM = """
module attributes {gpu.container_module} {
  func.func private @mgpuSymmetricHeapInit(i64)
  func.func private @mgpuSymmetricHeapDestroy()
  func.func private @mgpuSymmetricAlloc(i64, !llvm.ptr) -> !llvm.ptr
  func.func private @mgpuGetRank() -> i32
  func.func private @mgpuBarrier()
  func.func private @mgpuMemcpy(!llvm.ptr, !llvm.ptr, i64, !llvm.ptr)
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @text("rank %d has %d\\0A\\00") {addr_space = 0 : i32}
  gpu.module @kernels {
    gpu.func @add_one(%data: memref<4xi32>) kernel attributes {known_block_size = array<i32: 4, 1, 1>} {
      %t = gpu.thread_id x
      %one = arith.constant 1 : i32
      %old = memref.load %data[%t] : memref<4xi32>
      %new = arith.addi %old, %one : i32
      memref.store %new, %data[%t] : memref<4xi32>
      gpu.return
    }
  }
  func.func @main() {
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    %c3 = arith.constant 3 : index
    %bytes = arith.constant 16 : i64
    %heap = arith.constant 4096 : i64
    %null = llvm.mlir.zero : !llvm.ptr
    func.call @mgpuSymmetricHeapInit(%heap) : (i64) -> ()
    %rank = func.call @mgpuGetRank() : () -> i32
    %place = func.call @mgpuSymmetricAlloc(%bytes, %null) : (i64, !llvm.ptr) -> !llvm.ptr
    %host = memref.alloc() : memref<4xi32>
    memref.store %rank, %host[%c3] : memref<4xi32>
    %at = memref.extract_aligned_pointer_as_index %host : memref<4xi32> -> index
    %at64 = arith.index_cast %at : index to i64
    %pointer = llvm.inttoptr %at64 : i64 to !llvm.ptr
    func.call @mgpuMemcpy(%place, %pointer, %bytes, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
    func.call @mgpuBarrier() : () -> ()
    %d0 = llvm.mlir.poison : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d1 = llvm.insertvalue %place, %d0[0] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %d2 = llvm.insertvalue %place, %d1[1] : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)>
    %buffer = builtin.unrealized_conversion_cast %d2
        : !llvm.struct<(ptr, ptr, i64, array<1 x i64>, array<1 x i64>)> to memref<4xi32>
    gpu.launch_func @kernels::@add_one blocks in (%c1, %c1, %c1) threads in (%c4, %c1, %c1)
        args(%buffer : memref<4xi32>)
    func.call @mgpuMemcpy(%pointer, %place, %bytes, %null) : (!llvm.ptr, !llvm.ptr, i64, !llvm.ptr) -> ()
    %found = memref.load %host[%c3] : memref<4xi32>
    %text = llvm.mlir.addressof @text : !llvm.ptr
    %printed = llvm.call @printf(%text, %rank, %found) vararg(!llvm.func<i32 (ptr, ...)>)
        : (!llvm.ptr, i32, i32) -> i32
    func.call @mgpuSymmetricHeapDestroy() : () -> ()
    return
  }
}
"""
"""Each rank puts its number on the symmetric heap, lets a kernel add one, and prints that."""


@cache
def built(folder: Path, name: str) -> Path:
    """The stand-in as a library of that name."""
    library = folder / name
    assert COMPILER is not None
    subprocess.run([COMPILER, "-shared", "-fPIC", "-w", str(SOURCE), "-o", str(library)], check=True)
    return library
