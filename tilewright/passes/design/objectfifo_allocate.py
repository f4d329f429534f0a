"""Gives pools of object FIFOs their buffers and locks, and endpoints their channels and routes.

What a design says itself, stays: buffers, locks of segments, channels and packet ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from xdsl.dialects.builtin import (
    ArrayAttr,
    BoolAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    DenseResourceAttr,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StringAttr,
    SymbolRefAttr,
    i32,
)
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter
from xdsl.utils.hints import isa

from tilewright.device import DmaDirection, TileId, WireBundle
from tilewright.dialects._ods import enum_value
from tilewright.dialects.aie.attributes import PacketInfoAttr
from tilewright.dialects.aie.buffers import BufferOp
from tilewright.dialects.aie.core import EndOp
from tilewright.dialects.aie.data_layout import element_bytes, element_count
from tilewright.dialects.aie.dma import Channel
from tilewright.dialects.aie.flows import FlowOp, PacketDestOp, PacketFlowOp, PacketSourceOp, Port, ShimDmaAllocationOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.locks import LockOp
from tilewright.dialects.aie.lookup import device_symbol
from tilewright.dialects.aie.objectfifo_pools import (
    ObjectFifoDanglingEndpointOp,
    ObjectFifoDmaEndpointOp,
    ObjectFifoFlowOp,
    ObjectFifoPoolOp,
    ObjectFifoRole,
    ObjectFifoSegmentAttr,
    PoolEndpoint,
)
from tilewright.dialects.aie.objectfifo_storage import ObjectFifoRearmBindingOp
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.control import DmaChannelResetForOp
from tilewright.ir.diagnostics import fail, fail_op, op_text
from tilewright.ir.symbols import FreeNames
from tilewright.ir.traversal import all_operations
from tilewright.passes.design.objectfifo_stateful_transform import (
    USES,
    TileChannel,
    shim_allocation_name,
    used_channels,
    used_streams,
)
from tilewright.passes.design.objectfifo_stateful_transform.storage import of_buffer
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.pass_bases import DevicePass, append_to, located, ops_of
from tilewright.rewrite.symbols import replace_references

FlowEndpoint: TypeAlias = ObjectFifoDmaEndpointOp | ObjectFifoDanglingEndpointOp


@dataclass(frozen=True)
class ObjectFifoAllocatePass(DevicePass):
    """One of upstream's branch objfifo-disentangle."""

    name = "aie-objectfifo-allocate"

    packet_switched: bool = field(
        default=False,
        metadata={"option": "packet-sw-objFifos", "help": "move the data of FIFOs in packets instead of circuits"},
    )

    def apply_to(self, device: DeviceOp) -> None:
        flows = Flows(device)
        if not flows.endpoints and not ops_of(device.body.ops, ObjectFifoPoolOp):
            return
        Storages(device).build()
        flows.assign_channels()
        flows.bind_rearms()
        flows.lay(self.packet_switched)


def tile_under(op: FlowEndpoint | ObjectFifoPoolOp) -> TileLike:
    if op.tile_like is None:
        fail_op(op, "tile operand is not an aie.tile or aie.logical_tile")
    return op.tile_like


