"""Loops of runtime sequences are unrolled as MLIR unrolls loops: compared with `mlir-opt`."""

from __future__ import annotations

import re

import pytest
from helpers import lowered, mlir_opt, needs_mlir_opt

from tilewright.ir.printer import module_text
from tilewright.passes.sequence.unroll_runtime_sequence_loops import UnrollRuntimeSequenceLoopsPass

BODIES = {
    "counter used": (
        "index",
        "%x = memref.load %m[%i] : memref<64xi32>\nmemref.store %x, %m[%a] : memref<64xi32>",
        "%i",
    ),
    "counter unused": ("index", "%x = memref.load %m[%a] : memref<64xi32>", "%b"),
    "integer counter": ("i32", "memref.store %i, %m[%z] : memref<64xi32>", "%i"),
}


def loop(type: str, begin: int, end: int, step: int, body: str, yielded: str) -> str:
    return f"""
      %begin = arith.constant {begin} : {type}
      %end = arith.constant {end} : {type}
      %step = arith.constant {step} : {type}
      %r:2 = scf.for %i = %begin to %end step %step iter_args(%a = %begin, %b = %end) -> ({type}, {type}) : {type} {{
        {body}
        scf.yield {yielded}, %a : {type}, {type}
      }}
      "test.use"(%r#0, %r#1) : ({type}, {type}) -> ()
    """


def statements(text: str) -> list[str]:
    """The lines of the only body in a module, without indentation."""
    inside = re.search(r"(?:runtime_sequence|func\.func).*\{\n(.*?)\n\s*(?:return|\})", text, re.DOTALL)
    assert inside is not None
    return [line.strip() for line in inside[1].splitlines()]


@needs_mlir_opt
@pytest.mark.parametrize("bounds", [(0, 0, 1), (3, 4, 1), (0, 3, 1), (1, 8, 3), (-4, 5, 2), (7, 2, 1)])
@pytest.mark.parametrize("body", BODIES)
def test_unrolled_as_mlir_does(body: str, bounds: tuple[int, int, int]) -> None:
    type, inside, yielded = BODIES[body]
    program = loop(type, *bounds, inside, yielded)
    arguments = "(%m: memref<64xi32>, %z: index)"
    device = f"aie.device(npu1) {{ aie.runtime_sequence {arguments} {{ {program} }} }}"
    module = lowered(device, UnrollRuntimeSequenceLoopsPass(), allow_unregistered=True)
    function = f"func.func @f{arguments} {{ {program} return }}"
    expected = mlir_opt(function, "--allow-unregistered-dialect", "--test-loop-unrolling=unroll-factor=-1")
    assert statements(module_text(module)) == statements(expected)
