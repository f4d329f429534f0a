"""Each operation of a stream is known by its line, whatever scalars it was made with.

The same sequence with the values written into it has its operations on the same lines; where both builds make the same
words, they must be of the same lines too.
"""

from __future__ import annotations

from random import Random

import numpy as np
from random_sequences import program

from tilewright.codegen.sequence_scalars import RangeError
from tilewright.dialects.aie.sequence import scalar_arguments
from tilewright.driver.compiled_design import Design, compile_text
from tilewright.driver.loaded_device import operation_locations
from tilewright.ir.diagnostics import DiagnosedError, file_position
from tilewright.txn import decode

SEQUENCES, CALLS = 10, 2
ENOUGH = 3
"""So many calls at least must be such that both builds make the same words."""


def lines(design: Design, values: dict[str, int], words: np.ndarray) -> list[int | None]:
    op = design.operation()
    scalars = zip(scalar_arguments(op), design.scalars(), strict=True)
    count = len(decode(words).operations)
    locations = operation_locations(op, {argument: values[name] for argument, name in scalars}, count)
    assert len(locations) == count
    return [position[1] if (position := file_position(location)) else None for location in locations]


def test_lines_do_not_depend_on_how_values_come_in() -> None:
    compared = 0
    for seed in range(SEQUENCES):
        source, random = program(seed), Random(seed)
        design = compile_text(source.text(), "scalars")
        for values in (source.values(random) for _ in range(CALLS)):
            try:
                words = design.txn(**values)
                constants = compile_text(source.text(values), "constants")
                baked = constants.txn()
            except (RangeError, DiagnosedError):
                continue
            found = lines(design, values, words)
            assert None not in found
            if np.array_equal(words, baked):
                assert found == lines(constants, {}, baked), f"sequence {seed} with {values}"
                compared += len(found) > 0
    assert compared >= ENOUGH
