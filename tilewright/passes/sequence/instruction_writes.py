"""Pushes onto task queues and descriptors written field by field, as register writes on a tile.

Every field may be known only at run time, the tile as well: then the code for each kind of tile is behind a condition.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from xdsl.dialects.builtin import i32
from xdsl.ir import Block, Region, SSAValue

from tilewright.device import MAX_PACKET_ID, DeviceModel, DmaDirection, TileId, TileType
from tilewright.device.layout import WORD_BYTES, WORD_MASK, Field
from tilewright.device.registers import Bank, ChannelControl, MemTileTaskQueue, TaskQueue
from tilewright.dialects.aie.tiles import DeviceOp, TileOp
from tilewright.dialects.aiex.guards import NpuAssertRangeOp
from tilewright.dialects.aiex.instructions import NpuMaskWrite32Op, NpuWrite32Op
from tilewright.dialects.aiex.queue import MAX_QUEUE_REPEAT, NpuPushQueueOp
from tilewright.dialects.aiex.runtime_fields import RuntimeFields
from tilewright.dialects.aiex.write_bd import (
    BUFFER_OFFSET,
    BURST_LENGTH,
    OPTIONAL,
    NpuWriteBdOp,
    address_unit,
    descriptor_field,
    field_range,
    field_violation,
    offset_violation,
)
from tilewright.dialects.arith import AndIOp, SelectOp
from tilewright.dialects.scf import IfOp, YieldOp
from tilewright.ir.diagnostics import DiagnosedError, fail_op
from tilewright.passes.sequence.descriptor_writes import DescriptorWriter
from tilewright.passes.sequence.limit_checks import Guards, LimitChecks
from tilewright.rewrite.device_tiles import tile_at
from tilewright.rewrite.emitter import Emitter, Number, known
from tilewright.rewrite.exact_arithmetic import Numbers, limits_of


@dataclass(frozen=True)
class SomeTile:
    """A tile; if it is known only at run time, one of its kind and how much higher its addresses are than that one's.

    The code for tiles of this kind is made by its emitter.
    """

    emit: Emitter
    model: DeviceModel
    place: TileId
    column: Number
    row: Number
    displacement: SSAValue | None = None

    def address(self, offset: Number) -> SSAValue:
        """The address of a register by its offset in the tile."""
        emit, base = self.emit, self.model.tile_address(*self.place)
        if (number := known(offset)) is not None:
            address = emit.constant(base + number)
        else:
            address = emit.folded_sum(emit.number(offset), emit.constant(base))
        return address if self.displacement is None else emit.add(address, self.displacement)


def on_tile(
    op: RuntimeFields, model: DeviceModel, emit: Emitter, guards: Guards, write: Callable[[SomeTile], None]
) -> None:
    """Have `write` emit the code for the tile at `column` and `row` of an instruction, or for each that it can be."""
    column, row = (emit.widened(op.number(name)) for name in ("column", "row"))
    checks = LimitChecks(op, Numbers(emit), guards)
    if not {"column", "row"}.isdisjoint(op.runtime):
        checks.within(column, 0, model.columns - 1, "column")
        checks.within(row, 0, model.rows - 1, "row")
    if isinstance(column, int) and isinstance(row, int):
        write(SomeTile(emit, model, TileId(column & WORD_MASK, row & WORD_MASK), column, row))
        return
    if model.noc_columns is not None:
        fail_op(op, f"is for a tile that is known only at run time, but the columns of {model} differ")
    column, row = (number if isinstance(number, int) else emit.number(number) for number in (column, row))
    if isinstance(row, int):
        write(_displaced(SomeTile(emit, model, TileId(0, row), column, row)))
        return
    for rows in kinds_of_rows(model):
        if rows[0] > limits_of(row)[1]:
            continue
        is_here = emit.compare("eq" if len(rows) == 1 else "uge", row, emit.constant(rows[0]))
        if len(rows) > 1 and rows[-1] != model.rows - 1:
            is_here = emit.value(AndIOp(is_here, emit.compare("ule", row, emit.constant(rows[-1]))))
        block = Block()
        here = SomeTile(Emitter.at_end(block, op.location), model, TileId(known(column) or 0, rows[0]), column, row)
        _write_or_refuse(here, row, rows, write)
        block.add_op(YieldOp())
        emit.insert(IfOp(is_here, [], Region(block), Region()))


def _write_or_refuse(here: SomeTile, row: SSAValue, rows: range, write: Callable[[SomeTile], None]) -> None:
    """Emit the code for tiles of some rows; if there is none, rows are refused when one of these is meant."""
    try:
        write(_displaced(here))
    except DiagnosedError as error:
        block = here.emit.block
        for made in reversed(list(block.ops)):
            block.erase_op(made)
        low, high = (0, rows[0] - 1) if rows[-1] == here.model.rows - 1 else (rows[-1] + 1, here.model.rows - 1)
        text = error.diagnostics[0].text.partition(" op ")[2] or error.diagnostics[0].text
        here.emit.insert(NpuAssertRangeOp(row, low, high, f"row ({text})"))


def kinds_of_rows(model: DeviceModel) -> list[range]:
    """The rows of each kind of tile."""
    kinds = list[range]()
    for row in range(model.rows):
        is_same = kinds and model.tile_type(0, kinds[-1][0]) is model.tile_type(0, row)
        kinds[-1:] = [range(kinds[-1][0], row + 1)] if is_same else [*kinds[-1:], range(row, row + 1)]
    return kinds


def _displaced(tile: SomeTile) -> SomeTile:
    emit, shifts, displacement = tile.emit, tile.model.architecture, None
    for number, base, shift in (
        (tile.column, tile.place.column, shifts.column_shift),
        (tile.row, tile.place.row, shifts.row_shift),
    ):
        if isinstance(number, SSAValue):
            difference = emit.subtract(number, base) if base else number
            part = emit.multiply(difference, 1 << shift)
            displacement = part if displacement is None else emit.add(displacement, part)
    return replace(tile, displacement=displacement)


class PushWriter:
    """Pushes of one device. Tokens carry the tile's controller id, which is set before."""

    def __init__(self, device: DeviceOp, guards: Guards):
        self.device, self.model, self.guards = device, device.model, guards
        self.tiles: dict[TileId, TileOp] = {}
        self.reached: dict[tuple[TileId, int], Sequence[int]] = {}

    def write(self, op: NpuPushQueueOp, emit: Emitter) -> None:
        on_tile(op, self.model, emit, self.guards, lambda tile: self._push(op, tile))

    def _push(self, op: NpuPushQueueOp, tile: SomeTile) -> None:
        emit, place = tile.emit, tile.place
        direction, channel, token = (emit.widened(op.number(name)) for name in ("direction", "channel", "issue_token"))
        bd_id, repeat_count = emit.widened(op.bd_id), emit.widened(op.repeat_count)
        if self.guards is Guards.FULL:
            self._check(op, tile, direction, channel, bd_id, repeat_count, token)
        registers = self.model.registers(*place)
        if known(token) != 0:
            control = self._register(tile, registers.s2mm_control, registers.mm2s_control, direction, channel)
            self._set_controller_id(tile, control, token)
        queue = MemTileTaskQueue if self.model.is_mem_tile(*place) else TaskQueue
        register = self._register(tile, registers.s2mm_queue, registers.mm2s_queue, direction, channel)
        emit.insert(NpuWrite32Op(value=_task(emit, queue, bd_id, repeat_count, token), address=register()))

    def _register(
        self, tile: SomeTile, s2mm: Bank, mm2s: Bank, direction: Number, channel: Number
    ) -> Callable[[], SSAValue]:
        """What makes the address of a channel's register."""

        def address() -> SSAValue:
            emit, way, number = tile.emit, known(direction), known(channel)
            assert s2mm.stride == mm2s.stride, "registers of both directions lie alike"
            if way is not None:
                bank = s2mm if way == DmaDirection.S2MM else mm2s
                if number is not None:
                    return tile.address(bank[number])
                first = emit.constant(bank.base)
            else:
                is_mm2s = emit.compare("ne", emit.number(direction), emit.constant(DmaDirection.S2MM))
                first = emit.value(SelectOp(is_mm2s, emit.constant(mm2s.base), emit.constant(s2mm.base)))
            offset = emit.folded_product(emit.number(channel), emit.constant(s2mm.stride))
            return tile.address(emit.folded_sum(offset, first))

        return address

    def _check(
        self,
        op: NpuPushQueueOp,
        tile: SomeTile,
        direction: Number,
        channel: Number,
        bd_id: Number,
        repeat_count: Number,
        token: Number,
    ) -> None:
        place, model = tile.place, self.model
        if tile.displacement is None and (text := op.violation(model, place)):
            fail_op(op, text)
        checks = LimitChecks(op, Numbers(tile.emit), Guards.FULL)
        checks.within(direction, 0, 1, "direction")
        checks.within(token, 0, 1, "issue_token")
        way = known(direction)
        # no kind of tile has more channels one way than the other
        checks.channel(model, place, DmaDirection.S2MM if way is None else DmaDirection(way), channel)
        self._check_descriptor(checks, place, channel, bd_id)
        checks.within(repeat_count, 0, MAX_QUEUE_REPEAT, "repeat count")

    def _check_descriptor(self, checks: LimitChecks, place: TileId, channel: Number, bd_id: Number) -> None:
        if (number := known(channel)) is not None or not self.model.is_mem_tile(*place):
            key = place, number or 0
            # Asked for again and again: a sequence has few channels and many pushes.
            if key not in self.reached:
                self.reached[key] = self.model.accessible_bds(*place, number or 0)
            checks.descriptor_number(bd_id, self.reached[key])
            return
        emit, (even, odd) = checks.numbers.emit, (self.model.accessible_bds(*place, number) for number in (0, 1))
        is_odd = emit.value(AndIOp(emit.number(channel), emit.constant(1)))
        checks.within(bd_id, even[0], odd[-1], "number of the buffer descriptor")
        first = emit.multiply(is_odd, odd[0])
        subject = "number of the buffer descriptor, counted from the first that the channel reaches,"
        checks.within(checks.numbers.subtract(bd_id, first), 0, len(even) - 1, subject)

    def _set_controller_id(self, tile: SomeTile, control: Callable[[], SSAValue], token: Number) -> None:
        """Set the packet id of the tile, if it has one, where a token is asked for."""
        numbers = Numbers(tile.emit)
        wants = True if known(token) is not None else numbers.greater(token, 0)
        for candidate in self._candidates(tile):
            if (packet := candidate.controller_id) is None:
                continue
            (value,) = ChannelControl.pack(controller_id=packet.pkt_id.data)
            # Only the id: other bits of the control register reset or pause the channel.
            (mask,) = ChannelControl.pack(controller_id=MAX_PACKET_ID)

            is_it = numbers.all_of(
                numbers.equal(tile.column, candidate.place.column), numbers.equal(tile.row, candidate.place.row), wants
            )
            set_id = partial(_mask_write, control(), value, mask)
            if isinstance(is_it, SSAValue):
                tile.emit.when(is_it, set_id)
            elif is_it:
                set_id(tile.emit)

    def _candidates(self, tile: SomeTile) -> list[TileOp]:
        """The tiles of the design that it can be; a tile that is known is declared from here on."""
        if tile.displacement is not None:
            kind = self.model.tile_type(*tile.place)
            return [found for found in self.device.tiles if self.model.tile_type(*found.place) is kind]
        if tile.place not in self.tiles:
            self.tiles[tile.place] = tile_at(self.device, *tile.place)
        return [self.tiles[tile.place]]


