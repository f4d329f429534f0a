"""Functions of the program: declared for kernels, defined from Python, called."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, cast

from xdsl.dialects.builtin import FunctionType, IndexType, IntegerType, StringAttr, SymbolRefAttr
from xdsl.ir import Attribute, Operation, Region, SSAValue

from tilewright.dialects import func
from tilewright.iron.builders.handles import OpView, ssa_of, value_of
from tilewright.iron.builders.location import refuse
from tilewright.iron.builders.operations import InsertionPoint, build, new_block
from tilewright.iron.builders.scalars import ScalarValue, index_cast
from tilewright.iron.builders.types import as_list, convert_type, is_list, is_number


class FuncOp(OpView):
    """A function of the program; calling it builds a call."""

    OP = func.FuncOp

    @property
    def function(self) -> func.FuncOp:
        return cast(func.FuncOp, self.op)

    @property
    def function_type(self) -> Any:
        return _TypeHolder(self.function.function_type)

    def __call__(self, *arguments: Any) -> Any:
        return call(self, arguments)


class _TypeHolder:
    """`op.function_type.value.inputs`, as upstream's bindings have it."""

    def __init__(self, type: FunctionType):
        self.value = self
        self.inputs = list(type.inputs)
        self.results = list(type.outputs)


def declare(name: str, inputs: Sequence[Any], outputs: Sequence[Any], visibility: str | None, **kwargs: Any) -> FuncOp:
    """`func.func private @name(...)`."""
    takes, gives = as_list(inputs, "the types of arguments"), as_list(outputs, "the types of results")
    type = FunctionType.from_lists([*map(convert_type, takes)], [*map(convert_type, gives)])
    names: dict[str, Any] = {"sym_name": name, "sym_visibility": visibility}
    return FuncOp(build(func.FuncOp, regions=[Region()], function_type=type, **names, **kwargs))


class external_func(FuncOp):
    """A function that an object file defines; call it with buffers and numbers.

    `link_with` names the file, which the core that calls it is linked with; `link_with_mode="merge"` merges an LLVM
    IR file instead.
    """

    def __init__(
        self,
        name: str,
        inputs: Sequence[Any],
        outputs: Sequence[Any] | None = None,
        visibility: str | None = "private",
        link_with: str | None = None,
        link_with_mode: str | None = None,
    ):
        if link_with_mode is not None and link_with is None:
            refuse(f"external_func '{name}': link_with_mode requires link_with to be set.")
        if link_with_mode not in (None, "merge"):
            refuse(
                f"external_func '{name}': invalid link_with_mode '{link_with_mode}'; "
                "the only supported value is 'merge'."
            )
        super().__init__(declare(name, inputs, [] if outputs is None else outputs, visibility).op)
        # `func.func` is MLIR's: its definition has no properties for them
        for key, text in (("link_with", link_with), ("link_with_mode", link_with_mode)):
            if text is not None:
                self.op.attributes[key] = StringAttr(text)


def call(
    callee_or_results: Any,
    arguments_or_callee: Any,
    arguments: Sequence[Any] | None = None,
    *,
    loc: Any = None,
    ip: Any = None,
) -> Any:
    """`func.call`: `call(function, [a, b])`, or `call([result types], "name", [a, b])`.

    Python numbers become constants of the types that the function takes, and an index becomes the integer it wants.
    """
    if isinstance(callee_or_results, FuncOp):
        if not is_list(arguments_or_callee):
            refuse(
                "when constructing a call to a function, expected the second argument to be a list of call arguments, "
                f"got {type(arguments_or_callee)}"
            )
        operands = _arguments(callee_or_results, arguments_or_callee)
        function = callee_or_results.function
        return _call(function.sym_name.data, operands, list(function.function_type.outputs), loc, ip)
    if isinstance(arguments_or_callee, SymbolRefAttr):
        arguments_or_callee = arguments_or_callee.string_value()
    if not isinstance(arguments_or_callee, str):
        refuse(f"expected the name of a function to call, not {arguments_or_callee!r}")
    results = [convert_type(type) for type in as_list(callee_or_results, "the types of results")]
    return _call(
        arguments_or_callee, [ssa_of(part) for part in as_list(arguments or [], "arguments")], results, loc, ip
    )


