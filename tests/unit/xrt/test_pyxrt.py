"""Host programs for XRT in Python, on the simulated NPU: what arrives where, states, errors and notes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from xrt_packages import add_text, adding_code, compiled, two_kernels, with_machine_code, write_package

from tilewright import pyxrt
from tilewright.containers import ContainerError
from tilewright.errors import Error
from tilewright.isa import assemble

TO, FROM = pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_TO_DEVICE, pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_FROM_DEVICE
COMPLETED, TIMEOUT = pyxrt.ert_cmd_state.ERT_CMD_STATE_COMPLETED, pyxrt.ert_cmd_state.ERT_CMD_STATE_TIMEOUT
ERROR, ABORT = pyxrt.ert_cmd_state.ERT_CMD_STATE_ERROR, pyxrt.ert_cmd_state.ERT_CMD_STATE_ABORT
VALUES = np.arange(64, dtype=np.int32)


class Host:
    """What every host program begins with: device, context, kernel, and buffers for instructions and data."""

    def __init__(self, xclbin: str, insts: str, kernel: str = "MLIR_AIE"):
        self.device = pyxrt.device(0)
        self.file = pyxrt.xclbin(xclbin)
        self.device.register_xclbin(self.file)
        self.context = pyxrt.hw_context(self.device, self.file.get_uuid())
        self.words = np.fromfile(insts, np.uint32)
        self.kernel = pyxrt.kernel(self.context, kernel)
        self.code = self.buffer(self.words.nbytes, 1, pyxrt.bo.cacheable)
        self.code.write(self.words, 0)
        self.code.sync(TO)
        self.a, self.b = self.buffer(256, 3), self.buffer(256, 4)

    def buffer(self, size: int, argument: int, flags: Any = pyxrt.bo.host_only) -> pyxrt.bo:
        return pyxrt.bo(self.device, size, flags, self.kernel.group_id(argument))

    def fill(self, values: np.ndarray[Any, Any] = VALUES) -> None:
        self.a.write(values, 0)
        self.a.sync(TO)

    def run(self, count: int | None = None) -> pyxrt.run:
        return self.kernel(3, self.code, len(self.words) if count is None else count, self.a, self.b)

    def results(self) -> np.ndarray[Any, Any]:
        self.b.sync(FROM)
        return self.b.read(256, 0).view(np.int32)


@pytest.fixture(scope="module")
def add_five(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("add_five")
    return write_package(folder, compiled(folder, add_text(5)))


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("hanging")
    return write_package(folder, compiled(folder, add_text(5, taken=48)))


@pytest.mark.parametrize("unit", [4, 1], ids=["length in words", "length in bytes"])
def test_a_kernel_runs_again_and_again_on_one_context(add_five: tuple[str, str], unit: int) -> None:
    host = Host(*add_five)
    for times in range(3):
        host.fill(VALUES * times)
        assert host.run(host.words.nbytes // unit).wait() is COMPLETED
        assert (host.results() == VALUES * times + 5).all()


def test_an_xclbin_says_what_is_in_it(add_five: tuple[str, str]) -> None:
    file = pyxrt.xclbin(add_five[0])
    assert [(it.get_name(), it.get_num_args()) for it in file.get_kernels()] == [("MLIR_AIE", 8)]
    assert [(it.get_tag(), it.get_index(), it.get_used()) for it in file.get_mems()] == [
        ("HOST", 0, True),
        ("SRAM", 1, True),
    ]
    assert file.get_axlf() == Path(add_five[0]).read_bytes()
    host = Host(*add_five)
    assert [host.kernel.group_id(index) for index in (1, 3, 7)] == [1, 0, 0]


def test_what_was_not_synced_does_not_arrive_and_is_noted_once(
    add_five: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    host = Host(*add_five)
    host.a.write(VALUES, 0)
    for _ in range(2):
        assert host.run().wait() is COMPLETED
    assert (host.results() == 5).all()
    said = capfd.readouterr().err
    assert said.count("argument 3 (bo0) was written by the host and not synced") == 1
    host.a.sync(TO)
    host.run()
    assert (host.b.read(256, 0).view(np.int32) == 5).all(), "not synced back"
    assert (host.results() == VALUES + 5).all()
    assert not capfd.readouterr().err


def test_instructions_that_were_not_synced_are_noted(
    add_five: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    host = Host(*add_five)
    host.code = host.buffer(host.words.nbytes, 1)
    host.code.write(host.words, 0)
    assert host.run().wait() is ERROR
    said = capfd.readouterr().err
    assert "the instructions were written by the host and not synced" in said and "all words are 0" in said


def test_a_hang_is_a_timeout_with_an_explanation(hanging: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    host = Host(*hanging)
    host.fill()
    run = host.run()
    assert run.wait() is TIMEOUT and run.state() is TIMEOUT
    assert "hang: the controller waits for a token of S2MM 0 of tile (0, 0)" in capfd.readouterr().err
    assert run.outcome is not None and "48 words in all, and sends no more" in run.outcome.explanation
    with pytest.raises(pyxrt.CommandError, match=r"ERT_CMD_STATE_TIMEOUT.*hang") as error:
        run.wait2()
    assert isinstance(error.value, RuntimeError) and isinstance(error.value, Error) and error.value.state is TIMEOUT


def test_a_timeout_is_in_the_device_s_time(add_five: tuple[str, str]) -> None:
    host = Host(*add_five)
    host.fill()
    run = host.run()
    assert run.outcome is not None
    run.outcome = None
    vars(run)["_left"] = 0.0025
    assert [run.wait(1), run.wait(1), run.wait(1)] == [TIMEOUT, TIMEOUT, COMPLETED]
    assert run.wait2(10_000) is COMPLETED and run.wait2() is None


def test_a_run_object_takes_arguments_one_by_one(add_five: tuple[str, str]) -> None:
    host = Host(*add_five)
    run, called = pyxrt.run(host.kernel), list[Any]()
    run.add_callback(COMPLETED, lambda key, state, data: called.append((state, data)), "data")
    for index, value in enumerate((3, host.code, len(host.words), host.a, host.b)):
        run.set_arg(index, value)
    with pytest.raises(pyxrt.XrtError, match="not started"):
        run.wait()
    for times in (1, 2):
        host.fill(VALUES * times)
        run.start()
        run.wait2()
        assert (host.results() == VALUES * times + 5).all()
    assert called == [(COMPLETED, "data")] * 2


def test_parts_of_a_buffer_are_arguments(add_five: tuple[str, str]) -> None:
    host = Host(*add_five)
    whole = host.buffer(1024, 3)
    host.a, host.b = pyxrt.bo(whole, 256, 256), pyxrt.bo(whole, 256, 512)
    assert host.a.address() == whole.address() + 256 and host.a.size() == 256
    np.frombuffer(whole.map(), np.int32)[64:128] = VALUES
    whole.sync(TO, 256, 256)
    assert host.run().wait() is COMPLETED
    whole.sync(FROM, 256, 512)
    assert (whole.read(256, 512).view(np.int32) == VALUES + 5).all()
    assert not whole.read(256, 768).any()


def test_kernels_of_one_xclbin_have_images_of_their_own(tmp_path: Path) -> None:
    one, two = (compiled(tmp_path, add_text(amount)) for amount in (1, 2))
    (tmp_path / "two.xclbin").write_bytes(two_kernels(one, two).write())
    one.txn().tofile(tmp_path / "insts.bin")
    host = Host(str(tmp_path / "two.xclbin"), str(tmp_path / "insts.bin"), "ADDONE")
    other = pyxrt.kernel(host.context, "ADDTWO")
    host.fill()
    runs = pyxrt.runlist(host.context)
    for kernel, source, target in ((host.kernel, host.a, host.b), (other, host.b, host.a)):
        run = pyxrt.run(kernel)
        for index, value in enumerate((3, host.code, len(host.words), source, target)):
            run.set_arg(index, value)
        runs.add(run)
        with pytest.raises(pyxrt.XrtError, match="runlist"):
            run.start()
    runs.execute()
    runs.wait()
    host.a.sync(FROM)
    assert (host.a.read(256, 0).view(np.int32) == VALUES + 3).all()


def test_runs_behind_one_that_fails_are_not_executed(hanging: tuple[str, str]) -> None:
    host = Host(*hanging)
    host.fill()
    runs, all_runs = pyxrt.runlist(host.context), list[pyxrt.run]()
    for _ in range(2):
        run = pyxrt.run(host.kernel)
        for index, value in enumerate((3, host.code, len(host.words), host.a, host.b)):
            run.set_arg(index, value)
        runs.add(run)
        all_runs.append(run)
    runs.execute()
    with pytest.raises(pyxrt.CommandError, match="TIMEOUT"):
        runs.wait()
    assert [run.state() for run in all_runs] == [TIMEOUT, ABORT]


def test_contexts_do_not_share_an_array(hanging: tuple[str, str]) -> None:
    """The second run of a context goes on where the first one hung; that of another context does not."""
    first, second = Host(*hanging), Host(*hanging)
    for host in (first, second):
        host.fill()
    assert first.run().wait() is TIMEOUT
    assert first.run().wait() is COMPLETED
    assert second.run().wait() is TIMEOUT


def test_a_package_of_others_runs_without_cores(add_five: tuple[str, str], tmp_path: Path, capfd: Any) -> None:
    text = add_text(5).split("    %core = aie.core")[0] + add_text(5)[add_text(5).index("    aie.runtime_sequence") :]
    through = text.replace("(0, 2)", "(0, 1)").replace(
        "    aie.runtime_sequence", "    aie.objectfifo.link [@in] -> [@out] ([] [])\n    aie.runtime_sequence"
    )
    host = Host(*write_package(tmp_path, compiled(tmp_path, through), is_ours=False))
    host.fill()
    assert host.run().wait() is COMPLETED
    assert (host.results() == VALUES).all()
    assert "brings no design of ours" in capfd.readouterr().err


def test_cores_run_the_machine_code_of_a_package(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The design's core adds 5, the machine code 7: there is nothing else in the package that could have run."""
    design = compiled(tmp_path, add_text(5))
    code = assemble(adding_code(design, 7))
    host = Host(*with_machine_code(tmp_path, design, code))
    host.fill()
    assert host.run().wait() is COMPLETED
    assert (host.results() == VALUES + 7).all()
    assert "its cores run their machine code" in capfd.readouterr().err


