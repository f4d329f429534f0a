"""Values that `tilewright run` is given: scalars, arrays for buffers, kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from traceback import extract_tb
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import CommandLineError, InputError, complaining

if TYPE_CHECKING:
    from tilewright.dialects.aie.sequence import RuntimeSequenceOp
    from tilewright.driver.host_values import Needs
    from tilewright.driver.loaded_device import Array
    from tilewright.ir.diagnostics import DiagnosedError

MOST_BYTES = 1 << 34
"""Of one array whose size is said on the command line."""
BROKEN_FILE = (SyntaxError, ImportError, NameError, AttributeError, LookupError, TypeError, ValueError, OSError)
"""What reading a Python file raises that has a mistake in it."""


def usage(text: str) -> CommandLineError:
    return CommandLineError(f"tilewright run: {text}")


def pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE options as a dictionary."""
    found = dict[str, str]()
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise usage(f"{flag} takes NAME=VALUE, got '{text}'")
        if name in found:
            raise usage(f"{flag}: {name} is given twice, as '{found[name]}' and as '{value}'")
        found[name] = value
    return found


def integer(flag: str, name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise usage(f"{flag} {name}: '{text}' is no integer") from error


def number_text(flag: str, name: str, text: str) -> int | float:
    """An integer, or else a floating point number."""
    try:
        return int(text, 0)
    except ValueError:
        pass
    # an integer is tried first: a float would lose the low bits of a large one
    try:
        return float(text)
    except ValueError as error:
        raise usage(f"{flag} {name}: '{text}' is no number") from error


def numbered(flag: str, texts: Iterable[str]) -> dict[int, str]:
    """N=VALUE options, where N is the number of an argument."""
    found = dict[int, str]()
    for name, value in pairs(flag, texts).items():
        if not name.isdecimal():
            raise usage(f"{flag}: a stream's arguments have numbers, as in {flag} 0={value}; got '{name}'")
        found[int(name)] = value
    return found


def typed_arguments(
    op: RuntimeSequenceOp,
    scalars: dict[str, str],
    specs: dict[str, str],
    given_words: bool,
    needs: Needs,
) -> list[Array | int | float]:
    """Values for the arguments of a sequence, in order. Words that are given have no use for scalars.

    `needs` says for some scalars how many bytes of which argument are used.
    """
    from xdsl.dialects.builtin import MemRefType

    from tilewright.driver.host_values import SpecError, argument_values, check_known

    with complaining(SpecError, usage):
        types = [argument.type for argument in op.body.block.args]
        others = {n: at for at, (n, type) in enumerate(zip(op.argument_names, types, strict=True))
                  if not isinstance(type, MemRefType)}  # fmt: skip
        check_known("--set", scalars, others)
        given = {name: _scalar(op, number, name, scalars, specs) for name, number in others.items()}
        if missing := [] if given_words else [name for name, value in given.items() if value is None]:
            raise usage(f"the sequence takes {', '.join(missing)}; give it: --set {missing[0]}=NUMBER")
        # words that are given have their scalars in them, whatever is said here
        numbers = {name: 0 if value is None else value for name, value in given.items()}
        return argument_values(op, numbers, specs, needs)


def _scalar(
    op: RuntimeSequenceOp, number: int, name: str, scalars: dict[str, str], specs: dict[str, str]
) -> int | float | None:
    """The value of a scalar argument: as it is said, or the size of a file where it is that of a buffer."""
    from tilewright.dialects.aie.data_layout import element_bytes
    from tilewright.driver.host_values import read_array

    if name in scalars:
        return (number_text if op.takes_float(number) else integer)("--set", name, scalars[name])
    counted = op.buffer_counted_by(number)
    spec = "" if counted is None else specs.get(op.argument_names[counted], "")
    if counted is None or not spec.endswith(".npy"):
        return None
    type: Any = op.body.block.args[counted].type
    return read_array(spec).nbytes // element_bytes(type)


def numbered_arguments(needs: dict[int, int], specs: dict[int, str], sizes: dict[int, str]) -> dict[int, Array]:
    """Arrays for the arguments of a stream, as large as it needs them, or as is said."""
    return {
        argument: _numbered_array(argument, specs.get(argument, "zeros"), needs.get(argument, 0), sizes.get(argument))
        for argument in sorted({*needs, *specs, *sizes})
    }


def _numbered_array(argument: int, spec: str, needed: int, size: str | None) -> Array:
    import numpy as np

    from tilewright.driver.host_values import MOST_UNASKED_BYTES, SpecError, filled, read_array

    if spec.endswith(".npy"):
        if size is not None:
            raise usage(f"argument {argument} is a file; --bytes {argument}={size} has no use")
        return read_array(spec)
    count = needed if size is None else integer("--bytes", str(argument), size)
    if not 0 < count <= (MOST_UNASKED_BYTES if size is None else MOST_BYTES):
        told = f"it reaches {count} bytes" if count else "how large it must be cannot be told from the stream"
        reason = told if size is None else f"{count} is no such size"
        raise usage(f"argument {argument}: {reason}; give it: --bytes {argument}=INT")
    dtype = np.dtype(np.int32 if count % 4 == 0 else np.uint8)  # a stream says nothing of types
    with complaining(SpecError, usage):
        return filled(str(argument), spec, (count // dtype.itemsize,), dtype)


def load_kernel(name: str, where: str) -> Callable[..., Any] | str:
    """A function of a Python file; a C++ source as it is named, since what is compiled depends on the device."""
    from importlib.util import module_from_spec, spec_from_file_location

    path, _, function = where.partition(":")
    if not path.endswith(".py"):
        from tilewright.kernels.binding import file_and_function

        if not (file := file_and_function(name, where)[0]).is_file():
            raise InputError(f"cannot open kernel file '{file}'")
        return where
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(f"cannot open kernel file '{path}'")
    module = module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BROKEN_FILE as error:  # whatever else it raises is shown as it is
        raise InputError(f"kernel file '{path}' cannot be run: {type(error).__name__}: {error}") from error
    found = getattr(module, function or name, None)
    if not callable(found):
        raise InputError(f"'{path}' has no function '{function or name}'")
    return found


def kernel_error(error: Exception, kernels: Iterable[str]) -> DiagnosedError | None:
    """What a kernel of these files raised, at the line that did; None if no kernel had a part in it."""
    from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

    from tilewright.ir.diagnostics import DiagnosedError, Diagnostic, Severity

    files = {where.partition(":")[0] for where in kernels}
    if not (frames := [frame for frame in extract_tb(error.__traceback__) if frame.filename in files]):
        return None
    at = FileLineColLoc(StringAttr(frames[-1].filename), IntAttr(frames[-1].lineno or 0), IntAttr(1))
    found = DiagnosedError([Diagnostic(Severity.ERROR, f"the kernel raises {type(error).__name__}: {error}", at)])
    found.sources[frames[-1].filename] = Path(frames[-1].filename).read_text(errors="replace")
    return found