def _mask_write(address: SSAValue, value: int, mask: int, emit: Emitter) -> None:
    emit.insert(NpuMaskWrite32Op(address, emit.constant(value), emit.constant(mask)))


def _task(emit: Emitter, queue: type[TaskQueue], bd_id: Number, repeat_count: Number, token: Number) -> SSAValue:
    """The word that is pushed."""
    (start, repeats), (issue,) = (known(bd_id), known(repeat_count)), queue.pack(enable_token_issue=known(token) or 0)
    if start is not None and repeats is not None and known(token) is not None:
        (word,) = queue.pack(start_bd_id=start, repeat_count=repeats)
        return emit.constant(word | issue)
    fields = [(queue.start_bd_id, emit.number(bd_id)), (queue.repeat_count, _as_i32(emit, repeat_count))]
    if known(token) is None:
        fields.append((queue.enable_token_issue, emit.number(token)))
    return emit.word(fields, issue)


def _as_i32(emit: Emitter, number: Number) -> SSAValue:
    return number if isinstance(number, SSAValue) and number.type == i32 else emit.number(number)


def write_descriptor(op: NpuWriteBdOp, model: DeviceModel, emit: Emitter, guards: Guards) -> None:
    """Write all words of a descriptor, some fields of which are values."""
    on_tile(op, model, emit, guards, lambda tile: _write_fields(op, tile, guards))


