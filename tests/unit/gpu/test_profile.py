"""Profiles of kernels: what is counted is what one counts by hand, and it is shown."""

from __future__ import annotations

import json
from collections import Counter
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import find_browser, open_browser
from hypothesis import given
from hypothesis import strategies as st

from tilewright import air
from tilewright.air import library
from tilewright.cli.main import main
from tilewright.device.gpu_targets import GPU_TARGETS, MEMORY_SHAPES, PEAKS, REGISTER_FILES
from tilewright.errors import ArgumentError
from tilewright.gpu.emulator.operation_kinds import KINDS
from tilewright.gpu.emulator.profiling import bank_turns, pieces, transactions
from tilewright.gpu.profile import GLOBAL, SHARED, KernelProfile
from tilewright.gpu.resources import occupancy

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
WIDTHS = st.sampled_from([1, 2, 4, 8, 16])


@st.composite
def accesses(draw: st.DrawFn) -> tuple[int, np.ndarray]:
    """A width, and where lanes of some waves access that many bytes, at multiples of it."""
    width = draw(WIDTHS)
    rows = draw(st.lists(st.lists(st.integers(0, 600), min_size=32, max_size=32), min_size=1, max_size=3))
    return width, np.array(rows) * width


@given(accesses(), st.sampled_from([32, 64, 128]), st.integers(0, 3))
def test_transactions_are_lines_that_bytes_lie_in(drawn: tuple[int, np.ndarray], line: int, off: int) -> None:
    width, starts = drawn
    touched = [{start + off + byte for start in row for byte in range(width)} for row in starts.tolist()]
    served = sum(len({byte // line for byte in row}) for row in touched)
    assert transactions(starts + off, width, line) == (served, sum(-(-len(row) // line) for row in touched))


@given(accesses(), st.sampled_from([32, 64]))
def test_banks_take_a_turn_for_each_word_of_one_bank(drawn: tuple[int, np.ndarray], banks: int) -> None:
    width, starts = drawn
    served = least = 0
    for row in starts.tolist():
        together = min(32, banks * 4 // max(width, 4))
        for first in range(0, 32, together):
            lanes = row[first : first + together]
            words = {(start + byte) // 4 for start in lanes for byte in range(width)}
            served += max(Counter(word % banks for word in words).values())
            least += -(-len(words) // banks)
    assert bank_turns(starts, width, banks) == (served, least)


def test_vectors_are_loaded_in_pieces_that_instructions_have() -> None:
    assert pieces(4, None) == [(0, 4)]
    assert pieces(4, np.arange(8)) == [(0, 16), (16, 16)]
    assert pieces(2, np.array([0, 100])) == [(0, 2), (200, 2)]


@air.jit
def copy_apart(source: Any, target: Any, *, apart: int) -> None:
    @air.launch(2, waves=1)
    def _(block: Any) -> None:
        place = block * air.lanes() + air.lane()
        target[place] = source[place * apart]


def kernel_of(program: Any, *arguments: Any, **constants: Any) -> KernelProfile:
    found = program.run(*arguments, **constants).profile
    assert found is not None and len(found.kernels) == 1
    return found.kernels[0]


@pytest.mark.parametrize("chip, lanes", [("sm_90", 32), ("gfx942", 64), ("gfx90a", 64), ("gfx1100", 32)])
@pytest.mark.parametrize("apart", [1, 2, 64])
def test_lanes_that_are_not_neighbours_cost_transactions(chip: str, lanes: int, apart: int) -> None:
    source, target = np.arange(2 * lanes * apart, dtype=np.float32), np.zeros(2 * lanes, np.float32)
    program = copy_apart.options(profile=True, chip=chip, wave_size=lanes)
    kernel = kernel_of(program, source, target, apart=apart)
    assert (target == source[::apart]).all()
    line, read = MEMORY_SHAPES[chip].transaction_bytes, kernel.launches.traffic("global read")
    assert read.bytes == 2 * lanes * 4 and read.accesses == 2
    assert read.least == 2 * lanes * 4 // line
    assert read.served == 2 * min(lanes, lanes * 4 * apart // line)
    written = kernel.launches.traffic("global written")
    assert written.served == written.least == read.least
    assert kernel.launches.distinct["read"] == read.served * line


@air.jit
def turn_round(source: Any, target: Any, *, padded: int) -> None:
    @air.launch(1, waves=1)
    def _(_: Any) -> None:
        room = air.shared((32, 32 + padded))
        for row in range(32):
            room[row, air.lane()] = source[row, air.lane()]
        air.barrier()
        for row in range(32):
            target[row, air.lane()] = room[air.lane(), row]


@pytest.mark.parametrize("padded, turns", [(0, 32 * 32), (1, 32), (2, 2 * 32)])
def test_columns_of_memory_of_a_block_meet_in_banks(padded: int, turns: int) -> None:
    source, target = np.arange(1024, dtype=np.float32).reshape(32, 32), np.zeros((32, 32), np.float32)
    kernel = kernel_of(turn_round.options(profile=True, chip="sm_90", wave_size=32), source, target, padded=padded)
    assert (target == source.T).all()
    read, written = kernel.launches.traffic("shared read"), kernel.launches.traffic("shared written")
    assert (read.served, read.least) == (turns, 32)
    assert written.served == written.least == 32
    assert read.bytes == written.bytes == 4096


@pytest.mark.parametrize(
    "chip, computed_in, more",
    [
        # on lanes, groups and blocks that share the depth add up their sums, and all are scaled
        pytest.param("sm_90", "f32", 4 * 128 * 128, id="lanes"),
        pytest.param("sm_90a", "matrix f16", 0, id="tensor cores"),
        pytest.param("gfx942", "matrix f32", 0, id="mfma"),
    ],
)
def test_products_are_as_many_operations_as_they_are(chip: str, computed_in: str, more: int) -> None:
    profiles, dtype = [], np.float16 if computed_in == "matrix f16" else np.float32
    a, b = np.ones((128, 128), dtype), np.ones((128, 128), dtype)
    library.matmul(a, b, chip=chip, profile=profiles.append)
    (profile,) = profiles
    done = sum((kernel.launches.flops for kernel in profile.kernels), Counter())
    assert done[computed_in] == 2 * 128**3 + more
    assert all(set(kernel.launches.kinds) <= set(KINDS) for kernel in profile.kernels)
    read = sum(kernel.launches.distinct["read"] for kernel in profile.kernels)
    assert 2 * a.nbytes <= read <= 2 * a.nbytes + 4096


def test_a_profile_changes_nothing_else() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.standard_normal((2, 130, 130)).astype(np.float32)
    runs = [
        copy_apart.options(profile=profile).run(a[0], np.zeros(130, np.float32), apart=0) for profile in (False, True)
    ]
    assert runs[0].counters == runs[1].counters and runs[0].profile is None
    modes: list[dict[str, Any]] = [{}, {"profile": True}, {"profile": True, "settings": {"check": "races"}}]
    plain, *others = (library.matmul(a, b, **options) for options in modes)
    assert all((plain == other).all() for other in others)


def test_waves_that_wait_at_barriers_are_seen() -> None:
    @air.jit
    def one_works(target: Any) -> None:
        @air.launch(3, waves=2)
        def _(block: Any) -> None:
            with air.if_(air.wave() == 0, hasElse=False):
                for at in air.sequential(100):
                    target[block] = at.astype(air.i32)
            air.barrier()

    kernel = kernel_of(one_works.options(profile=True), np.zeros(3, np.int32))
    launches = kernel.launches
    assert len(launches.tracks) == 6 and launches.waited_steps > 3 * 100
    for _, waves in groupby(launches.tracks, key=lambda track: track.block):
        busy, waits = waves
        assert len(busy.edges) == 1 and len(waits.edges) == 3
        assert waits.edges[1] - waits.edges[0] == launches.waited_steps // 3
        assert abs(waits.edges[-1] - busy.edges[-1]) <= 1 and busy.start == 0
    assert launches.wave_steps == launches.operations + launches.waited_steps


def test_ranks_are_profiled_together() -> None:
    parts = [np.arange(4000, dtype=np.float32) + rank for rank in range(2)]
    profiles = []
    library.all_reduce(parts, algorithm="bandwidth", profile=profiles.append)
    assert sum(kernel.launches.launches for kernel in profiles[0].kernels) == 2 * 3
    assert {kernel.launches.launches for kernel in profiles[0].kernels} == {2}


@pytest.mark.parametrize(
    "chip, threads, shared, registers, waves, limit",
    [
        # CUDA's occupancy calculator
        ("sm_90", 256, 0, 32, 64, "waves"),
        ("sm_90", 256, 0, 255, 8, "registers"),
        ("sm_90", 128, 100_000, 32, 8, "shared memory"),
        ("sm_86", 256, 0, 40, 48, "waves"),
        # LLVM's AMDGPU usage guide: 512 registers of a lane on four SIMDs of 8 waves
        ("gfx942", 64, 0, 128, 16, "registers"),
        ("gfx942", 256, 65536, 32, 4, "LDS"),
        ("gfx942", 1024, 0, 512, 0, "registers"),
        ("gfx1100", 256, 0, 256, 8, "registers"),
        ("gfx942", 64, 0, None, 32, "waves"),
    ],
)
def test_occupancy(chip: str, threads: int, shared: int, registers: int | None, waves: int, limit: str) -> None:
    found = occupancy(GPU_TARGETS[chip], threads, shared, registers)
    assert (found.waves, found.limit) == (waves, limit)


def test_every_chip_has_rows_in_all_tables() -> None:
    assert set(GPU_TARGETS) == set(PEAKS) == set(MEMORY_SHAPES) == set(REGISTER_FILES)
    # by the numbers that product pages give of units and clocks: CUDA cores times two times the boost clock
    assert PEAKS["sm_90"].lanes == pytest.approx(132 * 128 * 2 * 1.98e9 / 1e12, rel=0.01)
    assert PEAKS["gfx942"].lanes == pytest.approx(304 * 256 * 2.1e9 / 1e12, rel=0.01)


def test_the_command_prints_and_writes(tmp_path: Path, capfd) -> None:
    page, source = tmp_path / "page.html", str(EXAMPLES / "air_matmul.py")
    assert main(["air", "run", source, "--profile", str(page), "--json"]) == 0
    said = capfd.readouterr()
    (facts,) = json.loads(said.out.splitlines()[-1])["profile"]
    assert facts["kernel"] == "matmul_module" and facts["occupancy"]["limit"] == "LDS"
    assert facts["lines"][0]["file"].endswith("air_matmul.py") and facts["lines"][0]["memory"]["shared read"]["bytes"]
    assert main(["air", "run", str(EXAMPLES / "air_add.mlir"), "--profile"]) == 0
    said = capfd.readouterr().err
    assert "occupancy" in said and "roofline" in said and "no time was measured" in said
    html = page.read_text()
    assert "air.dot(air.load" in html and "no time was measured" in html and "Roofline" in html


@pytest.mark.parametrize(
    "options, text",
    [
        (["--profile", "page.txt"], "--profile writes a page, FILE.html, not 'page.txt'"),
        (["--backend", "cuda", "--profile"], "--profile is for the emulator"),
        (["--launcher", "mpi", "--profile"], "--profile is not for --launcher mpi"),
    ],
)
def test_what_cannot_be_profiled_is_said(options: list[str], text: str, capsys) -> None:
    assert main(["air", "run", str(EXAMPLES / "air_add.mlir"), *options]) == 2
    assert text in capsys.readouterr().err


def test_real_gpus_are_not_profiled() -> None:
    with pytest.raises(ArgumentError, match="profiles are of the emulator"):
        air.compile(EXAMPLES / "air_add.mlir").run(backend="cuda", profile=True)


@pytest.mark.skipif(find_browser() is None, reason="there is no Chromium")
def test_the_page_in_a_browser(tmp_path: Path) -> None:
    source, target = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    result = turn_round.options(profile=True, wave_size=32, chip="sm_90").run(source, target, padded=0)
    assert result.profile is not None
    (tmp_path / "page.html").write_text(result.profile.html("turn round"))
    with open_browser() as page:
        page.open(tmp_path / "page.html")
        assert page.evaluate("document.querySelectorAll('#lines-table tbody tr').length") > 2
        assert page.evaluate("window.tilewright.run.unit") == "step"
        assert page.evaluate("document.getElementById('range').textContent").startswith("steps 0 to")
        assert page.evaluate("document.getElementById('show-locks').parentElement.hidden")
        assert not page.complaints


def test_shared_and_global_bytes_of_a_line() -> None:
    source, target = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    kernel = kernel_of(turn_round.options(profile=True, wave_size=32, chip="sm_90"), source, target, padded=1)
    lines = [line for _, line in kernel.hot_lines()]
    assert sum(line.space(GLOBAL).bytes for line in lines) == kernel.space(GLOBAL).bytes
    assert sum(line.space(SHARED).bytes for line in lines) == kernel.space(SHARED).bytes
    assert sum(line.operations for line in lines) == kernel.launches.operations
