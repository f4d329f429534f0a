"""Host programs whose instructions are in ELF files: beside an xclbin, or in a file that has all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xrt_packages import add_text

from tilewright import pyxrt
from tilewright.cli.main import main
from tilewright.errors import Error

TO, FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
COMPLETED, TIMEOUT = pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED, pyxrt.ert_cmd_state.ERT_CMD_STATE_TIMEOUT
VALUES = np.arange(64, dtype=np.int32)
PREEMPT = "aiex.npu.preempt {level = 1 : ui8}\n      aiex.npu.dma_wait {symbol = @out}"
COPY = """
module {
  aie.device(npu2_1col) @copy {
    %shim = aie.tile(0, 0)
    %mem = aie.tile(0, 1)
    aie.objectfifo @in(%shim, {%mem}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @out(%mem, {%shim}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo.link [@in] -> [@out]([] [])
    aie.runtime_sequence @part(%from: memref<64xi32>, %to: memref<8xi32>) {
      aiex.npu.load_pdi {device_ref = @copy}
      %0 = aiex.dma_configure_task_for @in {
        aie.dma_bd(%from : memref<64xi32> offset = 0 len = 8) {offset_parameter = @where}
        aie.end
      }
      aiex.dma_start_task(%0)
      %1 = aiex.dma_configure_task_for @out {
        aie.dma_bd(%to : memref<8xi32> offset = 0 len = 8)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%1)
      aiex.dma_await_task(%1)
      aiex.dma_free_task(%0)
    }
  }
  aiex.scratchpad_parameter @where : i32
}
"""


def filled(context: Any, values: np.ndarray[Any, Any]) -> pyxrt.bo:
    buffer = pyxrt.ext.bo(context, values.nbytes)
    buffer.write(values, 0)
    buffer.sync(TO)
    return buffer


def content(buffer: pyxrt.bo) -> np.ndarray[Any, Any]:
    buffer.sync(FROM)
    return buffer.read(buffer.size(), 0).view(np.int32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both kinds of files, as the compiler driver writes them."""
    made = tmp_path_factory.mktemp("elf")
    (made / "add.mlir").write_text(add_text(5).replace("aiex.npu.dma_wait {symbol = @out}", PREEMPT))
    (made / "copy.mlir").write_text(COPY)
    flags = [f"--output-dir={made}", "--xclbin-name=add.xclbin", "--elf-name=add.elf"]
    assert main(["aiecc", "--get-xclbin", "--get-elf", *flags, str(made / "add.mlir")]) == 0
    flags = [f"--output-dir={made}", "--full-elf-name=copy.elf"]
    assert main(["aiecc", "--get-full-elf", *flags, str(made / "copy.mlir")]) == 0
    return made


@pytest.fixture
def add(folder: Path) -> tuple[Any, Any]:
    """A context, and a kernel of its xclbin whose instructions, with a point of preemption, are in an ELF file."""
    device = pyxrt.device(0)
    package = pyxrt.xclbin(str(folder / "add.xclbin"))
    device.register_xclbin(package)
    context = pyxrt.hw_context(device, package.get_uuid())
    return context, pyxrt.ext.kernel(context, pyxrt.module(pyxrt.elf(str(folder / "add.elf"))), "MLIR_AIE")


def test_instructions_of_an_elf_file_run_beside_an_xclbin(add: tuple[Any, Any]) -> None:
    context, kernel = add
    run, b = pyxrt.run(kernel), filled(context, np.zeros(64, np.int32))
    for times in range(2):
        run.set_arg(0, 3)
        run.set_arg(3, filled(context, VALUES * times))
        run.set_arg(4, b)
        run.start()
        assert run.wait() is COMPLETED and (content(b) == VALUES * times + 5).all()


@pytest.mark.parametrize("index", [3, 4])
def test_a_buffer_that_is_not_set_is_never_served_by_another_one(add: tuple[Any, Any], index: int) -> None:
    context, kernel = add
    run, other = pyxrt.run(kernel), filled(context, VALUES)
    run.set_arg(0, 3)
    run.set_arg(7 - index, other)
    run.start()
    if index == 4:  # behind the last that is set, and only written: taken for a trace that nobody looks at
        assert run.wait() is COMPLETED and (content(other) == VALUES).all()
        return
    assert run.wait() is TIMEOUT and run.outcome is not None and (content(other) == VALUES).all()
    assert "argument 3 (bo0) of kernel MLIR_AIE is not set" in run.outcome.explanation


def test_a_full_elf_needs_no_xclbin_and_takes_parameters(folder: Path) -> None:
    context = pyxrt.hw_context(pyxrt.device(0), pyxrt.elf(str(folder / "copy.elf")))
    run, to = pyxrt.run(pyxrt.ext.kernel(context, "copy:part")), filled(context, np.zeros(8, np.int32))
    run.set_arg(0, filled(context, VALUES))
    run.set_arg(1, to)
    parameters = run.get_ctrl_scratchpad_bo()
    for where in (0, 8, 24):
        parameters.write(np.array([where], np.uint32), 0)
        parameters.sync(TO)
        run.start()
        assert run.wait2() is None and (content(to) == VALUES[where : where + 8]).all()


def test_kernels_that_a_full_elf_lacks_are_named(folder: Path) -> None:
    context = pyxrt.hw_context(pyxrt.device(0), pyxrt.elf(str(folder / "copy.elf")))
    with pytest.raises(Error, match=r"No such kernel 'other'; .*copy.elf has copy"):
        pyxrt.ext.kernel(context, "other")
    with pytest.raises(Error, match="No such instance 'whole' of kernel copy; there is part"):
        pyxrt.ext.kernel(context, "copy:whole")
