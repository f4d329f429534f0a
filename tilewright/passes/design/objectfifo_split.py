"""Splits object FIFOs into pools of buffers, the endpoints that work through them, and the flows between those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from xdsl.dialects.builtin import (
    ArrayAttr,
    DenseArrayBase,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from tilewright.device import ObjectFifoPort, WireBundle
from tilewright.dialects._ods import enum_to_attr
from tilewright.dialects.aie.attributes import BDDimLayoutArrayArrayAttr
from tilewright.dialects.aie.buffers import ExternalBufferOp
from tilewright.dialects.aie.core import CoreOp
from tilewright.dialects.aie.data_layout import element_count
from tilewright.dialects.aie.lookup import symbol_name
from tilewright.dialects.aie.objectfifo import ObjectFifoOp
from tilewright.dialects.aie.objectfifo_pools import (
    BDPadLayoutArrayArrayAttr,
    ObjectFifoCoreEndpointOp,
    ObjectFifoDanglingEndpointOp,
    ObjectFifoDmaEndpointOp,
    ObjectFifoFlowOp,
    ObjectFifoPoolOp,
    ObjectFifoRole,
    ObjectFifoSegmentAttr,
)
from tilewright.dialects.aie.objectfifo_uses import (
    ObjectFifoAcquireOp,
    ObjectFifoReleaseOp,
    ObjectFifoSubviewAccessOp,
)
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.ir.diagnostics import fail_op
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.objectfifo_stateful_transform import DECLARATIONS
from tilewright.passes.design.objectfifo_stateful_transform.core_accesses import STREAM_VERBS
from tilewright.passes.design.objectfifo_stateful_transform.device_fifos import (
    DeviceFifos,
    SharedMemory,
    delegate_of,
    placed,
    serves,
    shared_memory,
)
from tilewright.passes.design.objectfifo_stateful_transform.ends import FifoEnd, FifoEnds, FifoLink, resolve_links
from tilewright.rewrite.emitter import Emitter
from tilewright.rewrite.pass_bases import DevicePass, located, ops_of
from tilewright.rewrite.symbols import replace_references

OpT = TypeVar("OpT", bound=Operation)


class ObjectFifoSplitPass(DevicePass):
    """One of upstream's branch objfifo-disentangle. Buffers, locks and channels are for --aie-objectfifo-allocate."""

    name = "aie-objectfifo-split"

    def apply_to(self, device: DeviceOp) -> None:
        design = DeviceFifos(device)
        if not design.fifos or not design.is_sound():
            return
        ends = FifoEnds(design)
        resolve_links(ends)
        split = Split(ends)
        split.check()
        split.pool_links()
        for fifo in design.fifos.values():
            split.run(fifo)
        split.rename_shim_ends()
        for declaration in ops_of(device.body.ops, *DECLARATIONS):
            Rewriter.erase_op(declaration)


class PoolPart(NamedTuple):
    """What an end works through: some segments of a pool."""

    pool: ObjectFifoPoolOp
    segments: Sequence[int]

    @property
    def listed(self) -> dict[str, Attribute]:
        """The segments, where there are several to choose from."""
        is_divided = len(self.pool.all_segments) > 1
        return {"segments": DenseArrayBase.from_list(i32, self.segments)} if is_divided else {}


