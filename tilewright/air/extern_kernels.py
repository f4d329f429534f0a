"""Kernels of object files, which run on AIE cores alone: on GPUs functions of Python stand in for them, by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from tilewright.air.arrays import Array, Region
from tilewright.air.dtypes import as_dtype, value_type
from tilewright.air.tiles import Buffer, Tile
from tilewright.air.trace import current, in_herd
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.scalars import ScalarValue
from tilewright.iron.builders.types import is_float_type, is_integer, is_list, is_number
from tilewright.support.tracebacks import user_facing


@user_facing
class ExternKernel:
    """A kernel called `name`, for a herd to call with buffers and with numbers of the types `scalars`.

    On NPUs it is in the file `object`. Here it is the function that `launch.compile(kernels={name: function})` gives,
    which is traced where the kernel is called.
    """

    def __init__(self, name: str, object: str | None = None, scalars: Sequence[Any] = ()):
        given: Any = name
        if not isinstance(given, str) or not given:
            refuse(f"the name of a kernel is that of a function, not {name!r}", (None, 'such as "zero_bf16"'))
        types: Any = scalars
        if not is_list(types):
            refuse(f"`scalars` is a list of types, not {scalars!r}", (None, "such as `scalars=[air.i32]`"))
        self.name, self.object, self.scalars = name, object, [as_dtype(dtype) for dtype in types]

    def __call__(self, *arguments: Any) -> None:
        """Trace the function that stands in for it, with these buffers and numbers."""
        in_herd("a kernel")
        function = current().kernels.get(self.name)
        if function is None:
            refuse(
                f"{self.name} is a kernel of AIE cores, which no GPU runs from an object file",
                (None, f'give a function for it: `launch.compile(kernels={{"{self.name}": function}})`'),
            )
        types = iter(self.scalars)
        count = sum(not isinstance(each, Buffer | Array | Region | Tile) for each in arguments)
        if count != len(self.scalars):
            refuse(
                f"{self.name} takes {len(self.scalars)} numbers beside its buffers, and is given {count}",
                (None, f"`air.extern({self.name!r}, scalars=[...])` has a type for each, in their order"),
            )
        values = [
            each if isinstance(each, Buffer | Array | Region | Tile) else self._number(each, next(types))
            for each in arguments
        ]
        try:
            inspect.signature(function).bind(*values)
        except TypeError:
            takes = ", ".join(inspect.signature(function).parameters)
            refuse(f"{self.name} is called with {len(values)} arguments, but its function takes ({takes})")
        function(*values)

    def _number(self, given: Any, dtype: Any) -> Any:
        """A number as one of a type; what is known stays one of Python."""
        is_fraction, is_known = is_float_type(value_type(dtype)), is_number(given)
        if is_known:
            is_right = is_fraction or is_integer(given) or float(given).is_integer()
        else:
            is_right = isinstance(given, ScalarValue) and not (is_fraction and given.type.name == "index")
        if not is_right:
            refuse(f"{self.name} takes a number of {dtype}, not {given!r}")
        if not is_known:
            return cast(ScalarValue, given).astype(value_type(dtype))
        return float(given) if is_fraction else int(given)

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def extern(name: str, object: str | None = None, scalars: Sequence[Any] = ()) -> ExternKernel:
    """A kernel called `name`, in the file `object` for NPUs, that takes numbers of the types `scalars`."""
    return ExternKernel(name, object, scalars)


def checked_kernels(given: Any) -> Mapping[str, Callable[..., Any]]:
    """Functions by the names of the kernels that they stand in for."""
    if given is None:
        return {}
    if not isinstance(given, Mapping) or not all(map(callable, cast("Mapping[Any, Any]", given).values())):
        refuse(f"`kernels` has functions by name, and is {given!r}", (None, 'such as `kernels={"zero": function}`'))
    return cast("Mapping[str, Callable[..., Any]]", given)
