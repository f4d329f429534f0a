"""A loop nest as a function of its own, which gets what it uses as arguments.

Numbers that are known become part of the function. Where a nest uses nothing but distinct buffers, LLVM is told so.
"""

from __future__ import annotations

from collections.abc import Iterable

from llvmlite import ir
from xdsl.ir import Operation, SSAValue

from tilewright.native.functions import Body, run
from tilewright.native.lowering import Lowering
from tilewright.native.values import POINTER, Value, all_parts, with_parts


def outline(lowering: Lowering, op: Operation) -> None:
    """Translate an operation that does not wait to a call."""
    used = {value: lowering.values[value] for value in _used(op) if value in lowering.values}
    passed = _unknown_parts(used.values())
    name = lowering.unit.module.get_unique_name("loop")
    body = Body(lowering.unit, op, name, op.result_types, [part.type for part in passed])
    body.function.attributes.add("noinline")
    _tell_apart(lowering, body, passed)
    inside = dict(zip(passed, body.arguments, strict=True))
    body.values = {value: with_parts(native, lambda part: inside.get(part, part)) for value, native in used.items()}
    body.lower(op)
    body.finish(op.result_types, [body.get(result) for result in op.results])
    results = run(lowering, _known_function(lowering, body), list(op.result_types), passed)
    lowering.values.update(zip(op.results, results, strict=True))


def _known_function(lowering: Lowering, body: Body) -> ir.Function:
    """The function, or one that is the same and has been there before, as unrolled loops bring them."""
    function, unit = body.function, lowering.unit
    text = str(function).replace(function.get_reference(), "", 1)
    found = unit.loops.setdefault(text, function)
    if found is not function:
        del unit.module.globals[function.name]
    return found


def _used(op: Operation) -> list[SSAValue]:
    """Values from outside that an operation uses, in the order of their first use."""
    found = dict[SSAValue, None]()
    for inner in op.walk():
        found.update(dict.fromkeys(inner.operands))
    return list(found)


def _unknown_parts(values: Iterable[Value]) -> list[ir.Value]:
    parts = dict[ir.Value, None]()
    for value in values:
        parts.update(dict.fromkeys(part for part in all_parts(value) if not isinstance(part, ir.Constant)))
    return list(parts)


def _tell_apart(lowering: Lowering, body: Body, passed: list[ir.Value]) -> None:
    """Say that the buffers do not overlap, if all of them are known not to."""
    pointers = [(part, argument) for part, argument in zip(passed, body.arguments, strict=True) if part.type == POINTER]
    if all(part in lowering.unit.apart for part, _ in pointers):
        for _, argument in pointers:
            argument.add_attribute("noalias")
