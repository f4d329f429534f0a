"""Sequences of all instructions, with constants and runtime values for their fields, in every way to their words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from cpp_harness import COMPILERS, SHOW, Words, compile_cpp, cpp_literal, run_cpp
from instruction_programs import TASK_WRITERS, WRITERS, Argument, InstructionProgram, design, instruction_program
from xdsl.ir import SSAValue

import tilewright as tw
from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device import DmaDirection, model
from tilewright.device.bd import ShimBd
from tilewright.driver.compiled_design import Design, compile_text
from tilewright.txn import Opcode
from tilewright.txn.codec import header_words

SEQUENCES = int(os.environ.get("TILEWRIGHT_SEQUENCES", "20"))
FIRST = int(os.environ.get("TILEWRIGHT_FIRST_SEQUENCE", "0"))
BATCH = 50
"""How many are compiled together: a C++ compiler takes long to read its headers."""
BATCHES = [range(start, min(start + BATCH, FIRST + SEQUENCES)) for start in range(FIRST, FIRST + SEQUENCES, BATCH)]
NPU2 = model("npu2")
QUEUES = {
    NPU2.task_queue_address(column, row, direction, channel)
    for column, row in NPU2.tiles
    for direction in DmaDirection
    for channel in range(NPU2.num_dma_channels(column, row, direction))
}

SHIM_BDS = {NPU2.bd_address(column, 0, bd): (column, bd) for column in range(2) for bd in range(16)}
SHIM_BD_WORDS = {address + 4 * word for address in SHIM_BDS for word in range(8)}

Effects = list[tuple[dict[int, int], tuple[object, ...]]]


def moved(fields: dict[str, int]) -> list[int]:
    """The words that a descriptor moves, in their order; takes the fields out that say so.

    Steps of dimensions that are not reached have no effect, nor has the last wrap that is not exceeded.
    """
    length, wraps = fields["buffer_length"], [fields.pop("d0_wrap"), fields.pop("d1_wrap"), 0]
    steps = [fields.pop(f"d{dimension}_step") for dimension in range(3)]
    words = list[int]()
    for number in range(length):
        offset = 0
        for wrap, step in zip(wraps, steps, strict=True):
            number, index = divmod(number, wrap) if wrap else (0, number)
            offset += step * index
        words.append(offset)
    if fields["iteration_wrap"] == 1:
        del fields["iteration_step"]
    return words


class Machine:
    """What a stream does: the registers that it sets, up to each event, and the event.

    Waits and patches are events, and pushes: each write to a queue is a task. The order of other writes between two
    events does not matter, nor into how many instructions they are divided. Tasks have descriptors that the compiler
    chooses: with `has_tasks`, what is in them is part of the push, and which of them it is does not matter.
    """

    def __init__(self, has_tasks: bool):
        self.has_tasks = has_tasks
        self.done = Effects()
        self.registers, self.descriptors = dict[int, int](), dict[int, int]()
        self.patches = dict[int, tuple[int, ...]]()

    def event(self, *what: object) -> None:
        self.done.append((dict(self.registers), what))

    def write(self, address: int, value: int, mask: int = 0xFFFFFFFF) -> None:
        is_descriptor = self.has_tasks and address in SHIM_BD_WORDS
        registers = self.descriptors if is_descriptor else self.registers
        value = registers.get(address, 0) & ~mask | value & mask
        if address not in QUEUES:
            registers[address] = value
        elif self.has_tasks:
            self.event(address, value & ~0xF, self.descriptor(NPU2.locate(address)[0][0], value & 0xF))
        else:
            self.event(address, value)

    def descriptor(self, column: int, bd: int) -> tuple[object, ...]:
        base = NPU2.bd_address(column, 0, bd)
        words = [self.descriptors[base + 4 * word] for word in range(8)]
        fields = ShimBd.decode(words)
        following = fields.pop("next_bd")
        rest = self.descriptor(column, following) if fields["use_next_bd"] else ()
        # the patch sets the address
        del fields["address_low"], fields["address_high"]
        return (moved(fields), fields, self.patches[base + 4], *rest)

    def run(self, words: list[int]) -> Effects:
        for op in tw.txn.decode(words).operations:
            match op.opcode:
                case Opcode.WRITE:
                    self.write(op.address, op.value)
                case Opcode.MASKWRITE:
                    self.write(op.address, op.value, op.mask)
                case Opcode.BLOCKWRITE:
                    for number, word in enumerate(op.payload.tolist()):
                        self.write(op.address + 4 * number & 0xFFFFFFFF, word)
                case Opcode.DDR_PATCH if self.has_tasks and op.address in SHIM_BD_WORDS:
                    self.patches[op.address] = (op.argument_index, op.argument_offset)
                case _:
                    self.event(op.opcode, *op.fields.values())
        self.event()
        return self.done


def interpreted(compiled: Design, program: InstructionProgram, call: int) -> Words:
    sequence = compiled.operation(program.name)
    emitter = TxnEmitter(compiled.device_ops[0])
    scalars = dict[SSAValue, int]()
    for value, argument in zip(sequence.body.block.args[1:], program.arguments, strict=True):
        scalars[value] = argument.values[call]
    words, count = [0] * 4, 0
    try:
        for emitted in Interpreter(sequence, emitter, scalars).run():
            words += [word for word in emitted.words if word is not None]
            count += 1
    except Refused:
        return None
    return [*header_words(emitter.header, count, 4 * len(words)), *words[4:]]


def native(compiled: Design, program: InstructionProgram, call: int) -> Words:
    try:
        return compiled.txn(program.name, **{a.name: a.values[call] for a in program.arguments}).tolist()
    except tw.RangeError as error:
        assert "x.mlir:" in str(error), "it names the line"
        return None


def static(text: str, names: Sequence[str]) -> list[Words] | None:
    """The words of sequences in which everything is known, or None if one of them is refused."""
    try:
        compiled = compile_text(text, "x.mlir")
        emitter = TxnEmitter(compiled.device_ops[0])
        return [static_words(compiled.operation(name), emitter).words for name in names]
    except tw.CompileError as error:
        assert "x.mlir:" in str(error), "it names the line"
        return None


def in_cpp(compiled: Design, programs: Sequence[InstructionProgram], folder: Path, calls: int) -> list[Words]:
    headers = [compiled.cpp(program.name) for program in programs]
    shown = list[str]()
    for program in programs:
        for call in range(calls):
            values = ", ".join(cpp_literal(a.type, a.values[call]) for a in program.arguments)
            shown.append(f"  show({compiled.cpp_function(program.name)}({values}));")
    source = "\n".join([*headers, SHOW, "int main() {", *shown, "}", ""])
    return run_cpp(compile_cpp(COMPILERS[0], source, folder))


CALLS = int(os.environ.get("TILEWRIGHT_SEQUENCE_CALLS", "3"))
"""How often each is called, with other values."""


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_generators_agree(seeds: range, tmp_path: Path) -> None:
    programs = [instruction_program(seed, CALLS) for seed in seeds]
    # Tasks get descriptors that no other sequence of the device names: those that name some are another device's.
    for has_tasks in (False, True):
        check([program for program in programs if program.has_tasks == has_tasks], tmp_path, has_tasks)


def check(programs: Sequence[InstructionProgram], tmp_path: Path, has_tasks: bool) -> None:
    compiled = compile_text(design([program.text for program in programs]), "x.mlir")
    calls = [(program, call) for program in programs for call in range(CALLS)]
    expected = [interpreted(compiled, program, call) for program, call in calls]
    from_cpp = in_cpp(compiled, programs, tmp_path, CALLS)
    taken = list[tuple[str, str, list[int]]]()
    for (program, call), words, made in zip(calls, expected, from_cpp, strict=True):
        text = program.with_constants(call, f"{program.name}_{call}")
        assert native(compiled, program, call) == words, design([text])
        assert made == words, design([text])
        if words is None:
            assert static(design([text]), [f"{program.name}_{call}"]) is None, design([text])
        else:
            taken.append((text, f"{program.name}_{call}", words))
    found = static(design([text for text, _, _ in taken]), [name for _, name, _ in taken])
    # All of them at once; if one is refused that should not be, then it is looked for.
    for number, (text, name, words) in enumerate(taken):
        alone = static(design([text]), [name]) if found is None else [found[number]]
        assert alone is not None, f"{design([text])}\nis refused with constants alone"
        found_words = alone[0]
        assert found_words is not None
        assert Machine(has_tasks).run(found_words) == Machine(has_tasks).run(words), design([text])


def test_programs_have_every_instruction_and_refusals() -> None:
    programs = [instruction_program(seed, CALLS) for seed in range(80)]
    text = "\n".join(program.text for program in programs)
    expected = {write.__name__ for write in (*WRITERS, *TASK_WRITERS)}
    assert {name for program in programs for name in program.operations} == expected
    early = "write32 maskwrite32 sync dma_memcpy_nd blockwrite address_patch push_queue writebd"
    assert [name for name in early.split() if f"aiex.npu.dyn_{name}(" not in text] == []
    assert "scf.for" in text
    assert "scf.if" in text
    assert "scf.while" in text


RECYCLED = """
  aie.runtime_sequence @s0(%buffer: memref<4096xi32>, %a0: index, %a1: i32) {
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %turn = %zero to %a0 step %one {
      %long = arith.cmpi sgt, %a1, %c4 : i32
      scf.if %long {
        %kept = aiex.dma_configure_task_for @to_array {
          aie.dma_bd(%buffer : memref<4096xi32> offset = %a1 len = 8)
          aie.end
        } {issue_token = true}
        aiex.dma_start_task(%kept)
        aiex.dma_await_task(%kept)
      }
      %task = aiex.dma_configure_task_for @to_array {
        aie.dma_bd(%buffer : memref<4096xi32> offset = %a1 len = 8)
        aie.next_bd ^second
      ^second:
        aie.dma_bd(%buffer : memref<4096xi32> offset = 64 len = %a1)
        aie.end
      } {issue_token = true}
      aiex.dma_start_task(%task)
      aiex.npu.sync(%c0, %c0, %c1, %c0, %c1, %c1) : i32, i32, i32, i32, i32, i32
    }
  }
