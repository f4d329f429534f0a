"""What kernels compute: AIR programs lowered for GPUs, run thread by thread and compared with NumPy."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from air_programs import GPU, MATMUL, tile_copy
from gpu_machine import Machine, kernels_of
from helpers import first, lowered
from hypothesis import given, settings
from hypothesis import strategies as st

from tilewright.dialects.func import FuncOp

WAVE = 4


def run(text: str, *buffers: np.ndarray, wave: int = WAVE, seed: int = 0) -> Machine:
    """Run the kernels of a program whose one function takes `buffers`."""
    module = lowered(text, f"air-to-rocdl{{wave-size={wave}}}")
    function = first(FuncOp, module)
    machine = Machine(wave, seed)
    values: dict[Any, Any] = dict(zip(function.args, buffers, strict=True))
    for kernel in kernels_of(module):
        machine.launch(kernel, values)
        machine.run()
    return machine


def test_a_tile_id_is_the_number_of_a_wave_also_through_affine_apply():
    out = np.zeros(3, np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<3xindex>) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%o=%out) : memref<3xindex> {{
        air.segment args(%s=%o) : memref<3xindex> {{
          %c3 = arith.constant 3 : index
          %one = arith.constant 1 : index
          air.herd tile (%x, %y) in (%nx=%c3, %ny=%one) args(%h=%s) : memref<3xindex> {{
            %v = affine.apply affine_map<()[s0] -> (s0 * 10 + 5)>()[%x]
            memref.store %v, %h[%x] : memref<3xindex>
          }} }} }}
      return }} }}"""
    run(text, out)
    assert out.tolist() == [5, 15, 25]


def test_a_launch_without_segment_keeps_its_body():
    out = np.zeros((2, 3), np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<2x3xindex>) {{
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index
      air.launch (%i, %j) in (%ni=%c2, %nj=%c3) args(%o=%out) : memref<2x3xindex> {{
        %t = arith.muli %i, %nj : index
        %v = arith.addi %t, %j : index
        memref.store %v, %o[%i, %j] : memref<2x3xindex>
      }}
      return }} }}"""
    run(text, out)
    assert out.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_launch_ids_reach_herds_through_arguments_and_any_operation():
    out = np.zeros((2, 2), np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<2x2xindex>) {{
      %c2 = arith.constant 2 : index
      air.launch (%i) in (%n=%c2) args(%o=%out) : memref<2x2xindex> {{
        air.segment args(%si=%i, %s=%o) : index, memref<2x2xindex> {{
          %c2s = arith.constant 2 : index
          air.herd tile (%x) in (%nx=%c2s) args(%hi=%si, %h=%s) : index, memref<2x2xindex> {{
            %c100 = arith.constant 100 : index
            %v = arith.muli %hi, %c100 : index
            %w = arith.addi %v, %x : index
            memref.store %w, %h[%hi, %x] : memref<2x2xindex>
          }} }} }}
      return }} }}"""
    run(text, out)
    assert out.tolist() == [[0, 1], [100, 101]]


@pytest.mark.parametrize("wave", [2, 4, 8])
def test_lanes_and_tiles_number_all_threads_whatever_the_wave(wave: int):
    """Work item = tile * wave size + lane; also in a herd of one dimension."""
    out = np.zeros(3 * wave, np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<{3 * wave}xindex>) {{
      %c3 = arith.constant 3 : index
      air.herd tile (%x) in (%nx=%c3) args(%h=%out) : memref<{3 * wave}xindex> {{
        %w = arith.constant {wave} : index
        %lane = gpu.lane_id
        %base = arith.muli %x, %w : index
        %item = arith.addi %base, %lane : index
        memref.store %item, %h[%item] : memref<{3 * wave}xindex>
      }}
      return }} }}"""
    run(text, out, wave=wave)
    assert out.tolist() == list(range(3 * wave))


@pytest.mark.parametrize("seed", range(4))
def test_a_tile_is_fetched_once_by_all_threads_and_is_there_when_the_herd_starts(seed: int):
    data = np.arange(30, dtype=np.int32).reshape(5, 6)
    out = np.zeros(30, np.int32)
    machine = run(tile_copy(5, 6, waves=3), data, out, seed=seed)
    assert out.tolist() == data.reshape(-1)[::-1].tolist()
    tile_stores = Counter(where for buffer, where in machine.stores if buffer != id(out))
    assert len(tile_stores) == 30 and set(tile_stores.values()) == {1}


def test_smaller_herds_of_a_launch_leave_the_other_waves_alone():
    out = np.zeros((2, 4), np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<2x4xindex>) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%o=%out) : memref<2x4xindex> {{
        air.segment args(%s=%o) : memref<2x4xindex> {{
          %c2 = arith.constant 2 : index
          %c4 = arith.constant 4 : index
          air.herd tile (%x) in (%nx=%c4) args(%h=%s) : memref<2x4xindex> {{
            %c0 = arith.constant 0 : index
            memref.store %nx, %h[%c0, %x] : memref<2x4xindex>
          }}
          air.herd tile (%x) in (%nx=%c2) args(%h=%s) : memref<2x4xindex> {{
            %c1h = arith.constant 1 : index
            memref.store %nx, %h[%c1h, %x] : memref<2x4xindex>
          }} }} }}
      return }} }}"""
    run(text, out)
    assert out.tolist() == [[4, 4, 4, 4], [2, 2, 0, 0]]