def _write_fields(op: NpuWriteBdOp, tile: SomeTile, guards: Guards) -> None:
    emit, model, place = tile.emit, tile.model, tile.place
    checks = LimitChecks(op, Numbers(emit), guards)
    numbers = {name: emit.widened(op.number(name)) for name in op.RUNTIME_FIELDS if name not in ("column", "row")}
    if checks.enabled:
        check_descriptor(checks, model, place, numbers)
    bd_id = numbers.pop("bd_id")
    # upstream leaves the size of d2 out, unless there is a fourth dimension
    if not checks.enabled and "d3_stride" not in {*op.runtime, *op.properties}:
        del numbers["d2_size"]
    fields = dict[str, Number]()
    for name, number in numbers.items():
        if isinstance(number, int):
            # those that say nothing stay away: a layout need not have them
            if number or name not in OPTIONAL:
                fields[name] = number & WORD_MASK
        elif (field := descriptor_field(model, place, name)) is not None:
            fields[name] = _cut(emit, _encoded(emit, model, place, name, number), field)
    descriptor = DescriptorWriter(
        model, place, bd_id if isinstance(bd_id, int) else emit.number(bd_id), tile.displacement
    )
    # what is known has been checked with the values
    descriptor.write(
        checks.numbers, LimitChecks(op, checks.numbers, Guards.UPSTREAM), fields, all_fields=checks.enabled
    )


