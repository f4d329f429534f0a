"""Memory of all kinds, and what happens outside of it."""

from __future__ import annotations

import numpy as np
import pytest
from emulated import emulator, in_kernel, launch, loaded, run

from tilewright.gpu.device import DeviceError
from tilewright.ir.diagnostics import DiagnosedError

ME = "%t = gpu.thread_id x %v = arith.index_cast %t : index to i32"
MODES = [{}, {"reorder": True}, {"check": True}]


@pytest.mark.parametrize("options", MODES)
@pytest.mark.parametrize(
    "kind, start, expected",
    [
        ("addi", 5, 5 + sum(range(128))),
        ("maxs", 5, 127),
        ("minu", -1, 0),
        ("ori", 0, 127),
        ("muli", 3, 0),
        ("assign", 9, None),
    ],
)
def test_updates_of_one_element_by_many_lanes(kind: str, start: int, expected: int | None, options: dict[str, bool]):
    body = f"""{ME} %c0 = arith.constant 0 : index
      %old = memref.atomic_rmw {kind} %v, %x[%c0] : (i32, memref<1xi32>) -> i32
      memref.store %old, %out[%t] : memref<128xi32>"""
    cell, out = np.array([start], np.int32), np.zeros(128, np.int32)
    run(
        in_kernel(body, "%x: memref<1xi32>, %out: memref<128xi32>"), cell, out, block=(128,), device=emulator(**options)
    )
    if kind == "assign":
        seen = sorted([*out.tolist(), int(cell[0])])
        assert seen == sorted([9, *range(128)])
    else:
        assert cell[0] == expected
    if kind == "addi":
        assert len(set(out.tolist())) >= 127, "each lane sees another sum, but for the lane that adds 0"


def test_compare_and_exchange_lets_one_lane_win():
    body = f"""{ME} %zero = arith.constant 0 : i32 %one = arith.constant 1 : i32 %w = arith.addi %v, %one : i32
      %i = memref.extract_aligned_pointer_as_index %x : memref<1xi32> -> index
      %n = arith.index_cast %i : index to i64
      %p = llvm.inttoptr %n : i64 to !llvm.ptr
      %pair = llvm.cmpxchg %p, %zero, %w acq_rel monotonic : !llvm.ptr, i32
      %won = llvm.extractvalue %pair[1] : !llvm.struct<(i32, i1)>
      %r = arith.extui %won : i1 to i32
      memref.store %r, %out[%t] : memref<64xi32>"""
    cell, out = np.zeros(1, np.int32), np.zeros(64, np.int32)
    run(in_kernel(body, "%x: memref<1xi32>, %out: memref<64xi32>"), cell, out)
    assert out.sum() == 1 and cell[0] == out.argmax() + 1


def test_pointers_lead_to_all_kinds_of_memory():
    """One function adds up what a pointer points to, be it global, of the block or of the thread."""
    rest = """func.func private @at(%p: !llvm.ptr, %i: i64) -> i32 {
        %q = llvm.getelementptr %p[%i] : (!llvm.ptr, i64) -> !llvm.ptr, i32
        %v = llvm.load %q : !llvm.ptr -> i32
        return %v : i32 }"""

    def pointer(buffer: str, type: str) -> str:
        return f"""%{buffer}i = memref.extract_aligned_pointer_as_index %{buffer} : {type} -> index
          %{buffer}n = arith.index_cast %{buffer}i : index to i64
          %{buffer}p = llvm.inttoptr %{buffer}n : i64 to !llvm.ptr
          %{buffer}v = func.call @at(%{buffer}p, %m) : (!llvm.ptr, i64) -> i32"""

    body = f"""{ME} %c3 = arith.constant 3 : i64 %m0 = arith.index_cast %t : index to i64
      %m = arith.andi %m0, %c3 : i64 %mi = arith.index_cast %m : i64 to index
      %c100 = arith.constant 100 : i32 %h = arith.muli %v, %c100 : i32
      memref.store %h, %own[%mi] : memref<4xi32, 5>
      memref.store %v, %shared[%t] : memref<64xi32, 3>
      gpu.barrier
      {pointer("x", "memref<4xi32>")} {pointer("shared", "memref<64xi32, 3>")} {pointer("own", "memref<4xi32, 5>")}
      %s = arith.addi %xv, %sharedv : i32 %r = arith.addi %s, %ownv : i32
      memref.store %r, %out[%t] : memref<64xi32>"""
    text = in_kernel(
        body,
        "%x: memref<4xi32>, %out: memref<64xi32>",
        "workgroup(%shared : memref<64xi32, 3>) private(%own : memref<4xi32, 5>)",
        rest,
    )
    for options in MODES:
        x, out = np.array([1000, 2000, 3000, 4000], np.int32), np.zeros(64, np.int32)
        run(text, x, out, device=emulator(**options))
        assert out.tolist() == [1000 * (t % 4 + 1) + t % 4 + 100 * t for t in range(64)]


def test_views_of_a_buffer():
    body = f"""{ME} %c1 = arith.constant 1 : index %c0 = arith.constant 0 : index
      %s = memref.subview %x[1, %t] [2, 1] [1, 1] : memref<4x64xi32> to memref<2x1xi32, strided<[64, 1], offset: ?>>
      %a = memref.load %s[%c1, %c0] : memref<2x1xi32, strided<[64, 1], offset: ?>>
      %f = memref.reinterpret_cast %x to offset: [64], sizes: [64], strides: [2]
          : memref<4x64xi32> to memref<64xi32, strided<[2], offset: 64>>
      %b = memref.load %f[%t] : memref<64xi32, strided<[2], offset: 64>>
      %r = arith.addi %a, %b : i32
      memref.store %r, %out[%t] : memref<64xi32>"""
    x, out = np.arange(256, dtype=np.int32).reshape(4, 64), np.zeros(64, np.int32)
    run(in_kernel(body, "%x: memref<4x64xi32>, %out: memref<64xi32>"), x, out)
    assert out.tolist() == [128 + t + 64 + 2 * t for t in range(64)]