class Split:
    """Makes pools and endpoints of the ends of FIFOs, each before the FIFO that it is of."""

    def __init__(self, ends: FifoEnds):
        self.ends, self.design = ends, ends.design
        self.cores_at = self.design.cores
        self.link_pools: dict[FifoLink, ObjectFifoPoolOp] = {}
        self.shim_ends: dict[str, str] = {}
        """The endpoint that the runtime sequence means by a FIFO."""
        self.connections = {connection.producer.fifo: connection for connection in ends.connections}
        self.links = list(dict.fromkeys(end.link for of_fifo in ends.by_fifo.values() for end in of_fifo if end.link))

    def check(self) -> None:
        for core, accesses in self.design.accesses.items():
            for op in ops_of(accesses, ObjectFifoAcquireOp, ObjectFifoReleaseOp):
                end = self._end(op, core)
                if end.stream_port is not None:
                    fail_op(op, f"cannot {STREAM_VERBS[type(op)]} objectfifo stream port")
        for link in self.links:
            core = self.cores_at.get(link.tile)
            for end in (*link.inputs, *link.outputs):
                if core is not None and self._accesses(end.fifo, end.port, core):
                    name = end.fifo.sym_name.data
                    text = f"core on the shared tile cannot access '{name}': a link moves objects by DMA"
                    fail_op(link.op, text)
        for name, fifo in self.design.fifos.items():
            link = self.ends.by_fifo[fifo][0].link if name in self.design.link_of else None
            # what meets others in a link without owning its buffers has none to put anywhere
            if name in self.design.link_of and (link is None or link.owner.fifo is not fifo):
                continue
            delegate = delegate_of(self.design, fifo)
            if delegate is not None and not serves(self.design, delegate, fifo):
                fail_op(delegate, "objectfifo has no shared memory access to delegate tile's memory module")

    def run(self, fifo: ObjectFifoOp) -> None:
        first, *others = self.ends.by_fifo[fifo]
        if fifo not in self.connections:
            self._share(first)
            return
        name = f"{fifo.sym_name.data}_prod_dma"
        self._connect(first, name, f"{fifo.sym_name.data}_prod")
        targets = [f"{end.name}_dma" for end in others]
        for end, target in zip(others, targets, strict=True):
            self._connect(end, target, end.name)
        flow: dict[str, Attribute] = {
            "source": SymbolRefAttr(name),
            "destinations": ArrayAttr(map(SymbolRefAttr, targets)),
        }
        flow |= {name: fifo.properties[name] for name in ("packet", "packet_id") if name in fifo.properties}
        self._insert(ObjectFifoFlowOp.create(properties=flow), fifo)

    def rename_shim_ends(self) -> None:
        """The runtime sequence drives a FIFO through its end at a shim."""

        def rename(reference: SymbolRefAttr) -> SymbolRefAttr:
            end = self.shim_ends.get(reference.root_reference.data)
            return reference if end is None else SymbolRefAttr(StringAttr(end), reference.nested_references)

        for op in all_operations(self.design.device.body) if self.shim_ends else ():
            if not isinstance(op, DECLARATIONS):
                replace_references(op, rename)

    def _share(self, end: FifoEnd) -> None:
        """Both ends use one pool, in memory that both reach."""
        fifo = end.fifo
        part = self._linked(end)
        if part is None:
            consumer, delegate = placed(fifo.consumers[0]), delegate_of(self.design, fifo)
            theirs = shared_memory(self.design, end.tile, consumer) is SharedMemory.CONSUMER
            home = delegate.tile if delegate is not None else (consumer if theirs else end.tile).result
            part = PoolPart(self._pool(end, home, end.depth), [0])
        for port, tile in ((ObjectFifoPort.Produce, fifo.producer), (ObjectFifoPort.Consume, fifo.consumers[0])):
            suffix = "prod" if port is ObjectFifoPort.Produce else "cons"
            self._add_core_endpoint(end, port, tile, f"{fifo.sym_name.data}_{suffix}", part)

    def _connect(self, end: FifoEnd, name: str, core_name: str) -> None:
        """An end with a DMA, or something else that drives its stream."""
        part = self._part(end)
        if part is not None:
            self._add_core_endpoint(end, end.port, end.tile.result, core_name, part)
            self._insert(self._dma_endpoint(end, name, part), end.fifo)
        else:
            self._insert(self._dangling_endpoint(end, name), end.fifo)
        if end.is_shim:
            self.shim_ends[end.fifo.sym_name.data] = name

    def _part(self, end: FifoEnd) -> PoolPart | None:
        linked = self._linked(end)
        if linked is not None:
            return linked
        if end.is_shim:
            hosts = [] if end.fifo.plio.value.data else self._external(end)
            return PoolPart(self._pool_of_host(end, hosts), [0]) if hosts else None
        if end.stream_port is not None:
            return None
        return PoolPart(self._pool(end, end.tile.result, _declared_depth(end)), [0])

    def pool_links(self) -> None:
        """Those who meet in a link share one pool, with a segment for each branch."""
        for link in self.links:
            owner = link.owner
            lengths = zip(link.slices, link.branches, strict=True)
            extents = [(part.offset, part.length if part.length > 0 else end.element_count) for part, end in lengths]
            depth = owner.fifo.depths[0] if owner.is_producer else _declared_depth(owner)
            self.link_pools[link] = self._pool(owner, link.tile, depth, extents, link.repeat_count)

    def _linked(self, end: FifoEnd) -> PoolPart | None:
        """The part of a link's pool that an end has, if it meets others in one."""
        link = end.link
        if link is None:
            return None
        pool = self.link_pools[link]
        if end in link.branches:
            return PoolPart(pool, [link.branches.index(end)])
        return PoolPart(pool, range(len(pool.all_segments)))

    def _pool(
        self,
        end: FifoEnd,
        tile: SSAValue,
        depth: int,
        extents: Sequence[tuple[int, int]] | None = None,
        repeat_count: int | None = None,
    ) -> ObjectFifoPoolOp:
        segments = [ObjectFifoSegmentAttr(*extent) for extent in extents or [(0, end.element_count)]]
        properties = _pool_properties(end, end.element_type, depth, segments)
        repeats = repeat_count or end.repeat_count
        if repeats is not None:
            properties["repeatCount"] = IntegerAttr(repeats, i32)
        # contents from the start belong to what sends them
        if end.is_producer and end.fifo.init_values is not None:
            properties["initValues"] = end.fifo.init_values
        return self._insert(ObjectFifoPoolOp.create(operands=[tile], properties=properties), end.fifo)

    def _external(self, end: FifoEnd) -> list[ExternalBufferOp]:
        buffers = self.design.external_buffers.get((end.fifo.sym_name.data, end.tile.result), ())
        return [buffer.owner for buffer in buffers if isinstance(buffer.owner, ExternalBufferOp)]

    def _pool_of_host(self, end: FifoEnd, buffers: Sequence[ExternalBufferOp]) -> ObjectFifoPoolOp:
        """A transfer is as long as the host's buffer, whatever the objects are."""
        type = buffers[-1].buffer.type
        assert isinstance(type, MemRefType)
        whole = ObjectFifoSegmentAttr(0, element_count(type) or 0)
        properties = _pool_properties(end, type, len(buffers), [whole])
        properties["buffers"] = ArrayAttr(SymbolRefAttr(symbol_name(buffer) or "") for buffer in buffers)
        return self._insert(ObjectFifoPoolOp.create(operands=[end.tile.result], properties=properties), end.fifo)

    def _dma_endpoint(self, end: FifoEnd, name: str, part: PoolPart) -> ObjectFifoDmaEndpointOp:
        fifo, drains = end.fifo, end.is_producer
        properties = part.listed | {
            "sym_name": StringAttr(name),
            "role": enum_to_attr(ObjectFifoRole.drains if drains else ObjectFifoRole.fills),
            "pool": SymbolRefAttr(part.pool.sym_name),
            "fifoName": fifo.sym_name,
        }
        if end.pinned_channel is not None:
            properties["channelIndex"] = IntegerAttr(end.pinned_channel, i32)
        if len(end.dimensions):
            properties["dimensions"] = BDDimLayoutArrayArrayAttr(ArrayAttr([end.dimensions] * len(part.segments)))
        if end.padding is not None and len(end.padding):
            properties["padDimensions"] = BDPadLayoutArrayArrayAttr(ArrayAttr([end.padding] * len(part.segments)))
        if fifo.pad_value.value.data:
            properties["padValue"] = fifo.pad_value
        if end.iter_count is not None:
            # what sends repeats each object by descriptors, what receives has to go round as often
            repeats = 1 if drains or fifo.repeat_count is None else fifo.repeat_count.value.data
            properties["iterCount"] = IntegerAttr(end.iter_count * repeats, i32)
        return ObjectFifoDmaEndpointOp.create(operands=[end.tile.result], properties=properties)

    def _dangling_endpoint(self, end: FifoEnd, name: str) -> ObjectFifoDanglingEndpointOp:
        fifo, port = end.fifo, end.stream_port
        outside = WireBundle.PLIO if fifo.plio.value.data else WireBundle.DMA
        properties: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "bundle": enum_to_attr(outside if port is None else WireBundle.Core),
            "fifoName": fifo.sym_name,
        }
        channel = end.pinned_channel if port is None else port
        if channel is not None:
            properties["channelIndex"] = IntegerAttr(channel, i32)
        return ObjectFifoDanglingEndpointOp.create(operands=[end.tile.result], properties=properties)

    def _add_core_endpoint(self, end: FifoEnd, port: ObjectFifoPort, tile: SSAValue, name: str, part: PoolPart) -> None:
        core = self.cores_at.get(tile)
        accesses = [] if core is None else self._accesses(end.fifo, port, core)
        if not accesses:
            return
        properties = part.listed | {
            "sym_name": StringAttr(name),
            "role": enum_to_attr(ObjectFifoRole.fills if port is ObjectFifoPort.Produce else ObjectFifoRole.drains),
            "pool": SymbolRefAttr(part.pool.sym_name),
        }
        self._insert(ObjectFifoCoreEndpointOp.create(operands=[tile], properties=properties), end.fifo)
        for op in accesses:
            access_through(op, name)

    def _accesses(
        self, fifo: ObjectFifoOp, port: ObjectFifoPort, core: CoreOp
    ) -> list[ObjectFifoAcquireOp | ObjectFifoReleaseOp]:
        name = fifo.sym_name.data
        uses = ops_of(self.design.accesses[core], ObjectFifoAcquireOp, ObjectFifoReleaseOp)
        return [op for op in uses if op.fifo_name.root_reference.data == name and op.end is port]

    def _end(self, op: ObjectFifoAcquireOp | ObjectFifoReleaseOp, core: CoreOp) -> FifoEnd:
        fifo = self.design.fifos[op.fifo_name.root_reference.data]
        return self.ends.used_by(fifo, op.end, core.tile)

    def _insert(self, op: OpT, fifo: ObjectFifoOp) -> OpT:
        Rewriter.insert_op(located(op, fifo.location), InsertPoint.before(fifo))
        return op


