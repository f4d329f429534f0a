"""Makes the programs of cores from functions that are registered to object FIFOs with a pattern of use."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import IndexType, IntegerAttr, SymbolRefAttr, i32
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import ObjectFifoPort
from tilewright.dialects.aie.core import CoreOp, EndOp
from tilewright.dialects.aie.lookup import symbol_name
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_process import ObjectFifoRegisterProcessOp
from tilewright.dialects.aie.objectfifo_types import ObjectFifoSubviewType
from tilewright.dialects.aie.objectfifo_uses import ObjectFifoAcquireOp, ObjectFifoReleaseOp, ObjectFifoSubviewAccessOp
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.dialects.func import CallOp, FuncOp
from tilewright.ir.create import insert_operation
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.pass_manager import Pass
from tilewright.rewrite.folding.building import create
from tilewright.rewrite.folding.constants import index_attr, make_constant
from tilewright.rewrite.insertion import building


class RegisterObjectFifosPass(Pass):
    name = "aie-register-objectFifos"
    anchor = "aie.device"

    def apply(self, ctx: Context, op: Operation) -> None:
        assert isinstance(op, DeviceOp)
        writer = ProcessWriter(op)
        for process in [child for child in op.body.ops if isinstance(child, ObjectFifoRegisterProcessOp)]:
            writer.write(process)
            Rewriter.erase_op(process)


class ProcessWriter:
    """Writes processes into the cores of a device."""

    def __init__(self, device: DeviceOp):
        self.device = device
        self.cores = {core.tile: core for core in device.body.ops if isinstance(core, CoreOp)}
        self.functions = {symbol_name(op): op for op in device.body.ops if isinstance(op, FuncOp)}
        self.fifos = {symbol_name(op): op for op in device.body.ops if isinstance(op, ObjectFifoOp)}
        self.consumers: dict[ObjectFifoOp, Iterator[SSAValue]] = {}

    def write(self, process: ObjectFifoRegisterProcessOp) -> None:
        fifo = self.fifos[process.fifo_name.root_reference.data]
        function = self._function(process)
        core = self._core(process, fifo)
        build = building(InsertPoint.at_start(core.body.blocks[-1]), process.location)
        for (acquired, released), calls in groupby(process.steps):
            count = len(list(calls))
            inner = _loop(build, count) if count > 1 else build
            _step(inner, process, fifo, function, acquired, released)

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
            end = EndOp.create(location=process.location)
            core = self.cores[tile] = CoreOp(tile, Region(Block([end])))
            core.location = process.location
            terminator = self.device.body.last_op
            assert terminator is not None, "a device ends with a terminator"
            insert_operation(core, before=terminator)
        return self.cores[tile]


def _loop(build: Builder, count: int) -> Builder:
    """A loop that runs some times; returns what builds its body."""
    first, bound, step = (build.insert(make_constant(index_attr(n))).results[0] for n in (0, count, 1))
    body = Block([create("scf.yield")], arg_types=[IndexType()])
    loop = build.insert(create("scf.for", [first, bound, step], regions=[Region(body)]))
    for op in body.ops:
        op.location = loop.location
    return building(InsertPoint.at_start(body), loop.location)


def _step(
    build: Builder,
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
        window = ObjectFifoSubviewType(fifo.element_type)
        view = build.insert(ObjectFifoAcquireOp.create(properties=properties | size, result_types=[window])).subview
        for number in range(acquired):
            index = {"index": IntegerAttr(number, i32)}
            access = ObjectFifoSubviewAccessOp.create(
                operands=[view], properties=index, result_types=[fifo.element_type]
            )
            build.insert(access)
        build.insert(CallOp(SymbolRefAttr(function), [], []))
    if released:
        build.insert(ObjectFifoReleaseOp.create(properties=properties | {"size": IntegerAttr(released, i32)}))
