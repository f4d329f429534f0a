"""Event traces: what a tile's trace unit records, and the register writes that come of it."""

from __future__ import annotations

from typing import TypeVar

from xdsl.dialects.builtin import (
    IntegerAttr,
    StringAttr,
    SymbolNameConstraint,
    i32,
)
from xdsl.ir import Operation
from xdsl.irdl import (
    IRDLOperation,
    lazy_traits_def,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    traits_def,
)
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from tilewright.device import DmaDirection, Keyword, TileType, WireBundle
from tilewright.dialects._ods import (
    BlockOp,
    ImplicitTerminator,
    ParentOp,
    enum_attr,
    enum_to_attr,
    enum_value,
    i32_attr,
    op_definition,
)
from tilewright.dialects.aie.attributes import DIRECTION, WIRE_BUNDLE
from tilewright.dialects.aie.core import INDEX, EndOp
from tilewright.dialects.aie.interfaces import TileLike
from tilewright.dialects.aie.lookup import device_model, parent_of_type, tile_of
from tilewright.dialects.aie.trace_event import TraceEventAttr
from tilewright.ir.diagnostics import VerifyError

MAX_EVENTS = 8  # slots of a trace unit

OpT = TypeVar("OpT", bound=Operation)


class TraceMode(Keyword):
    EventTime = 0
    EventPC = 1
    Execution = 2

    def __str__(self) -> str:
        return self.name.replace("Event", "Event-")  # no identifier, so texts have it in quotes


class TracePacketType(Keyword):
    """Which module of which tile a trace packet comes from."""

    core = 0
    mem = 1
    shimtile = 2
    memtile = 3


class ComboLogic(Keyword):
    AND = 0
    AND_NOT = 1
    OR = 2
    OR_NOT = 3


class EdgeTrigger(Keyword):
    RISING = 1
    FALLING = 2
    BOTH = 3


PACKET_TYPE = enum_attr(TracePacketType, "Packet type identifier for parsing")
IN_TRACE = ParentOp("aie.trace")


@op_definition
class TraceOp(BlockOp):
    """What one tile records, under the name by which a runtime sequence switches it on."""

    name = "aie.trace"

    tile = operand_def(INDEX)
    sym_name = prop_def(SymbolNameConstraint())
    body = region_def("single_block")

    traits = lazy_traits_def(lambda: (SymbolOpInterface(), ParentOp("aie.device"), ImplicitTerminator(EndOp)))
    assembly_format = "$sym_name `(` $tile `)` $body attr-dict"

    @property
    def packet(self) -> TracePacketOp | None:
        return next(iter(self.ops_of(TracePacketOp)), None)

    def ops_of(self, kind: type[OpT]) -> list[OpT]:
        return [op for op in self.body.ops if isinstance(op, kind)]

    def verify_(self) -> None:
        events = len(self.ops_of(TraceEventOp))
        if events > MAX_EVENTS:
            raise VerifyException(f"trace unit supports maximum {MAX_EVENTS} events, got {events}")
        if tile_of(self.tile) is None:
            raise VerifyException("tile operand must be a TileOp or LogicalTileOp")
        _verify_distinct_slots(self.ops_of(TraceComboEventOp), "combo event")
        _verify_distinct_slots(self.ops_of(TraceEdgeEventOp), "edge detection")


def _verify_distinct_slots(ops: list[TraceComboEventOp] | list[TraceEdgeEventOp], what: str) -> None:
    seen: set[int] = set()
    for op in ops:
        slot = op.slot.value.data
        if slot in seen:  # the second one is wrong, not the trace
            raise VerifyError(f"{what} slot {slot} already in use in this trace", at=op)
        seen.add(slot)


class _InTrace(IRDLOperation):
    """A part of a trace, which knows the tile that it is about."""

    traits = traits_def(IN_TRACE)

    def require_trace(self) -> tuple[TraceOp, TileLike]:
        trace = parent_of_type(self, TraceOp)
        if trace is None:
            raise VerifyException("must be nested in aie.trace")
        tile = tile_of(trace.tile)
        if tile is None:
            raise VerifyException("trace tile must be a TileOp or LogicalTileOp")
        return trace, tile

    def verify_event(self, event: TraceEventAttr, complaint: str) -> None:
        _, tile = self.require_trace()
        if not event.is_known_to(device_model(self).arch, tile.tile_type):
            raise VerifyException(complaint)


@op_definition
class TraceModeOp(_InTrace):
    """What is recorded when an event happens: the time, the program counter, or every branch."""

    name = "aie.trace.mode"

    mode = prop_def(enum_attr(TraceMode, "Trace capture mode"))

    assembly_format = "$mode attr-dict"


_TILE_WORDS = {TileType.CoreTile: "core tile", TileType.MemTile: "mem tile"}


@op_definition
class TraceEventOp(_InTrace):
    """One event to record."""

    name = "aie.trace.event"

    event = prop_def(TraceEventAttr)
    label = opt_prop_def(StringAttr)

    assembly_format = "$event (`label` `=` $label^)? attr-dict"

    def verify_(self) -> None:
        if not self.event.event_name:
            raise VerifyException("event name cannot be empty")
        _, tile = self.require_trace()
        # a logical tile may ask for one coordinate only
        column, row = (
            number.value.data if isinstance(number := tile.properties.get(axis), IntegerAttr) else "?"
            for axis in ("col", "row")
        )
        words = _TILE_WORDS.get(tile.tile_type, "shim tile")
        self.verify_event(
            self.event,
            f"event '{self.event.text}' is not valid for {words} ({device_model(self).arch}) at ({column}, {row})",
        )


