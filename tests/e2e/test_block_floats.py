"""Elements that are numbers with one exponent: through FIFOs, to kernels, and as host arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.cli.main import main
from tilewright.kernels.numbers import BLOCK_DTYPE

BLOCK = '!aiex.bfp<"v8bfp16ebs8">'
SMALL, LARGE = f"memref<4x{BLOCK}>", f"memref<16x{BLOCK}>"
SOURCE = f"""
aie.device(npu2_1col) {{
  func.func private @twice({SMALL}, {SMALL})
  %shim = aie.tile(0, 0)
  %tile = aie.tile(0, 2)
  aie.objectfifo @in(%shim, {{%tile}}, 2 : i32) : !aie.objectfifo<{SMALL}>
  aie.objectfifo @out(%tile, {{%shim}}, 2 : i32) : !aie.objectfifo<{SMALL}>
  aie.core(%tile) {{
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    scf.for %i = %c0 to %c4 step %c1 {{
      %source = aie.objectfifo.acquire @in(Consume, 1) : !aie.objectfifosubview<{SMALL}>
      %from = aie.objectfifo.subview.access %source[0] : !aie.objectfifosubview<{SMALL}> -> {SMALL}
      %target = aie.objectfifo.acquire @out(Produce, 1) : !aie.objectfifosubview<{SMALL}>
      %to = aie.objectfifo.subview.access %target[0] : !aie.objectfifosubview<{SMALL}> -> {SMALL}
      func.call @twice(%from, %to) : ({SMALL}, {SMALL}) -> ()
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
    }}
    aie.end
  }}
  aie.runtime_sequence(%a : {LARGE}, %b : {LARGE}) {{
    %fill = aiex.dma_configure_task_for @in {{
      aie.dma_bd(%a : {LARGE} offset = 0 len = 16)
      aie.end
    }}
    %drain = aiex.dma_configure_task_for @out {{
      aie.dma_bd(%b : {LARGE} offset = 0 len = 16)
      aie.end
    }} {{issue_token = true}}
    aiex.dma_start_task(%fill)
    aiex.dma_start_task(%drain)
    aiex.dma_await_task(%drain)
  }}
}}
"""


def twice(source: Any, target: Any) -> None:
    """A greater exponent doubles all numbers of a block."""
    target["exponent"], target["mantissas"] = source["exponent"] + 1, source["mantissas"]


@pytest.fixture(scope="module")
def design() -> tw.Design:
    return tw.compile(SOURCE)


@pytest.mark.parametrize("model", ["fast", "plain"])
def test_raw_bytes_are_blocks(design: tw.Design, model: str):
    data = np.random.default_rng(0).integers(0, 255, (16, 9), dtype=np.uint8)
    out = np.zeros_like(data)
    design.run(data.reshape(-1), out.reshape(-1), kernels={"twice": twice}, model=model)
    data[:, 0] += 1
    assert (out == data).all()


def test_records_are_blocks(design: tw.Design):
    data, out = np.zeros(16, BLOCK_DTYPE), np.zeros(16, BLOCK_DTYPE)
    data["exponent"], data["mantissas"][:, 3] = np.arange(16), -5
    design.run(data, out, kernels={"twice": twice})
    assert out["exponent"].tolist() == [*range(1, 17)]
    assert (out["mantissas"] == data["mantissas"]).all()


def test_other_elements_are_refused(design: tw.Design):
    message = "takes a record of exponent, mantissas, or at least 144 raw bytes .uint8., got int32$"
    with pytest.raises(tw.Error, match=message):
        design.run(np.zeros(16, np.int32), np.zeros(16, BLOCK_DTYPE), kernels={"twice": twice})


def test_the_command_fills_blocks(tmp_path: Any):
    source, kernel = tmp_path / "design.mlir", tmp_path / "kernel.py"
    source.write_text(SOURCE)
    kernel.write_text("def copy(a, b):\n    b[:] = a\n")
    command = ["run", str(source), "--arg", "a=random:3", "--kernel", f"twice={kernel}:copy", "--out", str(tmp_path)]
    assert main(command) == 0
    found = np.load(tmp_path / "b.npy")
    assert found.dtype == BLOCK_DTYPE
    assert (found == np.load(tmp_path / "a.npy")).all() and found["mantissas"].any()
