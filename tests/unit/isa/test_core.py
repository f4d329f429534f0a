"""A core runs bundles with its pipeline as it is: values come when their cycle does, jumps wait for their slots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tilewright.isa import assemble
from tilewright.isa.core import ExecutionError, FlatMemory, MachineCore

DATA = 0x70000


class Surroundings(FlatMemory):
    """Locks that are refused as often as a test says, streams of lists."""

    def __init__(self) -> None:
        super().__init__()
        self.uses = list[tuple[str, int, int]]()
        self.refused = 0
        self.coming = list[int]()
        self.gone = list[tuple[int, bool]]()
        self.events = list[tuple[int, int]]()
        self.arriving, self.leaving = list[bytes](), list[bytes]()

    def acquire(self, lock: int, value: int) -> bool:
        if self.refused:
            self.refused -= 1
            return False
        self.uses.append(("acquire", lock, value))
        return True

    def release(self, lock: int, value: int) -> bool:
        self.uses.append(("release", lock, value))
        return True

    def read_stream(self, waits: bool) -> int | None:
        return self.coming.pop(0) if self.coming else None

    def write_stream(self, word: int, is_last: bool, waits: bool) -> bool:
        self.gone.append((word, is_last))
        return True

    def read_cascade(self) -> bytes | None:
        return self.arriving.pop(0) if self.arriving else None

    def write_cascade(self, data: bytes) -> bool:
        self.leaving.append(data)
        return True

    def event(self, number: int, elapsed: int) -> None:
        self.events.append((number, elapsed))


def core_of(text: str, **registers: int | bytes) -> tuple[MachineCore, Surroundings]:
    around = Surroundings()
    core = MachineCore(assemble(f"{text}\ndone\n" + "nop\n" * 8), around, watches_reads=True)
    for name, value in registers.items():
        core.set_register(name, value)
    return core, around


def run(text: str, **registers: int | bytes) -> MachineCore:
    core, _ = core_of(text, **registers)
    core.run(10_000)
    return core


NEW, OLD = 0x11223344, 7


@pytest.mark.parametrize(
    "text, first",
    [
        pytest.param("add r0, r2, #0", 1, id="arithmetic: in the next bundle"),
        pytest.param("mul r0, r2, r3", 2, id="product"),
        pytest.param("lda r0, [p0, #0]", 7, id="load"),
        pytest.param("mov.d3 r0, r2", 4, id="move that takes its time"),
    ],
)
@pytest.mark.parametrize("distance", range(1, 9))
def test_a_result_is_there_when_its_latency_says(text: str, first: int, distance: int):
    core, around = core_of("\n".join([text, *["nop"] * (distance - 1), "mov r1, r0"]), r0=OLD, r2=NEW, r3=1, p0=DATA)
    around.memory[DATA : DATA + 4] = NEW.to_bytes(4, "little")
    core.run()
    assert core.register("r1") == (NEW if distance >= first else OLD)
    assert core.register("r0") == NEW
    assert bool(core.early_reads) == (distance < first)


def test_an_early_read_is_told():
    core = run("mul r0, r2, r3\nmov r1, r0", r2=2, r3=3)
    assert core.early_reads is not None
    (found,) = core.early_reads
    assert (found.address, found.instruction, found.register) == (4, "mov r1, r0", "r0")


def test_instructions_of_a_bundle_read_before_any_writes():
    core = run("mova r0, #1; mov r1, r0", r0=OLD)
    assert (core.register("r0"), core.register("r1")) == (1, OLD)
    assert core.early_reads == []


def words(*values: int) -> bytes:
    return np.array(values, np.int32).tobytes()


def test_moves_hand_their_results_on_a_cycle_sooner():
    """`vadd` has its result in the second cycle; another one behind it gets it by the bypass, a store does not."""
    chain = run("vadd.32 x1, x0, x0\nvadd.32 x2, x1, x1\nnop", x0=words(*range(16)))
    assert chain.register("x2") == words(*range(0, 64, 4))
    core, around = core_of("vadd.32 x1, x0, x0\nvst wl1, [p0, #0]\nvst wl1, [p0, #32]", x0=words(*range(16)), p0=DATA)
    core.run()
    assert around.load(DATA, 32) == bytes(32)
    assert around.load(DATA + 32, 32) == words(*range(0, 16, 2))


def test_a_jump_shows_after_five_bundles():
    core = run("""
        j #away
        add r0, r0, #1
        add r0, r0, #1
        add r0, r0, #1
        add r0, r0, #1
        add r0, r0, #1
        add r1, r1, #1
        add r1, r1, #1
    away: add r2, r2, #1
    """)
    assert [core.register(name) for name in ("r0", "r1", "r2")] == [5, 0, 1]


def test_a_call_returns_behind_its_slots():
    core = run("""
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
    """)
    assert core.register("r2") == 144


@pytest.mark.parametrize("count", [1, 2, 7])
def test_a_hardware_loop_runs_as_often_as_it_says(count: int):
    core = run(
        """
        add.nc lc, r0, #0
        movxm ls, #first
        movxm le, #last
    """
        + "nop\n" * 60
        + """
        .align 16
    first: add r1, r1, #1
        add r2, r2, #2
        .align 16
    last: nopa; nopb; nops; add r3, r3, #3; nopm; nopv
        add r4, r4, #1
    """,
        r0=count,
    )
    assert [core.register(name) for name in ("r1", "r2", "r3", "r4")] == [count, 2 * count, 3 * count, 1]


def test_a_counted_jump_compares_before_it_counts():
    core = run("first: add r1, r1, #1\njnzd r0, r0, p0\nnop\nnop\nnop\nnop\nnop", r0=3, p0=0)
    assert (core.register("r1"), core.register("r0")) == (4, 0xFFFFFFFF)


@given(st.integers(0, 3), st.integers(0, 3), st.integers(0, 64), st.integers(0, 64), st.integers(0, 64))
def test_pointers_walk_matrices(inner: int, outer: int, step: int, row: int, back: int):
    """A 3D modifier steps `inner` times by dj, `outer` times by the upper one's dj, then by m, and begins again."""
    count = 3 * (inner + 1) * (outer + 1)
    modifier = {"m0": back, "dn0": inner, "dj0": step, "dn4": outer, "dj4": row}
    core, around = core_of(
        "\n".join(["padda.3d [p0], d0; mov r0, p0; st r0, [p1], #4"] * count), p0=DATA, p1=DATA, **modifier
    )
    core.run()
    place, places = DATA, list[int]()
    for number in range(1, count + 1):
        places.append(place)
        at_row_end, at_end = number % (inner + 1) == 0, number % ((inner + 1) * (outer + 1)) == 0
        place += back if at_end else row if at_row_end else step
    assert core.register("p0") == place
    # each store has what the move before it read
    stored = np.frombuffer(around.load(DATA, 4 * count), np.uint32).tolist()
    assert stored[1:] == places[:-1]


