"""Arrays that the host describes to the copy engine: what boxes become on the emulator, and what no engine takes."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from tilewright import air
from tilewright.device.tensor_maps import DATA_TYPES, DataType, TensorMap
from tilewright.ir.run_errors import Fault

HOPPER = {"chip": "sm_90", "wave_size": 32}
ROWS = 8


def program(element: str, read_as: str, row: int, swizzle: str = "none", oob: str = "zero") -> str:
    """A kernel brings the first box of an array, of eight rows, and gives its bytes as they lie."""
    map = (
        f"!nvgpu.tensormap.descriptor<tensor = memref<{ROWS}x?x{read_as}, 3>, swizzle = {swizzle}, l2promo = none, "
        f"oob = {oob}, interleave = none>"
    )
    size = ROWS * row * DATA_TYPES[read_as].bytes
    return f"""
    !map = {map}
    module attributes {{gpu.container_module}} {{
      gpu.module @kernels {{
        gpu.func @bring(%n: i32, %map: !map, %out: memref<{size}xi8>)
            workgroup(%room: memref<{size}xi8, 3>, %barrier: memref<1xi64, 3>) kernel {{
          %t = gpu.thread_id x
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %c32 = arith.constant {size} : index
          %at = memref.extract_aligned_pointer_as_index %room : memref<{size}xi8, 3> -> index
          %at64 = arith.index_cast %at : index to i64
          %to = llvm.inttoptr %at64 : i64 to !llvm.ptr<7>
          %place = memref.extract_aligned_pointer_as_index %barrier : memref<1xi64, 3> -> index
          %place64 = arith.index_cast %place : index to i64
          %full = llvm.inttoptr %place64 : i64 to !llvm.ptr<3>
          %pointer = builtin.unrealized_conversion_cast %map : !map to !llvm.ptr
          %zero = arith.constant 0 : i32
          %one = arith.constant 1 : i32
          %ticks = arith.constant 1000 : i32
          %bytes = arith.constant {size} : i32
          %leads = arith.cmpi eq, %t, %c0 : index
          scf.if %leads {{
            nvvm.prefetch tensormap, %pointer : !llvm.ptr
            nvvm.mbarrier.init %full, %one : !llvm.ptr<3>, i32
            nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
            nvvm.cp.async.bulk.tensor.shared.cluster.global %to, %pointer, %full, box[%zero, %n]
              : !llvm.ptr<7>, !llvm.ptr
          }}
          gpu.barrier
          nvvm.mbarrier.try_wait.parity %full, %zero, %ticks : !llvm.ptr<3>, i32, i32
          %threads = gpu.block_dim x
          scf.for %i = %t to %c32 step %threads {{
            %byte = memref.load %room[%i] : memref<{size}xi8, 3>
            memref.store %byte, %out[%i] : memref<{size}xi8>
          }}
          gpu.return
        }}
      }}
      func.func private @described(%x: memref<?x?x{element}>, %rows: index, %row: index) -> !map {{
        %map = nvgpu.tma.create.descriptor %x box[%rows, %row] : memref<?x?x{element}> -> !map
        return %map : !map
      }}
      func.func @main(%x: memref<?x?x{element}>, %out: memref<{size}xi8>, %row: index, %first: i32) {{
        %one = arith.constant 1 : index
        %waves = arith.constant 32 : index
        %rows = arith.constant {ROWS} : index
        %map = func.call @described(%x, %rows, %row) : (memref<?x?x{element}>, index, index) -> !map
        gpu.launch_func @kernels::@bring blocks in (%one, %one, %one) threads in (%waves, %one, %one)
          args(%first : i32, %map : !map, %out : memref<{size}xi8>)
        return
      }}
    }}"""


def brought(
    x: np.ndarray, element: str, read_as: str, row: int, swizzle: str = "none", first: int = 0, **options: str
) -> np.ndarray:
    """The bytes of a box."""
    out = np.zeros(ROWS * row * x.itemsize, np.uint8)
    air.compile(program(element, read_as, row, swizzle)).run(x, out, row, first, **{**HOPPER, **options})
    return out


# rows of 128 bytes are all exchanged by their numbers, of narrower ones those within 128 bytes alike
@pytest.mark.parametrize(
    "swizzle, row, rows_alike, ways",
    [("none", 16, 1, 1), ("swizzle_32b", 16, 4, 2), ("swizzle_64b", 32, 2, 4), ("swizzle_128b", 64, 1, 8)],
)
def test_chunks_of_a_box_are_exchanged(swizzle: str, row: int, rows_alike: int, ways: int) -> None:
    x = np.arange(ROWS * row, dtype=np.int16).reshape(ROWS, row).view(np.float16)
    chunks = brought(x, "f16", "f16", row, swizzle).view(np.int16).reshape(ROWS, -1, 8)
    exact = x.view(np.int16).reshape(chunks.shape)
    for number in range(ROWS):
        places = np.arange(chunks.shape[1]) ^ (number // rows_alike % ways)
        assert (chunks[number, places] == exact[number]).all()


@pytest.mark.parametrize("options", [{}, {"settings": {"check": "races", "reorder": "on"}}], ids=["plain", "watched"])
def test_what_is_beyond_the_edges_is_zero(options) -> None:
    x = np.arange(1, 6 * 24 + 1).reshape(6, 24).astype(ml_dtypes.bfloat16)
    found = brought(x, "bf16", "bf16", 32, first=-1, **options).view(ml_dtypes.bfloat16).reshape(ROWS, 32)
    assert (found[1:7, :24] == x).all() and not found[0].any() and not found[7:].any() and not found[:, 24:].any()


def test_f32_is_rounded_to_19_bits_where_it_is_read_as_tf32() -> None:
    x = np.random.default_rng(1).standard_normal((ROWS, 32)).astype(np.float32)
    found = brought(x, "f32", "tf32", 32).view(np.float32).reshape(x.shape)
    assert not (found.view(np.uint32) & 0x1FFF).any() and np.allclose(found, x, rtol=2**-11, atol=0)


@pytest.mark.parametrize(
    "shape, row, swizzle, oob, text",
    [
        ((8, 9), 16, "none", "zero", "has rows that are 18 bytes apart; .* multiples of 16 bytes: pad them"),
        ((8, 64), 257, "none", "zero", r"has boxes of \(257, 8\) elements; the copy engine takes 1 to 256"),
        ((8, 64), 4, "none", "zero", "has boxes with rows of 8 bytes"),
        ((8, 64), 64, "swizzle_64b", "zero", "has boxes with rows of 128 bytes, and chunks are exchanged within 64"),
        ((8, 64), 16, "swizzle_64b", "zero", "the emulator exchanges chunks of whole rows of 64"),
        ((8, 64), 16, "none", "nan", "the emulator fills it with zeros"),
    ],
)
def test_what_no_engine_takes_is_said_where_it_is_described(shape, row, swizzle, oob, text) -> None:
    x, out = np.zeros(shape, np.float16), np.zeros(ROWS * row * 2, np.uint8)
    with pytest.raises(Fault, match=f"'nvgpu.tma.create.descriptor' op .*{text}"):
        air.compile(program("f16", "f16", row, swizzle, oob)).run(x, out, row, 0, **HOPPER)


GOOD = TensorMap(4096, DataType.FLOAT16, (64, 8), (2, 128), (64, 8), 3)


@pytest.mark.parametrize(
    "change, text",
    [
        ({}, None),
        ({"address": 4104}, "has an array at 0x1008; the copy engine takes those that begin at multiples of 16 bytes"),
        ({"strides": (4, 128)}, "has elements of a row 4 bytes apart"),
        ({"strides": (2, 1 << 40)}, f"has rows that are {1 << 40} bytes apart"),
        ({"sizes": (1 << 33, 8)}, "takes up to 4294967296"),
        ({"data_type": DataType.UINT16, "oob_fill": 1}, "an array of integers with NaN"),
        ({"sizes": (8,) * 6}, "has an array of 6 dimensions; the copy engine takes 1 to 5"),
    ],
)
def test_limits_are_those_of_the_driver(change: dict[str, object], text: str | None) -> None:
    fault = replace(GOOD, **change).fault()
    assert fault is None if text is None else fault is not None and text in fault


def test_a_gpu_without_the_engine_takes_no_tensor_maps() -> None:
    x, out = np.zeros((8, 64), np.float16), np.zeros(ROWS * 16 * 2, np.uint8)
    with pytest.raises(Fault, match="has a tensor map; sm_80 has no copy engine, NVIDIA's GPUs from sm_90 on have"):
        air.compile(program("f16", "f16", 16)).run(x, out, 16, 0, chip="sm_80", wave_size=32)


def test_an_array_without_elements_is_described_and_not_copied() -> None:
    out = np.zeros(ROWS * 16 * 2, np.uint8)
    with pytest.raises(Fault, match="has a box copied by a tensor map that is none"):
        air.compile(program("f16", "f16", 16)).run(np.zeros((0, 9), np.float16), out, 16, 0, **HOPPER)
