"""Makes the programs of cores from functions that are registered to object FIFOs with a pattern of use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from xdsl.dialects.builtin import IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import Block, Region, SSAValue
from xdsl.rewriter import Rewriter

from tilewright.device import ObjectFifoPort
from tilewright.dialects import scf
from tilewright.dialects._syntax import INDEX
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.lookup import symbol_name
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_types import ObjectFifoSubviewType
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoRegisterProcessOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.ir.diagnostics import fail_op
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, append_to, located, ops_of


class RegisterObjectFifosPass(DevicePass):
    name = "aie-register-objectFifos"

    def apply_to(self, device: DeviceOp) -> None:
        writer = ProcessWriter(device)
        for process in ops_of(device.body.ops, ObjectFifoRegisterProcessOp):
            writer.write(process)
            Rewriter.erase_op(process)


class ProcessWriter:
    """Writes processes into the cores of a device."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self.cores = {core.tile: core for core in ops_of(device.body.ops, CoreOp)}
        self.functions = {symbol_name(op): op for op in ops_of(device.body.ops, FuncOp)}
        self.fifos = {symbol_name(op): op for op in ops_of(device.body.ops, ObjectFifoOp)}
        self.consumers: dict[ObjectFifoOp, Iterator[SSAValue]] = {}

    def write(self, process: ObjectFifoRegisterProcessOp) -> None:
        fifo = self.fifos[process.fifo_name.root_reference.data]
        function = self._function(process)
        # at the start: of several processes of a core the last stands first
        build = Emitter.at_start(self._core(process, fifo).body.blocks[-1], process.location)
        for (acquired, released), calls in groupby(process.steps):  # equal steps in a row become a loop
            count = len(list(calls))
            _step(_loop(build, count) if count > 1 else build, process, fifo, function, acquired, released)

    def _function(self, process: ObjectFifoRegisterProcessOp) -> str:
        name = process.callee.root_reference.data
        function = self.functions.get(name)
        if function is None or function.function_type.inputs.data or function.function_type.outputs.data:
            fail_op(process, f"@{name} must be a function of this device without arguments and results")
        return name

    def _core(self, process: ObjectFifoRegisterProcessOp, fifo: ObjectFifoOp) -> CoreOp:
        """The core at the end of the FIFO that the process uses; those of several consumers come in order."""
        tile: SSAValue | None = fifo.producer
        if process.end is ObjectFifoPort.Consume:
            tile = next(self.consumers.setdefault(fifo, iter(fifo.consumers)), None)
        if tile is None:
            count = f"it has {len(fifo.consumers)}, and as many processes before this one"
            fail_op(process, "No more available consumer tiles for process.", (fifo, count))
        if tile not in self.cores:
            core = self.cores[tile] = CoreOp(tile, Region(Block([EndOp()])))
            append_to(self.device.body, core, process.location)
        return self.cores[tile]


def _loop(build: Emitter, count: int) -> Emitter:
    """A loop that runs some times; returns what builds its body."""
    first, bound, step = (build.index(number) for number in (0, count, 1))
    body = Block([located(scf.YieldOp.create(), build.location)], arg_types=[INDEX])
    build.insert(scf.ForOp.create(operands=[first, bound, step], regions=[Region(body)]))
    return Emitter.at_start(body, build.location)


def _step(
    build: Emitter,
    process: ObjectFifoRegisterProcessOp,
    fifo: ObjectFifoOp,
    function: str,
    acquired: int,
    released: int,
) -> None:
    """Acquire, call, release; nothing is called where nothing is acquired."""
    properties = {"port": process.port, "objFifo_name": process.fifo_name}
    if acquired:
        size = {"size": IntegerAttr(acquired, i32)}
        types = [ObjectFifoSubviewType(fifo.element_type)]
        view = build.value(ObjectFifoAcquireOp.create(properties=properties | size, result_types=types))
        for number in range(acquired):
            index, types = {"index": IntegerAttr(number, i32)}, [fifo.element_type]
            build.insert(ObjectFifoSubviewAccessOp.create(operands=[view], properties=index, result_types=types))
        build.insert(CallOp(SymbolRefAttr(function), [], []))
    if released:
        build.insert(ObjectFifoReleaseOp.create(properties=properties | {"size": IntegerAttr(released, i32)}))
