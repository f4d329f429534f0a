"""Calls of external kernels: arguments as NumPy and Python have them, and results back into the program."""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from struct import Struct
from typing import Any, NoReturn, Protocol, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, MemRefType, StringAttr, VectorType
from xdsl.ir import Attribute

from tilewright.dialects.aie.data_layout import element_bytes
from tilewright.dialects.func import CallOp
from tilewright.dialects.memref.types import is_ranked
from tilewright.dialects.vector.types import element_type
from tilewright.errors import ArgumentError
from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity, fail
from tilewright.ir.run_errors import Fault
from tilewright.ir.shown import quoted
from tilewright.native.context_layout import SLOT_BYTES
from tilewright.native.host_arrays import NotInNumPy, dtype_of, is_float, shown
from tilewright.sim.core_port import CorePort, Kernel
from tilewright.sim.cpp_kernels import CKernel, CoreFunction, KernelFault
from tilewright.sim.engine import Process
from tilewright.sim.faults import FaultKind
from tilewright.sim.kernel_sources import SourceError
from tilewright.sim.kernels import CallingCore, KernelError, PreparedCall, cost_of, preparation_of, wants_core

WRAP = (1 << 64) - 1
MOST_PREPARED = 256
"""Calls from one place of a program that are kept: one that passes a counter has another call each time."""


class Caller(Protocol):
    """The core that calls."""

    @property
    def core(self) -> object:
        """What it is called in messages."""
        ...

    @property
    def port(self) -> CorePort: ...

    @property
    def context(self) -> bytearray: ...

    def memory_at(self, address: int) -> npt.NDArray[np.uint8] | None:
        """The memory of the buffer that begins at an address."""
        ...


class KernelCall:
    """A call at one place of a program: what is the same each time is found out once.

    The arguments are in the caller's context at the given places, then there is room for results.
    """

    def __init__(self, caller: Caller, op: CallOp, places: Sequence[int]):
        self.caller, self.op = caller, op
        _check_types(op)
        self.kernel = _find_kernel(caller, op)
        # Readers take their slots in the order of the arguments; results have what is left.
        slots = iter(places)
        self._arguments = [_reader(caller, op, operand.type, slots) for operand in op.arguments]
        self._results = list(slots)
        self._is_checked = False
        self._preparation = None if op.results else preparation_of(self.kernel)
        self._passed = slice(places[0], places[-1] + SLOT_BYTES) if places else slice(0)
        self._prepared: dict[bytes, PreparedCall] = {}
        """By all that the program passes."""

    @property
    def place(self) -> int:
        """Where in the context its arguments begin."""
        return self._passed.start or 0

    @property
    def passed(self) -> bytes:
        """All that the program passes now."""
        return bytes(self.caller.context[self._passed])

    @property
    def prepared(self) -> PreparedCall | None:
        """The call with what the program passes now, if it was made before."""
        return self._prepared.get(self.passed)

    def process(self) -> Process[None]:
        """Do the call."""
        outcome = self.begin()
        if isinstance(outcome, Generator):
            yield from outcome
        elif outcome:
            yield from self.caller.port.spend(outcome)

    def begin(self) -> Process[None] | int:
        """Do the call, and give the cycles that it takes; or, if the kernel waits for something, its process."""
        if self._preparation is not None:
            prepared = self.prepared or self._prepare(self._preparation)
            with _reported(self.op):
                prepared.function()
            return prepared.cycles
        arguments = [read() for read in self._arguments]
        if not isinstance(self.kernel, CoreFunction) and wants_core(self.kernel):
            # Made for each call: the location is that of the call.
            arguments.insert(0, CallingCore(self.caller.port, self.op.location))
        # Once for a place in the program: signatures take longer than most kernels.
        if not self._is_checked:
            _check_arguments(self.kernel, self.op, arguments)
            self._is_checked = True
        with _reported(self.op):
            if isinstance(self.kernel, CoreFunction):
                result = self.kernel.begin(arguments, self.op.location)
            else:
                result = self.kernel(*arguments)
        if isinstance(result, Generator):
            return self._rest(cast("Process[Any]", result), arguments)
        _take_results(self.caller.context, self.op, result, self._results)
        return self._cycles(arguments)

    def _prepare(self, preparation: Callable[[Sequence[Any]], PreparedCall]) -> PreparedCall:
        arguments = [read() for read in self._arguments]
        with _reported(self.op):
            found = preparation(arguments)
        if len(self._prepared) == MOST_PREPARED:
            self._prepared.clear()
        self._prepared[self.passed] = found
        return found

    def _cycles(self, arguments: Sequence[Any]) -> int:
        return self.kernel.cycles if isinstance(self.kernel, CoreFunction) else cost_of(self.kernel, arguments)

    def _rest(self, kernel: Process[Any], arguments: Sequence[Any]) -> Process[None]:
        with _reported(self.op):
            result = yield from kernel
        if cycles := self._cycles(arguments):
            yield from self.caller.port.spend(cycles)
        _take_results(self.caller.context, self.op, result, self._results)


