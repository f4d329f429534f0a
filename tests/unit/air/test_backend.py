"""Programs of mlir-air's Python API as they stand, host code included: `tilewright exec` serves `air.api` to them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tilewright import air
from tilewright.air.backend.xrt import XRTBackend, run_transform
from tilewright.air.backend.xrt_runner import XRTRunner
from tilewright.errors import ArgumentError

PROGRAM = """
import sys

import numpy as np
from air import api as air
from air.api.types import bf16, i32
from air.backend.xrt import XRTBackend
from air.backend.xrt_runner import XRTRunner

N, TILE = 256, 64
numbers = air.tensor([N], bf16)
results = air.tensor([N], bf16)
into = air.channel("into")

with air.launch(name="scaled") as launch:

    @launch.body
    def _():
        with air.segment(name="seg") as seg:

            @seg.body
            def _():
                into.put(numbers)

                with air.herd([range(1)], name="herd", shape=(1,)) as h:

                    @h.body
                    def _(tx):
                        tile = air.alloc([TILE], bf16, scope=h.private(), vector=bf16.default_vector_width)
                        for first in air.sequential(0, N, TILE):
                            into.get(tile)
                            tile[:] = tile[:] * 2.0
                            air.ops.store(tile, results[first : first + TILE])


module = launch.build(target="auto")
assert "func.func @scaled" in str(module)
x = np.arange(N).astype(bf16)
runner = XRTRunner(output_format="xclbin", instance_name="scaled", report_precision=True)
expected = x * int(sys.argv[1])
sys.exit(runner.run_test(module, inputs=[x], expected_outputs=[expected]))
"""


def executed(path: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A program is that of its process, which tests share."""
    command = [sys.executable, "-m", "tilewright", "exec", str(path), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.parametrize("factor, status, said", [(2, 0, "PASS!"), (3, 255, "failed.")])
def test_a_program_runs_as_it_stands(factor: int, status: int, said: str, tmp_path: Path) -> None:
    path = tmp_path / "scaled.py"
    path.write_text(PROGRAM)
    done = executed(path, factor)
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines()[-1] == said
    assert ("output 0: 255 of 256 elements are wrong\n  at (1,): 2.0, not 3.0" in done.stdout) is (status != 0)


@pytest.mark.parametrize(
    "line, said",
    [
        ("from air.dialects.air import Channel", "tilewright does not have it: `air.api` is there, for GPUs"),
        ("from air.api import nothing", "tilewright has no 'air.api.nothing'"),
    ],
)
def test_what_is_missing_says_so(line: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "missing.py"
    path.write_text(line)
    done = executed(path)
    assert done.returncode == 1 and said in done.stderr


def pair() -> Any:
    """A launch that writes two tensors: twice a number, and its half."""
    x = air.tensor([8], air.i16)
    twice = air.tensor([8], air.i16)
    half = air.tensor([8], air.f32)
    launch = air.launch(1, waves=1, name="pair")

    @launch.body
    def _(_):
        number = air.load(x[:])
        twice[:] = number * 2
        half[:] = number.astype(air.f32) * 0.5

    return launch.build()


def test_a_backend_gives_a_function_of_all_arrays() -> None:
    backend = XRTBackend(omit_while_true_loop=False)
    x = np.arange(8, dtype=np.int16)
    function = backend.load(backend.compile(pair()))
    given, twice, half = function(x, np.zeros_like(x), np.zeros(8, np.float32))
    assert given is x and np.array_equal(twice, 2 * x) and np.array_equal(half, x / 2)
    assert backend.unload() is None
    with pytest.raises(ArgumentError, match=r"the kernel takes 3 arrays \(x, twice, half\), not 1"):
        function(x)
    with pytest.raises(ArgumentError, match=r"what is compiled is what `launch.build\(\)` gives, not 3"):
        backend.compile(3)
    with pytest.raises(ArgumentError, match="transform scripts are for the compiler of AIE cores"):
        run_transform("", None)


@pytest.mark.parametrize(
    "wrong, options, status",
    [
        (0, {}, 0),
        (1, {}, -1),
        (2, {"max_mismatch_percentage": 25}, 0),
        (3, {"max_mismatch_percentage": 25}, -1),
        (0, {"min_correlation": 0.999}, 0),
        (1, {"max_mismatch_percentage": 25, "min_correlation": 0.999}, -1),
        (8, {"atol": 1000}, 0),
    ],
)
def test_floats_may_be_as_wrong_as_is_said(wrong: int, options: dict[str, Any], status: int) -> None:
    x = np.arange(8, dtype=np.int16)
    half = (x / 2).astype(np.float32)
    half[:wrong] += 100 * (-1) ** np.arange(wrong)
    assert XRTRunner(verbose=True).run_test(pair(), [x], [2 * x, half], **options) == status


def test_whole_numbers_are_right_and_some_elements_may_be_all_that_is_known() -> None:
    x = np.arange(8, dtype=np.int16)
    known: dict[str, Any] = {"shape": (8,), "indices": [[1, 6]], "values": [np.float32(0.5), np.float32(3)]}
    twice = {"shape": (8,), "indices": [[2, 7]], "values": (2 * x).astype(np.uint16)[[2, 7]]}
    run = XRTRunner().run_test
    assert run(pair(), [x], stochastic_expected_outputs=[twice, known]) == 0
    assert run(pair(), [x], stochastic_expected_outputs=[twice, {**known, "values": [0.5, 4.0]}]) == -1
    assert run(pair(), [x], [2 * x + (x == 3), x / 2], max_mismatch_percentage=50) == -1
    with pytest.raises(ArgumentError, match=r"an output of \(8,\) is expected to be one of \(9,\)"):
        run(pair(), [x], [np.zeros(9, np.int16), x / 2])
    with pytest.raises(ArgumentError, match="a test expects something"):
        run(pair(), [x])
