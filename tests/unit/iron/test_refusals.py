"""Wrong use is refused with the line of the program that is wrong, and with what to do about it."""

import linecache
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from iron_programs import Pipe, copy_objects, move_all, vector

import tilewright as tw
from tilewright.ir.diagnostics import Diagnostic, file_position
from tilewright.iron import Buffer, Kernel, ObjectFifo, Program, Runtime, TaskGroup, Worker
from tilewright.iron.controlflow import range_
from tilewright.iron.device import NPU1Col1, Tile


def refused(build: Callable[[], Any]) -> Diagnostic:
    """The error that building ends with; the line that it is about says `# wrong`."""
    with pytest.raises(tw.CompileError) as caught:
        build()
    error = next(d for d in caught.value.diagnostics if d.severity == "error")
    file, line, column = file_position(error.location) or ("", 0, 0)
    assert file == __file__
    assert linecache.getline(file, line).rstrip().endswith("# wrong")
    assert column > 1
    return error


def advice(error: Diagnostic) -> str:
    return " / ".join(note.text for note in error.notes)


def test_a_fifo_without_room():
    error = refused(lambda: ObjectFifo(vector(64), depth=0, name="in"))  # wrong
    assert error.text == "Default ObjectFifo depth must be > 0, but got 0"
    assert "at least one object" in advice(error)


def test_an_end_without_room():
    fifo = ObjectFifo(vector(64), name="in")
    assert refused(lambda: fifo.cons(0)).text == "Depth must be > 0 but is 0"  # wrong


OPEN: Any = np.ndarray[(None, 4), np.dtype[np.int32]]  # pyright: ignore[reportInvalidTypeArguments]


def test_memory_of_a_tile_has_a_size():
    assert refused(lambda: ObjectFifo(OPEN)).text.endswith("a size that is known, not memref<?x4xi32>")  # wrong
    assert refused(lambda: Buffer(OPEN)).text == "a buffer has a size that is known"  # wrong


def test_elements_of_another_size_make_no_whole_objects():
    pipe = Pipe()

    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        source.fill(a)  # wrong
        target.drain(b, wait=True)

    error = refused(pipe.program(sequence, vector(64, np.int16), vector(64)).resolve_program)
    assert error.text == "128 bytes go through 'in', which is no multiple of the 256 bytes of its objects"
    assert "an object is memref<64xi32>, and this moves a host buffer of memref<64xi16>" in advice(error)


def test_parts_of_another_type():
    consumer = ObjectFifo(vector(64), name="in").cons()
    error = refused(lambda: consumer.split([0, 32], obj_types=[vector(32, np.int16)] * 2))  # wrong
    expected = "cannot split 'in', objects of memref<64xi32>, with 'in_split0', objects of memref<32xi16>"
    assert error.text == expected


def test_parts_beyond_the_whole():
    producer = ObjectFifo(vector(64), name="out").prod()
    error = refused(lambda: producer.join([0, 48], obj_types=[vector(32)] * 2))  # wrong
    assert error.text == "'out_join1' takes 32 elements from offset 48, but an object of 'out' has 64"


def test_a_number_of_another_type_in_a_buffer():
    def core(source: Any, target: Any) -> None:
        target.acquire(1)[0] = 1.5  # wrong

    error = refused(Pipe(None, core).program(move_all, vector(64), vector(64)).resolve_program)
    assert error.text == "1.5 cannot be a constant of type i32"


def test_a_worker_that_the_program_does_not_have():
    of_in, of_out = ObjectFifo(vector(64), name="in"), ObjectFifo(vector(64), name="out")
    Worker(copy_objects, [of_in.cons(), of_out.prod()])  # wrong
    runtime = Runtime(move_all, [vector(64), vector(64), of_in.prod(), of_out.cons()])
    error = refused(Program(NPU1Col1(), runtime).resolve_program)
    assert "has in.cons(), but it is not placed" in error.text
    assert advice(error) == "put it among the workers: Program(device, rt, workers=[...])"


def test_more_workers_than_cores():
    workers = [Worker(None) for _ in range(5)]  # wrong
    program = Program(NPU1Col1(), Runtime(lambda: None), workers)
    error = refused(lambda: tw.compile(program))
    assert error.text == "no available compute tiles for placement"
    assert advice(error) == "npu1_1col has 4 of them: use fewer, or a larger device"


