"""Kernels in C++ beside those of the library: the same products and sums, called as a core calls them.

Both get the same arrays, in turns, and have to agree. Compiling is measured with a cache that is empty, and from it.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import ml_dtypes
import numpy as np

from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.kernels.binding import DeviceKernels
from tilewright.kernels.sources import KernelMode
from tilewright.sim.cpp_kernels import CKernel, CoreFunction

CALLS, ROUNDS = 50, 10
SOURCE = """
template <class In, class Out, unsigned r, unsigned s, unsigned t>
static inline void product(const In *__restrict a, const In *__restrict b, Out *__restrict c) {
  using block = aie::mmul<r, s, t, In, In>;
  constexpr unsigned rows = 64 / r, depth = 64 / s, columns = 64 / t;
  for (unsigned i = 0; i < rows; i += 2)
    for (unsigned j = 0; j < columns; j += 2) {
      Out *c0 = c + (i * columns + j) * block::size_C, *c1 = c0 + columns * block::size_C;
      block s00(aie::load_v<block::size_C>(c0)), s01(aie::load_v<block::size_C>(c0 + block::size_C));
      block s10(aie::load_v<block::size_C>(c1)), s11(aie::load_v<block::size_C>(c1 + block::size_C));
      for (unsigned k = 0; k < depth; k++) {
        auto a0 = aie::load_v<block::size_A>(a + (i * depth + k) * block::size_A);
        auto a1 = aie::load_v<block::size_A>(a + ((i + 1) * depth + k) * block::size_A);
        auto b0 = aie::load_v<block::size_B>(b + (k * columns + j) * block::size_B);
        auto b1 = aie::load_v<block::size_B>(b + (k * columns + j + 1) * block::size_B);
        s00.mac(a0, b0), s01.mac(a0, b1), s10.mac(a1, b0), s11.mac(a1, b1);
      }
      aie::store_v(c0, s00.template to_vector<Out>()), aie::store_v(c0 + block::size_C, s01.template to_vector<Out>());
      aie::store_v(c1, s10.template to_vector<Out>()), aie::store_v(c1 + block::size_C, s11.template to_vector<Out>());
    }
}
extern "C" {
void matmul_i16_i32(const int16 *a, const int16 *b, int32 *c) { product<int16, int32, 4, 4, 4>(a, b, c); }
void matmul_i8_i32(const int8 *a, const int8 *b, int32 *c) { product<int8, int32, 4, 8, 8>(a, b, c); }
void matmul_bf16_f32(const bfloat16 *a, const bfloat16 *b, float *c) { product<bfloat16, float, 4, 8, 4>(a, b, c); }
void reduce_add_vector(const int32 *a, int32 *c, const int32 n) {
  auto sum = aie::zeros<int32, 16>();
  for (int i = 0; i < n; i += 16)
    sum = aie::add(sum, aie::load_v<16>(a + i));
  c[0] = aie::reduce_add(sum);
}
}
"""
MATRIX = "memref<4096x{}>"
KERNELS = {
    "matmul_i16_i32": ("i16", "i16", "i32"),
    "matmul_i8_i32": ("i8", "i8", "i32"),
    "matmul_bf16_f32": ("bf16", "bf16", "f32"),
}
DTYPES = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "bf16": ml_dtypes.bfloat16, "f32": np.float32}


def kernels(path: Path, mode: KernelMode) -> DeviceKernels:
    types = {name: ", ".join(f"memref<4096x{kind}>" for kind in kinds) for name, kinds in KERNELS.items()}
    types["reduce_add_vector"] = "memref<1024xi32>, memref<1xi32>, i32"
    source = f'{{tilewright.source_file = "{path}", link_with = "all.o"}}'
    declared = "\n".join(f"func.func private @{name}({given}) attributes {source}" for name, given in types.items())
    module = parse_source(make_context(), f"aie.device(npu1) {{\n{declared}\n}}", "bench.mlir")
    return DeviceKernels({}, next(op for op in module.body.ops if isinstance(op, DeviceOp)), mode)


def seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS


def compare(name: str, library: Any, compiled: Any, arguments: list[Any]) -> None:
    function = CoreFunction(compiled, compiled._own, None, (), None)
    outputs = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    library(*outputs)
    given = [argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments]
    function.begin(given, None)
    for ours, theirs in zip(given, outputs, strict=True):
        np.testing.assert_allclose(np.asarray(ours, np.float64), np.asarray(theirs, np.float64), rtol=1e-5)
    times = [(seconds(lambda: library(*outputs)), seconds(lambda: function.begin(given, None))) for _ in range(ROUNDS)]
    numpy_time, cpp_time = (min(column) * 1e6 for column in zip(*times, strict=True))
    print(f"{name:20}{numpy_time:9.1f} us{cpp_time:9.1f} us{numpy_time / cpp_time:7.1f}x{function.cycles:9,}")


def main(_arguments: list[str]) -> None:
    random = np.random.default_rng(0)
    with TemporaryDirectory() as folder:
        os.environ["TILEWRIGHT_CACHE"] = f"{folder}/cache"
        path = Path(folder) / "bench.cc"
        path.write_text(SOURCE)
        library, times = kernels(path, KernelMode.LIBRARY), list[float]()
        for _ in range(2):
            start = time.perf_counter()
            compiled = kernels(path, KernelMode.SOURCE)
            assert isinstance(compiled["matmul_i16_i32"], CKernel)
            times.append(time.perf_counter() - start)
        print(f"four kernels compiled in {times[0]:.2f} s, from the cache in {1000 * times[1]:.1f} ms")
        print("one call               library         C++          modelled cycles")
        for name, kinds in KERNELS.items():
            arrays = [random.integers(-9, 9, 4096).astype(DTYPES[kind]) for kind in kinds]
            compare(name, library[name], compiled[name], arrays)
        sums = [random.integers(-9, 9, 1024).astype(np.int32), np.zeros(1, np.int32), 1024]
        compare("reduce_add_vector", library["reduce_add_vector"], compiled["reduce_add_vector"], sums)


if __name__ == "__main__":
    main(sys.argv[1:])
