"""Kernels in C++, compiled for this computer: libraries of them, a copy for each core, and calls.

A kernel runs on a stack of its own (include/tilewright/call.cc), so it can stop in the middle of a call, where it puts
into a cascade or waits for a lock, and go on when the simulator has done that.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import weakref
from collections.abc import Callable, Sequence
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NoReturn, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, LocationAttr, StringAttr
from xdsl.ir import Attribute

from tilewright.device import Arch
from tilewright.device.vector_unit import OperationClass, vector_unit
from tilewright.native.cpp_compiler import WRAPPER
from tilewright.native.host_arrays import dtype_of, is_float
from tilewright.sim.c_signature import CParameter, CppType, c_parameters, cpp_complaint, signature_complaint
from tilewright.sim.engine import Process
from tilewright.sim.faults import FaultKind
from tilewright.sim.kernel_sources import INCLUDE, KernelSource, LibraryImage, compile_source, signal_library
from tilewright.sim.kernels import COST, KernelError, MissingFunction, declared_cost
from tilewright.support.lazy import once

if TYPE_CHECKING:
    from tilewright.sim.core_port import CorePort

SLOT_BYTES, RESULT_BYTES = 8, 64
CASCADE_BYTES = 64
SIGNAL_STACK_BYTES = 64 << 10
MOST_KNOWN_VIEWS = 64
"""Arrays whose addresses a call remembers: a core passes a few, or a new one each time."""
UNCOUNTED_ELEMENT_CYCLES = 10
"""For each element of a kernel's largest argument, if it uses nothing of the vector unit: a loop over scalars."""


class CallOutcome(IntEnum):
    """How a call comes back, as in call.cc."""

    FINISHED = 0
    WAITS = 1
    THREW = 2
    SIGNALLED = 3
    WRONG_ACCESS = 4
    UNDEFINED = 5


class CoreRequest(IntEnum):
    """The callbacks of core.hpp, in their order there."""

    CASCADE_PUT = 0
    CASCADE_GET = 1
    STREAM_PUT = 2
    STREAM_GET = 3
    EVENT = 4
    TILE_READ = 5
    TILE_WRITE = 6
    LOCK = 7


class _CoreState(ctypes.Structure):
    """`tilewright_core_state` of core.hpp, as far as it is used here."""

    _fields_ = (
        ("version", ctypes.c_uint32),
        ("rounding", ctypes.c_uint32),
        ("saturation", ctypes.c_uint32),
        ("counts", ctypes.c_uint64 * 32),
    )


