"""Arguments of runtime sequences: buffers of the host, and numbers."""

from __future__ import annotations

from math import prod
from typing import Any, NoReturn, cast

import numpy as np
from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i32
from xdsl.ir import Attribute, Block, BlockArgument, SSAValue

from tilewright.dialects.aie.sequence import RuntimeSequenceOp
from tilewright.iron.builders.handles import Value, ssa_of, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.iron.builders.types import (
    array_dtype,
    array_shape,
    convert_type,
    is_array_type,
    is_float_type,
    is_type,
    scalar_type,
)
from tilewright.support.tracebacks import user_facing


def is_float_argument(given: Any) -> bool:
    """Whether an argument is a floating-point number, which a sequence only hands on."""
    return isinstance(given, type) and is_float_type(scalar_type(given))


def argument_type(given: Any) -> Attribute:
    """The type of an argument: an array type, a scalar type, a type of the IR, or a function that gives one."""
    if is_float_argument(given):
        if given is not np.float32:
            refuse(f"a sequence takes no {given.__name__}", (None, "take np.float32, a core can narrow what it reads"))
        return i32  # the host hands over the number's bits
    if is_type(given) or is_array_type(given) or isinstance(given, type):
        return convert_type(given)
    if callable(given):
        return convert_type(given())  # `T.i32` without its parentheses
    refuse(
        f"a sequence cannot take {given!r}",
        (None, "give array types for buffers, np.int32, np.int64 or np.float32 for numbers"),
    )


class RuntimeData:
    """A buffer of the host, as a runtime sequence sees it: what `fill` reads and `drain` writes.

    Of `np.ndarray[(None,), np.dtype[np.int32]]` the host may give any number of elements; `size` is how many.
    """

    def __init__(self, arr_type: Any):
        """A buffer of an array type, its `arr_type`."""
        self._arr_type = arr_type
        self._op: Value | None = None
        self._size: RuntimeScalar | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return array_shape(self._arr_type)

    @property
    def dtype(self) -> Any:
        """The NumPy type of its elements."""
        return array_dtype(self._arr_type)

    @property
    def arr_type(self) -> Any:
        """Its type, as the program has it."""
        return self._arr_type

    @property
    def memref_type(self) -> MemRefType[Any]:
        """Its type in the IR."""
        type = convert_type(self._arr_type)
        assert isinstance(type, MemRefType)  # `argument` makes these for arrays only
        return cast("MemRefType[Any]", type)

    @property
    def is_scalar(self) -> bool:
        """Whether it is a number, not a buffer."""
        return not is_array_type(self._arr_type) or self.shape == ()

    @property
    def elements(self) -> int:
        """How many elements it has, if that is known now."""
        if DYNAMIC_INDEX in self.shape:
            refuse(
                f"{self} has as many elements as a run gives it",
                (None, "say which ones: sizes and strides, or transfer_len"),
            )
        return prod(self.shape)

    @property
    def size(self) -> Any:
        """How many elements it has: a number, or one of the program that a run takes from the host's array."""
        if DYNAMIC_INDEX not in self.shape:
            return prod(self.shape)
        if self._size is None:
            # an argument of the sequence that the host does not give: a run counts it
            buffer = ssa_of(self.op)
            sequence = buffer.owner.parent_op() if isinstance(buffer.owner, Block) else None
            assert isinstance(sequence, RuntimeSequenceOp) and isinstance(buffer, BlockArgument)
            self._size = RuntimeScalar(sequence.add_size(buffer))
        return self._size

    def default_tap(self) -> Any:
        """All of it, from the first element to the last."""
        from tilewright.iron.helpers.taplib import TensorAccessPattern

        count = self.elements
        return TensorAccessPattern((1, count), 0, [1, 1, 1, count], [0, 0, 0, 1])

    @property
    def op(self) -> Value:
        """The argument itself."""
        if self._op is None:
            raise ValueError("Cannot get operation for RuntimeData before it is set.")  # upstream's words
        return self._op

    @op.setter
    def op(self, op: Value) -> None:
        self._op = op

    def __str__(self) -> str:
        return f"a host buffer of {self.memref_type}"


class RuntimeScalar(ScalarValue):
    """A number that the host gives when it runs the sequence; arithmetic on it is done then."""

    @property
    def mlir_type(self) -> Attribute:
        return self.type

    @property
    def op(self) -> RuntimeScalar:
        return self


@user_facing
class RuntimeFloat(Value):
    """An np.float32 that the host gives when it runs the sequence: for a runtime parameter, `buffer[0] = value`."""

    def _refuse(self, *_: Any) -> NoReturn:
        refuse(
            "a runtime sequence computes with whole numbers only, it hands floating-point numbers on",
            (None, "assign it to a runtime parameter as it is, and compute in the worker"),
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __abs__ = __pow__ = __floordiv__ = __mod__ = _refuse
    __bool__ = __int__ = __float__ = __index__ = _refuse


def argument(given: Any, ssa: SSAValue) -> RuntimeData | RuntimeScalar | Value:
    """What a sequence's body gets for an argument of its operation."""
    if is_float_argument(given):
        return RuntimeFloat(ssa)
    if isinstance(ssa.type, MemRefType) and is_array_type(given):
        data = RuntimeData(given)
        data.op = value_of(ssa)
        return data
    return RuntimeScalar(ssa) if isinstance(value_of(ssa), ScalarValue) else value_of(ssa)