def test_a_herd_of_one_dimension_runs_once_also_next_to_one_of_two():
    out = np.zeros(2, np.int32)
    text = f"""{GPU} {{ func.func @f(%out: memref<2xi32>) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%o=%out) : memref<2xi32> {{
        air.segment args(%s=%o) : memref<2xi32> {{
          %c2 = arith.constant 2 : index
          air.herd tile (%x, %y) in (%nx=%c2, %ny=%c2) {{ }}
          air.herd tile (%x) in (%nx=%c2) args(%h=%s) : memref<2xi32> {{
            %c0 = arith.constant 0 : index
            %lane = gpu.lane_id
            %first = arith.cmpi eq, %lane, %c0 : index
            scf.if %first {{
              %one = arith.constant 1 : i32
              %old = memref.atomic_rmw addi %one, %h[%x] : (i32, memref<2xi32>) -> i32
            }}
          }} }} }}
      return }} }}"""
    run(text, out)
    assert out.tolist() == [1, 1]


@pytest.mark.parametrize("seed", range(4))
def test_a_herd_sees_what_the_herd_before_it_has_written(seed: int):
    out = np.zeros(3, np.int64)
    text = f"""{GPU} {{ func.func @f(%out: memref<3xindex>) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%o=%out) : memref<3xindex> {{
        air.segment args(%s=%o) : memref<3xindex> {{
          %c3 = arith.constant 3 : index
          %slots = memref.alloc() : memref<3xindex, 1>
          air.herd tile (%x) in (%nx=%c3) args(%t=%slots) : memref<3xindex, 1> {{
            %c7 = arith.constant 7 : index
            %v = arith.addi %x, %c7 : index
            memref.store %v, %t[%x] : memref<3xindex, 1>
          }}
          air.herd tile (%x) in (%nx=%c3) args(%t=%slots, %h=%s) : memref<3xindex, 1>, memref<3xindex> {{
            %c1h = arith.constant 1 : index
            %next = arith.addi %x, %c1h : index
            %around = arith.remui %next, %nx : index
            %v = memref.load %t[%around] : memref<3xindex, 1>
            memref.store %v, %h[%x] : memref<3xindex>
          }} }} }}
      return }} }}"""
    run(text, out, seed=seed)
    assert out.tolist() == [8, 9, 7]


@pytest.mark.parametrize("seed", range(2))
def test_a_tiled_matrix_product(seed: int):
    generator = np.random.default_rng(seed)
    a = generator.integers(-4, 5, (16, 8)).astype(np.float32)
    b = generator.integers(-4, 5, (8, 16)).astype(np.float32)
    c = np.zeros((16, 16), np.float32)
    run(MATMUL, a, b, c, seed=seed)
    assert (c == a @ b).all()


@st.composite
def copies(draw: st.DrawFn) -> tuple[list[int], list[int], list[int], list[int]]:
    """A part of a buffer: shape, and offsets, sizes and strides that stay inside it."""
    shape = draw(st.lists(st.integers(1, 6), min_size=1, max_size=3))
    volume = int(np.prod(shape))
    offsets = [draw(st.integers(0, extent - 1)) for extent in shape]
    first = int(np.ravel_multi_index(offsets, shape))
    sizes: list[int] = []
    strides: list[int] = []
    room = volume - 1 - first
    for _ in range(draw(st.integers(1, 3))):
        stride = draw(st.integers(0, 5))
        size = draw(st.integers(1, min(4, room // stride + 1 if stride else 3)))
        room -= (size - 1) * stride
        sizes.append(size)
        strides.append(stride)
    return shape, offsets, sizes, strides


def open_type(shape: list[int], unknown: list[bool]) -> str:
    """A memref of that shape whose type leaves some of the sizes open."""
    sizes = ["?" if is_open else str(size) for size, is_open in zip(shape, unknown, strict=False)]
    return f"memref<{'x'.join(sizes)}xi32>"


def test_all_of_a_buffer_is_copied_whatever_its_size() -> None:
    """Also into a buffer of another shape, of which no size is known."""
    text = """func.func @f(%in: memref<?x?xi32>, %out: memref<?x?x?xi32>) {
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%i=%in, %o=%out) : memref<?x?xi32>, memref<?x?x?xi32> {
        air.dma_memcpy_nd (%o[] [] [], %i[] [] []) : (memref<?x?x?xi32>, memref<?x?xi32>)
      }
      return }"""
    data, out = np.arange(24, dtype=np.int32).reshape(4, 6), np.zeros((2, 3, 4), np.int32)
    run(text, data, out)
    assert (out.reshape(-1) == data.reshape(-1)).all()


@settings(max_examples=60, deadline=None)
@given(copies(), st.booleans(), st.lists(st.booleans(), min_size=6, max_size=6))
def test_a_copy_reads_what_its_lists_say(copy: Any, shared: bool, unknown: list[bool]):
    """Offsets count in the dimensions of the buffer, strides count its elements; a block shares the work.

    Sizes that types do not say are those of the buffers.
    """
    shape, offsets, sizes, strides = copy
    source_type, target_type = open_type(shape, unknown[:3]), open_type(sizes, unknown[3:])
    moved = f"air.dma_memcpy_nd (%o[] [] [], %i{offsets} {sizes} {strides}) : ({target_type}, {source_type})"
    herd = "air.herd tile (%x) in (%nx=%two) { }" if shared else ""
    text = f"""func.func @f(%in: {source_type}, %out: {target_type}) {{
      %c1 = arith.constant 1 : index
      air.launch (%b) in (%n=%c1) args(%i=%in, %o=%out) : {source_type}, {target_type} {{
        %two = arith.constant 2 : index
        {moved}
        {herd}
      }}
      return }}"""
    data = np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
    out = np.full(sizes, -1, np.int32)
    run(text, data, out)
    first = int(np.ravel_multi_index(offsets, shape))
    expected = [first + int(np.dot(position, strides)) for position in np.ndindex(*sizes)]
    assert out.reshape(-1).tolist() == expected