def test_a_worker_on_a_mem_tile():
    program = Program(NPU1Col1(), Runtime(lambda: None), [Worker(None, tile=Tile(0, 1))])  # wrong
    assert "does not match the tile type at coordinates (0, 1)" in refused(program.resolve_program).text


def test_a_tile_beyond_the_array():
    program = Program(NPU1Col1(), Runtime(lambda: None), [Worker(None, tile=Tile(3, 2))])  # wrong
    assert refused(program.resolve_program).text == "tile (3, 2) is out of range: there is no such tile on npu1_1col"


def test_a_fifo_without_a_producer():
    fifo = ObjectFifo(vector(64), name="in")  # wrong
    worker = Worker(lambda end: None, [fifo.cons()])
    error = refused(Program(NPU1Col1(), Runtime(lambda: None), [worker]).resolve_program)
    assert error.text == "ObjectFifo 'in' has no producer"
    assert advice(error) == "give in.prod() to a worker, or to the Runtime in its fn_args"


@pytest.mark.parametrize("size", [100, 63, 1])
def test_an_amount_that_is_no_multiple_of_the_objects(size: int):
    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        source.fill(a)  # wrong
        target.drain(b, wait=True)

    error = refused(Pipe().program(sequence, vector(size), vector(64)).resolve_program)
    assert error.text == (f"{size} elements go through 'in', which is no multiple of the 64 elements of its objects")


def test_parts_of_objects_that_add_up():
    """Only the sum counts: one object may come in several transfers."""

    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        source.fill(a, transfer_len=40)
        source.fill(a, offset=40, transfer_len=24)
        target.drain(b, wait=True)

    assert Pipe().program(sequence, vector(64), vector(64)).resolve_program()


def test_too_much_memory_on_a_tile():
    pipe = Pipe(vector(8192), tile=Tile(0, 2))  # wrong
    error = refused(lambda: tw.compile(pipe.program(move_all, vector(8192), vector(8192))))
    assert error.text == "'aie.tile' op allocated buffers exceeded available memory"
    assert "the tile has 65536 bytes, 66560 less than these buffers take up" in advice(error)


def test_a_kernel_called_with_another_shape():
    kernel = Kernel("scale", "scale.o", [vector(32), vector(64), np.int32])

    def core(source: Any, target: Any, scale: Any) -> None:
        scale(source.acquire(1), target.acquire(1), 3)  # wrong

    error = refused(Pipe(None, core, kernel).program(move_all, vector(64), vector(64)).resolve_program)
    assert error.text == "kernel 'scale' takes memref<32xi32> as argument 0, got memref<64xi32>"
    assert "make both the same" in advice(error)


def test_a_kernel_called_with_too_few_arguments():
    kernel = Kernel("scale", "scale.o", [vector(64), np.int32])

    def core(source: Any, target: Any, scale: Any) -> None:
        scale(source.acquire(1))  # wrong

    error = refused(Pipe(None, core, kernel).program(move_all, vector(64), vector(64)).resolve_program)
    assert error.text == "Kernel 'scale' expects 2 argument(s), but 1 were provided."
    assert advice(error) == "it takes (memref<64xi32>, i32)"


def test_more_objects_than_there_are():
    def core(source: Any, target: Any) -> None:
        source.acquire(3)  # wrong

    error = refused(Pipe(None, core).program(move_all, vector(64), vector(64)).resolve_program)
    assert error.text == "cannot acquire 3 objects of 'in': this end has 2"


def test_a_fifo_instead_of_its_end():
    fifo = ObjectFifo(vector(64), name="in")
    error = refused(lambda: Worker(copy_objects, [fifo]))  # wrong
    assert advice(error) == "give it in.prod() or in.cons()"


def test_an_end_for_two():
    end = ObjectFifo(vector(64), name="in").cons()
    Worker(copy_objects, [end])
    error = refused(lambda: Worker(copy_objects, [end]))  # wrong
    assert "in.cons() gives a new one each time" in advice(error)


def test_a_buffer_for_two_without_a_tile():
    shared = Buffer(vector(16), name="shared")
    Worker(copy_objects, [shared])
    error = refused(lambda: Worker(copy_objects, [shared]))  # wrong
    assert error.text == "Buffer 'shared' has no explicit tile and is shared across Workers"