def test_a_store_is_seen_by_the_next_load():
    core, _ = core_of("st r0, [p0], #0\nlda r1, [p0, #0]" + "\nnop" * 7, r0=NEW, p0=DATA)
    core.run()
    assert core.register("r1") == NEW


@pytest.mark.parametrize("distance", range(1, 9))
def test_a_part_of_a_word_takes_longer_to_be_stored(distance: int):
    core, _ = core_of(
        "\n".join(["st.s8 r0, [p0], #0", *["nop"] * (distance - 1), "lda r1, [p0, #0]", *["nop"] * 7]), p0=DATA
    )
    core.set_register("r0", 0x1FF)
    core.run()
    assert core.register("r1") == (0xFF if distance >= 7 else 0)


def test_locks_are_used_in_order_and_hold_the_core():
    core, around = core_of("acq #49, r1\nrel #48, r0\nacq.cond #50, r1, r26", r0=1, r1=0xFFFFFFFF)
    around.refused = 4
    while not core.is_done:
        core.step()
    assert core.stalls == 4
    assert around.uses == [("acquire", 49, -1), ("release", 48, 1)]


def test_a_wait_that_does_not_end_is_told():
    core, around = core_of("acq #49, r1", r1=0xFFFFFFFF)
    around.refused = 100
    with pytest.raises(ExecutionError, match="waits for lock 49, value -1"):
        core.run()


def test_streams_give_and_take_words():
    core, around = core_of("mov r0, SS\n" + "nop\n" * 7 + "add r0, r0, #1\nmov ms, r0\nmov.tlast ms, r0")
    assert not core.step() and core.waiting_for() == "a stream or the cascade"
    around.coming = [41]
    core.run()
    assert around.gone == [(42, False), (42, True)]