def test_what_is_no_machine_code_stops_the_core(tmp_path: Path) -> None:
    xclbin, insts = with_machine_code(tmp_path, compiled(tmp_path, add_text(5)), b"\xff" * 16)
    run = Host(xclbin, insts).run()
    assert run.wait() is ERROR
    assert run.outcome is not None
    assert "the core of tile (0, 2) stops at 0x0: no instructions: ff ff ff" in run.outcome.explanation


@pytest.mark.parametrize(
    ("do", "text"),
    [
        (lambda host: pyxrt.kernel(host.context, "NONE"), "No such kernel 'NONE'; .* has MLIR_AIE"),
        (lambda host: pyxrt.device(1), "index '1'"),
        (lambda host: pyxrt.hw_context(host.device, pyxrt.uuid("0" * 32)), "no xclbin with uuid"),
        (lambda host: host.buffer(4, 0), "a number, not a buffer"),
        (lambda host: pyxrt.bo(host.device, 4, pyxrt.bo.normal, 7), "invalid memory group 7"),
        (lambda host: pyxrt.bo(host.device, 0, pyxrt.bo.normal, 0), "a buffer of 0 bytes"),
        (lambda host: host.a.write(bytes(257), 0), "257 bytes at offset 0 is outside of a buffer of 256"),
        (lambda host: host.a.read(1, 256), "outside"),
        (lambda host: host.a.sync(TO, 4, 254), "outside"),
        (lambda host: pyxrt.bo(host.a, 4, 253), "outside"),
        (lambda host: host.a.sync(pyxrt.xclBOSyncDirection.XCL_BO_SYNC_BO_GMIO_TO_AIE), "GMIO"),
        (lambda host: pyxrt.run(host.kernel).set_arg(8, 1), "Bad argument index '8'"),
        (lambda host: pyxrt.run(host.kernel).set_arg(0, host.a), "a number, not a buffer"),
        (lambda host: pyxrt.run().start(), "an empty run"),
        (lambda host: pyxrt.runlist().add(pyxrt.run(host.kernel)), "uninitialized runlist"),
        (lambda host: pyxrt.run(host.kernel).get_ctrl_scratchpad_bo(), "No module"),
        (lambda host: pyxrt.xclbin("/nonexistent.xclbin"), "cannot be read"),
        (lambda host: pyxrt.graph(host.context, "g"), "no AIE graphs"),
    ],
)
def test_what_xrt_refuses_is_refused(add_five: tuple[str, str], do: Callable[[Host], object], text: str) -> None:
    with pytest.raises(pyxrt.XrtError, match=text):
        do(Host(*add_five))