def _call(name: str, operands: Sequence[SSAValue], results: Sequence[Attribute], loc: Any, ip: Any) -> Any:
    op = build(func.CallOp, results=results, callee=SymbolRefAttr(name), arguments=operands, loc=loc, ip=ip)
    values = [*map(value_of, op.results)]
    return values[0] if len(values) == 1 else values or None


def _arguments(callee: FuncOp, given: Sequence[Any]) -> list[SSAValue]:
    inputs = list(callee.function.function_type.inputs)
    declared = (callee.location, f"'{callee.function.sym_name.data}' is declared here")
    if len(given) != len(inputs):
        refuse(f"Expected {len(inputs)} arguments, but got {len(given)} arguments", declared)
    operands = [_argument(value, type) for value, type in zip(given, inputs, strict=True)]
    for number, (operand, type) in enumerate(zip(operands, inputs, strict=True)):
        if operand.type != type:
            refuse(
                f"'func.call' op operand type mismatch: expected operand type '{type}', but provided "
                f"'{operand.type}' for operand number {number}",
                declared,
            )
    return operands


def _argument(given: Any, type: Attribute) -> SSAValue:
    if is_number(given):
        return ScalarValue(given, dtype=type).ssa
    value = ssa_of(given, "an argument of a call")
    # loop counters are indices, which no kernel takes
    if isinstance(value.type, IndexType) and isinstance(type, IntegerType):
        return index_cast(value, to=type).ssa
    return value


class PythonFunction:
    """A function of the program that Python code defines: built when it is first called, in the module around it."""

    def __init__(self, body: Callable[..., Any], visibility: str | None, attributes: dict[str, Attribute]):
        self._body, self._visibility, self._attributes = body, visibility, attributes
        self._built: dict[int, tuple[Operation, FuncOp]] = {}
        update_wrapper(self, body)

    def emit(self, *_: Any, force: bool = False) -> FuncOp:
        """The function in the module that is being built."""
        home = home_of_functions()[0]
        kept = self._built.get(id(home))
        # ids are given again once an object is gone, so the module itself is compared
        if kept is None or kept[0] is not home or force:
            kept = home, self._emit()
            self._built[id(home)] = kept
        return kept[1]

    def _emit(self) -> FuncOp:
        types, before = self._types(), home_of_functions()[1]
        function = declare(self._body.__name__, types, [], self._visibility, attributes=self._attributes, ip=before)
        entry = new_block(function.op.regions[0], types)
        with InsertionPoint(entry):
            values = [ssa_of(value) for value in _as_list(self._body(*map(value_of, entry.args)))]
            build(func.ReturnOp, arguments=values)
        # what it returns is known only now
        function.function.function_type = FunctionType.from_lists(types, [value.type for value in values])
        return function

    def _types(self) -> list[Attribute]:
        parameters = inspect.signature(self._body, eval_str=True).parameters.values()
        if missing := [p.name for p in parameters if p.annotation is inspect.Parameter.empty]:
            refuse(f"the parameters of '{self._body.__name__}' need types: {', '.join(missing)}")
        return [convert_type(parameter.annotation) for parameter in parameters]

    def __call__(self, *arguments: Any) -> Any:
        return call(self.emit(), arguments)


def _as_list(returned: Any) -> list[Any]:
    return [] if returned is None else [*returned] if is_list(returned) else [returned]


_SYMBOL_TABLES = ("aie.device", "builtin.module")


def home_of_functions() -> tuple[Operation, InsertionPoint]:
    """The device or module that is being built, and where in it a function goes: before what is being built."""
    current = InsertionPoint.current
    home, child = current.block.parent_op(), None
    if home is None:
        refuse("a function is built inside a module")
    while home.name not in _SYMBOL_TABLES and (parent := home.parent_op()) is not None:
        home, child = parent, home
    # without a child between them, what is being built are the device's own operations
    return home, current if child is None else InsertionPoint(child)


def python_function(
    f: Callable[..., Any] | None = None,
    *,
    sym_visibility: str | None = None,
    func_attrs: dict[str, Attribute] | None = None,
    emit: bool = False,
    **_: Any,
) -> Any:
    """`@func`: a function of the program from a Python function with annotated parameters."""

    def decorate(body: Callable[..., Any]) -> PythonFunction:
        made = PythonFunction(body, sym_visibility, func_attrs or {})
        if emit:
            made.emit()
        return made

    return decorate if f is None else decorate(f)