def _encoded(emit: Emitter, model: DeviceModel, place: TileId, name: str, number: Number) -> SSAValue:
    """A field as its register holds it."""
    value = emit.number(number)
    if name == BUFFER_OFFSET and model.is_core_tile(*place):
        return emit.divide(value, WORD_BYTES)
    if name == BURST_LENGTH:
        numbers = Numbers(emit)
        code: Number = model.burst_encoding(0)
        for length in model.burst_lengths:
            code = numbers.select(numbers.equal(value, length), model.burst_encoding(length), code)
        return emit.number(code)
    return value


def _cut(emit: Emitter, value: SSAValue, field: Field) -> SSAValue:
    """The bits of a field: a number with sign, or one that nothing has checked, spoils no other field."""
    mask = (1 << field.width) - 1
    return value if mask == WORD_MASK else emit.value(AndIOp(value, emit.constant(mask)))


def check_descriptor(checks: LimitChecks, model: DeviceModel, place: TileId, numbers: dict[str, Number]) -> None:
    """Check the fields of `npu.writebd`: now where they are known, otherwise in the generated code."""
    checks.channel(model, place, DmaDirection.MM2S, 0)
    bds = range(model.num_bds(*place))
    checks.descriptor_number(numbers["bd_id"], bds)
    constants = {**place._asdict(), **{name: number for name, number in numbers.items() if isinstance(number, int)}}
    if text := field_violation(model, constants, as_bits=True) or offset_violation(model, constants):
        fail_op(checks.op, text)
    for name, number in numbers.items():
        if name in _BY_KIND or (isinstance(number, SSAValue) and name != "bd_id"):
            _check_field(checks, model, place, name, number)
    if known(numbers["use_next_bd"]) != 0:
        arithmetic = checks.numbers
        is_used = arithmetic.greater(numbers["use_next_bd"], 0)
        following = arithmetic.select(is_used, numbers["next_bd"], 0)
        checks.descriptor_number(following, bds, "number of the next descriptor")


_BY_KIND = (BURST_LENGTH, "d2_size", "d3_stride")
"""What only some tiles have, and the violations of known fields do not look at."""


def _check_field(checks: LimitChecks, model: DeviceModel, place: TileId, name: str, value: Number) -> None:
    tile_type = model.tile_type(*place)
    if name == BUFFER_OFFSET:
        largest, unit = address_unit(tile_type)
        checks.within(value, 0, largest, name)
        checks.divisible(value, unit, name)
    elif name == BURST_LENGTH and tile_type is TileType.ShimNOCTile:
        numbers = checks.numbers
        is_one = numbers.any_of(*(numbers.equal(value, length) for length in (0, *model.burst_lengths)))
        lengths = ", ".join(map(str, model.burst_lengths))
        checks.within(numbers.select(is_one, 0, value), 0, 0, f"{name}, where it is none of {lengths},")
    elif (limits := field_range(tile_type, name)) is not None:
        checks.within(value, *limits, name)
    elif name != "d2_size" or tile_type is TileType.ShimNOCTile:  # a core tile's is not looked at
        checks.within(value, 0, 0, f"{name}, which a descriptor of this tile does not have,")