"""
"""Two descriptors in each turn that nothing gives back."""


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_generators_recycle_the_same_descriptors(tmp_path: Path) -> None:
    constants = "\n".join(f"  %c{number} = arith.constant {number} : i32" for number in (0, 1, 4))
    turns, lengths = [1, 9, 40], [8, 4, 12]
    arguments = [Argument("a0", "index", turns), Argument("a1", "i32", lengths)]
    program = InstructionProgram("s0", [], arguments, set(), has_tasks=True)
    compiled = compile_text(design([constants, RECYCLED]), "x.mlir")
    expected = [interpreted(compiled, program, call) for call in range(3)]
    assert [native(compiled, program, call) for call in range(3)] == expected
    assert in_cpp(compiled, [program], tmp_path, calls=3) == expected
    words = expected[1]
    assert words is not None
    pushed = [what[2] for _, what in Machine(has_tasks=True).run(words) if len(what) == 3 and what[0] in QUEUES]
    assert len(pushed) == 9


TASKS_AT_ONCE = 13
HOLES = """
  aie.runtime_sequence @s0(%buffer: memref<4096xi32>, %a0: index, %a1: i32) {{
    aiex.npu.dma_memcpy_nd(%buffer[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {{id = 13 : i64, metadata = @to_array}} : memref<4096xi32>
    aiex.npu.dma_memcpy_nd(%buffer[0, 0, 0, 0][1, 1, 1, 64][0, 0, 0, 1]) {{id = 3 : i64, metadata = @to_array}} : memref<4096xi32>
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %turn = %zero to %a0 step %one {{
      {tasks}
    }}
  }}
"""  # noqa: E501
TASK = """%t{0} = aiex.dma_configure_task_for @to_array {{
        aie.dma_bd(%buffer : memref<4096xi32> offset = {0} len = %a1)
        aie.end
      }} {{issue_token = true}}
      aiex.dma_start_task(%t{0})
"""


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_pools_have_the_descriptors_between_those_that_are_used(tmp_path: Path) -> None:
    """Those behind the last that is used first, then the others; used ones never."""
    tasks = [TASK.format(number) for number in range(TASKS_AT_ONCE)]
    tasks += [f"aiex.dma_await_task(%t{number})" for number in reversed(range(TASKS_AT_ONCE))]
    arguments = [Argument("a0", "index", [0, 1, 2]), Argument("a1", "i32", [8, 4, 12])]
    program = InstructionProgram("s0", [], arguments, set(), has_tasks=True)
    compiled = compile_text(design([HOLES.format(tasks="\n      ".join(tasks))]), "x.mlir")
    expected = [interpreted(compiled, program, call) for call in range(3)]
    assert [native(compiled, program, call) for call in range(3)] == expected
    assert in_cpp(compiled, [program], tmp_path, calls=3) == expected
    words = expected[2]
    assert words is not None
    written = [op.value & 0xF for op in tw.txn.decode(words).operations if op.fields.get("address") in QUEUES]
    assert written == [13, 3] + 2 * [14, 15, 0, 1, 2, 4, 5, 6, 7, 8, 9, 10, 11]
