"""Products on tensor cores: the copy engine, barriers and `wgmma` of the emulator, against NumPy and for races."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from emulated import emulator, in_kernel, run
from gpu_kernels import assembled, compiled, kernel, needs_ptxas

from tilewright.air import library
from tilewright.air.functions import Jit
from tilewright.air.library import Schedule, tensor_cores, tile_model
from tilewright.air.library.schedules import HEIGHTS
from tilewright.air.library.tensor_block import TensorBlock
from tilewright.air.library.tensor_cores import tensor_product
from tilewright.air.library.tile_writers import EngineWriter
from tilewright.errors import ArgumentError
from tilewright.gpu.emulator.copy_engine import CopyEngine
from tilewright.ir.run_errors import Fault

HOPPER: dict[str, Any] = {"chip": "sm_90a"}
BF16, E4M3, E5M2 = ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2


PLAIN, CLUSTERS = Schedule(rows=128), Schedule(rows=128, cluster=2)


def drawn(*shape: int, dtype) -> np.ndarray:
    return np.random.default_rng(1).standard_normal(shape).astype(dtype)


def turned(matrix: np.ndarray, layout: str) -> np.ndarray:
    return matrix if layout == "row" else np.ascontiguousarray(np.swapaxes(matrix, -1, -2))


@pytest.mark.parametrize(
    "dtype, layouts",
    [
        (np.float16, ("row", "row")),
        (BF16, ("column", "column")),
        (E4M3, ("row", "column")),
        (E5M2, ("column", "row")),
    ],
)
def test_one_build_multiplies_all_sizes_on_tensor_cores(dtype, layouts) -> None:
    # of several tiles, of odd rows that are copied first, and so deep that blocks share it
    for m, n, k in ((130, 140, 64), (33, 31, 17), (64, 64, 1100)):
        a, b = drawn(m, k, dtype=dtype), drawn(k, n, dtype=dtype)
        found = library.matmul(
            turned(a, layouts[0]), turned(b, layouts[1]), layouts=layouts, out_dtype=np.float32, **HOPPER
        )
        exact = a.astype(np.float32) @ b.astype(np.float32)
        assert np.allclose(found, exact, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize(
    "precision, error",
    [pytest.param("tf32", 2e-3, id="one product"), pytest.param("tf32x3", 2e-6, id="three are about f32")],
)
def test_f32_on_tensor_cores(precision: str, error: float) -> None:
    a, b = drawn(70, 41, dtype=np.float32), drawn(41, 71, dtype=np.float32)
    found = library.matmul(a, b, precision=precision, schedule=PLAIN, **HOPPER)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    assert np.linalg.norm(found - exact) / np.linalg.norm(exact) < error
    # tf32 has 10 bits: it is not f32 that was multiplied
    assert (np.linalg.norm(found - exact) / np.linalg.norm(exact) > 1e-5) == (precision == "tf32")


def test_stacks_with_what_follows_on_tensor_cores() -> None:
    a, b, bias = drawn(2, 40, 24, dtype=BF16), drawn(2, 24, 19, dtype=BF16), drawn(19, dtype=np.float32)
    found = library.matmul(a, b, bias, "gelu", 0.5, **HOPPER)
    x = 0.5 * (a.astype(np.float32) @ b.astype(np.float32)) + bias
    exact = 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3)))
    assert found.dtype == BF16 and np.allclose(found.astype(np.float32), exact, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("m, n, k", [(64, 64, 0), (0, 64, 16), (64, 0, 16)])
def test_matrices_without_elements_are_described_to_no_driver(m: int, n: int, k: int) -> None:
    a, b, c = np.zeros((1, m, k), np.float16), np.zeros((1, k, n), np.float16), np.full((1, m, n), 7, np.float32)
    constants = {"computed_in": "f16", "layouts": ("row", "row"), "has_bias": False, "function": None}
    Jit(tensor_product.function, **HOPPER)(a, b, np.zeros(1, np.float32), c, 1.0, **constants)
    assert not c.any()


SCHEDULES = {
    "two blocks": Schedule(rows=128, blocks=2),
    "one block": Schedule(rows=128, blocks=1),
    "a cluster": Schedule(rows=128, blocks=2, cluster=2),
    "blocks below each other": Schedule(rows=64, blocks=2, cluster=(2, 1)),
    "four blocks": Schedule(rows=80, blocks=4, cluster=(2, 2)),
    "two for the depth": Schedule(rows=96, blocks=2, cluster=(1, 1, 2)),
    "four for the depth": Schedule(rows=64, blocks=4, cluster=(1, 1, 4)),
    "eight": Schedule(rows=64, blocks=8, cluster=(2, 2, 2)),
}


@pytest.mark.parametrize("rows", HEIGHTS)
def test_tiles_of_all_heights_give_the_same(rows: int) -> None:
    # of several tiles with a rest, and so deep that places in memory of the block are used again
    m, n, k = rows + 24, 136, 600
    a, b = drawn(m, k, dtype=np.float16), drawn(k, n, dtype=np.float16)
    found = library.matmul(a, b, out_dtype=np.float32, schedule=Schedule(rows=rows), **HOPPER)
    assert np.allclose(found, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


def test_the_build_for_gpus_multiplies_all_sizes(monkeypatch) -> None:
    """With all tiles, of which the emulator makes a few otherwise."""
    monkeypatch.setattr(tensor_cores, "EMULATOR", None)
    for m, n, k in ((130, 144, 200), (256, 256, 2048), (64, 640, 72)):
        a, b = drawn(m, k, dtype=BF16), drawn(k, n, dtype=BF16)
        found = library.matmul(a, b, out_dtype=np.float32, **HOPPER)
        assert np.allclose(found, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=[*SCHEDULES])
@pytest.mark.parametrize("out", [np.float32, BF16])
def test_schedules_change_no_result(schedule: Schedule, out) -> None:
    # several tiles with a rest, of rows that the engine can store and that it can not, few, and a depth that is shared
    for batch, m, n, k in ((2, 130, 136, 300), (1, 257, 131, 40), (1, 3, 8, 1), (1, 64, 64, 1100)):
        a, b, bias = drawn(batch, m, k, dtype=BF16), drawn(batch, k, n, dtype=BF16), drawn(n, dtype=np.float32)
        plain, found = (
            library.matmul(a, b, bias, "relu", 0.5, out_dtype=out, schedule=it, **HOPPER) for it in (PLAIN, schedule)
        )
        # a depth that others share is added up in another order
        same = np.allclose(plain, found, rtol=1e-5, atol=1e-4) if schedule.cluster else (plain == found).all()
        assert found.any() and same, (m, n, k)


def test_a_schedule_has_a_cluster_at_least() -> None:
    wrongs: list[Any] = [0, 3, (1, 3), (1, 1, 3), (2, 2, 4), (-1, -1), 2.0, "2", [1, 2], ([], 1)]
    for wrong in wrongs:
        with pytest.raises(ArgumentError, match=r"1 or 2 blocks below and beside each other, .* 8 at most, not"):
            Schedule(cluster=wrong)
    for sides in ((2,), (1, 1, 1, 1)):
        with pytest.raises(ArgumentError, match="a cluster has two sides, and maybe a depth, not"):
            Schedule(cluster=sides)
    with pytest.raises(ArgumentError, match="4 blocks share tiles of multiples of 64 rows, not of 96"):
        Schedule(cluster=(1, 1, 4), rows=96)
    with pytest.raises(ArgumentError, match="blocks are a whole number, not '4'"):
        Schedule(blocks=cast(Any, "4"))
    with pytest.raises(ArgumentError, match="there is a cluster of 2 at least, not 1 blocks"):
        Schedule(blocks=1, cluster=2)
    with pytest.raises(ArgumentError, match="there is a cluster of 4 at least, not 3 blocks"):
        Schedule(blocks=3, cluster=(2, 2))
    with pytest.raises(ArgumentError, match=r"a tile has 64, 80, .*, 320 rows, not 100"):
        Schedule(rows=100)


# places for four steps, of seven: they are used again
FEW_STAGES, FEW_STAGES_OF_CLUSTERS = Schedule(rows=256), Schedule(rows=256, cluster=2)
FEW_STAGES_OF_FOUR = Schedule(rows=256, cluster=(2, 2))
WAITS = {"full": "_step", "empty": "_copy"}
"""What waits for tiles that are full, and for those that are empty."""


def leave_out(monkeypatch, call: str, *methods: str) -> None:
    """Calls of one method of blocks from others."""
    called, inside = getattr(TensorBlock, call), []

    def marked(whole):
        def method(self, *given):
            inside.append(call)
            try:
                return whole(self, *given)
            finally:
                inside.pop()

        return method

    monkeypatch.setattr(TensorBlock, call, lambda *given: None if inside else called(*given))
    for name in methods:
        monkeypatch.setattr(TensorBlock, name, marked(getattr(TensorBlock, name)))


def checked_product(
    monkeypatch,
    broken: str | None,
    schedule: Schedule = FEW_STAGES,
    layouts: tuple[str, str] = ("row", "row"),
    shape: tuple[int, int, int] = (64, 64, 400),
) -> None:
    """A product of several steps under the watch for races, with late stores, and with something left out."""
    # one block does all steps of a tile
    monkeypatch.setattr(tile_model, "JOIN_NS", 1 << 30)
    if broken in WAITS:
        leave_out(monkeypatch, "_wait", WAITS[broken])
    if broken == "brought":
        # sums are read before they are there
        leave_out(monkeypatch, "_meet", "_exchanged", "_exchanging")
    if broken == "taken":
        # sums of the next tile are brought before those of this one are read
        leave_out(monkeypatch, "_begin_exchange", "run")
        leave_out(monkeypatch, "_end_exchange", "run")
    if broken == "products":
        # places are given back while products that read them are on their way
        wait = TensorBlock._wait_for_products
        monkeypatch.setattr(TensorBlock, "_wait_for_products", lambda self, left: wait(self, left and left + 2))
    m, n, k = shape
    a, b, c = (
        drawn(1, m, k, dtype=np.float16),
        drawn(1, k, n, dtype=np.float16),
        np.zeros((1, m, n), np.float32),
    )
    if broken == "read":
        # boxes are filled again while the engine reads them
        monkeypatch.setattr(EngineWriter, "_wait", lambda self: None)
    if broken == "seen":
        # the engine does not see what lanes have stored
        monkeypatch.setattr(EngineWriter, "_show", lambda self: None)
    constants = {"computed_in": "f16", "layouts": layouts, "has_bias": False, "function": None, "schedule": schedule}
    program = Jit(tensor_product.function, settings={"check": "races", "reorder": "on"}, **HOPPER)
    program(turned(a, layouts[0]), turned(b, layouts[1]), np.zeros(1, np.float32), c, 1.0, **constants)
    assert np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("layouts", [("row", "column"), ("column", "row")], ids=["along the depth", "across it"])
@pytest.mark.parametrize("cluster", [1, (1, 2), (2, 1), (2, 2), (1, 1, 2)], ids=str)
@pytest.mark.parametrize("m, n, k", [(130, 200, 72), (64, 136, 64), (1, 8, 200), (200, 128, 8)])
def test_rows_that_c_has_not_are_not_copied(
    monkeypatch, tmp_path: Path, layouts: tuple[str, str], cluster, m: int, n: int, k: int
) -> None:
    """Each row of a box along the depth has something in it, and each box across it that begins within the depth."""
    seen, box_data = tmp_path / "seen", CopyEngine._box_data

    def noted(self, about, places, *rest):
        there = self._box(about, places, rest[-1])[1]
        with seen.open("a") as file:  # kernels run in a process of their own
            along = there.any(axis=-1).all()
            file.write(str(int(along if layouts[0] == "row" else there.any() or places[1] >= k)))
        return box_data(self, about, places, *rest)

    monkeypatch.setattr(CopyEngine, "_box_data", noted)
    a, b = drawn(m, k, dtype=BF16), drawn(k, n, dtype=BF16)
    given = (turned(it[None], layout)[0] for it, layout in zip((a, b), layouts, strict=True))
    found = library.matmul(
        *given, layouts=layouts, out_dtype=np.float32, schedule=Schedule(rows=64, cluster=cluster), **HOPPER
    )
    assert np.allclose(found, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-4, atol=1e-3)
    assert set(seen.read_text()) == {"1"}


WATCHED = {"few": FEW_STAGES, "clusters": CLUSTERS, **SCHEDULES}
del WATCHED["eight"]  # it takes a minute


@pytest.mark.parametrize("schedule", WATCHED.values(), ids=[*WATCHED])
def test_products_on_tensor_cores_have_no_races(monkeypatch, schedule: Schedule) -> None:
    # whoever shares the depth waits for the others, which takes the emulator long
    shares = schedule.given_cluster is not None and schedule.given_cluster.deep > 1
    checked_product(monkeypatch, None, schedule, shape=(64, 64, 200 if shares else 400))


@pytest.mark.parametrize("broken", ["read", "seen"])
def test_stores_by_the_engine_that_nothing_orders_are_a_race(monkeypatch, broken: str) -> None:
    with pytest.raises(Fault, match=r"data race: .* copy engine"):
        checked_product(monkeypatch, broken)


@pytest.mark.parametrize("layouts", [("row", "column"), ("column", "row"), ("column", "column")])
@pytest.mark.parametrize("cluster", [(1, 2), (2, 1), (2, 2)])
def test_clusters_share_tiles_of_all_layouts_without_races(monkeypatch, cluster, layouts) -> None:
    checked_product(monkeypatch, None, Schedule(rows=64, cluster=cluster), layouts)


@pytest.mark.parametrize(
    "broken, schedule",
    [
        ("full", FEW_STAGES),
        ("products", FEW_STAGES),
        pytest.param("empty", FEW_STAGES_OF_CLUSTERS, id="empty: a tile of the other block is overwritten"),
        pytest.param("empty", FEW_STAGES_OF_FOUR, id="empty: a tile of one of four blocks is overwritten"),
    ],
)
def test_a_wait_that_is_missing_is_a_race(monkeypatch, broken: str, schedule: Schedule) -> None:
    with pytest.raises(Fault, match="data race"):
        checked_product(monkeypatch, broken, schedule)


@pytest.mark.parametrize("broken", [None, "brought", "taken"])
def test_sums_that_blocks_exchange_are_there_and_not_overwritten(monkeypatch, broken: str | None) -> None:
    # three tiles, one after the other
    schedule = Schedule(rows=64, blocks=2, cluster=(1, 1, 2))
    if broken is None:
        checked_product(monkeypatch, broken, schedule, shape=(190, 64, 400))
        return
    with pytest.raises(Fault, match="data race"):
        checked_product(monkeypatch, broken, schedule, shape=(190, 64, 400))


MMA = """%l = gpu.thread_id x %c0 = arith.constant 0 : index %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c3 = arith.constant 3 : index %c4 = arith.constant 4 : index %c6 = arith.constant 6 : index
      %a0 = vector.load %a[%l, %c0] : memref<32x8xf16>, vector<2xf16>
      %a1 = vector.load %a[%l, %c2] : memref<32x8xf16>, vector<2xf16>
      %a2 = vector.load %a[%l, %c4] : memref<32x8xf16>, vector<2xf16>
      %a3 = vector.load %a[%l, %c6] : memref<32x8xf16>, vector<2xf16>
      %b0 = vector.load %b[%l, %c0] : memref<32x4xf16>, vector<2xf16>
      %b1 = vector.load %b[%l, %c2] : memref<32x4xf16>, vector<2xf16>
      %f = arith.constant 1.0 : f32
      %d = nvvm.mma.sync A[%a0, %a1, %a2, %a3]  B[%b0, %b1]  C[%f, %f, %f, %f]  {layoutA = #nvvm.mma_layout<row>,
        layoutB = #nvvm.mma_layout<col>, shape = #nvvm.shape<m = 16, n = 8, k = 16>}
        : (vector<2xf16>, vector<2xf16>, f32) -> !llvm.struct<(f32, f32, f32, f32)>
      %d0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
      %d1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
      %d2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
      %d3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
      memref.store %d0, %c[%l, %c0] : memref<32x4xf32>
      memref.store %d1, %c[%l, %c1] : memref<32x4xf32>
      memref.store %d2, %c[%l, %c2] : memref<32x4xf32>
      memref.store %d3, %c[%l, %c3] : memref<32x4xf32>"""
MMA_ARGUMENTS = "%a: memref<32x8xf16>, %b: memref<32x4xf16>, %c: memref<32x4xf32>"


def test_a_warp_multiplies_what_its_lanes_hold() -> None:
    """Places of elements as PTX's manual has them for m16n8k16."""
    a, b, lanes = drawn(16, 16, dtype=np.float16), drawn(16, 8, dtype=np.float16), np.arange(32)
    group, pair = lanes // 4, 2 * (lanes % 4)
    rows = [(group + 8 * half, pair + 8 * deep + place) for deep in range(2) for half in range(2) for place in range(2)]
    left = np.stack([a[place] for place in rows], axis=1)
    right = np.stack([b[pair + 8 * deep + place, group] for deep in range(2) for place in range(2)], axis=1)
    sums = np.zeros((32, 4), np.float32)
    run(in_kernel(MMA, MMA_ARGUMENTS), left, right, sums, block=(32,), device=emulator("sm_90"))
    exact = a.astype(np.float32) @ b.astype(np.float32) + 1
    for number, (half, place) in enumerate(((0, 0), (0, 1), (1, 0), (1, 1))):
        assert np.allclose(sums[:, number], exact[group + 8 * half, pair + place], atol=1e-4)


@needs_ptxas
def test_nvidias_assembler_takes_products_of_a_warp(tmp_path: Path) -> None:
    code = compiled(kernel(MMA, MMA_ARGUMENTS, 32), "sm_90", 32)
    assert "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in code.assembly
    assembled(code, tmp_path)