class _RequestState(ctypes.Structure):
    """`tilewright_request` of call.cc."""

    _fields_ = (
        ("kind", ctypes.c_uint32),
        ("number", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
        ("flag", ctypes.c_uint32),
        ("value", ctypes.c_int64),
        ("data", ctypes.c_void_p),
        ("text", ctypes.c_char * 256),
        ("line", ctypes.c_uint32),
        ("column", ctypes.c_uint32),
        ("frame_count", ctypes.c_uint32),
        ("frames", ctypes.c_uint64 * 32),
    )


class _Entry(ctypes.Structure):
    """`tilewright_entry` of call.hpp."""

    _fields_ = (("signature", ctypes.c_char_p), ("call", ctypes.c_void_p), ("plain", ctypes.c_void_p))


def _loaded(data: bytes) -> ctypes.PyDLL:
    """A library in this process. Loading one file twice gives one library: each copy is a file for a moment."""
    with TemporaryDirectory(prefix="tilewright-") as folder:
        path = os.path.join(folder, "kernel.so")
        Path(path).write_bytes(data)
        # PyDLL keeps the GIL: only one kernel runs at a time, and signals are its.
        return ctypes.PyDLL(path)


class _Symbol(ctypes.Structure):
    """`Dl_info` of the C library."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


def _home_of(function: Any) -> str | None:
    """The file that a function was loaded from."""
    found = _Symbol()
    address = ctypes.cast(function, ctypes.c_void_p)
    is_known = ctypes.PyDLL(None).dladdr(address, ctypes.byref(found))
    return os.fsdecode(found.file) if is_known and found.file is not None else None


@once
def _signals() -> ctypes.PyDLL:
    """Catch signals from now on; what is none of a kernel's goes where it went before."""
    library = _loaded(signal_library())
    library.tilewright_catch_signals()
    return library


_signal_stack = threading.local()


def _ensure_signal_stack() -> None:
    """Let the handler have memory in this thread, also when the stack of a kernel has run over."""
    if not hasattr(_signal_stack, "memory"):
        _signal_stack.memory = ctypes.create_string_buffer(SIGNAL_STACK_BYTES)
        _signals().tilewright_signal_stack(_signal_stack.memory, ctypes.c_ulong(SIGNAL_STACK_BYTES))


class LoadedLibrary:
    """A copy of a library in this process, with variables of its own."""

    def __init__(self, image: LibraryImage):
        self.image = image
        try:
            self._dll = _loaded(image.data)
        except OSError as error:
            raise KernelError(f"{image.source.shown} cannot be loaded: {error}") from error
        from _ctypes import dlclose  # POSIX has it, and loading ends before this elsewhere

        weakref.finalize(self, dlclose, self._dll._handle).atexit = False
        if not image.source.is_cpp:
            return
        self.core = _CoreState.in_dll(self._dll, "tilewright_core")
        self.request = _RequestState.in_dll(self._dll, "tilewright_request_state")
        self._ranges = (ctypes.c_uint64 * 128).in_dll(self._dll, "tilewright_ranges")
        self._range_count = ctypes.c_uint32.in_dll(self._dll, "tilewright_range_count")
        self._counts_address = ctypes.addressof(self.core) + _CoreState.counts.offset
        self._counts = (ctypes.c_uint64 * len(OperationClass)).from_address(self._counts_address)
        self.begin: Callable[..., int] = self._dll.tilewright_begin
        self._dll.tilewright_begin.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        self.resume: Callable[[], int] = self._dll.tilewright_resume
        self._connected = False, False
        guard = ctypes.c_void_p.in_dll(self._dll, "tilewright_guard_slot")
        guard.value = ctypes.addressof(ctypes.c_char.in_dll(_signals(), "tilewright_guard_state"))

    def describe(self, kinds: bytes) -> None:
        """Say how a function whose signature is not known is called."""
        self._dll.tilewright_describe(kinds)

    def connect(self, with_core: bool, with_events: bool) -> None:
        """Let its kernels reach a core, and tell of events."""
        if self._connected != (with_core, with_events):
            self._dll.tilewright_connect(int(with_core), int(with_events))
            self._connected = with_core, with_events

    def function(self, name: str) -> Any:
        """The C function of a name; None if there is none in the library itself: libm has an `exp`, too."""
        found = getattr(self._dll, name, None)
        return found if found is not None and _home_of(found) == self._dll._name else None

    def entry(self, name: str) -> _Entry | None:
        """What the runtime calls; None if the source has no such function, or one that only C++ can call."""
        if self.function(name) is None:
            return None
        try:
            found = _Entry.in_dll(self._dll, f"tilewright_entry_{name}")
        except ValueError:
            return None
        return found if found.call or found.plain else None

    def take_counts(self) -> tuple[int, ...]:
        """The operations since this was asked last, or since the call began."""
        found = tuple(self._counts)
        ctypes.memset(self._counts_address, 0, SLOT_BYTES * len(found))
        return found

    def allow(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Tell checked code which memory it may use."""
        given = ranges[: len(self._ranges) // 2]
        for number, (begin, end) in enumerate(given):
            self._ranges[2 * number], self._ranges[2 * number + 1] = begin, end
        self._range_count.value = len(given)


class CoreLibraries:
    """The libraries that one core has, and its modes, which are registers of the core."""

    def __init__(self) -> None:
        self._loaded = dict[str, LoadedLibrary]()
        self._last: LoadedLibrary | None = None

    def of(self, image: LibraryImage) -> LoadedLibrary:
        if image.key not in self._loaded:
            self._loaded[image.key] = LoadedLibrary(image)
        return self._loaded[image.key]

    def use(self, library: LoadedLibrary) -> None:
        """Let a library be the one that runs: it finds the modes as the last one left them."""
        if self._last is not library:
            if self._last is not None:
                library.core.rounding = self._last.core.rounding
                library.core.saturation = self._last.core.saturation
            self._last = library


class CKernel:
    """A function of a C or C++ source, compiled for this computer. Memrefs are passed as pointers to their elements."""

    def __init__(
        self,
        path: str | Path | KernelSource,
        name: str,
        flags: Sequence[str] = (),
        *,
        arch: Arch = Arch.AIE2,
        checked: bool = False,
    ):
        source = path if isinstance(path, KernelSource) else KernelSource(Path(path), None, tuple(flags), (name,))
        self.name, self.checked = name, checked
        self._images = {arch: compile_source(source, arch, checked)}
        self.source, self._arch = source, arch
        if self.missing:
            raise MissingFunction(f"{source.shown} defines no function '{name}'; in C++ it has to be extern \"C\"")

    @property
    def missing(self) -> bool:
        """Whether the source does not define the function."""
        return (self._own.entry if self.source.is_cpp else self._own.function)(self.name) is None

    @cached_property
    def _own(self) -> LoadedLibrary:
        """A copy for calls from Python, and to look at."""
        return LoadedLibrary(self.image(self._arch))

    @cached_property
    def parameters(self) -> list[CParameter | None] | None:
        """What a C source says about the parameters."""
        return None if self.source.is_cpp else c_parameters(self.source.read(), self.name)

    def image(self, arch: Arch) -> LibraryImage:
        """The library for cores of an architecture."""
        if arch not in self._images:
            self._images[arch] = compile_source(self.source, arch, self.checked)
        return self._images[arch]

    def for_core(self, port: CorePort, name: str, types: Sequence[Attribute], result: Attribute | None) -> CoreFunction:
        """The function on a core, for calls by a name with these types; `KernelError` if it does not take them."""
        return CoreFunction(self, port.libraries.of(self.image(port.arch)), port, types, result, name)

    def __call__(self, *arguments: Any) -> Any:
        """Call it from Python; numbers and results are of the types that the source says."""
        function = CoreFunction(self, self._own, None, (), None)
        given = function.begin(arguments, None)
        assert not hasattr(given, "send"), "what only a core has is refused without one"
        return given


class CoreFunction:
    """A function of a library on a core, for one place that calls it."""

    def __init__(
        self,
        kernel: CKernel,
        library: LoadedLibrary,
        port: CorePort | None,
        types: Sequence[Attribute],
        result: Attribute | None,
        name: str | None = None,
    ):
        self.kernel, self.library, self.port, self.types, self.result = kernel, library, port, types, result
        self.name, self.cycles = name or kernel.name, 0
        """The second is what the last call has yet to take."""
        self._is_cpp = kernel.source.is_cpp
        self._declared = cast("int | Callable[..., int] | None", getattr(kernel, COST, None))
        if not kernel.source.is_cpp:
            if kernel.parameters is not None and port is not None:
                _complain(signature_complaint(kernel.parameters, types))
            self._function = library.function(kernel.name)
            return
        entry = library.entry(kernel.name)
        if entry is None:
            raise KernelError(f"{kernel.source.shown} defines no function '{kernel.name}'")
        self._entry = ctypes.addressof(entry)
        self._kinds: bytes | None = None
        if entry.call:
            returned, *parameters = (CppType.parse(text) for text in entry.signature.decode().split())
        else:
            # Of an overloaded name only the call tells the types.
            if port is None:
                raise KernelError(
                    f"'{kernel.name}' is also a function of the headers: only a core's program can call it"
                )
            returned, *parameters = (CppType.of(type) for type in (result, *types))
            self._kinds = "".join(each.register for each in (returned, *parameters)).encode()
        if port is not None:
            _complain(cpp_complaint(parameters, types, returned, result))
        elif len(parameters) != len(types) and types:
            raise KernelError(f"it takes {len(parameters)} arguments")
        self._parameters, self._returned = parameters, returned
        self._slots = (ctypes.c_uint64 * max(len(parameters), 1))()
        self._given = (ctypes.c_uint64 * (RESULT_BYTES // SLOT_BYTES))()
        self._addresses = ctypes.addressof(self._slots), ctypes.addressof(self._given)
        known = types or [None] * len(parameters)
        self._put = [parameter.packer(type) for parameter, type in zip(parameters, known, strict=True)]
        self._known = dict[tuple[int, int], tuple[npt.NDArray[Any], int]]()
        self._cycles_of = dict[tuple[int, ...], int]()

    def begin(self, arguments: Sequence[Any], location: LocationAttr | None) -> Any:
        """Call it: what it gives, or a process that does once it is over, if it waits for something."""
        if not self._is_cpp:
            return self._call_plainly(arguments)
        self._pack(arguments)
        _ensure_signal_stack()
        library, port = self.library, self.port
        if port is not None:
            port.libraries.use(library)
        library.connect(port is not None, port is not None and port.hears_events)
        if library.image.is_checked:
            library.allow(self._ranges(arguments))
        self.cycles = 0
        if self._kinds is not None:
            library.describe(self._kinds)
        status = library.begin(self._entry, *self._addresses)
        if status == CallOutcome.FINISHED:
            return self._end(arguments)
        if status == CallOutcome.WAITS:
            return self._process(arguments, location)
        self._fail(status, arguments)

    def _process(self, arguments: Sequence[Any], location: LocationAttr | None) -> Process[Any]:
        """Serve a call that waits, until it is over. One that is never over needs no end: its stack is just left."""
        assert self.port is not None and location is not None
        library, status, is_counted = self.library, int(CallOutcome.WAITS), False
        while status == CallOutcome.WAITS:
            request = library.request
            # What was computed before takes its time first, so that others see things when they happen.
            cycles = self._counted()
            if not cycles and not is_counted and (request.kind, request.number) == (CoreRequest.EVENT, 1):
                cycles = self._uncounted(arguments)  # event 1 is the end of the work
            if cycles:
                is_counted = True
                yield from self.port.spend(cycles)
            self.port.calling = self.name
            yield from _SERVICES[CoreRequest(request.kind)](self.port, request, location)
            self.port.calling = None
            status = library.resume()
        if status != CallOutcome.FINISHED:
            self._fail(status, arguments)
        return self._end(arguments, is_counted)

    def _counted(self) -> int:
        """Cycles of what was computed since this was asked last."""
        counts = self.library.take_counts()
        if self._declared is not None:
            return 0
        # Most calls at one place do as much as the last one did.
        if counts not in self._cycles_of:
            self._cycles_of[counts] = vector_unit(self.library.image.arch).cycles(counts) if any(counts) else 0
        return self._cycles_of[counts]

    def _uncounted(self, arguments: Sequence[Any]) -> int:
        """Cycles of a whole call, as they are declared, or by its largest argument."""
        if self._declared is not None:
            return declared_cost(self._declared, arguments)
        return UNCOUNTED_ELEMENT_CYCLES * max(_sizes(arguments), default=0)

    def _end(self, arguments: Sequence[Any], is_counted: bool = False) -> Any:
        self.cycles = self._counted()
        if not self.cycles and not is_counted:
            self.cycles = self._uncounted(arguments)
        return None if self._returned.letter == "v" else self._returned.value(bytes(self._given), self.result)

    def _pack(self, arguments: Sequence[Any]) -> None:
        if len(arguments) != len(self._put):
            raise KernelError(f"it takes {len(self._put)} arguments, got {len(arguments)}")
        for number, (put, value) in enumerate(zip(self._put, arguments, strict=True)):
            if isinstance(value, np.ndarray):
                array = cast("npt.NDArray[Any]", value)
                # Programs pass the same few views over and over.
                known = self._known.get((number, id(array)))
                if known is None:
                    if len(self._known) == MOST_KNOWN_VIEWS:
                        self._known.clear()
                    known = self._known[number, id(array)] = array, self._address(array, number)
                self._slots[number] = known[1]
            else:
                self._slots[number] = put(value)

    def _address(self, array: npt.NDArray[Any], number: int) -> int:
        type = self.types[number] if self.types else f"{array.dtype} {list(array.shape)}"
        if not array.flags.c_contiguous:
            raise KernelError(f"C gets a pointer to the first element, but the others do not follow it: {type}")
        if not array.flags.writeable:
            raise KernelError(f"argument {number} cannot be written to, but C gets a pointer to it: {type}")
        parameter = self._parameters[number]
        if not parameter.is_pointer:
            raise KernelError(f"argument {number} is {parameter}, got an array")
        if not parameter.points_to(array.dtype):
            raise KernelError(f"argument {number} is {parameter}, got an array of {array.dtype}")
        return array.ctypes.data

    def _ranges(self, arguments: Sequence[Any]) -> list[tuple[int, int]]:
        own = [(address, address + RESULT_BYTES) for address in self._addresses[1:]]
        own.append((self._addresses[0], self._addresses[0] + ctypes.sizeof(self._slots)))
        return own + [(start, start + array.nbytes) for start, array in _arrays(arguments)]

    def _call_plainly(self, arguments: Sequence[Any]) -> Any:
        if self.kernel.checked:
            raise KernelError(f"{self.kernel.source.shown} cannot be checked: only C++ sources can")
        self.cycles = self._uncounted(arguments)
        known = [*self.types, *[None] * (len(arguments) - len(self.types))]
        # Each time: the function is shared by all places that call it, and ctypes keeps one result type.
        self._function.restype = None if self.result is None else _plain_result(self.result)
        return self._function(*(_plain_argument(value, type) for value, type in zip(arguments, known, strict=True)))

    def _fail(self, status: int, arguments: Sequence[Any]) -> NoReturn:
        """Say why a call did not come to its end."""
        request = self.library.request
        if status == CallOutcome.SIGNALLED and request.kind == signal.SIGINT:
            raise KeyboardInterrupt
        if status == CallOutcome.THREW:
            raise KernelError(request.text.decode("utf-8", "replace"))
        if status == CallOutcome.WRONG_ACCESS:
            text = f"{'writes' if request.flag else 'reads'} {_access(request, arguments)}"
            raise self._fault(text, FaultKind.OUTSIDE_MEMORY)
        if status == CallOutcome.UNDEFINED:
            raise self._fault(request.text.decode("utf-8", "replace"), FaultKind.CORE)
        hint = "" if self.library.image.is_checked else "; --kernels=checked says which access is wrong"
        raise self._fault(f"{_SIGNALS.get(request.kind, f'ends with signal {request.kind}')}{hint}", FaultKind.CORE)

    def _fault(self, text: str, kind: FaultKind) -> KernelFault:
        return KernelFault(text, self._place(), kind, self.kernel.source)

    def _place(self) -> LocationAttr | None:
        """The innermost line that is the user's."""
        request = self.library.request
        frames = list(request.frames[: request.frame_count])
        for file, line in self.library.image.lines(frames):
            if not file.startswith(str(INCLUDE)) and not file.endswith(WRAPPER) and file != "??":
                name = self.kernel.source.shown if file.endswith(f"{os.sep}{self.kernel.source.shown}") else file
                column = request.column if request.line == line else 1
                return FileLineColLoc(StringAttr(name), IntAttr(line), IntAttr(column))
        return None


class KernelFault(Exception):
    """Something that a kernel does wrong; the call makes a `Fault` of it."""

    def __init__(self, text: str, location: LocationAttr | None, kind: FaultKind, source: KernelSource):
        super().__init__(text)
        self.text, self.location, self.kind = text, location, kind
        self.sources = {source.shown: source.read()}


_SIGNAL_TEXTS = {
    "SIGSEGV": "uses memory that is none",
    "SIGBUS": "uses memory that is none",
    "SIGFPE": "divides by zero",
    "SIGILL": "comes to an instruction that is none",
}
# Not all systems have all of them.
_SIGNALS = {int(getattr(signal, name)): text for name, text in _SIGNAL_TEXTS.items() if hasattr(signal, name)}


def _access(request: Any, arguments: Sequence[Any]) -> str:
    """Which bytes, relative to the argument that is nearest."""
    size, address = request.bytes, request.value
    what = f"{size} byte{'s' * (size != 1)}"
    nearest: tuple[int, str] | None = None
    for number, argument in enumerate(arguments):
        if not isinstance(argument, np.ndarray):
            continue
        array = cast("npt.NDArray[Any]", argument)
        start, end = array.ctypes.data, array.ctypes.data + array.nbytes
        shown = f"argument {number}, which has {array.nbytes} bytes"
        if address >= start:
            found = (address + size - end, f"{what} at byte {address - start} of {shown}")
        else:
            found = (start - address, f"{what} at {start - address} bytes before {shown}")
        if nearest is None or found[0] < nearest[0]:
            nearest = found
    return nearest[1] if nearest is not None else f"{what} at an address that it was not given"


def _arrays(arguments: Sequence[Any]) -> list[tuple[int, npt.NDArray[Any]]]:
    arrays = [cast("npt.NDArray[Any]", argument) for argument in arguments if isinstance(argument, np.ndarray)]
    return [(array.ctypes.data, array) for array in arrays]


def _sizes(arguments: Sequence[Any]) -> list[int]:
    return [cast("npt.NDArray[Any]", argument).size for argument in arguments if isinstance(argument, np.ndarray)]


def _complain(text: str | None) -> None:
    if text is not None:
        raise KernelError(text)


def _plain_argument(value: Any, type: Attribute | None) -> Any:
    if isinstance(value, np.ndarray):
        array = cast("npt.NDArray[Any]", value)
        if not array.flags.c_contiguous:
            raise KernelError(f"C gets a pointer to the first element, but the others do not follow it: {type}")
        if not array.flags.writeable:
            raise KernelError(f"an array cannot be written to, but C gets a pointer to it: {type}")
        return ctypes.c_void_p(array.ctypes.data)
    dtype = None if type is None else dtype_of(type)
    if dtype is not None and is_float(dtype) and dtype.itemsize < 4:
        raise KernelError(f"a scalar of type {type} cannot be passed to C: pass f32, or its bits, or write it in C++")
    if isinstance(value, float):
        return ctypes.c_float(value) if dtype == np.float32 else ctypes.c_double(value)
    # Integers are passed in registers of 64 bits; the callee reads as many as its type has.
    return ctypes.c_int64(value)


def _plain_result(type: Attribute) -> Any:
    return np.ctypeslib.as_ctypes_type(dtype_of(type))


# What calls wait for.


def _data(request: Any) -> bytes:
    return ctypes.string_at(request.data, request.bytes)


def _cascade_put(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    data = _data(request)
    # Wider values go in steps, the low half first.
    for start in range(0, len(data), CASCADE_BYTES):
        yield from port.put_cascade(data[start : start + CASCADE_BYTES], location)


def _cascade_get(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    address, size = request.data, request.bytes
    for start in range(0, size, CASCADE_BYTES):
        step = min(CASCADE_BYTES, size - start)
        ctypes.memmove(address + start, (yield from port.get_cascade(step, location)), step)


def _stream_put(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    yield from port.put_stream(request.number, _data(request), location, bool(request.flag))


def _stream_get(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    address, size = request.data, request.bytes
    ctypes.memmove(address, (yield from port.get_stream(request.number, size, location)), size)


def _event(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    port.raise_event(request.number)
    yield from ()


def _tile_read(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    request.value = yield from port.read_register(request.number, location)


def _tile_write(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    yield from port.write_register(request.number, request.value & 0xFFFFFFFF, location)


def _lock(port: CorePort, request: Any, location: LocationAttr) -> Process[None]:
    yield from port.use_lock(request.number, request.value, bool(request.flag), location)


_SERVICES: dict[CoreRequest, Callable[[CorePort, Any, LocationAttr], Process[None]]] = {
    CoreRequest.CASCADE_PUT: _cascade_put,
    CoreRequest.CASCADE_GET: _cascade_get,
    CoreRequest.STREAM_PUT: _stream_put,
    CoreRequest.STREAM_GET: _stream_get,
    CoreRequest.EVENT: _event,
    CoreRequest.TILE_READ: _tile_read,
    CoreRequest.TILE_WRITE: _tile_write,
    CoreRequest.LOCK: _lock,
}
