"""Events of kernels are told apart by what they begin and end, also where a trace begins or ends in between."""

from __future__ import annotations

from outside.kernel_cycles import Interval, Mark, intervals


def test_kernels_and_what_lies_between_them() -> None:
    """Of kernels that are cut off nothing is told, nor of waits for the host."""
    at = {"end of one": 5, "zeros": 50, "product": 500, "host": 5000, "cut off": 9500}
    marks = [
        Mark(False, at["end of one"], 0),
        Mark(True, at["zeros"], 1),
        Mark(False, at["zeros"] + 420, 17),
        Mark(True, at["product"], 20),
        Mark(False, at["product"] + 3700, 70),
        Mark(True, at["host"], 90),
        Mark(False, at["host"] + 3650, 94),
        Mark(True, at["cut off"], 94),
    ]
    assert [*intervals(marks)] == [
        Interval("zeros", 420, 404),
        Interval("zeros to product", 30, 27),
        Interval("product", 3700, 3650),
        Interval("product", 3650, 3646),
    ]