@op_definition
class TracePacketOp(_InTrace):
    """The packets that carry the trace; a pass picks the id if none is given."""

    name = "aie.trace.packet"

    id = opt_prop_def(i32_attr(1, 31))
    type = prop_def(PACKET_TYPE)

    assembly_format = "(`id` `=` $id^)? `type` `=` $type attr-dict"

    def __init__(self, packet_type: TracePacketType, packet_id: int):
        super().__init__(properties={"type": enum_to_attr(packet_type), "id": IntegerAttr(packet_id, i32)})

    @property
    def packet_type(self) -> TracePacketType:
        return enum_value(TracePacketType, self.type)


@op_definition
class TracePortOp(_InTrace):
    """Makes one of the eight port events about one port of the stream switch; S2MM means a port that data leaves by."""

    name = "aie.trace.port"

    slot = prop_def(i32_attr(0, 7))
    port = prop_def(WIRE_BUNDLE)
    channel = prop_def(i32_attr())
    direction = prop_def(DIRECTION)

    assembly_format = "`<` $slot `>` `port` `=` $port `channel` `=` $channel `direction` `=` $direction attr-dict"

    @property
    def is_master(self) -> bool:
        return enum_value(DmaDirection, self.direction) is DmaDirection.S2MM

    def verify_(self) -> None:
        trace, tile = self.require_trace()
        if tile.place is not None:  # which ports a switch has depends on where it is
            bundle, channel = enum_value(WireBundle, self.port), self.channel.value.data
            if device_model(self).port_number(*tile.place, bundle, channel, master=self.is_master) is None:
                column, row = tile.place
                raise VerifyException(f"invalid stream switch port configuration for tile ({column}, {row})")
        if any(other is not self and other.slot == self.slot for other in trace.ops_of(TracePortOp)):
            raise VerifyException(f"duplicate port slot {self.slot.value.data} in trace {trace.sym_name.data}")


class _TraceLimitOp(_InTrace):
    """When a trace begins or ends: at an event, or at one that all tiles hear of."""

    broadcast = opt_prop_def(i32_attr())
    event = opt_prop_def(TraceEventAttr)

    assembly_format = "(`broadcast` `=` $broadcast^)? (`event` `=` $event^)? attr-dict"

    def verify_(self) -> None:
        if self.broadcast is None and self.event is None:
            raise VerifyException("must specify either broadcast or event")
        if self.broadcast is not None and self.event is not None:
            raise VerifyException("cannot specify both broadcast and event")


@op_definition
class TraceStartEventOp(_TraceLimitOp):
    name = "aie.trace.start"


@op_definition
class TraceStopEventOp(_TraceLimitOp):
    name = "aie.trace.stop"


@op_definition
class TraceComboEventOp(_InTrace):
    """Makes an event of two others; slot 2 combines the results of slots 0 and 1."""

    name = "aie.trace.combo_event"

    slot = prop_def(i32_attr())
    event_a = prop_def(TraceEventAttr, prop_name="eventA")
    logic = prop_def(enum_attr(ComboLogic, "Combo event logic function"))
    event_b = prop_def(TraceEventAttr, prop_name="eventB")

    assembly_format = "`<` $slot `>` $eventA $logic $eventB attr-dict"

    def verify_(self) -> None:
        slot = self.slot.value.data
        if not 0 <= slot <= 2:
            raise VerifyException(f"combo event slot must be 0, 1, or 2, got {slot}")
        self.verify_event(self.event_a, "eventA is not valid for this tile type")
        self.verify_event(self.event_b, "eventB is not valid for this tile type")
        # the hardware has two combiners for events, and a third for what those two say
        names = (self.event_a.event_name, self.event_b.event_name)
        if slot < 2:
            if any("COMBO_EVENT" in name for name in names):
                inputs = "eventC/D" if slot else "eventA/B"
                raise VerifyException(f"combo slot {slot} should use regular events, not COMBO_EVENT_* (uses {inputs})")
            return
        for position, name, needed in zip(("first", "second"), names, ("COMBO_EVENT_0", "COMBO_EVENT_1"), strict=True):
            if name != needed:
                raise VerifyException(f"combo slot 2 {position} event must be {needed} (hierarchical), got {name}")


@op_definition
class TraceEdgeEventOp(_InTrace):
    """Makes an event of another one's beginning, end or both."""

    name = "aie.trace.edge_event"

    slot = prop_def(i32_attr())
    event = prop_def(TraceEventAttr)
    trigger = prop_def(enum_attr(EdgeTrigger, "Edge detection trigger mode"))

    assembly_format = "`<` $slot `>` `event` `=` $event `trigger` `=` $trigger attr-dict"

    def verify_(self) -> None:
        slot = self.slot.value.data
        if not 0 <= slot <= 1:
            raise VerifyException(f"edge detection slot must be 0 or 1, got {slot}")
        self.verify_event(self.event, "event is not valid for this tile type")
        if "EDGE_DETECTION_EVENT" in self.event.event_name:
            raise VerifyException("edge detection source should be a regular event, not another EDGE_DETECTION_EVENT")
        # worded as a hint, but upstream refuses it
        if "COMBO_EVENT" in self.event.event_name:
            raise VerifyException(
                "edge detection source should be a regular event, not a COMBO_EVENT (combo events can be used but may "
                "have unexpected behavior)"
            )


OPS = [
    TraceOp,
    TraceModeOp,
    TraceEventOp,
    TracePacketOp,
    TracePortOp,
    TraceStartEventOp,
    TraceStopEventOp,
    TraceComboEventOp,
    TraceEdgeEventOp,
]