def _check_types(op: CallOp) -> None:
    """Everything that goes in or out has to be something in NumPy."""
    for type in (*op.operand_types, *op.result_types):
        try:
            dtype_of(type.element_type if is_ranked(type) else element_type(type))
        except NotInNumPy as error:
            fail(op, f"passes {quoted(type)} to or from @{op.callee.string_value()}, but {error}")


class _reported:
    """Say at the call what is wrong with a kernel, or in the kernel with a note at the call, if the line is known."""

    # a class, since one that is made of a generator takes longer than a call that is prepared
    __slots__ = ("op",)

    def __init__(self, op: CallOp):
        self.op = op

    def __enter__(self) -> None: ...

    def __exit__(self, _type: object, error: BaseException | None, _traceback: object) -> None:
        op = self.op
        match error:
            case SourceError():
                raise source_failure(error, op) from error
            case KernelError():
                fail(op, f"cannot call @{op.callee.string_value()}: {error}")
            case KernelFault():
                text = f"@{op.callee.string_value()} {error.text}"
                notes = [] if error.location is None else [(op, "it is called here")]
                fault = Fault(text, error.location or op, notes, error.kind)
                fault.sources.update(error.sources)
                raise fault from error
            case _:
                return


def source_failure(error: SourceError, op: CallOp) -> DiagnosedError:
    """A source that does not compile, as an error at its own line."""
    name, position = op.callee.string_value(), error.position
    if position is None:
        text = f"cannot call @{name}: {error}"
        return DiagnosedError([Diagnostic(Severity.ERROR, text, op.location)])
    file, line, column = position
    at = FileLineColLoc(StringAttr(file), IntAttr(line), IntAttr(column))
    # All of what the compiler says: the first error is often not the one to mend.
    found = Diagnostic(Severity.ERROR, f"{error.first}\n{error.message}", at)
    found.note(op, f"@{name} is called here, and its source is compiled for it")
    failure = DiagnosedError([found])
    failure.sources.update(error.sources)
    return failure


def _find_kernel(caller: Caller, op: CallOp) -> Kernel | CoreFunction:
    with _reported(op):
        kernel = caller.port.kernel(op.callee.string_value())
        if isinstance(kernel, CKernel):
            result = op.result_types[0] if op.results else None
            return kernel.for_core(caller.port, op.callee.string_value(), op.operand_types, result)
    return kernel if kernel is not None else refuse_call(op, caller.core)


def refuse_call(op: CallOp, core: object, *notes: tuple[CallOp, str]) -> NoReturn:
    """Stop: there is nothing that a call of a core could do."""
    name = op.callee.string_value()
    fail(
        op,
        f"{core} calls @{name}, which has no body, and no kernel of that name is bound",
        *notes,
        (op, f'bind one: run(..., kernels={{"{name}": function}}), or --kernel {name}=FILE.py:FUNCTION'),
    )


def _check_arguments(kernel: Kernel | CoreFunction, op: CallOp, arguments: list[Any]) -> None:
    # What C++ takes was found out when it was bound.
    if isinstance(kernel, CoreFunction):
        return
    try:
        signature = inspect.signature(kernel)
    except ValueError:  # a function of a C extension may not say what it takes
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        name = op.callee.string_value()
        fail(op, f"passes {len(op.arguments)} arguments to @{name}, but its kernel does not take them: {error}")


@dataclass(frozen=True)
class _Described:
    """A memref as the program describes it: offset and strides count elements."""

    base: int
    limit: int
    offset: int
    sizes: list[int]
    strides: list[int]
    element_bytes: int

    @property
    def extent_bytes(self) -> tuple[int, int]:
        """Where in its buffer the first byte is and where the last one ends."""
        steps = [(size - 1) * stride for size, stride in zip(self.sizes, self.strides, strict=True)]
        first = self.offset + sum(step for step in steps if step < 0)
        last = self.offset + sum(step for step in steps if step > 0)
        return first * self.element_bytes, (last + 1) * self.element_bytes

    def view(self, dtype: np.dtype[Any], memory: npt.NDArray[np.uint8] | None) -> npt.NDArray[Any]:
        """An array over the memory of its buffer, which it keeps; or, of no buffer, over memory of the program."""
        of_program = ctypes.c_uint8 * self.limit
        # A buffer of the tile is kept alive by the view; memory that the program allocated is not Python's.
        whole = memory.data if memory is not None else memoryview(of_program.from_address(self.base))
        strides = [stride * self.element_bytes for stride in self.strides]
        return np.ndarray(self.sizes, dtype, whole, self.offset * self.element_bytes, strides)