def test_the_cascade_hands_registers_on():
    core, around = core_of("vmov x0, SCD\n" + "nop\n" * 7 + "vadd.32 x1, x0, x0\nnop\nnop\nvmov MCD, x1")
    assert not core.step()
    around.arriving = [words(*range(16))]
    core.run()
    assert around.leaving == [words(*range(0, 32, 2))]


def test_events_and_the_end():
    core, around = core_of("event #0\nevent #1")
    core.run()
    assert around.events == [(0, 0), (1, 1)] and core.is_done
    assert core.step()


@pytest.mark.parametrize(
    "other, lost",
    [
        pytest.param(0x20, 1, id="one bank"),
        pytest.param(0x3FE0, 1, id="the end of the bank"),
        pytest.param(0x4000, 0, id="the next bank"),
        pytest.param(-0x10000, 0, id="the same bank of a neighbour"),
    ],
)
@pytest.mark.parametrize("text", ["vlda wl0, [p0, #0]; vldb wl1, [p1, #0]", "vldb wl0, [p0, #0]; vst wl1, [p1, #0]"])
def test_a_bank_serves_one_access_at_a_time(text: str, other: int, lost: int):
    """In the cycle that the loads reach memory; the event behind them is as much later."""
    core, around = core_of(text + "\n" + "nop\n" * 6 + "event #0")
    core.set_register("p0", DATA)
    core.set_register("p1", DATA + other)
    core.run()
    assert core.conflicts == lost and around.events == [(0, 7 + lost)]


@pytest.mark.parametrize("bits", [16, 32, 64])
def test_lookups_in_tables_with_copies(bits: int):
    """As UG1603 lays tables out: each 128 bits twice. A pointer counts twice the size of an entry for each of them."""
    size, count = bits // 8, 64
    entries = [(0x0102030405060708 * (number + 1) % (1 << bits)).to_bytes(size, "little") for number in range(count)]
    row = 16 // size
    numbers = [5, 12, 31, 0, 7, 62, 9, 33]
    core, around = core_of(f"vldb.4x{bits}.lo wl1, wl0\nvldb.4x{bits}.hi wh1, wl0\n" + "nop\n" * 7)
    for first in range(0, count, row):
        around.store(DATA + 2 * size * first, 2 * b"".join(entries[first : first + row]))
    core.set_register("wl0", words(*(DATA + 2 * size * number for number in numbers)))
    core.run()
    found = core.register("x1")
    assert [found[8 * at : 8 * at + size] for at in range(len(numbers))] == [entries[it] for it in numbers]


@pytest.mark.parametrize(
    "text, lost",
    [
        pytest.param("vlda wl0, [p0, #0]; vldb wl1, [p0, #32]; vst wl2, [p0, #64]", 2, id="three accesses"),
        pytest.param("lda r0, [p0, #0]; vldb wl1, [p0, #32]", 1, id="all of a bank and a half"),
        pytest.param("lda r0, [p0, #0]; st r1, [p0, #16]", 0, id="two halves"),
        pytest.param("lda r0, [p0, #0]; st r1, [p0, #8]", 1, id="one half"),
        pytest.param("st.s8 r0, [p0, #0]\n" + "nop\n" * 5 + "lda r1, [p0, #4]", 1, id="a byte is written late"),
        pytest.param("st.s8 r0, [p0, #0]; vldb wl0, [p0, #32]", 1, id="and its word read before"),
    ],
)
def test_halves_of_banks(text: str, lost: int):
    core, _ = core_of(text)
    core.set_register("p0", DATA)
    core.run()
    assert core.conflicts == lost


@pytest.mark.parametrize(
    "text, reason",
    [
        pytest.param("vmac.f bml0, bml0, x0, x1, r0\nnop", "with the configuration 0x10048 is not known", id="floats"),
        pytest.param(
            "vshift.align x0, x1, s0, x2, r0", "a shift that aligns with the step 0x3 is not known", id="aligned"
        ),
        pytest.param("vldb.compr.pop wl0, [p0]", "the meaning of `compr pop` is not known", id="compressed"),
        pytest.param("vconv.bf16.fp32 wl0, bml0", "rounding mode 0x4 is not known", id="rounding"),
        pytest.param(
            "vmul cm0, x0, x1, r0\nnop", "a product or sum with the configuration 0x10048 is not known", id="product"
        ),
    ],
)
def test_an_instruction_that_is_not_known_stops_the_core(text: str, reason: str):
    with pytest.raises(ExecutionError, match=r"^0x0: ") as error:
        run(text, r0=0x10048, s0=3, crRnd=4)
    assert reason in str(error.value)