@pytest.mark.parametrize(
    "do",
    [
        lambda host: pyxrt.bo("device", 4, 0, 0),
        lambda host: pyxrt.bo(host.device, 4),
        lambda host: host.a.sync(0),
        lambda host: pyxrt.kernel(host.device, "MLIR_AIE"),
    ],
)
def test_wrong_types_are_type_errors(add_five: tuple[str, str], do: Callable[[Host], object]) -> None:
    with pytest.raises(TypeError, match="takes"):
        do(Host(*add_five))


def test_a_buffer_in_another_memory_is_noted(add_five: tuple[str, str], capfd: pytest.CaptureFixture[str]) -> None:
    host = Host(*add_five)
    host.a = pyxrt.bo(host.device, 256, pyxrt.bo.host_only, 1)
    host.fill()
    assert host.run().wait() is COMPLETED
    assert (
        "argument 3 (bo0) of kernel MLIR_AIE is in memory 1, and the kernel is connected to 0" in capfd.readouterr().err
    )


def test_an_opcode_that_is_unknown_is_an_error(add_five: tuple[str, str]) -> None:
    host = Host(*add_five)
    run = host.kernel(77, host.code, len(host.words), host.a, host.b)
    assert run.wait() is ERROR and run.outcome is not None and "opcode 77" in run.outcome.explanation