def _reader(caller: Caller, op: CallOp, type: Attribute, slots: Iterator[int]) -> Callable[[], Any]:
    """Reads one argument out of the context."""
    if not is_ranked(type):
        return partial(number_from, caller.context, next(slots), type)
    # Base, limit and offset, then a size and a stride for each dimension.
    places = [next(slots) for _ in range(3 + 2 * type.get_num_dims())]
    return _ViewReader(caller, op, Struct(f"<{len(places)}q"), places[0], type).read


class _ViewReader:
    """Makes views of memrefs; programs pass the same few over and over."""

    def __init__(self, caller: Caller, op: CallOp, layout: Struct, place: int, type: MemRefType[Attribute]):
        self.caller, self.op, self.layout, self.place = caller, op, layout, place
        self.dtype, self.element_bytes = dtype_of(type.element_type), element_bytes(type)
        self._known: dict[tuple[int, ...], npt.NDArray[Any]] = {}

    def read(self) -> npt.NDArray[Any]:
        numbers = self.layout.unpack_from(self.caller.context, self.place)
        found = self._known.get(numbers)
        if found is None:
            found = self._known[numbers] = self._view(*numbers)
        return found

    def _view(self, base: int, limit: int, offset: int, *rest: int) -> npt.NDArray[Any]:
        rank = len(rest) // 2
        described = _Described(base, limit, offset, list(rest[:rank]), list(rest[rank:]), self.element_bytes)
        start, end = described.extent_bytes
        # NumPy would make an array over memory that is none.
        if 0 not in described.sizes and (start < 0 or end > limit or min(described.sizes, default=1) < 0):
            text = f"{self.caller.core}: '{self.op.name}' passes bytes {start} up to {end} of a buffer that has {limit}"
            raise Fault(text, self.op, kind=FaultKind.OUTSIDE_MEMORY)
        return described.view(self.dtype, self.caller.memory_at(base))


def _take_results(context: bytearray, op: CallOp, result: Any, slots: Sequence[int]) -> None:
    if not op.results:
        return
    name = op.callee.string_value()
    values = cast("tuple[Any, ...]", (result,) if len(op.results) == 1 or not isinstance(result, tuple) else result)
    if len(values) != len(op.results) or any(value is None for value in values):
        fail(op, f"takes {len(op.results)} results of @{name}, but its kernel gave {result!r}")
    for type, value, slot in zip(op.result_types, values, slots, strict=True):
        try:
            put_number(context, slot, type, value)
        except ArgumentError as error:
            fail(op, f"takes a result of type {type} of @{name}, but its kernel gave {error}")


def number_from(data: memoryview | bytearray, offset: int, type: Attribute) -> Any:
    """A scalar as a Python number, a vector as an array of its shape."""
    if isinstance(type, VectorType):
        vector = cast(VectorType, type)
        shape = vector.get_shape()
        count = int(np.prod(shape, dtype=np.int64))
        return np.frombuffer(data, dtype_of(vector.element_type), count, offset).reshape(shape).copy()
    return np.frombuffer(data, dtype_of(type), 1, offset)[0].item()


def put_number(data: bytearray, offset: int, type: Attribute, value: Any) -> None:
    """The inverse of `number_from`; integers wrap. `ArgumentError` shows a value that is nothing of the type."""
    shape = cast(VectorType, type).get_shape() if isinstance(type, VectorType) else ()
    dtype = dtype_of(cast(VectorType, type).element_type if isinstance(type, VectorType) else type)
    # Wrapped first: NumPy refuses Python integers that do not fit into 64 bits.
    array = np.asarray(value & WRAP if isinstance(value, int) and dtype.kind in "iu" else value)
    if array.shape != shape and (shape or array.size != 1):
        raise ArgumentError(f"{shown(value)}, of shape {array.shape}")
    if not _fits(array, dtype):
        raise ArgumentError(shown(value))
    if dtype.kind in "iu":
        array = array.astype(np.int64, casting="unsafe")
    raw = array.astype(dtype, casting="unsafe").tobytes()
    data[offset : offset + len(raw)] = raw


def _fits(array: npt.NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Whether values are numbers that a type has: for integers there is nothing behind the point."""
    if array.dtype.kind in "biu":
        return True
    if not is_float(array.dtype):
        return False
    exact = array.astype(np.float64)
    return is_float(dtype) or bool((np.isfinite(exact) & (np.trunc(exact) == exact)).all())
