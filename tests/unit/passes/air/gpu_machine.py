"""Runs kernels that stand in place, thread by thread: slow, obvious, and only for tests.

A thread is a generator that stops at every access to memory, at barriers and at shuffles. A turn takes one wave one
such step further, all of its lanes together, and the seed decides whose turn it is.
"""

from __future__ import annotations

import ctypes
import operator
import random
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from xdsl.dialects.builtin import AffineMapAttr, FloatAttr, IntegerAttr, MemRefType, ModuleOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from tilewright.dialects.gpu.launches import LaunchOp

Steps = Generator[tuple[Any, ...], Any, Any]
MAX_TURNS = 20_000
DTYPES = {
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
}


def kernels_of(module: ModuleOp) -> list[LaunchOp]:
    return [op for op in module.walk() if isinstance(op, LaunchOp)]


class Stuck(Exception):
    """Nobody gets on, or not within the turns that a test has."""


@dataclass
class Rank:
    """A process: the buffers that it has by name, and its number."""

    number: int
    buffers: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(eq=False)
class Thread:
    rank: Rank
    index: tuple[int, int, int]
    flat: int
    group: int
    steps: Steps = field(init=False)
    pending: tuple[Any, ...] | None = None
    answer: Any = None
    done: bool = False


class Machine:
    """Threads of one or more kernels, which take turns."""

    def __init__(self, wave_size: int, seed: int = 0, ranks: Sequence[Rank] = ()):
        self.wave_size, self.random, self.ranks = wave_size, random.Random(seed), list(ranks)
        self.threads: list[Thread] = []
        self.stores: list[tuple[int, tuple[int, ...]]] = []
        """Every store in the order it happened: which buffer (by `id`), and where."""
        self._groups = 0

    def launch(self, op: LaunchOp, values: dict[SSAValue, Any], rank: Rank | None = None) -> None:
        """Start all blocks of a kernel; `values` says what it takes from outside."""
        grid, block = ([self._size(size, values) for size in sizes] for sizes in (op.grid_sizes, op.block_sizes))
        for block_id in np.ndindex(*grid[::-1]):
            shared = [_buffer(argument.type) for argument in op.workgroup_buffers]
            self._groups += 1
            for flat, index in enumerate(np.ndindex(*block[::-1])):
                private = [_buffer(argument.type) for argument in op.private_buffers]
                arguments = [*block_id[::-1], *index[::-1], *grid, *block, *shared, *private]
                env = dict(values) | dict(zip(op.block.args, arguments, strict=True))
                z, y, x = index
                thread = Thread(rank or Rank(0), (x, y, z), flat, self._groups)
                thread.steps = self._region(thread, op.body, env)
                self.threads.append(thread)

    def run_host(self, body: Region, env: dict[SSAValue, Any], rank: Rank) -> None:
        """Go through the code of a host that branches by its rank and starts kernels."""
        for op in body.block.ops:
            operands = [env.get(value) for value in op.operands]
            if isinstance(op, LaunchOp):
                self.launch(op, env, rank)
            elif op.name == "scf.if":
                chosen = op.regions[0 if operands[0] else 1]
                if chosen.blocks:
                    self.run_host(chosen, env, rank)
            elif op.name in SIMPLE:
                env[op.results[0]] = SIMPLE[op.name](op, *operands)
            elif op.name == "func.call" and op.results:
                env[op.results[0]] = self._host_call(op, rank)
            elif op.name == "builtin.unrealized_conversion_cast":
                env[op.results[0]] = self._host_buffer(op.results[0].type, rank)

    def _host_call(self, op: Operation, rank: Rank) -> int:
        return {"@mgpuGetRank": rank.number, "@mgpuGetWorldSize": len(self.ranks)}.get(str(op.properties["callee"]), 0)

    def _host_buffer(self, type: Any, rank: Rank) -> np.ndarray | None:
        if str(type.element_type) == "index":
            return None
        return rank.buffers.setdefault("mail", np.zeros(type.get_shape(), np.int8))

    def _size(self, size: SSAValue, values: dict[SSAValue, Any]) -> int:
        return values[size] if size in values else _constant(size.owner)

    def run(self, turns: int = MAX_TURNS) -> None:
        waves: dict[tuple[int, int], list[Thread]] = {}
        for thread in self.threads:
            waves.setdefault((thread.group, thread.flat // self.wave_size), []).append(thread)
        everyone = list(waves.values())
        for _ in range(turns):
            ready = [wave for wave in everyone if any(self._can_step(thread, wave) for thread in wave)]
            if not ready:
                break
            self._turn(self.random.choice(ready))
        if not all(thread.done for thread in self.threads):
            raise Stuck([thread.pending for thread in self.threads if not thread.done][:4])

    def _turn(self, wave: list[Thread]) -> None:
        able = [thread for thread in wave if self._can_step(thread, wave)]
        answers = {id(thread): self._answer(thread, wave) for thread in able}
        for thread in able:
            if thread.pending is not None and thread.pending[0] == "barrier":
                for other in self.threads:
                    if other.group == thread.group and not other.done:
                        other.pending = ("go",)
        for thread in able:
            try:
                thread.pending = thread.steps.send(answers[id(thread)])
            except StopIteration:
                thread.done, thread.pending = True, None

    def _can_step(self, thread: Thread, wave: list[Thread]) -> bool:
        if thread.done:
            return False
        kind = thread.pending[0] if thread.pending else "start"
        if kind == "barrier":
            return all(t.done or t.pending == ("barrier",) for t in self.threads if t.group == thread.group)
        if kind in ("shuffle", "fence"):
            return all(t.done or (t.pending is not None and t.pending[0] == kind) for t in wave)
        return True

    def _answer(self, thread: Thread, wave: list[Thread]) -> Any:
        if not thread.pending or thread.pending[0] != "shuffle":
            return None
        _, _, lane, width = thread.pending
        assert width == self.wave_size, f"a shuffle over {width} lanes in waves of {self.wave_size}"
        source = wave[lane]
        assert source.pending is not None
        return source.pending[1]

    # Interpretation

    def _region(self, thread: Thread, region: Region, env: dict[SSAValue, Any], arguments: Sequence[Any] = ()) -> Steps:
        block: Block | None = region.blocks[0]
        env.update(zip(block.args, arguments, strict=False))
        while block is not None:
            for op in block.ops:
                if op.next_op is None:
                    break
                values = yield from self._run(thread, op, env)
                env.update(zip(op.results, values, strict=True))
            end = block.last_op
            assert end is not None
            block = None
            operands = [env[value] for value in end.operands]
            if end.name in ("cf.br", "cf.cond_br"):
                block, passed = _target(end, operands)
                env.update(zip(block.args, passed, strict=True))
        return operands

    def _run(self, thread: Thread, op: Operation, env: dict[SSAValue, Any]) -> Steps:
        yield from ()
        operands = [env[value] if value in env else _constant(value.owner) for value in op.operands]
        simple = SIMPLE.get(op.name)
        if simple is not None:
            return [simple(op, *operands)]
        return (yield from getattr(self, "_" + op.name.replace(".", "_"))(thread, op, env, operands))

    def _scf_for(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        start, end, step, *carried = operands
        for index in range(start, end, step):
            carried = yield from self._region(thread, op.regions[0], env, [index, *carried])
        return carried

    def _scf_if(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        region = op.regions[0 if operands[0] else 1]
        return (yield from self._region(thread, region, env)) if region.blocks else []

    def _scf_while(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        while True:
            goes_on, *values = yield from self._region(thread, op.regions[0], env, operands)
            if not goes_on:
                return values
            operands = yield from self._region(thread, op.regions[1], env, values)

    def _memref_load(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("memory",)
        buffer, *indices = operands
        return [buffer[_checked(buffer, indices)]]

    def _memref_store(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("memory",)
        value, buffer, *indices = operands
        buffer[_checked(buffer, indices)] = value
        self.stores.append((id(buffer), tuple(indices)))
        return []

    def _memref_atomic_rmw(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("memory",)
        value, buffer, *indices = operands
        where = _checked(buffer, indices)
        old = buffer[where]
        buffer[where] = {1: old + value, 3: value}[_number(op, "kind")]
        return [old]

    def _llvm_load(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("memory",)
        return [_at(operands[0], op.results[0].type)[0]]

    def _llvm_store(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("memory",)
        value, address = operands
        _at(address, op.operands[0].type)[0] = value
        return []

    def _llvm_fence(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        """Fences here are those of a wave, whose lanes wait for each other."""
        yield ("fence",)
        return []

    def _gpu_barrier(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield ("barrier",)
        return []

    def _gpu_shuffle(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        value = yield ("shuffle", *operands)
        return [value, True]

    def _gpu_lane_id(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield from ()
        return [thread.flat % self.wave_size]

    def _air_translate(self, thread: Thread, op: Operation, env: dict[SSAValue, Any], operands: list[Any]) -> Steps:
        yield from ()
        buffer, own, peer, _ = operands
        name = next(name for name, mine in self.ranks[own].buffers.items() if mine is buffer)
        return [self.ranks[peer].buffers[name]]


def _at(address: int, type: Attribute) -> np.ndarray:
    """The value at an address of this process."""
    dtype = np.dtype(DTYPES[str(type)])
    cells = (ctypes.c_uint8 * dtype.itemsize).from_address(int(address))
    return np.ctypeslib.as_array(cells).view(dtype)


def _cast(op: Operation, value: Any) -> Any:
    return np.array(value).astype(DTYPES[str(op.results[0].type)])[()]


def _unsigned_cast(op: Operation, value: Any) -> Any:
    old = np.array(value)
    return old.view(f"u{old.dtype.itemsize}").astype(DTYPES[str(op.results[0].type)])[()]


def _bitcast(op: Operation, value: Any) -> Any:
    return np.array(value).view(DTYPES[str(op.results[0].type)])[()]


def _buffer(type: Any) -> np.ndarray:
    assert isinstance(type, MemRefType)
    return np.full(type.get_shape(), 77, DTYPES[str(type.element_type)])


def _constant(op: Any) -> Any:
    value = op.properties["value"]
    assert isinstance(value, IntegerAttr | FloatAttr)
    return value.value.data


def _checked(buffer: np.ndarray, indices: Sequence[int]) -> tuple[int, ...]:
    assert all(0 <= i < n for i, n in zip(indices, buffer.shape, strict=True)), (indices, buffer.shape)
    return tuple(indices)


def _target(end: Operation, operands: list[Any]) -> tuple[Block, list[Any]]:
    if end.name == "cf.br":
        return end.successors[0], operands
    condition, *rest = operands
    first = end.successors[0]
    return (first, rest[: len(first.args)]) if condition else (end.successors[1], rest[len(first.args) :])


def _compare(op: Operation, a: int, b: int) -> bool:
    names = [operator.eq, operator.ne, *(operator.lt, operator.le, operator.gt, operator.ge) * 2]
    return names[_number(op, "predicate")](a, b)


def _number(op: Operation, name: str) -> int:
    found = op.properties[name]
    assert isinstance(found, IntegerAttr)
    return found.value.data


def _apply(op: Operation, *operands: int) -> int:
    found = op.properties["map"]
    assert isinstance(found, AffineMapAttr)
    map = found.data
    return map.eval(list(operands[: map.num_dims]), list(operands[map.num_dims :]))[0]


def _binary(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    return lambda op, a, b: function(a, b)


SIMPLE: dict[str, Callable[..., Any]] = {
    "affine.apply": _apply,
    "arith.addf": _binary(operator.add),
    "arith.addi": _binary(operator.add),
    "arith.andi": _binary(operator.and_),
    "arith.cmpi": _compare,
    "arith.constant": lambda op: _constant(op),
    "arith.divui": _binary(operator.floordiv),
    "arith.divsi": _binary(operator.floordiv),
    "arith.bitcast": _bitcast,
    "arith.extsi": _cast,
    "arith.extui": _unsigned_cast,
    "arith.index_cast": _cast,
    "arith.maxui": _binary(max),
    "arith.mulf": _binary(operator.mul),
    "arith.muli": _binary(operator.mul),
    "arith.ori": _binary(operator.or_),
    "arith.shli": _binary(operator.lshift),
    "arith.shrui": _binary(operator.rshift),
    "arith.trunci": _cast,
    "arith.xori": _binary(operator.xor),
    "arith.minui": _binary(min),
    "arith.remui": _binary(operator.mod),
    "arith.remsi": _binary(operator.mod),
    "arith.select": lambda op, condition, a, b: a if condition else b,
    "arith.subi": _binary(operator.sub),
    "llvm.inttoptr": lambda op, address: address,
    "memref.dim": lambda op, buffer, dimension: buffer.shape[dimension],
    "memref.extract_aligned_pointer_as_index": lambda op, buffer: buffer.ctypes.data,
    "memref.subview": lambda op, buffer: buffer,
}
