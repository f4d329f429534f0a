"""Wrong use of the placed style is an error about the line that is wrong, whoever finds it."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from iron_programs import vector

import tilewright as tw
from tilewright.cli.main import main
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.iron.builders import UsageError, building
from tilewright.iron.builders.module import Module
from tilewright.iron.dialects.aie import (
    AIEDevice,
    DMAChannelDir,
    LockAction,
    ObjectFifoPort,
    buffer,
    constant,
    core,
    device,
    dma_bd,
    dma_start,
    external_func,
    flow,
    lock,
    object_fifo,
    object_fifo_link,
    tile,
    use_lock,
)
from tilewright.iron.dialects.aiex import (
    dma_await_task,
    npu_dma_memcpy_nd,
    npu_sync,
    npu_write32,
    runtime_sequence,
    shim_dma_single_bd_task,
)
from tilewright.iron.extras import types as T
from tilewright.iron.helpers.dialects.func import func
from tilewright.iron.helpers.dialects.scf import if_, range_

LINE = vector(16)


def depth_zero() -> None:
    object_fifo("f", tile(0, 0), tile(0, 2), 0, LINE)  # wrong


def fifo_of_numbers() -> None:
    object_fifo("f", tile(0, 0), tile(0, 2), 2, np.int32)  # wrong


def no_such_tile() -> None:
    tile(0, 6)  # wrong


def negative_column() -> None:
    tile(-1, 2)  # wrong


def unknown_type() -> None:
    buffer(tile(0, 2), np.ndarray[(4,), np.dtype[np.complex64]])  # wrong


def too_many_initial_values() -> None:
    buffer(tile(0, 2), LINE, initial_value=np.arange(17))  # wrong


def initial_values_too_big() -> None:
    buffer(tile(0, 2), vector(2, np.int8), initial_value=np.array([1, 300]))  # wrong


def unknown_port() -> None:
    fifo = object_fifo("f", tile(0, 2), tile(0, 3), 2, LINE)
    fifo.release("Throw", 1)  # wrong


def tile_as_text() -> None:
    lock("tile(0, 2)", init=1)  # wrong


def kernel_of_other_shape() -> None:
    kernel = external_func("kernel", [LINE, np.int32])
    small = buffer(tile(0, 2), vector(8))

    @core(small.tile)
    def _() -> None:
        kernel(small, 3)  # wrong


def kernel_without_an_argument() -> None:
    kernel = external_func("kernel", [LINE, np.int32])

    @core(tile(0, 2))
    def _() -> None:
        kernel(3)  # wrong


def float_in_an_integer_buffer() -> None:
    mem = buffer(tile(0, 2), LINE)
    mem[0] = 1.5  # wrong


def index_outside() -> None:
    mem = buffer(tile(0, 2), LINE)
    mem[16] = 1  # wrong


def two_types_in_a_sum() -> None:
    _ = constant(1, T.i32()) + constant(1, T.i64())  # wrong


def python_if_on_a_value() -> None:
    if constant(1) == 2:  # wrong
        pass


def python_range_on_a_value() -> None:
    for _ in range(constant(3)):  # wrong
        pass


def condition_that_is_a_number() -> None:
    with if_(constant(1)):  # wrong
        pass


def break_out_of_a_loop() -> None:
    for _ in range_(10):  # wrong
        break


def five_dimensions() -> None:
    fifo = object_fifo("f", tile(0, 0), tile(0, 2), 2, LINE)

    @runtime_sequence(LINE)
    def _(a: Any) -> None:
        shim_dma_single_bd_task(fifo, a, sizes=[1, 1, 1, 1, 16], strides=[0, 0, 0, 0, 1])  # wrong


def awaits_nothing() -> None:
    dma_await_task()  # wrong


def number_for_a_register_too_big() -> None:
    npu_write32(0x1000, 1 << 32, column=0, row=2)  # wrong


def body_with_other_arguments() -> None:
    @runtime_sequence(LINE, LINE)  # wrong
    def _(a: Any) -> None:
        del a


def flow_to_nowhere() -> None:
    flow(tile(0, 2))  # wrong


def setting_that_does_not_exist() -> None:
    dma_bd(buffer(tile(0, 2), LINE), length=4)  # wrong


def goes_on_with_a_number() -> None:
    dma_start(DMAChannelDir.MM2S, 0, dest=1)  # wrong


def function_without_types() -> None:
    @func
    def double(n):
        del n

    double(constant(1))  # wrong


def acquires_on_the_wrong_tile() -> None:
    """Found by the verifier."""
    fifo = object_fifo("f", tile(0, 2), tile(0, 3), 2, LINE)

    @core(tile(0, 4))  # wrong
    def _() -> None:
        fifo.acquire(ObjectFifoPort.Produce, 1)


def two_cores_on_a_tile() -> None:
    """Found by the verifier."""
    place = tile(0, 2)

    @core(place)
    def first() -> None: ...

    @core(place)  # wrong
    def second() -> None: ...


def links_what_is_not_there() -> None:
    """Found by the verifier."""
    object_fifo("f", tile(0, 0), tile(0, 1), 2, LINE)
    object_fifo_link("f", "g")  # wrong


def transfer_for_nobody() -> None:
    """Found by a pass."""

    @runtime_sequence(LINE)
    def _(a: Any) -> None:
        npu_dma_memcpy_nd("nobody", 0, a, sizes=[1, 1, 1, 16])  # wrong


def too_much_memory_on_a_tile() -> None:
    """Found by a pass."""
    buffer(tile(0, 2), vector(20000))  # wrong


def more_locks_than_a_tile_has() -> None:
    """Found by a pass."""
    place = tile(0, 2)
    for _ in range(17):
        lock(place, init=0)  # wrong


WRONG_USES = [
    depth_zero,
    fifo_of_numbers,
    no_such_tile,
    negative_column,
    unknown_type,
    too_many_initial_values,
    initial_values_too_big,
    unknown_port,
    tile_as_text,
    kernel_of_other_shape,
    kernel_without_an_argument,
    float_in_an_integer_buffer,
    index_outside,
    two_types_in_a_sum,
    python_if_on_a_value,
    python_range_on_a_value,
    condition_that_is_a_number,
    break_out_of_a_loop,
    five_dimensions,
    awaits_nothing,
    number_for_a_register_too_big,
    body_with_other_arguments,
    flow_to_nowhere,
    setting_that_does_not_exist,
    goes_on_with_a_number,
    function_without_types,
    acquires_on_the_wrong_tile,
    two_cores_on_a_tile,
    links_what_is_not_there,
    transfer_for_nobody,
    too_much_memory_on_a_tile,
    more_locks_than_a_tile_has,
]


def compiled(body: Callable[[], None]) -> tw.Design:
    module = Module()
    with building(module):
        device(AIEDevice.npu1)(body)
    return tw.compile(module)


def wrong_line(body: Callable[[], None]) -> int:
    lines, first = inspect.getsourcelines(body)
    return first + next(number for number, line in enumerate(lines) if "# wrong" in line)


@pytest.mark.parametrize("body", WRONG_USES, ids=lambda body: body.__name__)
def test_error_names_the_line(body: Callable[[], None]):
    with pytest.raises(DiagnosedError) as caught:
        compiled(body)
    position = file_position(caught.value.diagnostics[0].location)
    assert position is not None
    assert position[:2] == (__file__, wrong_line(body)), str(caught.value)


def test_an_error_in_a_loop_leaves_nothing_behind():
    def body() -> None:
        for _ in range_(4):
            tile(-1, 2)

    with pytest.raises(UsageError) as caught:
        compiled(body)
    assert caught.value.__traceback__ is not None  # keeps the loop of the body open
    with pytest.raises(UsageError, match="there is no module to build in"):
        tile(0, 2)
    module = Module()
    with building(module):
        del caught
        tile(0, 2)
    assert module.verify()
    assert "aie.tile(0, 2)" in str(module)


def test_a_call_says_what_the_kernel_takes():
    with pytest.raises(UsageError) as caught:
        compiled(kernel_of_other_shape)
    first, note = str(caught.value).splitlines()
    assert first.endswith(
        "error: 'func.call' op operand type mismatch: expected operand type 'memref<16xi32>', but provided "
        "'memref<8xi32>' for operand number 0"
    )
    assert note.endswith("note: 'kernel' is declared here")


def test_wrong_use_is_a_value_error_too():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        compiled(depth_zero)


def test_nothing_can_be_built_outside_a_module():
    with pytest.raises(UsageError, match="there is no module to build in"):
        tile(0, 2)


def test_hang_names_the_lines_that_wait():
    def body() -> None:
        place = tile(0, 2)
        never = lock(place, init=0, sym_name="never")

        @core(place)
        def _() -> None:
            use_lock(never, LockAction.AcquireGreaterEqual, 1)  # waits

        @runtime_sequence()
        def _() -> None:
            npu_sync(0, 0, 0, 0)  # wrong

    with pytest.raises(tw.Hang) as caught:
        compiled(body).run()
    assert f"{__file__}:{wrong_line(body)}:" in str(caught.value).splitlines()[0]


def test_command_shows_the_line_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    script = tmp_path / "design.py"
    script.write_text(
        "from tilewright.iron.dialects.aie import *\n"
        "from tilewright.iron.extras.context import mlir_mod_ctx\n"
        "with mlir_mod_ctx() as ctx:\n"
        "    @device(AIEDevice.npu1)\n"
        "    def body():\n"
        "        tile(9, 2)\n"
    )
    assert main(["compile", str(script), "-o", str(tmp_path / "out")]) == 1
    shown = capsys.readouterr().err
    assert f"{script}:6:9: error: 'aie.tile' op column index (9) must be less than the number" in shown
    assert "Traceback" not in shown