@settings(max_examples=20)
@given(data=st.data())
def test_a_damaged_package_is_an_error_and_nothing_else(add_five: tuple[str, str], data: st.DataObject) -> None:
    whole = bytearray(Path(add_five[0]).read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    host = Host(*add_five)
    try:
        file = pyxrt.xclbin(bytes(whole))
        host.device.register_xclbin(file)
        kernel = pyxrt.kernel(pyxrt.hw_context(host.device, file), "MLIR_AIE")
        kernel(3, host.code, len(host.words), host.a, host.b).wait()
    except (Error, ContainerError):
        pass


def test_a_buffer_behind_the_last_one_that_is_not_set_has_room(
    add_five: tuple[str, str], capfd: pytest.CaptureFixture[str]
) -> None:
    """Hosts that look at no trace set none for it."""
    host = Host(*add_five)
    host.fill()
    assert host.kernel(3, host.code, len(host.words), host.a).wait() is COMPLETED
    assert "argument 4 is not set: what the device writes to it is lost" in capfd.readouterr().err


def test_a_buffer_before_the_last_one_that_is_not_set_is_an_error(add_five: tuple[str, str]) -> None:
    """Nothing else takes its place, and XRT would wait until the driver gives up."""
    host = Host(*add_five)
    run = pyxrt.run(host.kernel)
    for index, value in enumerate([3, host.code, len(host.words), None, host.b]):
        if value is not None:
            run.set_arg(index, value)
    run.start()
    assert run.wait() is TIMEOUT and run.outcome is not None
    assert "argument 3 (bo0) of kernel MLIR_AIE is not set" in run.outcome.explanation
    run.set_arg(3, host.a)
    host.fill()
    run.start()
    assert run.wait() is COMPLETED and (host.results() == VALUES + 5).all()
