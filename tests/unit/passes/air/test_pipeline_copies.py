"""Loops that fetch the next tiles while they compute give what they gave before, with as many barriers as promised."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gpu_kernels import assembled, needs_ptxas
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tilewright import air
from tilewright.air import program
from tilewright.air.program import AirProgram
from tilewright.cli.main import main
from tilewright.device.gpu_targets import GPU_TARGETS
from tilewright.dialects.gpu.kernels import GPUModuleOp
from tilewright.gpu.profile import LaunchProfile
from tilewright.native.gpu_code import compile_kernels, machine_of

CHIPS = {"sm_90": 32, "gfx942": 64}
"""With the lanes of their waves."""
BLOCK = 128
"""Lanes of a block."""
DEPTH = 8
"""Of tiles: so much of the inner dimension is multiplied in a turn."""
FLAG = "air-gpu-pipeline-copies"
ORDER = program.opt_passes
Choose = Callable[[int, str], None]


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Sets how many places a tile has; 0 for loops as they are."""

    def choose(count: int, chip: str) -> None:
        def order(steps: Any, level: int) -> tuple[str, ...]:
            kept = (step for step in ORDER(steps, level) if count or step != FLAG)
            return tuple(f"{FLAG}{{buffers={count} chip={chip}}}" if step == FLAG else step for step in kept)

        monkeypatch.setattr(program, "opt_passes", order)

    return choose


def number() -> Any:
    """Of a lane in its block."""
    return air.wave() * air.lanes() + air.lane()


