"""Native code of a program does what the plain core does: each register, each byte, in each cycle."""

from __future__ import annotations

from random import Random

import pytest

from tests.unit.isa.random_programs import random_program, random_unit
from tests.unit.isa.test_core import DATA, Surroundings, words
from tilewright.isa import assemble, instruction_set
from tilewright.isa.core import FlatMemory, MachineCore
from tilewright.isa.native_core import NativeCore
from tilewright.isa.schedule import ExecutionError
from tilewright.isa.translation import LONGEST_BLOCK, Translation

ISA = instruction_set()


class Both:
    """The same program in both models."""

    def __init__(self, program: bytes, longest: int, around: tuple[FlatMemory, FlatMemory] | None = None):
        self.plain_around, self.native_around = around or (FlatMemory(), FlatMemory())
        self.plain = MachineCore(program, self.plain_around)
        translation = Translation(program, ISA, longest)
        windows = self.native_around.windows()
        self.native = NativeCore(program, self.native_around, windows=windows, translation=translation)

    def set_unit(self, name: str, value: int | bytes) -> None:
        self.plain.units[name] = value
        self.native.state.set_unit(name, value)

    def set_registers(self, **registers: int | bytes) -> None:
        for name, value in registers.items():
            self.plain.set_register(name, value)
            self.native.set_register(name, value)

    def set_memory(self, data: bytes) -> None:
        for it in (self.plain_around, self.native_around):
            it.memory[: len(data)] = data

    def check(self) -> None:
        assert (self.native.cycle, self.native.conflicts) == (self.plain.cycle, self.plain.conflicts)
        found = self.native.units
        assert {name: found[name] for name, value in self.plain.units.items() if found[name] != value} == {}
        assert self.native_around.memory == self.plain_around.memory

    def step(self) -> str | None:
        """A cycle of both; the error, where there is one."""
        before = self.plain.cycle
        errors = list[str | None]()
        for run in (self.plain.step, lambda: self.native.run_until(before + 1)):
            try:
                run()
                errors.append(None)
            except ExecutionError as error:
                errors.append(str(error))
        assert errors[0] == errors[1]
        return errors[0]

    def run_by_cycles(self) -> None:
        while not self.plain.is_done:
            if self.step() is not None:
                return
            self.check()
            assert self.native.is_done == self.plain.is_done and self.native.stalls == self.plain.stalls


@pytest.mark.parametrize("seed", range(12))
def test_random_bundles(seed: int):
    random = Random(seed)
    both = Both(random_program(random, ISA, 8), longest=1)
    for name, bits in ISA.registers.units.items():
        both.set_unit(name, random_unit(random, name, bits))
    both.set_memory(random.randbytes(1 << 20))
    both.run_by_cycles()


PROGRAMS = {
    "loop": """
        add.nc lc, r0, #0
        movxm ls, #first
        movxm le, #last
    """
    + "nop\n" * 60
    + """
        .align 16
    first: vlda wl0, [p0], #32; add r1, r1, #1
        add r2, r2, #2; vmac cm0, cm0, x0, x1, r8
        .align 16
    last: nopa; nopb; nops; add r3, r3, #3; nopm; nopv
        add r4, r4, #1
    """,
    "loop that ends where a register says": """
        mov lc, r0
        movxm ls, #first
        movxm r5, #last
        mov le, r5
    """
    + "nop\n" * 60
    + """
        .align 16
    first: add r1, r1, #1
        .align 16
    last: nopa; nopb; nops; add r3, r3, #3; nopm; nopv
    """,
    "calls": """
        jl #square
        nop
        nop
        nop
        nop
        mova r0, #12
        mov r2, r1
        j #end
        nop
        nop
        nop
        nop
        nop
    square: ret lr
        mul r1, r0, r0
        nop
        nop
        nop
        nop
    end: nop
    """,
    "jump of a register": "first: add r1, r1, #1\njnzd r0, r0, p7\nst r1, [p0], #4\nlda r6, [p0, #-4]\nnop\nnop\nnop",
    "jump that is not taken": "jnz r9, #away\nmul r1, r0, r0\nnop\nnop\nnop\nnop\nadd r2, r1, #1\naway: nop",
    "matrix": "padda.3d [p0], d0; mov r1, p0; st r1, [p1], #4\n" * 40,
    "parts of words": "st.s8 r0, [p0], #1\nst.s16 r8, [p1], #2\nlda r1, [p0, #0]\nlda.s8 r2, [p1, #-2]\n" + "nop\n" * 7,
    "lookups": "vldb.4x16.lo wl1, wl0\nvldb.4x32.hi wh1, wl0\n" + "nop\n" * 7,
    "locks": "acq #49, r1\nrel #48, r0\nacq.cond #50, r1, r26\nadd r5, r5, #1",
    "streams": "mov r5, SS\n"
    + "nop\n" * 7
    + "add r5, r5, #1\nmov ms, r5\nmov.tlast ms, r5\nvmov x0, SCD\nvmov MCD, x0",
    "events": "event #0\nevent #1\nadd r1, r1, #1",
    "banks": "vlda wl2, [p0], #32; vldb wl3, [p0, #32]; vst wl1, [p1], #32\nlda r2, [p0, #4]; vst wl1, [p1, #0]\n"
    "st.s8 r0, [p0, #1]\n" + "nop\n" * 4 + "event #0\nvldb wl4, [p0, #0]\nlda r4, [p1, #0]\nnop\nevent #1",
}
REGISTERS = {"r0": 5, "r8": 0x308, "p0": DATA, "p1": DATA + 0x1000, "p7": 0, "x1": words(*range(16))} | {
    "r1": 0xFFFFFFFF, "m0": 96, "dn0": 2, "dj0": 32, "dn4": 3, "dj4": 64, "wl0": words(*range(DATA, DATA + 256, 32)),
}  # fmt: skip


