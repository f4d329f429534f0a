"""Clusters: blocks that run together, wait for each other, and reach into each other's memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from emulated import emulator, launch, loaded, run

from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.gpu.emulator.device import EmulatorDevice
from tilewright.gpu.profile import GLOBAL, SHARED
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.ir.run_errors import Fault, Hang

PAIRS = "2, 1, 1"
WAVE: dict[str, Any] = {"block": (32,)}
MEET = "nvvm.cluster.arrive nvvm.cluster.wait"
WATCHED = [{}, {"check": True}, {"reorder": True, "check": True, "seed": 1}, {"reorder": True, "seed": 2}]


def clustered(body: str, arguments: str, more: str = "", size: str = PAIRS) -> str:
    """A kernel of clusters of that size, which knows the number of its block in its cluster."""
    names = """%rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
      %zero = arith.constant 0 : i32 %one = arith.constant 1 : i32
      %first = arith.cmpi eq, %rank, %zero : i32 %other = arith.subi %one, %rank : i32
      %c0 = arith.constant 0 : index %t = gpu.thread_id x %leads = arith.cmpi eq, %t, %c0 : index
      %b = gpu.block_id x %c1 = arith.constant 1 : index
      """
    known = f"attributes {{known_cluster_size = array<i32: {size}>}}"
    return f"gpu.module @m {{ gpu.func @k({arguments}) {more} kernel {known} {{ {names} {body}\n gpu.return }} }}"


def hopper(**options: Any) -> EmulatorDevice:
    return emulator("sm_90", **options)


def placed(error: DiagnosedError, text: str) -> str:
    """The line that an error is at."""
    place = file_position(error.diagnostics[0].location)
    assert place is not None
    return text.splitlines()[place[1] - 1]


IDS = [f"{name} {d}" for name in ("block_id", "cluster_id", "cluster_block_id", "cluster_dim_blocks") for d in "xyz"]


def test_blocks_are_numbered_in_their_cluster_x_first() -> None:
    grid, cluster = (4, 6, 2), (2, 2, 2)
    body = """%sx = gpu.grid_dim x %sy = gpu.grid_dim y %x = gpu.block_id x %y = gpu.block_id y %z = gpu.block_id z
      %below = arith.muli %z, %sy : index %row = arith.addi %below, %y : index
      %before = arith.muli %row, %sx : index %p = arith.addi %before, %x : index
      %r = arith.index_cast %rank : i32 to index memref.store %r, %out[%p, %c0] : memref<48x13xindex>"""
    for number, name in enumerate(IDS, 1):
        body += f"""
      %i{number} = gpu.{name} %n{number} = arith.constant {number} : index
      memref.store %i{number}, %out[%p, %n{number}] : memref<48x13xindex>"""
    out = np.zeros((48, 13), np.int64)
    run(clustered(body, "%out: memref<48x13xindex>", size="2, 2, 2"), out, grid=grid, block=(1,), device=hopper())
    for number, found in enumerate(out):
        place = np.array([number % 4, number // 4 % 6, number // 24])
        inside = place % cluster
        rank = inside[0] + 2 * inside[1] + 4 * inside[2]
        assert found.tolist() == [rank, *place, *(place // cluster), *inside, *cluster]


def small(**changed: int) -> EmulatorDevice:
    return EmulatorDevice(replace(GPU_TARGETS["sm_90"], **changed))


@pytest.mark.parametrize(
    "device, size, grid, text",
    [
        pytest.param(
            hopper(), PAIRS, (3,), "a grid of 3 x 1 x 1 blocks is no multiple of its clusters, 2 x 1 x 1", id="x"
        ),
        pytest.param(hopper(), "1, 1, 2", (2, 2, 3), "a grid of 2 x 2 x 3 blocks is no multiple", id="z"),
        pytest.param(hopper(), "4, 4, 1", (4, 4), "clusters of 4 x 4 x 1 blocks; sm_90 takes 1 to 8", id="too large"),
        pytest.param(emulator("gfx942"), PAIRS, (2,), "clusters of 2 x 1 x 1 blocks; gfx942 has none", id="AMD"),
        pytest.param(
            small(compute_units=1, unit_blocks=3), "4, 1, 1", (4,), "run at the same time; sm_90 holds 3", id="no room"
        ),
    ],
)
def test_clusters_that_cannot_be_started_are_refused(device, size: str, grid: tuple[int, ...], text: str) -> None:
    with pytest.raises(Fault, match=text) as caught:
        run(clustered("", "", size=size), grid=grid, device=device)
    assert file_position(caught.value.diagnostics[0].location) is not None


def test_whole_clusters_run_at_a_time() -> None:
    """On a GPU that holds three blocks a cluster of two begins when the one before has ended."""
    text = clustered(MEET, "")
    device = small(compute_units=1, unit_blocks=3)
    run(text, grid=(8,), device=device, **WAVE)
    assert device.counters()["blocks"] == 8


# blocks of a pair exchange what they have put into global memory
EXCHANGE = """%v = arith.addi %b, %c1 : index
      memref.store %v, %data[%b, %t] : memref<8x32xindex>
      MEET
      %two = arith.constant 2 : index %k = arith.remui %b, %two : index %base = arith.subi %b, %k : index
      %o = arith.index_cast %other : i32 to index %its = arith.addi %base, %o : index
      %x = memref.load %data[%its, %t] : memref<8x32xindex>
      memref.store %x, %out[%b, %t] : memref<8x32xindex>"""


def exchanged(meet: str, device: EmulatorDevice) -> np.ndarray:
    arguments = "%data: memref<8x32xindex>, %out: memref<8x32xindex>"
    out = np.zeros((8, 32), np.int64)
    run(clustered(EXCHANGE.replace("MEET", meet), arguments), out.copy(), out, grid=(8,), device=device, **WAVE)
    return out[:, 0]


@pytest.mark.parametrize("options", WATCHED)
def test_blocks_of_a_cluster_see_what_others_stored_before_they_arrived(options: dict[str, Any]) -> None:
    assert exchanged(MEET, hopper(**options)).tolist() == [2, 1, 4, 3, 6, 5, 8, 7]


@pytest.mark.parametrize("meet", ["", "gpu.barrier", "nvvm.memory.barrier #nvvm.mem_scope<cta>"])
def test_what_does_not_order_blocks_of_a_cluster_is_a_race(meet: str) -> None:
    with pytest.raises(Fault, match=r"data race: .*%data") as caught:
        exchanged(meet, hopper(check=True))
    remedy = "nvvm.cluster.arrive and nvvm.cluster.wait between them order accesses of one cluster"
    assert caught.value.diagnostics[0].notes[-1].text == remedy


def test_only_what_comes_before_arriving_is_ordered() -> None:
    body = EXCHANGE.replace("MEET", "nvvm.cluster.wait").replace(
        "memref.store %v", "nvvm.cluster.arrive memref.store %v"
    )
    arguments = "%data: memref<8x32xindex>, %out: memref<8x32xindex>"
    out = np.zeros((8, 32), np.int64)
    with pytest.raises(Fault, match="data race"):
        run(clustered(body, arguments), out.copy(), out, grid=(2,), device=hopper(check=True), **WAVE)


def test_late_stores_come_to_the_cluster_by_a_fence_for_it() -> None:
    """A fence for the block alone does not: a flag comes before what it is about."""
    body = """%flags = memref.extract_aligned_pointer_as_index %flag : memref<1xi32> -> index
      %address = arith.index_cast %flags : index to i64 %p = llvm.inttoptr %address : i64 to !llvm.ptr
      scf.if %first {
        memref.store %one, %data[%t] : memref<32xi32>
        nvvm.memory.barrier #nvvm.mem_scope<SCOPE>
        scf.if %leads { llvm.store %one, %p atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr }
      } else {
        scf.while : () -> () {
          %seen = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
          %wait = arith.cmpi eq, %seen, %zero : i32
          scf.condition(%wait)
        } do { scf.yield }
        nvvm.memory.barrier #nvvm.mem_scope<cluster>
        %x = memref.load %data[%t] : memref<32xi32>
        memref.store %x, %out[%t] : memref<32xi32>
      }"""

    def arrived(scope: str, seed: int) -> bool:
        text = clustered(
            body.replace("SCOPE", scope), "%data: memref<32xi32>, %flag: memref<1xi32>, %out: memref<32xi32>"
        )
        data, flag, out = (np.zeros(count, np.int32) for count in (32, 1, 32))
        run(text, data, flag, out, grid=(2,), device=hopper(reorder=True, seed=seed), **WAVE)
        return bool(out.all())

    assert all(arrived("cluster", seed) for seed in range(4))
    assert not all(arrived("cta", seed) for seed in range(4))


@pytest.mark.parametrize("options", WATCHED)
def test_the_barrier_does_not_wait_for_threads_that_have_ended(options: dict[str, Any]) -> None:
    body = f"""cf.cond_br %first, ^wait, ^end
      ^wait: {MEET} memref.store %one, %out[%b] : memref<2xi32> cf.br ^out
      ^end: nvvm.cluster.arrive cf.br ^out
      ^out:"""
    out = np.zeros(2, np.int32)
    run(clustered(body, "%out: memref<2xi32>"), out, grid=(2,), device=hopper(**options), **WAVE)
    assert out.tolist() == [1, 0]


@pytest.mark.parametrize("options", WATCHED)
def test_lanes_that_come_late_to_the_barrier_find_it_open(options: dict[str, Any]) -> None:
    """Half of a wave waits when all have arrived long ago, and the other half ends."""
    body = """%half = arith.constant 16 : index %waits = arith.cmpi ult, %t, %half : index
      nvvm.cluster.arrive
      memref.store %one, %out[%b, %t] : memref<2x32xi32>
      cf.cond_br %waits, ^wait, ^out
      ^wait: nvvm.cluster.wait cf.br ^out
      ^out:"""
    out = np.zeros((2, 32), np.int32)
    run(clustered(body, "%out: memref<2x32xi32>"), out, grid=(2,), device=hopper(**options), **WAVE)
    assert out.all()


@pytest.mark.parametrize("options", [{}, {"check": True}])
def test_a_cluster_that_not_all_come_to_is_explained(options: dict[str, Any]) -> None:
    body = f"""scf.if %first {{
        {MEET}
      }} else {{
        scf.while : () -> () {{
          %now = memref.atomic_rmw addi %zero, %flag[%c0] : (i32, memref<1xi32>) -> i32
          %wait = arith.cmpi eq, %now, %zero : i32
          scf.condition(%wait)
        }} do {{ scf.yield }}
      }}"""
    with pytest.raises(Hang) as caught:
        text = clustered(body, "%flag: memref<1xi32>")
        run(text, np.zeros(1, np.int32), grid=(2,), device=hopper(**options), **WAVE)
    found = {each.text: [note.text for note in each.notes] for each in caught.value.diagnostics}
    held = found["block (0, 0, 0), wave 0 waits at the barrier of its cluster for ever"]
    assert "32 of 64 threads of its cluster do not come" in held


@pytest.mark.parametrize(
    "body, text",
    [
        ("nvvm.cluster.arrive\nnvvm.cluster.arrive", "arrives at the barrier of its cluster again"),
        ("nvvm.cluster.wait", "waits at the barrier of its cluster, where it has not arrived"),
    ],
)
def test_arriving_and_waiting_take_turns(body: str, text: str) -> None:
    program = clustered(body, "")
    with pytest.raises(Fault, match=text) as caught:
        run(program, grid=(2,), device=hopper(), **WAVE)
    assert "nvvm.cluster" in placed(caught.value, program)


SHARED_BYTES = 2 * 128 + 16
BUFFER = f"workgroup(%s : memref<{SHARED_BYTES}xi8, 3>)"
FULL = """%where = memref.extract_aligned_pointer_as_index %s : memref<272xi8, 3> -> index
      %start = arith.index_cast %where : index to i64 %tiles = arith.constant 256 : i64 %next = arith.constant 264 : i64
      %fulls = arith.addi %start, %tiles : i64 %frees = arith.addi %start, %next : i64
      %full = llvm.inttoptr %fulls : i64 to !llvm.ptr<3> %free = llvm.inttoptr %frees : i64 to !llvm.ptr<3>
      %ticks = arith.constant 1000 : i32
      scf.if %leads {
        nvvm.mbarrier.init %full, %one : !llvm.ptr<3>, i32
        nvvm.mbarrier.init %free, %one : !llvm.ptr<3>, i32
        nvvm.fence.mbarrier.init
      }
      """
"""Two tiles of 32 numbers, and barriers that say that tiles are full, and that they are free."""


@pytest.mark.parametrize("options", WATCHED)
def test_lanes_load_and_store_in_memory_of_other_blocks(options: dict[str, Any]) -> None:
    body = f"""{FULL}
      %size = arith.constant 4 : i64 %ti = arith.index_cast %t : index to i64 %off = arith.muli %ti, %size : i64
      %at = arith.addi %start, %off : i64 %own = llvm.inttoptr %at : i64 to !llvm.ptr<3>
      %its = nvvm.mapa %own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %tw = arith.index_cast %t : index to i32 %many = arith.constant 100 : i32 %base = arith.muli %rank, %many : i32
      %v = arith.addi %base, %tw : i32
      {MEET}
      llvm.store %v, %its : i32, !llvm.ptr<7>
      {MEET}
      %x = llvm.load %own : !llvm.ptr<3> -> i32
      %y = llvm.load %its : !llvm.ptr<7> -> i32
      {MEET}
      memref.store %x, %out[%b, %c0, %t] : memref<2x2x32xi32>
      memref.store %y, %out[%b, %c1, %t] : memref<2x2x32xi32>"""
    out = np.zeros((2, 2, 32), np.int32)
    run(clustered(body, "%out: memref<2x2x32xi32>", BUFFER), out, grid=(2,), device=hopper(**options), **WAVE)
    assert out[:, :, 1].tolist() == [[101, 1], [1, 101]]


# the second block tells the first that there is something in global memory
TELL = f"""{FULL}
      {MEET}
      %at = nvvm.mapa %full, %zero : !llvm.ptr<3> -> !llvm.ptr<7>
      scf.if %first {{
        nvvm.mbarrier.try_wait.parity %full, %zero, %ticks : !llvm.ptr<3>, i32, i32
        %x = memref.load %data[%t] : memref<32xi32>
        memref.store %x, %out[%t] : memref<32xi32>
      }} else {{
        memref.store %one, %data[%t] : memref<32xi32>
        nvvm.mbarrier.arrive.expect_tx %at, %zero, predicate = %leads : !llvm.ptr<7>, i32, i1
      }}"""


@pytest.mark.parametrize("options", WATCHED)
def test_lanes_store_vectors_in_memory_of_other_blocks(options: dict[str, Any]) -> None:
    body = f"""%where = memref.extract_aligned_pointer_as_index %s : memref<512xi8, 3> -> index
      %start = arith.index_cast %where : index to i64 %size = arith.constant 16 : i64
      %ti = arith.index_cast %t : index to i64 %off = arith.muli %ti, %size : i64
      %at = arith.addi %start, %off : i64 %own = llvm.inttoptr %at : i64 to !llvm.ptr<3>
      %its = nvvm.mapa %own, %other : !llvm.ptr<3> -> !llvm.ptr<7>
      %tw = arith.index_cast %t : index to i32 %many = arith.constant 100 : i32 %base = arith.muli %rank, %many : i32
      %v = arith.addi %base, %tw : i32 %four = vector.broadcast %v : i32 to vector<4xi32>
      %steps = arith.constant dense<[0, 1000, 2000, 3000]> : vector<4xi32>
      %all = arith.addi %four, %steps : vector<4xi32>
      {MEET}
      llvm.store %all, %its {{alignment = 16 : i64}} : vector<4xi32>, !llvm.ptr<7>
      {MEET}
      %x = llvm.load %own {{alignment = 16 : i64}} : !llvm.ptr<3> -> vector<4xi32>
      {MEET}
      vector.store %x, %out[%b, %t, %c0] : memref<2x32x4xi32>, vector<4xi32>"""
    out = np.zeros((2, 32, 4), np.int32)
    run(
        clustered(body, "%out: memref<2x32x4xi32>", "workgroup(%s : memref<512xi8, 3>)"),
        out,
        grid=(2,),
        **WAVE,
        device=hopper(**options),
    )
    lanes = np.arange(32)[:, None] + np.arange(0, 4000, 1000)
    assert (out == np.stack([lanes + 100, lanes])).all()


@pytest.mark.parametrize("options", WATCHED)
def test_an_arrival_at_the_barrier_of_another_block_orders_as_one_at_the_own_does(options: dict[str, Any]) -> None:
    out = np.zeros(32, np.int32)
    text = clustered(TELL, "%data: memref<32xi32>, %out: memref<32xi32>", BUFFER)
    run(text, out.copy(), out, grid=(2,), device=hopper(**options), **WAVE)
    assert out.all()


def test_to_arrive_at_a_barrier_before_it_is_made_is_a_race() -> None:
    text = clustered(TELL.replace(MEET, ""), "%data: memref<32xi32>, %out: memref<32xi32>", BUFFER)
    for seed in range(4):
        with pytest.raises(Fault, match=r"data race: .* %s of (its block|block \(0, 0, 0\)), byte 256"):
            run(text, *np.zeros((2, 32), np.int32), grid=(2,), device=hopper(check=True, seed=seed), **WAVE)


@pytest.mark.parametrize(
    "old, new, text",
    [
        ("%full, %zero : !llvm.ptr<3> ->", "%full, %ticks : !llvm.ptr<3> ->", "has not: it has 2"),
        (
            "%tiles = arith.constant 256",
            "%tiles = arith.constant 272",
            "maps an address that is not in memory of its block",
        ),
    ],
)
def test_addresses_of_other_blocks_are_checked(old: str, new: str, text: str) -> None:
    # not the barriers, which a wrong place would be found for first
    init = TELL[TELL.index("scf.if %leads") : TELL.index("nvvm.cluster")]
    program = clustered(TELL.replace(init, "").replace(old, new), "%data: memref<32xi32>, %out: memref<32xi32>", BUFFER)
    with pytest.raises(Fault, match=text) as caught:
        run(program, np.zeros(32, np.int32), np.zeros(32, np.int32), grid=(2,), device=hopper(), **WAVE)
    assert "nvvm.mapa" in placed(caught.value, program)


BOXES = f"""{FULL}
      %map = memref.extract_aligned_pointer_as_index %about : memref<16xi64> -> index
      %mapped = arith.index_cast %map : index to i64 %described = llvm.inttoptr %mapped : i64 to !llvm.ptr
      %box = arith.constant 32 : i32 %bytes = arith.constant 128 : i32 %both = arith.constant 256 : i32
      %wide = arith.extsi %rank : i32 to i64 %tile = arith.constant 128 : i64 %mask = arith.constant 3 : i16
      %skipped = arith.muli %wide, %tile : i64 %to = arith.addi %start, %skipped : i64
      %target = llvm.inttoptr %to : i64 to !llvm.ptr<7> %part = arith.muli %rank, %box : i32
      %half = arith.constant 32 : index %u = arith.addi %t, %half : index
      %tiled = memref.view %s[%c0][] : memref<272xi8, 3> to memref<64xi32, 3>
      {MEET}
      scf.if %leads {{
        nvvm.mbarrier.arrive.expect_tx %full, %both : !llvm.ptr<3>, i32
        nvvm.cp.async.bulk.tensor.shared.cluster.global %target, %described, %full, box[%part]
          multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr
      }}
      nvvm.mbarrier.try_wait.parity %full, %zero, %ticks : !llvm.ptr<3>, i32, i32
      %x = memref.load %tiled[%t] : memref<64xi32, 3>
      %y = memref.load %tiled[%u] : memref<64xi32, 3>
      memref.store %x, %out[%b, %t] : memref<2x64xi32>
      memref.store %y, %out[%b, %u] : memref<2x64xi32>
      """
"""Each block brings a tile to both, and reads all of them."""
AGAIN = f"""
      %at = nvvm.mapa %free, %zero : !llvm.ptr<3> -> !llvm.ptr<7>
      scf.if %leads {{
        nvvm.mbarrier.arrive.expect_tx %full, %bytes : !llvm.ptr<3>, i32
        scf.if %first {{
          WAIT
          nvvm.cp.async.bulk.tensor.shared.cluster.global %target, %described, %full, box[%box]
            multicast_mask = %mask : !llvm.ptr<7>, !llvm.ptr
        }} else {{
          nvvm.mbarrier.arrive.expect_tx %at, %zero : !llvm.ptr<7>, i32
        }}
      }}
      nvvm.mbarrier.try_wait.parity %full, %one, %ticks : !llvm.ptr<3>, i32, i32
      %z = memref.load %tiled[%t] : memref<64xi32, 3>
      memref.store %z, %out[%b, %t] : memref<2x64xi32>
      {MEET}"""
"""The first block brings another tile to both, once the other one has given its own back."""
WAIT = "nvvm.mbarrier.try_wait.parity %free, %zero, %ticks : !llvm.ptr<3>, i32, i32"
ONE_BOX = 128


def boxed(body: str, device: EmulatorDevice) -> np.ndarray:
    """Run such a program on 64 numbers of global memory, described as boxes of 32."""
    numbers = np.arange(64, dtype=np.int32)
    source = device.allocate(numbers.nbytes)
    device.copy(source, numbers.ctypes.data, numbers.nbytes)
    about = np.zeros(16, np.int64)
    about[[0, 1, 2, 11]] = source, 1 | numbers.itemsize << 8, len(numbers), 32
    out = np.zeros((2, 64), np.int32)
    text = clustered(body, "%about: memref<16xi64>, %out: memref<2x64xi32>", BUFFER)
    launch(device, loaded(device, text), about, out, grid=(2,), **WAVE)
    return out


@pytest.mark.parametrize("options", WATCHED)
def test_a_box_goes_to_all_blocks_of_the_mask_and_tells_their_barriers(options: dict[str, Any]) -> None:
    assert (boxed(BOXES + MEET, hopper(**options)) == np.arange(64)).all()


@pytest.mark.parametrize("options", WATCHED)
def test_a_tile_that_was_given_back_may_be_filled_again(options: dict[str, Any]) -> None:
    found = boxed(BOXES + AGAIN.replace("WAIT", WAIT), hopper(**options))
    assert (found[:, :32] == np.arange(32, 64)).all()


@pytest.mark.parametrize("seed", range(4))
def test_a_tile_of_another_block_that_was_not_given_back_is_a_race(seed: int) -> None:
    with pytest.raises(Fault, match=r"data race: block .* %s of (its block|block \(1, 0, 0\)), byte 0"):
        boxed(BOXES + AGAIN.replace("WAIT", ""), hopper(check=True, seed=seed))


def test_a_mask_with_blocks_that_the_cluster_has_not_is_refused() -> None:
    with pytest.raises(Fault, match="has a box copied to blocks 0b111 of its cluster, which has 2"):
        boxed(BOXES.replace("%mask = arith.constant 3", "%mask = arith.constant 7") + MEET, hopper())


@pytest.mark.parametrize("options", [{}, {"check": True}])
def test_a_block_that_ends_while_others_reach_into_its_memory_is_reported(options: dict[str, Any]) -> None:
    """The second block says that it is about to end, and then the first one arrives at its barrier."""
    body = f"""{FULL}
      %at = nvvm.mapa %full, %one : !llvm.ptr<3> -> !llvm.ptr<7>
      {MEET}
      cf.cond_br %first, ^wait, ^end
      ^wait:
        %now = memref.atomic_rmw addi %zero, %flag[%c0] : (i32, memref<1xi32>) -> i32
        %waits = arith.cmpi eq, %now, %zero : i32
        cf.cond_br %waits, ^wait, ^reach
      ^reach:
        nvvm.mbarrier.arrive.expect_tx %at, %zero, predicate = %leads : !llvm.ptr<7>, i32, i1
        cf.br ^out
      ^end:
        %old = memref.atomic_rmw assign %one, %flag[%c0] : (i32, memref<1xi32>) -> i32
        cf.br ^out
      ^out:
      REST"""
    last = {"": r"reaches into memory of block \(1, 0, 0\), which (has|may have) ended", MEET: None}
    for rest, text in last.items():
        program = clustered(body.replace("REST", rest), "%flag: memref<1xi32>", BUFFER)
        if text is None:
            run(program, np.zeros(1, np.int32), grid=(2,), device=hopper(**options), **WAVE)
            continue
        with pytest.raises(Fault, match=text) as caught:
            run(program, np.zeros(1, np.int32), grid=(2,), device=hopper(**options), **WAVE)
        assert "nvvm.mbarrier.arrive.expect_tx %at" in placed(caught.value, program)


def test_a_copy_to_several_blocks_reads_global_memory_once() -> None:
    device = hopper(profile=True)
    boxed(BOXES + MEET, device)
    (profile,) = device.profile()
    (line,) = [
        line
        for line in profile.lines.values()
        if f"{GLOBAL} read" in line.traffic and f"{SHARED} written" in line.traffic
    ]
    assert line.traffic[f"{GLOBAL} read"].bytes == 2 * ONE_BOX
    assert line.traffic[f"{SHARED} written"].bytes == 2 * 2 * ONE_BOX


def test_waits_at_the_barrier_of_a_cluster_are_seen() -> None:
    """The second block has more to do before it arrives."""
    body = f"""%many = arith.constant 50 : index
      scf.if %first {{ }} else {{
        scf.for %i = %c0 to %many step %c1 {{ %x = arith.addi %i, %i : index }}
      }}
      {MEET}"""
    device = hopper(profile=True)
    run(clustered(body, ""), grid=(2,), device=device, **WAVE)
    (profile,) = device.profile()
    assert 100 < profile.waited_steps < 300
