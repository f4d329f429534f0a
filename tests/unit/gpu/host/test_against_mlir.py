"""Host programs print here what they print under MLIR's own runner."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

RUNNER, OPT = "mlir-runner-22", "mlir-opt-22"
LIBRARIES = sorted(Path("/usr/lib/llvm-22/lib").glob("libmlir_*runner_utils.so*"))
LOWERING = (
    *("--convert-scf-to-cf", "--expand-strided-metadata", "--convert-math-to-llvm", "--convert-arith-to-llvm"),
    *("--convert-index-to-llvm", "--finalize-memref-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm"),
    "--reconcile-unrealized-casts",
)

PROGRAM = r"""
  llvm.func @printf(!llvm.ptr, ...) -> i32
  llvm.mlir.global internal constant @pair("%ld: %.4f %d\0A\00") {addr_space = 0 : i32}
  func.func private @printMemrefF32(memref<*xf32>) attributes {llvm.emit_c_interface}
  func.func private @printMemrefI32(memref<*xi32>) attributes {llvm.emit_c_interface}
  func.func private @printI64(i64)
  func.func private @printNewline()
  memref.global "private" @weights : memref<3xf32> = dense<[0.5, -1.0, 2.25]>

  func.func @made(%n: index, %by: f32) -> memref<?x3xf32> {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %weights = memref.get_global @weights : memref<3xf32>
    %m = memref.alloc(%n) : memref<?x3xf32>
    scf.for %i = %c0 to %n step %c1 {
      scf.for %j = %c0 to %c3 step %c1 {
        %w = memref.load %weights[%j] : memref<3xf32>
        %k = arith.index_cast %i : index to i32
        %x = arith.sitofp %k : i32 to f32
        %y = math.fma %x, %by, %w : f32
        memref.store %y, %m[%i, %j] : memref<?x3xf32>
      }
    }
    return %m : memref<?x3xf32>
  }
  func.func @collatz(%start: i64) -> i64 {
    %c0 = arith.constant 0 : i64
    %c1 = arith.constant 1 : i64
    %c2 = arith.constant 2 : i64
    %c3 = arith.constant 3 : i64
    %end:2 = scf.while (%x = %start, %steps = %c0) : (i64, i64) -> (i64, i64) {
      %more = arith.cmpi ne, %x, %c1 : i64
      scf.condition(%more) %x, %steps : i64, i64
    } do {
    ^body(%x: i64, %steps: i64):
      %bit = arith.andi %x, %c1 : i64
      %odd = arith.cmpi eq, %bit, %c1 : i64
      %next = scf.if %odd -> i64 {
        %triple = arith.muli %x, %c3 : i64
        %up = arith.addi %triple, %c1 : i64
        scf.yield %up : i64
      } else {
        %half = arith.shrui %x, %c1 : i64
        scf.yield %half : i64
      }
      %counted = arith.addi %steps, %c1 : i64
      scf.yield %next, %counted : i64, i64
    }
    return %end#1 : i64
  }
  func.func @factorial(%n: i64) -> i64 {
    %c1 = arith.constant 1 : i64
    %small = arith.cmpi sle, %n, %c1 : i64
    cf.cond_br %small, ^one, ^more
  ^one:
    return %c1 : i64
  ^more:
    %less = arith.subi %n, %c1 : i64
    %rest = call @factorial(%less) : (i64) -> i64
    %product = arith.muli %n, %rest : i64
    return %product : i64
  }
  func.func @main() {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %c4 = arith.constant 4 : index
    %by = arith.constant 0.75 : f32
    %m = call @made(%c4, %by) : (index, f32) -> memref<?x3xf32>
    %any = memref.cast %m : memref<?x3xf32> to memref<*xf32>
    call @printMemrefF32(%any) : (memref<*xf32>) -> ()
    %part = memref.subview %m[%c1, 1] [2, 2] [%c2, 1] : memref<?x3xf32> to memref<2x2xf32, strided<[?, 1], offset: ?>>
    %few = memref.cast %part : memref<2x2xf32, strided<[?, 1], offset: ?>> to memref<*xf32>
    call @printMemrefF32(%few) : (memref<*xf32>) -> ()
    %bytes = memref.alloc() : memref<32xi8>
    %view = memref.view %bytes[%c4][%c2] : memref<32xi8> to memref<?x2xi32>
    %seven = arith.constant -7 : i32
    %three = arith.constant 3 : i32
    %quotient = arith.floordivsi %seven, %three : i32
    %rest = arith.remsi %seven, %three : i32
    memref.store %quotient, %view[%c0, %c0] : memref<?x2xi32>
    memref.store %rest, %view[%c0, %c1] : memref<?x2xi32>
    %wide = arith.constant -1 : i64
    %cut = arith.trunci %wide : i64 to i32
    memref.store %cut, %view[%c1, %c0] : memref<?x2xi32>
    memref.store %three, %view[%c1, %c1] : memref<?x2xi32>
    %numbers = memref.cast %view : memref<?x2xi32> to memref<*xi32>
    call @printMemrefI32(%numbers) : (memref<*xi32>) -> ()
    %start = arith.constant 27 : i64
    %steps = call @collatz(%start) : (i64) -> i64
    call @printI64(%steps) : (i64) -> ()
    call @printNewline() : () -> ()
    %ten = arith.constant 10 : i64
    %f = call @factorial(%ten) : (i64) -> i64
    %last = memref.load %m[%c2, %c2] : memref<?x3xf32>
    %root = math.sqrt %last : f32
    %double = arith.extf %root : f32 to f64
    %format = llvm.mlir.addressof @pair : !llvm.ptr
    %n = llvm.call @printf(%format, %f, %double, %quotient) vararg(!llvm.func<i32 (ptr, ...)>)
        : (!llvm.ptr, i64, f64, i32) -> i32
    memref.dealloc %bytes : memref<32xi8>
    memref.dealloc %m : memref<?x3xf32>
    return
  }
"""


@pytest.mark.skipif(
    shutil.which(RUNNER) is None or shutil.which(OPT) is None or len(LIBRARIES) < 2, reason=f"needs {RUNNER}, {OPT}"
)
def test_host_code_prints_the_same(run_host: Callable[..., Any]):
    lowered = subprocess.run([OPT, *LOWERING], input=PROGRAM, capture_output=True, text=True, check=True).stdout
    libraries = f"--shared-libs={','.join(map(str, LIBRARIES))}"
    command = [RUNNER, "--entry-point-result=void", libraries]
    expected = subprocess.run(command, input=lowered, capture_output=True, text=True, check=True).stdout
    assert _without_addresses(run_host(PROGRAM).output) == _without_addresses(expected)


def _without_addresses(text: str) -> list[str]:
    return re.sub("0x[0-9a-f]+", "X", text).split("\n")