class Storages:
    """Makes the buffers and locks of pools, below the tiles that keep them."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.endpoints: dict[ObjectFifoPoolOp | None, list[PoolEndpoint]] = defaultdict(list)
        for endpoint in ops_of(device.body.ops, PoolEndpoint):
            self.endpoints[endpoint.pool_op].append(endpoint)
        self.used_bytes: dict[SSAValue, int] = defaultdict(int)
        for buffer in ops_of(device.body.ops, BufferOp):
            self.used_bytes[buffer.tile] += buffer.size_bytes
        self._last: dict[SSAValue, Operation] = {}
        """What was put below each tile last."""

    def build(self) -> None:
        pools = ops_of(self.device.body.ops, ObjectFifoPoolOp)
        # Pools of mem tiles take turns among themselves, the biggest objects first: those are the hardest to place.
        in_mem = [pool for pool in pools if tile_under(pool).is_mem]
        largest_first = iter(sorted(in_mem, key=lambda pool: -_object_bytes(pool)))
        for pool in [next(largest_first) if pool in in_mem else pool for pool in pools]:
            self._add_buffers(pool)
            self._add_locks(pool)

    def _add_buffers(self, pool: ObjectFifoPoolOp) -> None:
        if pool.buffers is not None or tile_under(pool).is_shim:  # the host has those of a shim tile
            return
        values, names, type = list(pool.init_values or ()), list[SymbolRefAttr](), pool.element_type
        assert isa(type, MemRefType)
        for number in range(pool.depth.value.data):
            tile = self._tile_with_room(tile_under(pool), _object_bytes(pool))
            self.used_bytes[tile] += _object_bytes(pool)
            buffer = BufferOp(tile, type, f"{_base_name(pool)}_buff_{number}")
            value = values[number] if number < len(values) else None
            if isa(value, DenseIntOrFPElementsAttr) or isinstance(value, DenseResourceAttr):
                buffer.initial_value = of_buffer(value, type)
            self._insert(buffer, tile, pool)
            names.append(SymbolRefAttr(f"{_base_name(pool)}_buff_{number}"))
        pool.buffers = ArrayAttr(names)

    def _tile_with_room(self, home: TileLike, size_bytes: int) -> SSAValue:
        """A mem tile that is full puts a buffer into the neighbour that has more room, if that has enough."""
        tile, place = home.results[0], home.place
        if not home.is_mem or not isinstance(home, TileOp) or place is None or self._has_room(tile, size_bytes):
            return tile
        places = [TileId(place.column + side, place.row) for side in (-1, 1)]
        near = [tile_at(self.device, *at).result for at in places if self.model.is_valid_tile(*at)]
        near.sort(key=lambda neighbour: self.used_bytes[neighbour])
        return next((neighbour for neighbour in near if self._has_room(neighbour, size_bytes)), tile)

    def _has_room(self, tile: SSAValue, size_bytes: int) -> bool:
        return self.used_bytes[tile] + size_bytes <= self.model.mem_tile_bytes

    def _add_locks(self, pool: ObjectFifoPoolOp) -> None:
        depth, full = pool.depth.value.data, len(pool.init_values or ())
        if pool.disable_synchronization.value.data or self._is_replayed(pool, depth == full > 0):
            return
        base = _base_name(pool)
        if not self.model.architecture.semaphore_locks:
            if pool.locks is None:
                names = [f"{base}_lock_{number}" for number in range(depth)]
                for name in names:
                    self._add_lock(pool, name, int(full > 0))
                pool.locks = ArrayAttr(map(SymbolRefAttr, names))
            return
        if pool.segments is None:
            return
        repeats = 1 if pool.repeat_count is None else pool.repeat_count.value.data
        segments = list[ObjectFifoSegmentAttr]()
        for number, segment in enumerate(pool.all_segments):
            if segment.locks(ObjectFifoRole.fills) is None:
                names = [f"{base}_{who}_lock_{number}" for who in ("prod", "cons")]
                for name, count in zip(names, (depth - full, full), strict=True):
                    self._add_lock(pool, name, count * repeats)
                segment = ObjectFifoSegmentAttr(segment.offset.data, segment.size.data, *map(SymbolRefAttr, names))
            segments.append(segment)
        pool.segments = ArrayAttr(segments)

    def _is_replayed(self, pool: ObjectFifoPoolOp, begins_full: bool) -> bool:
        """Whether what the objects begin with is sent several times: they are never refilled, so never counted."""
        users = self.endpoints[pool]
        rounds = (
            user.iter_count.value.data
            for user in users
            if isinstance(user, ObjectFifoDmaEndpointOp) and user.iter_count
        )
        return begins_full and all(user.does is ObjectFifoRole.drains for user in users) and max(rounds, default=1) > 1

    def _add_lock(self, pool: ObjectFifoPoolOp, name: str, count: int) -> None:
        limit = self.model.max_lock_value
        if count > limit:
            fail_op(
                pool,
                f"needs a lock that counts to {count}, the limit is {limit}",
                (pool, "lower its depth or repeatCount"),
            )
        self._insert(LockOp(pool.tile, init=count, sym_name=name), pool.tile, pool)

    def _insert(self, op: Operation, tile: SSAValue, pool: ObjectFifoPoolOp) -> None:
        after = self._last.get(tile, tile.owner)
        assert isinstance(after, Operation)
        Rewriter.insert_op(located(op, pool.location), InsertPoint.after(after))
        self._last[tile] = op


def _base_name(pool: ObjectFifoPoolOp) -> str:
    return pool.sym_name.data.removesuffix("_pool")


def _object_bytes(pool: ObjectFifoPoolOp) -> int:
    return element_bytes(pool.element_type) * (element_count(pool.element_type) or 0)


class Flows:
    """The streams between endpoints of a device."""

    def __init__(self, device: DeviceOp):
        self.device, self.model = device, device.model
        self.flows = ops_of(device.body.ops, ObjectFifoFlowOp)
        self.endpoints = ops_of(device.body.ops, ObjectFifoDmaEndpointOp, ObjectFifoDanglingEndpointOp)
        sources = {flow.source.root_reference.data for flow in self.flows}
        self._sends = {
            endpoint: endpoint.sym_name.data in sources
            if isinstance(endpoint, ObjectFifoDanglingEndpointOp)
            else endpoint.does is ObjectFifoRole.drains
            for endpoint in self.endpoints
        }

    def direction(self, endpoint: FlowEndpoint) -> DmaDirection:
        return DmaDirection.MM2S if self._sends[endpoint] else DmaDirection.S2MM

    def assign_channels(self) -> None:
        taken: dict[TileChannel, Operation] = dict(used_channels(self.device))
        streams: dict[TileChannel, Operation] = dict(used_streams(self.device))
        open = list[FlowEndpoint]()
        for endpoint in self.endpoints:
            if endpoint.channel_index is None and bundle(endpoint) is not WireBundle.Core:
                open.append(endpoint)
            else:
                self._keep(endpoint, streams if bundle(endpoint) is WireBundle.Core else taken)
        # Buffers in a neighbour are reached by some channels only, so those endpoints choose first.
        for endpoint in sorted(open, key=lambda endpoint: not _is_spread(endpoint)):
            self._take_free(endpoint, taken)

    def _keep(self, endpoint: FlowEndpoint, taken: dict[TileChannel, Operation]) -> None:
        """Take the channel, or the stream port of a core, that the design names."""
        tile, direction = tile_under(endpoint), self.direction(endpoint)
        if endpoint.channel_index is None:
            fail_op(endpoint, "a stream port names its own channel", (endpoint, "give it a channelIndex"))
        number = endpoint.channel_index.value.data
        user = taken.setdefault((endpoint.tile, Channel(direction, number)), endpoint)
        if bundle(endpoint) is WireBundle.Core:
            if user is not endpoint:
                text = f"number of {USES[direction]} Core channels exceeded!"
                fail(endpoint, op_text(tile, text), (user, "that port is used here"))
        # After its flows are laid, the name of a shim channel is what has taken it.
        elif number not in range(tile.resources.channels(direction)) or not self._is_own(endpoint, user):
            text = f"pinned {direction} DMA channel {number} is out of range or already in use on this tile"
            fail_op(endpoint, text)

    def _is_own(self, endpoint: FlowEndpoint, user: Operation) -> bool:
        if user is endpoint:
            return True
        name = None if endpoint.fifo_name is None else shim_allocation_name(endpoint.fifo_name.data)
        return isinstance(user, ShimDmaAllocationOp) and user.sym_name.data == name

    def _take_free(self, endpoint: FlowEndpoint, taken: dict[TileChannel, Operation]) -> None:
        tile, direction = tile_under(endpoint), self.direction(endpoint)
        count = tile.resources.channels(direction)
        limit = min(count, self.model.adjacent_mem_tile_channels) if _is_spread(endpoint) else count
        for number in range(limit):
            if (endpoint.tile, Channel(direction, number)) not in taken:
                taken[endpoint.tile, Channel(direction, number)] = endpoint
                endpoint.channel_index = IntegerAttr(number, i32)
                return
        note = (endpoint, f"@{endpoint.sym_name.data} needs one of its {limit} {direction} channels")
        fail_op(tile, f"number of {USES[direction]} DMA channel exceeded!", note)

    def lay(self, packet_switched: bool) -> None:
        """Make flows of streams, and give the channels of shim tiles the names that runtime sequences find them by."""
        ids = self._free_ids()
        for flow in self.flows:
            source, *targets = (self._endpoint(flow, name) for name in (flow.source, *flow.destinations))
            if flow.packet is not None or packet_switched:
                number = next(ids, None) if flow.packet_id is None else flow.packet_id.value.data
                self._lay_packets(flow, source, targets, number)
            else:
                for target in targets:
                    circuit = FlowOp(source.tile, port(source), target.tile, port(target))
                    Rewriter.insert_op(located(circuit, flow.location), InsertPoint.before(flow))
        for flow in self.flows:
            Rewriter.erase_op(flow)
        self._name_shim_channels()

    def _endpoint(self, flow: ObjectFifoFlowOp, name: object) -> FlowEndpoint:
        found = device_symbol(flow, name) if isinstance(name, SymbolRefAttr) else None
        assert isinstance(found, FlowEndpoint), "the verifier knows them"
        return found

    def _free_ids(self) -> Iterator[int]:
        taken = {op.packet_id.value.data for op in ops_of(all_operations(self.device.body), PacketFlowOp)}
        taken |= {flow.packet_id.value.data for flow in self.flows if flow.packet_id is not None}
        return (number for number in range(self.model.max_packet_id + 1) if number not in taken)

    def _lay_packets(
        self, flow: ObjectFifoFlowOp, source: FlowEndpoint, targets: Sequence[FlowEndpoint], number: int | None
    ) -> None:
        limit = self.model.max_packet_id
        if number is None:
            fail_op(flow, "max number of packet IDs reached")
        if number > limit:
            fail_op(flow, f"packet_id {number} is out of range (max {limit})")
        source.packet = PacketInfoAttr.new(
            [IntAttr(0), IntAttr(number)]
        )  # every descriptor that sends writes the header
        ends: list[Operation] = [PacketSourceOp(source.tile, port(source))]
        ends += [PacketDestOp(target.tile, port(target)) for target in targets]
        packets = PacketFlowOp(number, [*ends, EndOp.create()])
        Rewriter.insert_op(located(packets, flow.location), InsertPoint.before(flow))

    def _name_shim_channels(self) -> None:
        renamed = dict[str, str]()
        for endpoint in self.endpoints:
            if not tile_under(endpoint).is_shim or endpoint.fifo_name is None or endpoint.channel_index is None:
                continue
            name = shim_allocation_name(endpoint.fifo_name.data)
            renamed[endpoint.sym_name.data] = name
            if not isinstance(self.device.lookup(name), ShimDmaAllocationOp):
                number = endpoint.channel_index.value.data
                allocation = ShimDmaAllocationOp(name, endpoint.tile, self.direction(endpoint), number)
                allocation.plio = BoolAttr.from_bool(bundle(endpoint) is WireBundle.PLIO)
                allocation.packet = endpoint.packet
                append_to(self.device.body, allocation, endpoint.location)

        def rename(reference: SymbolRefAttr) -> SymbolRefAttr:
            new = renamed.get(reference.root_reference.data)
            return reference if new is None else SymbolRefAttr(new, reference.nested_references)

        for op in all_operations(self.device.body) if renamed else ():
            replace_references(op, rename)

    def bind_rearms(self) -> None:
        """Record what is to be started again where a sequence asks for it: the FIFO's name means nothing afterwards."""
        users: dict[str, list[DmaChannelResetForOp]] = defaultdict(list)
        for op in ops_of(all_operations(self.device.body), DmaChannelResetForOp):
            name = op.objfifo.root_reference.data
            found = self.device.lookup(name)
            if isinstance(found, FlowEndpoint) and found.fifo_name is not None:
                name = found.fifo_name.data
            # A binding that there is already is none of an endpoint.
            if not isinstance(found, ObjectFifoRearmBindingOp):
                users[name].append(op)
        for name, wanting in users.items():
            self._bind_rearm(name, wanting)

    def _bind_rearm(self, fifo: str, users: Sequence[DmaChannelResetForOp]) -> None:
        named = [op for op in self.endpoints if op.fifo_name is not None and op.fifo_name.data == fifo]
        # What the shim tile runs is for the host to start again.
        moving = [(op, op.channel_index) for op in named if op.channel_index is not None and not tile_under(op).is_shim]
        pools = [
            pool
            for pool in ops_of(self.device.body.ops, ObjectFifoPoolOp)
            if pool.fifo_name is not None and pool.fifo_name.data == fifo and not tile_under(pool).is_shim
        ]
        locks = [lock for pool in pools for lock in _locks(pool)]
        if not moving and not locks:
            fail_op(users[0], f"objectFIFO '{fifo}' has no resident core/mem DMA channels or locks to re-arm")
        name = FreeNames.beside(self.device.body).like(f"{fifo}_rearm")
        inits = [0 if lock.init is None else lock.init.value.data for lock in locks]
        binding = ObjectFifoRearmBindingOp(
            operands=[[op.tile for op, _ in moving], [lock.result for lock in locks]],
            properties={
                "sym_name": StringAttr(name),
                "channel_dirs": DenseArrayBase.from_list(i32, [int(self.direction(op)) for op, _ in moving]),
                "channel_indices": DenseArrayBase.from_list(i32, [index.value.data for _, index in moving]),
                "lock_inits": DenseArrayBase.from_list(i32, inits),
            },
        )
        append_to(self.device.body, binding, users[0].location)
        for user in users:
            user.objfifo = SymbolRefAttr(name)


def _locks(pool: ObjectFifoPoolOp) -> Iterator[LockOp]:
    yield from pool.lock_ops
    for segment in pool.all_segments:
        for name in segment.locks(ObjectFifoRole.fills) or ():
            if isinstance(lock := device_symbol(pool, name), LockOp):
                yield lock


def bundle(endpoint: FlowEndpoint) -> WireBundle:
    if isinstance(endpoint, ObjectFifoDmaEndpointOp):
        return WireBundle.DMA
    return enum_value(WireBundle, endpoint.bundle)


def port(endpoint: FlowEndpoint) -> Port:
    assert endpoint.channel_index is not None, "channels come before flows"
    return Port(bundle(endpoint), endpoint.channel_index.value.data)


def _is_spread(endpoint: FlowEndpoint) -> bool:
    """Whether some of the buffers are in a neighbour of the tile."""
    pool = endpoint.pool_op if isinstance(endpoint, ObjectFifoDmaEndpointOp) else None
    return pool is not None and any(isinstance(b, BufferOp) and b.tile is not pool.tile for b in pool.buffer_ops)