@pytest.mark.parametrize("longest", [1, 3, LONGEST_BLOCK])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name: str, longest: int):
    program = assemble(f"{PROGRAMS[name]}\ndone\n" + "nop\n" * 8)
    around = Surroundings(), Surroundings()
    both = Both(program, longest, around)
    both.set_registers(**REGISTERS)
    both.set_memory(Random(1).randbytes(1 << 20))
    for it in around:
        it.refused, it.coming, it.arriving = 3, [41], [words(*range(16))]
    if longest == 1:
        both.run_by_cycles()
    else:
        both.plain.run_until(10_000)
        while not both.plain.is_done:
            both.plain.run_until(10_000)
        while not both.native.is_done:
            both.native.run_until(10_000)
        both.check()
    assert around[0].uses == around[1].uses
    assert around[0].gone == around[1].gone and around[0].leaving == around[1].leaving
    assert around[0].events == around[1].events


def test_memory_behind_callbacks():
    """Without windows native code asks for each byte."""
    around = FlatMemory()
    around.store(DATA, words(7))
    core = NativeCore(assemble("lda r0, [p0], #4\n" + "nop\n" * 7 + "st r0, [p0], #4\ndone\n" + "nop\n" * 8), around)
    core.set_register("p0", DATA)
    core.run()
    assert around.load(DATA + 4, 4) == words(7)


class Broken(FlatMemory):
    def load(self, address: int, size: int) -> bytes:
        raise ExecutionError(0, f"no memory at {address:#x}")


def test_errors_of_the_surroundings_are_raised():
    core = NativeCore(assemble("lda r0, [p0], #4\n" + "nop\n" * 7 + "done\n" + "nop\n" * 8), Broken())
    core.set_register("p0", DATA)
    with pytest.raises(ExecutionError, match="no memory at 0x70000"):
        core.run()


@pytest.mark.parametrize(
    "text",
    [
        "vldb.compr.pop wl0, [p0]",
        "vmul cm0, x0, x1, r0",
        "vmac.f bml0, bml0, x0, x1, r0",
        "vmul cm0, x0, qx1, r0",
        "vshift.align x0, x1, s0, x2, r0",
        "j #0\nnop\nj #0",
    ],
)
def test_what_is_refused(text: str):
    """In the same words, at the same place."""
    both = Both(assemble(text + "\nnop" * 8), LONGEST_BLOCK)
    both.set_registers(r0=0x10048, s0=3)
    errors = list[str]()
    for core in (both.plain, both.native):
        with pytest.raises(ExecutionError) as error:
            core.run(100)
        errors.append(str(error.value))
    assert errors[0] == errors[1]


def test_code_is_made_once(monkeypatch: pytest.MonkeyPatch):
    """Two cores with one program share its native code; another process finds it in the cache."""
    made = list[int]()
    translate = Translation.translate
    monkeypatch.setattr(Translation, "translate", lambda self, number: (made.append(number), translate(self, number)))
    program = assemble("add r0, r0, #1\nadd r0, r0, #1\ndone\n" + "nop\n" * 8)
    for _ in range(2):
        core = NativeCore(program, FlatMemory())
        core.run()
        assert core.register("r0") == 2
    assert len(made) == 1
