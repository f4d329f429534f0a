"""Debugging of machine code in a device: halts, registers, steps, profiles, and places in explanations of hangs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xrt_packages import add_text, adding_code, compiled, with_machine_code, write_package

import tilewright as tw
from tilewright.errors import UnknownNameError
from tilewright.isa import assemble
from tilewright.sim.debugged_core import DebuggedCore, NotRunningError
from tilewright.support.dwarf_lines import DwarfLine
from tilewright.xrt.loaded_package import LoadedPackage, load_package

AMOUNT = 7
VALUES = np.arange(64, dtype=np.int32)
LOADED, ADDED = 0x80, 0x90
"""Where `add` begins, and where it adds."""


def package(folder: Path, taken: int = 64) -> LoadedPackage:
    design = compiled(folder, add_text(5, taken=taken))
    return load_package(*with_machine_code(folder, design, assemble(adding_code(design, AMOUNT))))


def run(loaded: LoadedPackage) -> tuple[tw.RunResult, np.ndarray]:
    results = np.zeros(64, np.int32)
    return loaded.run({0: VALUES.copy(), 1: results}), results


def test_a_core_halts_at_functions_and_addresses(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core = loaded.core(0, 2)
    core.name_places({0: "main", LOADED: "add"})
    assert core.break_at("add") == LOADED
    core.break_at(ADDED)
    _, results = run(loaded)
    assert (results == VALUES + AMOUNT).all()
    assert [it.place for it in core.halts] == ["add", "add+0x10"] * 4
    # before its bundle: the load of the first value is there, the sum is not
    assert [it.registers["r0"] for it in core.halts[1::2]] == [0, 16, 32, 48]
    assert [it.time for it in core.halts] == sorted(it.time for it in core.halts)


def test_an_action_sees_and_changes_the_core_while_it_halts(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core, seen = loaded.core(0, 2), list[object]()

    def change(core: DebuggedCore) -> None:
        seen.append(core.registers("r0", "p0"))
        core.set_register("r0", 1000)

    core.break_at(ADDED, change)
    _, results = run(loaded)
    assert seen[0] == {"r0": 0, "p0": core.halts[0].registers["p0"]}
    assert (results[::16] == 1000 + AMOUNT).all()
    assert (results[1:16] == VALUES[1:16] + AMOUNT).all()


def test_steps_go_over_so_many_bundles(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core = loaded.core(0, 2)
    core.step(2)
    core.break_at(ADDED, lambda core: core.step(2))
    run(loaded)
    assert [it.address for it in core.halts[:3]] == [8, ADDED, ADDED + 8]


def test_others_have_come_as_far_when_a_core_halts(tmp_path: Path) -> None:
    """A core runs ahead of the others where it can; not where it halts."""
    loaded = package(tmp_path)
    core, times = loaded.core(0, 2), list[tuple[int, int]]()
    now = loaded.device.machine.engine
    core.break_at(ADDED, lambda core: times.append((core.time, now.now)))
    run(loaded)
    assert times and all(ours == theirs for ours, theirs in times)


def test_looking_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "looked").mkdir()
    before, _ = run(package(tmp_path))
    loaded = package(tmp_path / "looked")
    loaded.core(0, 2).break_at(ADDED)
    loaded.core(0, 2).show = lambda made: None
    after, _ = run(loaded)
    assert before.cycles == after.cycles


def test_cycles_by_function_are_in_the_record(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core = loaded.core(0, 2)
    core.name_places({0: "main", LOADED: "add"})
    result, _ = run(loaded)
    functions = {it.function: it for it in result.record.profiles[core.tile]}
    # 16 elements of 9 bundles, the return and its 5 delay slots, for four blocks
    assert functions["add"].bundles == 4 * (16 * 9 + 6)
    assert functions["add"].waited == 0
    assert functions["main"].waited > 0
    assert core.issues[LOADED] == 4


def test_functions_without_names_begin_where_calls_lead(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core = loaded.core(0, 2)
    run(loaded)
    assert {it.function for it in core.profile()} == {"0x0", "0x80"}
    found = core.coverage()
    assert {(it.function, it.issued == it.bundles) for it in found.functions()} == {("0x0", False), ("0x80", False)}
    assert found.instructions()["ADD_add_r_ri"] == 64
    assert any(line.split()[:2] == ["4", "90"] for line in found.lines())


def test_a_hang_names_the_place_of_the_core(tmp_path: Path) -> None:
    loaded = package(tmp_path, taken=16)
    core = loaded.core(0, 2)
    core.name_places({0: "main"}, [DwarfLine(0, "kernel.cc", 12, 3), DwarfLine(LOADED, "", 0, 0)])
    with pytest.raises(tw.Hang) as error:
        run(loaded)
    assert "kernel.cc:12:3: note: the core of tile (0, 2) in main+0x4c needs lock" in str(error.value)


def test_a_hang_without_symbols_names_the_address(tmp_path: Path) -> None:
    with pytest.raises(tw.Hang, match=r"the core of tile \(0, 2\) at 0x4c needs lock"):
        run(package(tmp_path, taken=16))


def test_what_cannot_be_looked_at_is_said(tmp_path: Path) -> None:
    loaded = package(tmp_path)
    core = loaded.core(0, 2)
    with pytest.raises(UnknownNameError, match="the program has no symbols"):
        core.break_at("main")
    with pytest.raises(NotRunningError, match="has not run machine code yet"):
        core.registers()
    with pytest.raises(tw.ArgumentError, match=r"there is no core at \(0, 0\)"):
        loaded.core(0, 0)
    with pytest.raises(tw.ArgumentError, match="1 or more"):
        core.step(0)
    ours = load_package(*write_package(tmp_path, compiled(tmp_path, add_text(5))))
    with pytest.raises(tw.ArgumentError, match="runs what it was compiled from"):
        ours.core(0, 2)


def test_an_action_that_raises_ends_the_run(tmp_path: Path) -> None:
    loaded = package(tmp_path)

    def fail(core: DebuggedCore) -> None:
        raise RuntimeError("seen enough")

    loaded.core(0, 2).break_at(ADDED, fail)
    with pytest.raises(RuntimeError, match="seen enough"):
        run(loaded)
    loaded.core(0, 2).clear(ADDED)
    _, results = run(loaded)  # on a machine that is loaded afresh
    assert (results == VALUES + AMOUNT).all()
