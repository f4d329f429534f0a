"""Run a design on the simulated NPU: compile it, load it, and carry out one of its runtime sequences.

What goes in for each buffer is a SPEC: a .npy file, zeros (the default), arange, or random:SEED. Ends with status 1 if
the design hangs or does what the hardware would do wrong silently; the message says who waits for what.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tilewright.cli.errors import InputError, UsageError, show_diagnostics

if TYPE_CHECKING:
    from xdsl.ir import Attribute

    from tilewright.design import Design
    from tilewright.sim.runs import RunResult
    from tilewright.simulation import Array


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("design", metavar="DESIGN", help="a program in MLIR")
    parser.add_argument("--sequence", metavar="NAME", help="which runtime sequence (default: the first)")
    parser.add_argument("--set", metavar="NAME=INT", action="append", default=[], help="the value of a scalar argument")
    parser.add_argument("--arg", metavar="NAME=SPEC", action="append", default=[], help="what a buffer holds at first")
    parser.add_argument(
        "--kernel", metavar="NAME=FILE:FUNCTION", action="append", default=[], help="an external kernel"
    )
    parser.add_argument("--txn", metavar="FILE", help="carry out this TXN binary instead of the sequence's own words")
    parser.add_argument("--out", metavar="DIR", help="write each buffer to DIR/NAME.npy afterwards")
    parser.add_argument("--json", action="store_true", help="print the outcome for machines")


def run(args: Namespace) -> int:
    from tilewright.cli.files import read_bytes, read_text
    from tilewright.cli.programs import source_name
    from tilewright.design import argument_names, compile_text
    from tilewright.ir.diagnostics import DiagnosedError

    text, name = read_text(args.design), source_name(args.design)
    design = compile_text(text, name)
    op = _sequence(design, args.sequence)
    names = argument_names(op)
    values = _arguments(names, [argument.type for argument in op.body.block.args], args)
    kernels = {kernel: _load_kernel(kernel, where) for kernel, where in _pairs("--kernel", args.kernel).items()}
    start = time.perf_counter()
    try:
        words = None if args.txn is None else _words(read_bytes(args.txn))
        result = design.run(*values, sequence=args.sequence, kernels=kernels, txn=words)
    except DiagnosedError as error:
        error.sources[name] = text
        raise
    elapsed = time.perf_counter() - start
    buffers = {n: v for n, v in zip(names, values, strict=True) if not isinstance(v, int)}
    if args.out is not None:
        _save(Path(args.out), buffers)
    show_diagnostics(result.notes, {name: text})
    _report(result, elapsed, buffers, args.json)
    return 0


def _sequence(design: Design, name: str | None) -> Any:
    try:
        return design.operation(name)
    except KeyError as error:
        raise UsageError(f"tilewright run: {error.args[0]}") from error


def _pairs(flag: str, texts: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE options as a dictionary."""
    pairs = dict[str, str]()
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise UsageError(f"tilewright run: {flag} takes NAME=VALUE, got '{text}'")
        pairs[name] = value
    return pairs


def _arguments(names: list[str], types: list[Attribute], args: Namespace) -> list[Array | int]:
    """Values for the arguments of a sequence, in order."""
    from xdsl.dialects.builtin import MemRefType

    scalars, specs = _pairs("--set", args.set), _pairs("--arg", args.arg)
    buffers = [name for name, type in zip(names, types, strict=True) if isinstance(type, MemRefType)]
    for flag, given, known in (
        ("--set", scalars, [name for name in names if name not in buffers]),
        ("--arg", specs, buffers),
    ):
        if unknown := [name for name in given if name not in known]:
            raise UsageError(f"tilewright run: {flag}: no such argument: {unknown[0]}; there is {_listed(known)}")
        if flag == "--set" and (missing := [name for name in known if name not in given]):
            raise UsageError(f"tilewright run: the sequence takes {_listed(missing)}; give it: --set {missing[0]}=INT")
    return [
        _buffer(name, specs.get(name, "zeros"), type) if name in buffers else _integer(name, scalars[name])
        for name, type in zip(names, types, strict=True)
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(names) or "none"


def _integer(name: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError as error:
        raise UsageError(f"tilewright run: --set {name}: '{text}' is no integer") from error


def _buffer(name: str, spec: str, type: Any) -> Array:
    """A new array for a buffer, filled as `spec` says."""
    import numpy as np

    from tilewright.sim.core_types import dtype_of

    try:
        shape: tuple[int, ...] = type.get_shape()
        dtype = dtype_of(type.element_type)
    except TypeError as error:
        raise InputError(f"argument {name} is {type}: {error}") from error
    if spec.endswith(".npy"):
        return _read_array(spec)
    if -1 in shape:
        raise UsageError(f"tilewright run: the size of {name} is not known; give it as a file: --arg {name}=FILE.npy")
    if spec == "zeros":
        return np.zeros(shape, dtype)
    if spec == "arange":
        return np.arange(np.prod(shape, dtype=np.int64)).astype(dtype).reshape(shape)
    kind, _, seed = spec.partition(":")
    if kind != "random" or not seed.isdigit():
        raise UsageError(f"tilewright run: --arg {name}: '{spec}' is none of zeros, arange, random:SEED, FILE.npy")
    generator = np.random.default_rng(int(seed))
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return generator.standard_normal(shape).astype(dtype)


def _read_array(path: str) -> Array:
    import numpy as np

    try:
        return np.ascontiguousarray(np.load(path, allow_pickle=False))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read '{path}': {getattr(error, 'strerror', None) or error}") from error


def _words(data: bytes) -> Array:
    import numpy as np

    return np.frombuffer(data[: len(data) // 4 * 4], dtype=np.uint32)


def _load_kernel(name: str, where: str) -> Callable[..., Any]:
    """A function of a Python file, or of a C source that is compiled for this computer."""
    from importlib.util import module_from_spec, spec_from_file_location

    from tilewright.sim.kernels import CKernel

    path, _, function = where.partition(":")
    if not path.endswith(".py"):
        return CKernel(path, function or name)
    spec = spec_from_file_location(Path(path).stem, path)
    if spec is None or spec.loader is None or not Path(path).is_file():
        raise InputError(f"cannot open kernel file '{path}'")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, function or name, None)
    if not callable(found):
        raise InputError(f"'{path}' has no function '{function or name}'")
    return found


def _save(directory: Path, buffers: dict[str, Array]) -> None:
    import io

    import numpy as np

    from tilewright.cli.files import write_atomically

    directory.mkdir(parents=True, exist_ok=True)
    for name, array in buffers.items():
        data = io.BytesIO()
        np.save(data, array)
        write_atomically(directory / f"{name}.npy", data.getvalue())


def _report(result: RunResult, elapsed: float, buffers: dict[str, Array], as_json: bool) -> None:
    if as_json:
        print(json.dumps({"cycles": result.cycles, "seconds": elapsed, "buffers": list(buffers)}))
        return
    print(f"{result.cycles} cycles, simulated in {elapsed:.2f} s")
    for name, array in buffers.items():
        values = ", ".join(map(str, array.reshape(-1)[:8]))
        print(f"  {name}: {values}{', ...' if array.size > 8 else ''}")
