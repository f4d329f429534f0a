"""Random core programs: wherever they wait, they compute what a plain interpreter of the same statements computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from core_programs import FakeTile, run_core, run_interpreted
from hypothesis import given, settings
from hypothesis import strategies as st

CELLS = 8
WIDTH = 1 << 32
OPERATIONS = {
    "addi": lambda x, y: x + y,
    "subi": lambda x, y: x - y,
    "muli": lambda x, y: x * y,
    "xori": lambda x, y: x ^ y,
    "maxui": max,
}


@dataclass(frozen=True)
class Update:
    """cell[target] = cell[left] op cell[(right + number of the iteration) % CELLS]"""

    operation: str
    target: int
    left: int
    right: int

    def run(self, cells: list[int], iteration: int) -> int:
        right = cells[(self.right + iteration) % CELLS]
        cells[self.target] = OPERATIONS[self.operation](cells[self.left], right) % WIDTH
        return 0

    def text(self, iteration: str) -> str:
        name = f"%u{id(self)}"
        return f"""
          {name}t = arith.constant {self.target} : index
          {name}l = arith.constant {self.left} : index
          {name}r = affine.apply affine_map<(d) -> ((d + {self.right}) mod {CELLS})>({iteration})
          {name}x = memref.load %cells[{name}l] : memref<{CELLS}xi32>
          {name}y = memref.load %cells[{name}r] : memref<{CELLS}xi32>
          {name}z = arith.{self.operation} {name}x, {name}y : i32
          memref.store {name}z, %cells[{name}t] : memref<{CELLS}xi32>"""


@dataclass(frozen=True)
class Wait:
    """Release a lock by the lowest bits of a cell."""

    cell: int

    def run(self, cells: list[int], iteration: int) -> int:
        return 1

    def text(self, iteration: str) -> str:
        name = f"%w{id(self)}"
        return f"""
          {name}i = arith.constant {self.cell} : index
          {name}v = memref.load %cells[{name}i] : memref<{CELLS}xi32>
          aie.use_lock(%lock0, Release, {name}v)"""


@dataclass(frozen=True)
class Repeat:
    """Statements a number of times."""

    times: int
    body: list[Statement]

    def run(self, cells: list[int], iteration: int) -> int:
        return sum(statement.run(cells, inner) for inner in range(self.times) for statement in self.body)

    def text(self, iteration: str) -> str:
        inside = "".join(statement.text(f"%i{id(self)}") for statement in self.body)
        return f"\naffine.for %i{id(self)} = 0 to {self.times} {{ {inside} }}"


@dataclass(frozen=True)
class Choose:
    """One list of statements or the other, by the lowest bit of a cell."""

    cell: int
    yes: list[Statement]
    no: list[Statement]

    def run(self, cells: list[int], iteration: int) -> int:
        return sum(statement.run(cells, iteration) for statement in (self.yes if cells[self.cell] % 2 else self.no))

    def text(self, iteration: str) -> str:
        name = f"%c{id(self)}"
        yes, no = ("".join(statement.text(iteration) for statement in side) for side in (self.yes, self.no))
        return f"""
          {name}i = arith.constant {self.cell} : index
          {name}v = memref.load %cells[{name}i] : memref<{CELLS}xi32>
          {name}b = arith.trunci {name}v : i32 to i1
          scf.if {name}b {{ {yes} }} else {{ {no} }}"""


Statement = Update | Wait | Repeat | Choose
cells = st.integers(0, CELLS - 1)
updates = st.builds(Update, st.sampled_from(sorted(OPERATIONS)), cells, cells, cells)


def nested(inner: st.SearchStrategy[Statement]) -> st.SearchStrategy[Statement]:
    lists = st.lists(inner, max_size=3)
    return st.builds(Repeat, st.integers(0, 4), lists) | st.builds(Choose, cells, lists, lists)


programs = st.lists(st.recursive(updates | st.builds(Wait, cells), nested, max_leaves=10), min_size=1, max_size=5)


@given(programs)
@settings(max_examples=15)
def test_waits_do_not_change_what_is_computed(program: list[Statement]) -> None:
    start = [pow(7, number + 3, 101) for number in range(CELLS)]
    expected = list(start)
    waits = sum(statement.run(expected, 0) for statement in program)
    found = np.array(start, np.int32)
    text = "%zero = arith.constant 0 : index" + "".join(statement.text("%zero") for statement in program)
    tile = run_core(text, FakeTile({"cells": found}))
    assert found.view(np.uint32).tolist() == expected
    assert len(tile.log) == waits
    again = np.array(start, np.int32)
    interpreted = run_interpreted(text, FakeTile({"cells": again}))
    assert (interpreted.log, interpreted.cycles, again.tolist()) == (tile.log, tile.cycles, found.tolist())