def test_memory_that_a_launch_asks_for():
    body = f"""{ME} %d = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
      %c0 = arith.constant 0 : index
      %w = memref.view %d[%c0][] : memref<?xi8, #gpu.address_space<workgroup>>
          to memref<64xi32, #gpu.address_space<workgroup>>
      %n = arith.constant 63 : index %o = arith.subi %n, %t : index
      memref.store %v, %w[%o] : memref<64xi32, #gpu.address_space<workgroup>>
      gpu.barrier
      %r = memref.load %w[%t] : memref<64xi32, #gpu.address_space<workgroup>>
      memref.store %r, %out[%t] : memref<64xi32>"""
    out = np.zeros(64, np.int32)
    run(in_kernel(body, "%out: memref<64xi32>"), out, shared=256)
    assert out.tolist() == list(range(63, -1, -1))


@pytest.mark.parametrize(
    "access, message",
    [
        pytest.param(
            "memref.store %v, %x[%t] : memref<64xi32>",
            r"kernel.mlir:1:\d+: error: thread \(64, 0, 0\) of block .* writes element 64 of a buffer that has 64",
            id="behind a buffer",
        ),
        pytest.param(
            "%m = arith.constant -1 : index %i = arith.addi %t, %m : index %r = memref.load %x[%i] : memref<64xi32>",
            r"thread \(0, 0, 0\) of block \(0, 0, 0\) reads element -1 of a buffer that has 64",
            id="before a buffer",
        ),
        pytest.param(
            "memref.store %v, %s[%t] : memref<32xi32, 3>",
            r"thread \(32, 0, 0\) of block .* writes element 32 of a buffer that has 32",
            id="behind memory of the block",
        ),
        pytest.param(
            "memref.store %v, %p[%t] : memref<8xi32, 5>",
            r"thread \(8, 0, 0\) of block .* writes element 8 of a buffer that has 8",
            id="behind private memory",
        ),
        pytest.param(
            "%a = llvm.mlir.constant(4096 : i64) : i64 %q = llvm.inttoptr %a : i64 to !llvm.ptr"
            " %r = llvm.load %q : !llvm.ptr -> i32",
            "accesses address 0x1000, which is not the device's",
            id="somewhere else",
        ),
    ],
)
def test_accesses_outside_are_found(access: str, message: str):
    more = "workgroup(%s : memref<32xi32, 3>) private(%p : memref<8xi32, 5>)"
    text = in_kernel(f"{ME} {access}", "%x: memref<64xi32>", more)
    with pytest.raises(DiagnosedError, match=message):
        run(text, np.zeros(64, np.int32), block=(128,))


def test_what_a_target_cannot_hold_is_refused():
    device = emulator()
    kernel = loaded(device, in_kernel("", "%x: memref<4xi32>"))
    with pytest.raises(DiagnosedError, match=r"2048 x 1 x 1 = 2048 threads; gfx942 takes at most 1024"):
        launch(device, kernel, np.zeros(4, np.int32), block=(2048,))
    with pytest.raises(DiagnosedError, match=r"70000 bytes of shared memory .* gfx942 has 65536"):
        launch(device, kernel, np.zeros(4, np.int32), shared=70000)
    with pytest.raises(DiagnosedError, match=r"needs 80000 bytes of LDS for a block; gfx942 has 65536"):
        run(in_kernel("", "", "workgroup(%big : memref<20000xf32, 3>)"))
    with pytest.raises(DiagnosedError, match=r"needs 800000 bytes of private memory for a thread"):
        run(in_kernel("", "", "private(%big : memref<200000xf32, 5>)"))


def test_copies_stay_inside_of_what_was_allocated():
    device = emulator()
    place, host = device.allocate(64), np.arange(32, dtype=np.int32)
    device.copy(place, host.ctypes.data, 64)
    device.fill(place + 32, b"\x05\x00\x00\x00", 8)
    device.copy(host.ctypes.data, place, 64)
    assert host.tolist() == [*range(8), *[5] * 8, *range(16, 32)]
    with pytest.raises(DeviceError, match="128 bytes to byte 0 of allocation 1, 64 bytes, are too many"):
        device.copy(place, host.ctypes.data, 128)
    with pytest.raises(DeviceError, match="has been freed"):
        device.free(place + 4)


def test_private_memory_that_no_register_can_hold_is_counted():
    counted = run(in_kernel("", "", "private(%big : memref<600xf32, 5>)")).counters()
    assert counted["spilled_bytes"] == 600 * 4 - 512 * 4


def test_counters():
    body = f"""{ME} %w = arith.addi %v, %v : i32
      memref.store %w, %x[%t] : memref<64xi32>
      gpu.barrier"""
    counted = run(in_kernel(body, "%x: memref<64xi32>"), np.zeros(64, np.int32)).counters()
    assert counted["bytes_stored"] == 256 and counted["bytes_loaded"] == 0
    assert counted["lane_operations"] == 64 * 5 and counted["barriers"] == 1 and counted["waves"] == 1