@air.jit
def dots(a, b, c, *, size=16, depth=DEPTH, waves=None):
    @air.launch((air.cdiv(b.shape[1], size), air.cdiv(a.shape[0], size)), waves=waves or BLOCK // air.lanes())
    def _(x, y):
        rows, columns = slice(y * size, (y + 1) * size), slice(x * size, (x + 1) * size)
        total = air.zeros((size, size))
        for k in air.sequential(0, a.shape[1], depth):
            air.dot(air.load(a[rows, k : k + depth]), air.load(b[k : k + depth, columns]), acc=total)
        c[rows, columns] = total


def add_products(left, right, row, column, total):
    """To a sum, those of a row and a column that lie in memory of the block."""
    for k in range(DEPTH):
        total = total + left[row, k] * right[k, column]
    return total


@air.jit
def carried(a, b, c, *, turns=None, early=False):
    """A sum for each lane, and how many turns there were, go from turn to turn."""

    @air.launch((air.cdiv(b.shape[1], 16), air.cdiv(a.shape[0], 8)), waves=BLOCK // air.lanes())
    def _(x, y):
        left, right = air.shared((8, DEPTH)), air.shared((DEPTH, 16))
        row, column = number() // 16, number() % 16
        depth = a.shape[1] if turns is None else turns * DEPTH
        results: Any = None
        for k, (total, count), results in air.sequential(0, depth, DEPTH, iter_args=[0.0, 0.0]):  # noqa: B007
            if early:
                air.barrier()  # instead of at the end
            left[:, :] = air.load(a[y * 8 : (y + 1) * 8, k : k + DEPTH])
            right[:, :] = air.load(b[k : k + DEPTH, x * 16 : (x + 1) * 16])
            air.barrier()
            total = add_products(left, right, row, column, total)
            if not early:
                air.barrier()
            air.yield_([total, count + 1.0])
        total, count = results
        with air.if_((y * 8 + row < c.shape[0]) & (x * 16 + column < c.shape[1]), hasElse=False):
            c[y * 8 + row, x * 16 + column] = total + count * 1000.0


@air.jit
def powers(a, b, c, *, turns):
    """Rows of A times as many tiles of B, over and over: a loop that copies in one that copies as well."""

    @air.launch(1, waves=BLOCK // air.lanes())
    def _(_):
        left, right = air.shared((8, DEPTH)), air.shared((DEPTH, 16))
        row, column = number() // 16, number() % 16
        inner: Any = None
        results: Any = None
        for y, total, results in air.sequential(0, a.shape[0], 8, iter_args=[0.0]):  # noqa: B007
            left[:, :] = air.load(a[y : y + 8, :DEPTH])
            air.barrier()
            for k, sums, inner in air.sequential(0, turns * DEPTH, DEPTH, iter_args=[total]):  # noqa: B007
                right[:, :] = air.load(b[k : k + DEPTH, :16])
                air.barrier()
                added = add_products(left, right, row, column, sums)
                air.barrier()
                air.yield_([added])
            air.barrier()
            air.yield_([inner])
        c[row, column] = results


@air.jit
def rows(a, c):
    """Sums of rows, turned round: what is copied first other lanes have stored before the barrier of the first turn."""

    @air.launch(1, waves=BLOCK // air.lanes())
    def _(_):
        tile, total = air.shared((BLOCK,)), air.private((1,))
        total[0] = 0.0
        with air.if_(a.shape[0] > 0, hasElse=False):
            a[0, number()] = a[0, number()] + 1.0
        for k in air.sequential(a.shape[0]):
            air.barrier()
            tile[number()] = a[k, BLOCK - 1 - number()]
            air.barrier()
            total[0] = total[0] + tile[number()]
        c[number()] = total[0]


def how(chip: str) -> dict[str, Any]:
    return {"chip": chip, "wave_size": CHIPS[chip], "opt_level": 2}


def counted(chosen: AirProgram, chip: str, *arrays: np.ndarray) -> LaunchProfile:
    """What its only kernel counts."""
    profile = chosen.run(*arrays, **how(chip), profile=True).profile
    assert profile is not None
    (kernel,) = profile.kernels
    return kernel.launches


def barriers(profile: LaunchProfile) -> int:
    """Of a wave."""
    waits, rest = divmod(profile.kinds["waits and fences"], profile.waves)
    assert not rest
    return waits


def whole(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(shape).integers(-4, 5, shape).astype(dtype)


def check(make: Any, chip: str, arrays: list[np.ndarray], expected: np.ndarray, **constants: Any) -> None:
    """The last array is what is expected, and nothing races."""
    found = [array.copy() for array in arrays]
    made = make.options(chip=chip).program(*found, **constants)
    made.run(*found, settings={"check": "races"}, **how(chip))
    assert (found[-1] == expected).all()


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_products_of_tiles(dtype: Any, count: int, chip: str, places: Choose) -> None:
    places(count, chip)
    a, b = whole(36, 53, dtype=dtype), whole(53, 40, dtype=dtype)
    expected = a.astype(np.float32) @ b.astype(np.float32)
    for sizes in ({}, {"size": 32, "depth": 16}, {"waves": 1}):
        check(dots, chip, [a, b, np.full((36, 40), 9, np.float32)], expected, **sizes)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("early", [False, True], ids=["", "barrier before copies"])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 4])
def test_carried_sums(turns: int, early: bool, count: int, chip: str, places: Choose) -> None:
    """With as many turns as the program says, and as many as a run does."""
    places(count, chip)
    a, b, c = whole(10, turns * DEPTH), whole(turns * DEPTH, 20), np.full((10, 20), 9, np.float32)
    for said in (turns, None):
        check(carried, chip, [a, b, c], a @ b + turns * 1000, turns=said, early=early)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("turns", [0, 1, 2, 3])
def test_loops_in_loops(turns: int, count: int, chip: str, places: Choose) -> None:
    places(count, chip)
    a, b = whole(24, DEPTH), whole(turns * DEPTH, 16)
    tiles = [b[k : k + DEPTH] for k in range(0, turns * DEPTH, DEPTH)]
    expected = sum((a[y : y + 8] @ tile for y in range(0, 24, 8) for tile in tiles), np.zeros((8, 16)))
    check(powers, chip, [a, b, np.full((8, 16), 9, np.float32)], expected, turns=turns)


@pytest.mark.parametrize("chip", CHIPS)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("turns", [0, 1, 2, 5])
def test_tiles_that_are_there_are_loaded_when_they_are(turns: int, count: int, chip: str, places: Choose) -> None:
    """None without a turn, and none behind the last."""
    places(count, chip)
    a = whole(turns, BLOCK)
    check(rows, chip, [a, np.full(BLOCK, 9, np.float32)], (a.sum(axis=0) + (turns > 0))[::-1])


@given(st.integers(1, 30), st.integers(0, 45), st.integers(1, 40), st.sampled_from([1, 2]), st.sampled_from([*CHIPS]))
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sizes(places: Choose, m: int, k: int, n: int, count: int, chip: str) -> None:
    places(count, chip)
    a, b, c = whole(m, k), whole(k, n), np.full((m, n), 9, np.float32)
    check(dots, chip, [a, b, c], a @ b)
    check(carried, chip, [a, b, c], a @ b + -(-k // DEPTH) * 1000)


@pytest.mark.parametrize("chip", CHIPS)
def test_with_two_places_lanes_meet_once_in_a_turn(chip: str, places: Choose) -> None:
    turns = 12
    arrays = whole(8, turns * DEPTH), whole(turns * DEPTH, 16), np.zeros((8, 16), np.float32)
    for make, waves in ((dots, {}), (dots, {"waves": 1}), (carried, {})):
        found = list[int]()
        for count in (0, 1, 2):
            places(count, chip)
            made = make.options(chip=chip).program(*arrays, **waves)
            found.append(barriers(counted(made, chip, *arrays)))
        # that of air.dot before it stores comes with the first tiles as well
        more = int(make is dots)
        assert found == [2 * turns, 2 * turns + 1 + more, turns + 1 + more]


@needs_ptxas
@pytest.mark.parametrize("count", [1, 2])
def test_nvidias_assembler_takes_them(count: int, places: Choose, tmp_path: Any) -> None:
    places(count, "sm_90")
    arrays = whole(8, 16), whole(16, 16), np.zeros((8, 16), np.float32)
    target = GPU_TARGETS["sm_90"]
    for make in (dots, carried):
        module = make.options(chip="sm_90").program(*arrays).lowered(target, 32, opt_level=2)
        for kernels in (op for op in module.body.ops if isinstance(op, GPUModuleOp)):
            assembled(compile_kernels(kernels, machine_of(target, 32)), tmp_path)


@pytest.mark.parametrize("count", [0, 3])
def test_there_are_one_or_two_places(count: int, tmp_path: Any, capsys: Any) -> None:
    path = tmp_path / "empty.mlir"
    path.write_text("")
    assert main(["opt", f"--{FLAG}=buffers={count}", str(path)]) == 1
    assert f"error: buffers must be 1 or 2, got {count}" in capsys.readouterr().err