def test_a_group_that_does_not_end():
    def sequence(a: Any, source: Any, target: Any) -> None:
        group = TaskGroup()  # wrong
        source.fill(a, group=group)

    error = refused(Pipe().program(sequence, vector(64)).resolve_program)
    assert error.text == "Failed to close task groups: TaskGroup(1)"


def test_transfers_in_a_group_and_in_none():
    def sequence(a: Any, b: Any, source: Any, target: Any) -> None:
        group = TaskGroup()
        source.fill(a, group=group)
        target.drain(b, wait=True)  # wrong
        group.finish()

    error = refused(Pipe().program(sequence, vector(64), vector(64)).resolve_program)
    assert error.text.startswith("Mixing explicit task groups and the default task group is prohibited.")


def test_a_transfer_that_is_freed_outside_of_its_loop():
    def sequence(a: Any, source: Any, target: Any) -> None:
        for _ in range_(2):
            source.fill(a)  # wrong

    error = refused(Pipe().program(sequence, vector(64)).resolve_program)
    assert "started in a loop" in error.text
    assert "group=TaskGroup() of the same body" in advice(error)


def test_a_transfer_outside_of_a_sequence():
    source = Pipe().source
    error = refused(lambda: source.fill(None))  # wrong
    assert error.text == "this belongs in a runtime sequence"


def test_a_transfer_of_something_else():
    def sequence(a: Any, source: Any, target: Any) -> None:
        source.fill(np.zeros(64))  # wrong

    assert refused(Pipe().program(sequence, vector(64)).resolve_program).text.startswith(
        "fill() moves a buffer of this sequence"
    )


def test_a_pattern_of_a_buffer_whose_size_is_open():
    def sequence(a: Any, source: Any, target: Any) -> None:
        source.fill(a, tap=a.default_tap())  # wrong

    error = refused(Pipe().program(sequence, vector(None)).resolve_program)
    assert error.text == "a host buffer of memref<?xi32> has as many elements as a run gives it"
    assert advice(error) == "say which ones: sizes and strides, or transfer_len"


def test_a_sequence_with_too_many_parameters():
    program = Program(NPU1Col1(), Runtime(move_all, [vector(64)]))  # wrong
    error = refused(program.resolve_program)
    assert error.text == "fn_args do not fit 'move_all': missing a required argument: 'b'"


def test_a_worker_with_too_many_arguments():
    program = Program(NPU1Col1(), Runtime(lambda: None), [Worker(lambda one: None, [1, 2])])  # wrong
    assert refused(program.resolve_program).text == "fn_args do not fit '<lambda>': too many positional arguments"


@pytest.mark.parametrize(
    "dtype, index, text",
    [
        pytest.param(np.int16, 0, "'p' holds runtime parameters, which are 4 bytes each", id="half a word"),
        pytest.param(np.int32, 4, "there is no element 4 in 'p'", id="beyond the end"),
        pytest.param(np.int32, slice(2), "'p' is written one element at a time", id="several"),
    ],
)
def test_runtime_parameters(dtype: Any, index: Any, text: str):
    parameters = Buffer(vector(4, dtype), name="p", use_write_rtp=True)

    def sequence(n: Any, source: Any, target: Any) -> None:
        parameters[index] = n  # wrong

    pipe = Pipe(None, lambda *_: None, parameters)
    assert refused(pipe.program(sequence, np.int32).resolve_program).text.startswith(text)


def test_a_runtime_parameter_on_no_tile():
    parameters = Buffer(vector(4), name="p", use_write_rtp=True)

    def sequence(source: Any, target: Any) -> None:
        parameters[0] = 1  # wrong

    error = refused(Pipe().program(sequence).resolve_program)
    assert error.text == "Buffer 'p' is not resolved: it is on no tile"
    assert "give it to a worker" in advice(error)


def test_an_error_does_not_spoil_the_next_program():
    """A loop that an error ends early is left for good, whenever Python forgets it."""

    def core(source: Any, target: Any) -> None:
        for _ in range_(4):
            source.acquire(3)  # wrong

    refused(Pipe(None, core).program(move_all, vector(64), vector(64)).resolve_program)
    assert Pipe().program(move_all, vector(64), vector(64)).resolve_program()
