"""Sequences of all instructions, with constants and runtime values for their fields, in every way to their words."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from cpp_harness import COMPILERS, SHOW, Words, compile_cpp, cpp_literal, run_cpp
from instruction_programs import WRITERS, InstructionProgram, design, instruction_program
from xdsl.ir import SSAValue

import tilewright as tw
from tilewright.codegen.interpreter import Interpreter, Refused
from tilewright.codegen.static_words import static_words
from tilewright.codegen.txn_words import TxnEmitter
from tilewright.device import DmaDirection, model
from tilewright.driver.compiled_design import Design, compile_text
from tilewright.txn import Opcode
from tilewright.txn.codec import header_words

SEQUENCES = int(os.environ.get("TILEWRIGHT_SEQUENCES", "20"))
FIRST = int(os.environ.get("TILEWRIGHT_FIRST_SEQUENCE", "0"))
BATCH = 40
"""How many are compiled together: a C++ compiler takes long to read its headers."""
BATCHES = [range(start, min(start + BATCH, FIRST + SEQUENCES)) for start in range(FIRST, FIRST + SEQUENCES, BATCH)]
NPU2 = model("npu2")
QUEUES = {
    NPU2.task_queue_address(column, row, direction, channel)
    for column, row in NPU2.tiles
    for direction in DmaDirection
    for channel in range(NPU2.num_dma_channels(column, row, direction))
}

Effects = list[tuple[dict[int, int], tuple[int, ...]]]


def effects(words: Words) -> Effects | None:
    """What a stream does: the registers that it sets, up to each event, and the event; None for none at all.

    Waits and patches are events, and pushes: each write to a queue is a task. The order of other writes between two
    events does not matter, nor into how many instructions they are divided.
    """
    if words is None:
        return None
    done, registers = Effects(), dict[int, int]()

    def write(address: int, value: int) -> None:
        if address in QUEUES:
            done.append((dict(registers), (address, value)))
        else:
            registers[address] = value

    for op in tw.txn.decode(words).operations:
        match op.opcode:
            case Opcode.WRITE:
                write(op.address, op.value)
            case Opcode.MASKWRITE:
                write(op.address, registers.get(op.address, 0) & ~op.mask | op.value & op.mask)
            case Opcode.BLOCKWRITE:
                for number, word in enumerate(op.payload.tolist()):
                    write(op.address + 4 * number & 0xFFFFFFFF, word)
            case _:
                done.append((dict(registers), (op.opcode, *op.fields.values())))
    return [*done, (dict(registers), ())]


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


def in_cpp(compiled: Design, programs: Sequence[InstructionProgram], folder: Path) -> list[Words]:
    headers = [compiled.cpp(program.name) for program in programs]
    calls = list[str]()
    for program in programs:
        for call in range(CALLS):
            values = ", ".join(cpp_literal(a.type, a.values[call]) for a in program.arguments)
            calls.append(f"  show({compiled.cpp_function(program.name)}({values}));")
    source = "\n".join([*headers, SHOW, "int main() {", *calls, "}", ""])
    return run_cpp(compile_cpp(COMPILERS[0], source, folder))


CALLS = 3


@pytest.mark.parametrize("seeds", BATCHES, ids=lambda seeds: f"{seeds[0]}-{seeds[-1]}")
@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
def test_generators_agree(seeds: range, tmp_path: Path) -> None:
    programs = [instruction_program(seed, CALLS) for seed in seeds]
    compiled = compile_text(design([program.text for program in programs]), "x.mlir")
    calls = [(program, call) for program in programs for call in range(CALLS)]
    expected = [interpreted(compiled, program, call) for program, call in calls]
    from_cpp = in_cpp(compiled, programs, tmp_path)
    taken = list[tuple[str, str, Words]]()
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
        assert effects(alone[0]) == effects(words), design([text])


def test_programs_have_every_instruction_and_refusals() -> None:
    programs = [instruction_program(seed, CALLS) for seed in range(20)]
    text = "\n".join(program.text for program in programs)
    assert {name for program in programs for name in program.operations} == {write.__name__ for write in WRITERS}
    early = "write32 maskwrite32 sync dma_memcpy_nd blockwrite address_patch push_queue writebd"
    assert [name for name in early.split() if f"aiex.npu.dyn_{name}(" not in text] == []
    assert "scf.for" in text
    assert "scf.if" in text
