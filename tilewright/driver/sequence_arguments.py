"""Arguments of a runtime sequence: a call gives arrays and integers, in order or by name; here they are checked."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import MemRefType
from xdsl.ir import Attribute
from xdsl.utils.hints import isa

from tilewright.codegen.native_sequence import integer_of
from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.errors import CallError, near_match
from tilewright.native.host_arrays import check_array, lent
from tilewright.sim.host_needs import HostUse
from tilewright.sim.runs import HostArrays

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class SequenceCall:
    """What a call gives for the arguments of a sequence, by their numbers."""

    op: RuntimeSequenceOp
    arrays: Mapping[int, tuple[str, Array]]
    """With their names; one that is left out has no elements."""
    left_out: Collection[int]
    scalars: Mapping[int, int]

    @contextmanager
    def lent(self, uses: Callable[[], Mapping[int, HostUse]]) -> Generator[HostArrays]:
        """Lend the arrays to a run; see `lent_arrays`. One that is left out must not be used."""
        used = argument_numbers(uses(), self.arrays) if self.left_out else ()
        if missing := [self.arrays[number][0] for number in self.left_out if number in used]:
            raise CallError(f"@{self.op.sym_name.data} uses {', '.join(missing)}, which cannot be left out then")
        with lent_arrays(self.arrays, uses) as buffers:
            yield buffers


def sequence_call(
    op: RuntimeSequenceOp,
    names: Sequence[str],
    arguments: Sequence[object],
    named: Mapping[str, object],
    given_words: bool = False,
) -> SequenceCall:
    """Arguments as a sequence takes them; `CallError` or `ArgumentError` for those that it does not.

    An array may be None, or left out at the end, if the sequence does not use it. Words that are given have no use for
    scalars, which may be left out then.
    """
    values = _values(op, names, arguments, named)
    arrays, left_out, scalars = dict[int, tuple[str, Array]](), list[int](), dict[int, int]()
    for number, (name, parameter) in enumerate(zip(names, op.body.block.args, strict=True)):
        value = values.get(number)
        if isa(parameter.type, MemRefType):
            if value is None:
                left_out.append(number)
            array = np.empty(0, np.uint8) if value is None else check_array(f"argument {name}", value, parameter.type)
            arrays[number] = name, array
        elif value is None and (buffer := op.buffer_counted_by(number)) is not None:
            element = element_bytes(cast("MemRefType[Attribute]", op.body.block.args[buffer].type))
            scalars[number] = arrays[buffer][1].nbytes // element
        elif value is not None or not given_words:
            scalars[number] = integer_of(name, op.as_taken(number, value), _signature(op, names))
    return SequenceCall(op, arrays, left_out, scalars)


def _values(
    op: RuntimeSequenceOp, names: Sequence[str], arguments: Sequence[object], named: Mapping[str, object]
) -> dict[int, object]:
    if len(arguments) > len(names):
        taken = f"{len(names)} arguments ({', '.join(names)})"
        raise CallError(f"@{op.sym_name.data} takes {taken}, got {len(arguments)}")
    values = dict[int, object](enumerate(arguments))
    for name, value in named.items():
        if name not in names:
            hint = near_match(name, names)
            raise CallError(f"@{op.sym_name.data} has no argument {name!r}{hint}; it takes {_signature(op, names)}")
        if (number := names.index(name)) in values:
            raise CallError(f"argument {name} is given twice: as number {number}, and by name")
        values[number] = value
    return values


def _signature(op: RuntimeSequenceOp, names: Sequence[str]) -> str:
    parts = (f"{name}: {argument.type}" for name, argument in zip(names, op.body.block.args, strict=True))
    return ", ".join(parts) or "no arguments"


def numbered_arrays(arguments: Mapping[int, object]) -> dict[int, tuple[str, Array]]:
    """Arrays of a stream that was made elsewhere, by number; those that are None are left out."""
    given: object = arguments
    if not isinstance(given, Mapping):
        raise CallError("the arguments of a stream are arrays by their numbers, such as {0: a, 2: b}")
    for number in arguments:
        if not isinstance(number, int | np.integer) or number < 0:
            raise CallError(f"the arguments of a stream have numbers from 0 on, got {number!r}")
    return {
        int(number): (str(number), check_array(f"argument {number}", value))
        for number, value in arguments.items()
        if value is not None
    }


@contextmanager
def lent_arrays(
    arrays: Mapping[int, tuple[str, Array]], uses: Callable[[], Mapping[int, HostUse]]
) -> Generator[HostArrays]:
    """Lend arrays to a run as bytes; `uses` tells what its stream does with them, and is asked only if that matters."""

    def may_write() -> set[int]:
        return argument_numbers((index for index, use in uses().items() if use.may_write), arrays)

    with lent(arrays, may_write) as found:
        yield {number: (array.name, array.data) for number, array in found.items()}


def argument_numbers(indices: Iterable[int], arrays: Mapping[int, object]) -> set[int]:
    """The arguments that a stream means by some indices: see `HostMemory.argument`."""
    by_place = dict(enumerate(arrays))
    return {found for index in indices if (found := index if index in arrays else by_place.get(index)) is not None}
