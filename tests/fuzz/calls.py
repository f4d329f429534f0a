"""Calls of the Python interface with arguments of every kind: arrays that are no good, numbers that are none."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import ml_dtypes
import numpy as np
from xdsl.dialects.builtin import MemRefType

import tilewright as tw
from fuzz import corpus
from fuzz.mutations import ODD_NUMBERS
from tilewright import pyxrt, txn
from tilewright.xrt.partition import BufferArgument

MAX_CYCLES = 6000
DTYPES = ("i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", ">i4", "O", "S4", "?", "M8[s]", "V4")
ODD_SCALARS: tuple[object, ...] = (
    *ODD_NUMBERS, 1.5, 256.7, "256", "", None, True, float("nan"), float("inf"), 1j, [], {}, b"1", np.int8(-1),
    np.float32(3), np.uint64(2**63), np.array(3), np.array([3]), np.array([1, 2]), np.bool_(True), slice(1), ...,
)  # fmt: skip
SCALAR_DESIGNS = ("runtime_count", "runtime_choice", "runtime_parameter")


def odd_array(random: Random, size: int) -> Any:
    """An array of about so many elements, seldom one that a sequence can take."""
    match random.randrange(10):
        case 0:
            return np.arange(size, dtype=np.int32)
        case 1:
            return np.zeros(random.choice((0, 1, size - 1, size + 1, 2 * size)), np.int32)
        case 2:
            return np.zeros(size, random.choice(DTYPES))
        case 3:
            return np.zeros(2 * size, random.choice(("i4", "u1", "i8")))[:: random.choice((2, -1, -2))]
        case 4:
            return np.broadcast_to(np.zeros(1, np.int32), (size,))
        case 5:
            found = np.zeros(size, np.int32)
            found.flags.writeable = False
            return found
        case 6:
            return np.frombuffer(bytes(4 * size), random.choice(("i4", "u1")))
        case 7:
            return np.zeros((size, 1), np.int32)[:, 0] if random.random() < 0.5 else np.zeros((size, 2), np.int32)[:, 1]
        case 8:
            return np.zeros(size, random.choice((ml_dtypes.bfloat16, ml_dtypes.int4, ml_dtypes.float8_e4m3fn)))
        case _:
            return random.choice((None, 0, "zeros", [0] * 4, bytearray(4 * size), memoryview(bytes(4 * size))))


@cache
def _scalar_design(name: str) -> tw.Design:
    return tw.compile(corpus.ROOT / corpus.DESIGNS[0] / f"{name}.mlir")


def run_arrays(random: Random) -> None:
    """A design with odd arrays."""
    design = corpus.design(random.choice(corpus.STREAMS))
    arrays = [odd_array(random, size) for size in corpus.buffer_sizes(design)]
    if len(arrays) > 1 and random.random() < 0.2:
        arrays[1] = arrays[0]
    if random.random() < 0.1:
        arrays.pop()
    options: dict[str, Any] = {"max_cycles": MAX_CYCLES, "model": random.choice(("fast", "plain"))}
    if random.random() < 0.2:
        odd = random.choice(ODD_SCALARS)
        options |= random.choice(({"max_cycles": odd}, {"model": odd}, {"txn": odd}, {"sequence": odd}, {"timing": odd},
                                  {"kernels": {"nothing": odd}}, {"levels": {"nothing": odd}}, {"scratchpad": odd},
                                  {"levels": {"unwritten-memory": odd}}))  # fmt: skip
    design.run(*arrays, **options)


def call_scalars(random: Random) -> None:
    """Words and runs of designs that take numbers, given something else."""
    design = _scalar_design(random.choice(SCALAR_DESIGNS))
    values: dict[str, Any] = {
        name: random.choice(ODD_SCALARS if random.random() < 0.6 else (1, 2, 4)) for name in design.scalars()
    }
    if random.random() < 0.2:
        values["nothing"] = 1
    if random.random() < 0.5:
        design.txn(**values)
        return
    names = iter(values.values())
    given = [
        np.zeros(argument.type.element_count(), np.int32) if isinstance(argument.type, MemRefType) else next(names)
        for argument in design.operation().body.block.args
    ]
    design.run(*given, max_cycles=MAX_CYCLES)


def build_stream(random: Random) -> None:
    """Headers, operations and streams of odd numbers."""

    def odd() -> Any:
        return random.choice(ODD_SCALARS if random.random() < 0.4 else (0, 1, 4, 255, 4096))

    makers = (
        lambda: txn.write(odd(), odd()),
        lambda: txn.mask_write(odd(), odd(), odd()),
        lambda: txn.block_write(odd(), [odd() for _ in range(3)] if random.random() < 0.7 else odd()),
        lambda: txn.sync(odd(), odd(), odd(), odd()),
        lambda: txn.address_patch(odd(), odd(), odd()),
    )
    header = txn.Header(columns=odd()) if random.random() < 0.5 else txn.Header()
    stream = txn.Stream.of(header, [random.choice(makers)() for _ in range(3)])
    txn.decode(txn.encode(stream))
    txn.decode(odd())


def host_program(package: bytes, code: bytes, size: int, is_file: bool) -> None:
    """Load a package as host programs do, ask it all that it knows, and run each of its kernels."""
    device = pyxrt.device(0)
    if package.startswith(b"xclbin2"):
        found = pyxrt.xclbin(_saved(package) if is_file else package)
        device.register_xclbin(found)
        for ask in (found.get_mems, found.get_xsa_name, found.get_axlf):
            ask()
        context = pyxrt.hw_context(device, found.get_uuid())
    else:
        context = pyxrt.hw_context(device, pyxrt.elf(_saved(package)))
    for packaged in context.package.kernels:
        kernel = pyxrt.kernel(context, packaged.name)
        given = {number: BufferArgument(np.zeros(size, np.uint8)) for number in range(kernel.packaged.first_buffer, 8)}
        if kernel.code is None and code.startswith(b"\x7fELF"):
            kernel = pyxrt.ext.kernel(context, pyxrt.module(pyxrt.elf(_saved(code))), packaged.name)
        elif kernel.code is None:
            given[kernel.packaged.instructions] = BufferArgument(np.frombuffer(code, np.uint8).copy())
        for index in range(-1, 9):
            kernel.group_id(index)
        context.partition.run(kernel.packaged, given, kernel.code, max_cycles=MAX_CYCLES)


def _saved(data: bytes) -> str:
    Path("package").write_bytes(data)
    return "package"
