"""A design written in Python and the same one written as MLIR text are the same design."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import placed_programs as programs
import pytest
from helpers import EXAMPLES
from xdsl.dialects.builtin import FileLineColLoc

import tilewright as tw
from tilewright.ir.diagnostics import file_position
from tilewright.iron.builders import Module, ModuleContext

PAIRS = [
    pytest.param(programs.scale_by_parameter, programs.SCALE_BY_PARAMETER, id="object FIFOs, tasks, a parameter"),
    pytest.param(programs.increment_in_blocks, programs.INCREMENT_IN_BLOCKS, id="buffers, locks and DMAs by hand"),
    pytest.param(programs.write_registers, programs.WRITE_REGISTERS, id="instructions"),
]
SIZES = {"move": [{}, {"n": 32, "by": 3}, {"n": 512, "by": -1}], "write": [{"n": 0}, {"n": 7}]}


@pytest.mark.parametrize("build, text", PAIRS)
def test_python_prints_as_the_text_does(build: Callable[[], ModuleContext], text: str):
    context = build()
    assert str(context.module) == str(Module.parse(text))
    assert context.module.operation.verify()


@pytest.mark.parametrize("build, text", PAIRS)
def test_python_and_text_give_the_same_words(build: Callable[[], ModuleContext], text: str):
    built, read = tw.compile(build()), tw.compile(text)
    assert built.sequences == read.sequences
    for sequence in read.sequences:
        names = read.scalars(sequence)
        assert built.scalars(sequence) == names
        for sizes in SIZES[sequence]:
            if sorted(sizes) == sorted(names):
                assert (built.txn(sequence, **sizes) == read.txn(sequence, **sizes)).all()


def test_lines_are_scaled_by_the_parameter_for_every_length():
    design = tw.compile(programs.scale_by_parameter())

    def scale(source: Any, target: Any, factor: int) -> None:
        target[:] = source * factor

    a = np.arange(512, dtype=np.int32)
    for n, by in ((32, 3), (512, -2), (96, 0)):
        b = np.full(512, 9, np.int32)
        design.run(a, b, n, by, kernels={"scale": scale})
        # The core's 4x4 blocks leave row by row as they came, so the order is that of the input.
        assert (b == np.where(np.arange(512) < n, a * by, 9)).all()


def test_blocks_go_through_memory_tile_and_core():
    design = tw.compile(programs.increment_in_blocks())
    a, b = np.arange(64, dtype=np.int32), np.zeros(64, np.int32)
    design.run(a, b)
    # The memory tile sends 8 rows of 8 as four columns of pairs.
    assert (b == a.reshape(8, 4, 2).transpose(1, 0, 2).ravel() + 100).all()


def test_every_operation_knows_its_line():
    context = programs.increment_in_blocks()
    places = [op.location for op in context.module.op.walk()]
    assert all(isinstance(place, FileLineColLoc) and place.filename.data == programs.__file__ for place in places)


def test_the_same_program_in_two_files_knows_which_it_is_in(tmp_path: Path):
    """Code objects that differ in nothing but their file are equal."""
    text = (EXAMPLES / "first.py").read_text(encoding="utf-8")
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        design = tw.compile(tmp_path / name)
        files = {place[0] for op in design.device().walk() if (place := file_position(op.location))}
        assert files == {str(tmp_path / name)}