def _declared_depth(end: FifoEnd) -> int:
    """How many objects an end has; where each end has a depth of its own, that is it."""
    depths = end.fifo.depths
    if not isinstance(end.fifo.depth, ArrayAttr):
        return end.depth
    consumers = list(end.fifo.consumers)
    return depths[0] if end.is_producer else depths[consumers.index(end.tile.result) + 1]


def _pool_properties(
    end: FifoEnd, type: Attribute, depth: int, segments: Sequence[ObjectFifoSegmentAttr]
) -> dict[str, Attribute]:
    return {
        "sym_name": StringAttr(f"{end.name}_pool"),
        "depth": IntegerAttr(depth, i32),
        "elemType": type,
        "segments": ArrayAttr(segments),
        "disableSynchronization": end.fifo.disable_synchronization,
        "fifoName": end.fifo.sym_name,
    }


def access_through(op: ObjectFifoAcquireOp | ObjectFifoReleaseOp, endpoint: str) -> None:
    """Let an access of a core mean an endpoint, which hands out objects one by one."""
    if isinstance(op, ObjectFifoAcquireOp) and op.opens_window:
        objects = ObjectFifoAcquireOp.create(
            result_types=[op.element_type] * op.count, properties=dict(op.properties), attributes=dict(op.attributes)
        )
        Emitter.before(op).insert(objects)
        for use in list(op.subview.uses):
            access = use.operation
            if not isinstance(access, ObjectFifoSubviewAccessOp):
                fail_op(access, "cannot use the elements of an objectFifo that another operation acquires")
            access.output.replace_all_uses_with(objects.results[access.index.value.data])
            Rewriter.erase_op(access)
        Rewriter.erase_op(op)
        op = objects
    op.fifo_name, op.port = SymbolRefAttr(endpoint), None
