"""Running the body of a core on a tile that only tests have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import LocationAttr

from tilewright.device import Arch, LockAction
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.func import CallOp
from tilewright.ir.context import make_context
from tilewright.ir.parser import parse_source
from tilewright.ir.verifier import verify
from tilewright.sim.core import CoreProgram, core_process
from tilewright.sim.core_port import Kernel
from tilewright.sim.cpp_kernels import CoreLibraries
from tilewright.sim.engine import Process
from tilewright.sim.trace import TraceEvent

ELEMENTS = {
    np.dtype(np.int8): "i8",
    np.dtype(np.int16): "i16",
    np.dtype(np.int32): "i32",
    np.dtype(np.int64): "i64",
    np.dtype(np.uint8): "ui8",
    np.dtype(np.bool_): "i1",
    np.dtype(np.float16): "f16",
    np.dtype(np.float32): "f32",
    np.dtype(np.float64): "f64",
    np.dtype(ml_dtypes.bfloat16): "bf16",
}
Array = npt.NDArray[Any]


def memref_text(array: Array) -> str:
    return f"memref<{''.join(f'{size}x' for size in array.shape)}{ELEMENTS[array.dtype]}>"


@dataclass
class FakeTile:
    """A port whose locks are always free; it writes down what the core does, in order."""

    buffers: Mapping[str, Array]
    kernels: Mapping[str, Kernel] = field(default_factory=dict[str, Kernel])
    cascade: list[bytes] = field(default_factory=list[bytes])
    """What comes in by the cascade."""
    stream: list[bytes] = field(default_factory=list[bytes])
    log: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    cycles: int = 0
    reached: int = 0
    calling: str | None = None
    arch: Arch = Arch.AIE2p
    hears_events: bool = False
    libraries: CoreLibraries = field(default_factory=CoreLibraries)
    registers: dict[int, int] = field(default_factory=dict[int, int])

    def memory(self, buffer: BufferOp) -> npt.NDArray[np.uint8]:
        assert buffer.sym_name is not None
        array = self.buffers[buffer.sym_name.data]
        assert array.flags.c_contiguous, "a test's buffer is one block of memory"
        return array.reshape(-1).view(np.uint8)

    def acquire(self, lock: LockOp, amount: int, action: LockAction, location: LocationAttr) -> Process[None]:
        self.log.append(("acquire", lock.number, amount, str(action)))
        yield 0

    def release(self, lock: LockOp, amount: int, location: LocationAttr) -> None:
        self.log.append(("release", lock.number, amount))

    def put_cascade(self, data: bytes, location: LocationAttr) -> Process[None]:
        self.log.append(("put_cascade", data))
        yield 0

    def get_cascade(self, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        yield 0
        return self.cascade.pop(0)

    def put_stream(self, channel: int, data: bytes, location: LocationAttr, is_last: bool = False) -> Process[None]:
        self.log.append(("put_stream", channel, data, *(("last",) if is_last else ())))
        yield 0

    def get_stream(self, channel: int, size_bytes: int, location: LocationAttr) -> Process[bytes]:
        yield 0
        return self.stream.pop(0)

    def use_lock(self, number: int, amount: int, is_acquire: bool, location: LocationAttr) -> Process[None]:
        self.log.append(("acquire" if is_acquire else "release", number, amount))
        yield 0

    def read_register(self, address: int, location: LocationAttr) -> Process[int]:
        yield 0
        return self.registers.get(address, 0)

    def write_register(self, address: int, value: int, location: LocationAttr) -> Process[None]:
        self.registers[address] = value
        yield 0

    def raises_events(self, call: CallOp) -> bool:
        return True

    def raise_event(self, number: int) -> None:
        self.log.append(("event", number, self.cycles))

    def flow(self, entries: Sequence[int]) -> None:
        self.log.append(("flow", *entries))

    def spend(self, cycles: int) -> Process[None]:
        self.cycles += cycles
        yield cycles

    def say(self, text: str) -> None:
        self.log.append(("say", text))

    def pause(self, cycles: int, asker: object) -> Process[None]:
        self.cycles += cycles
        yield cycles

    def record(self, event: TraceEvent, a: int = 0, b: int = 0) -> None:
        pass

    def kernel(self, name: str) -> Kernel | None:
        return self.kernels.get(name)


def parse_core(body: str, buffers: Mapping[str, Array], outside: str = "") -> CoreOp:
    """The core of a device that has the buffers as `%name`, locks %lock0 and %lock1, and the text `outside`."""
    declared = "\n".join(
        f'%{name} = aie.buffer(%tile) {{sym_name = "{name}"}} : {memref_text(array)}' for name, array in buffers.items()
    )
    text = f"""aie.device(npu2) {{
%tile = aie.tile(0, 2)
%lock0 = aie.lock(%tile, 0)
%lock1 = aie.lock(%tile, 1)
{declared}
{outside}
%core = aie.core(%tile) {{
{body}
aie.end
}}
}}"""
    module = parse_source(make_context(), text, "core.mlir")
    verify(module)
    return next(op for op in module.walk() if isinstance(op, CoreOp))


def run_core(body: str, tile: FakeTile | None = None, outside: str = "", **buffers: Array) -> FakeTile:
    """Run a body to its end; the arrays are the buffers, and change in place."""
    tile = tile or FakeTile(buffers)
    for _ in core_process(CoreProgram(parse_core(body, tile.buffers, outside)), tile):
        pass
    return tile


def run_interpreted(body: str, tile: FakeTile) -> FakeTile:
    """`run_core`, operation by operation in Python."""
    for _ in core_process(CoreProgram(parse_core(body, tile.buffers), is_native=False), tile):
        pass
    return tile


def elementwise(body: str, *inputs: Array, result: Any) -> Array:
    """`body` computes %r from %x (and %y, %z) for each element; gives all of its results, of dtype `result`."""
    return elementwise_each({"it": body}, *inputs, result=result)["it"]


def elementwise_each(bodies: Mapping[str, str], *inputs: Array, result: Any) -> dict[str, Array]:
    """`elementwise` for several bodies, all of them in one core."""
    names = dict(zip("xyz", inputs, strict=False))
    outs = {name: np.zeros(len(inputs[0]), result) for name in bodies}
    loads = "\n".join(f"%{n} = memref.load %{n}s[%i] : {memref_text(a)}" for n, a in names.items())
    text = "\n".join(
        f"""affine.for %i = 0 to {len(inputs[0])} {{
          {loads}
          {body}
          memref.store %r, %out_{name}[%i] : {memref_text(outs[name])}
        }}"""
        for name, body in bodies.items()
    )
    sources = {f"{name}s": array for name, array in names.items()}
    run_core(text, FakeTile(sources | {f"out_{name}": array for name, array in outs.items()}))
    return outs
