"""Writing a whole buffer descriptor."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import ClassVar, Self

from xdsl.dialects.builtin import IntegerAttr, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import opt_prop_def, prop_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from tilewright.device import MAX_PACKET_ID, MAX_PACKET_TYPE, DeviceModel, TileId, TileType
from tilewright.device.bd import AX_CACHE, BD_LAYOUTS
from tilewright.device.layout import WORD_BYTES, Field
from tilewright.dialects._ods import i32_attr, op_definition
from tilewright.dialects._syntax import PAREN, print_attributes, split_attributes
from tilewright.dialects.aie.lookup import device_model
from tilewright.ir.create import initialize
from tilewright.ir.interned import i32_number

from .descriptor_checks import burst_violation
from .guards import range_requirement
from .runtime_fields import RuntimeFields, field_names, parse_typed_operand, print_typed_operand

MAX_WRAP = 0x3FF  # these three are what upstream checks for all tiles, whatever their fields hold
MAX_STEP = 0xFFFFF
MAX_ITERATION_WRAP = 0x3F
FIELD = i32_attr()

REGISTER_FIELDS = {
    "buffer_length": "buffer_length",
    "enable_packet": "enable_packet",
    "out_of_order_id": "out_of_order_bd_id",
    "packet_id": "packet_id",
    "packet_type": "packet_type",
    "d0_size": "d0_wrap",
    "d0_stride": "d0_step",
    "d1_size": "d1_wrap",
    "d1_stride": "d1_step",
    "d2_stride": "d2_step",
    "iteration_current": "iteration_current",
    "iteration_size": "iteration_wrap",
    "iteration_stride": "iteration_step",
    "next_bd": "next_bd",
    "use_next_bd": "use_next_bd",
    "valid_bd": "valid_bd",
    "lock_rel_val": "lock_rel_value",
    "lock_rel_id": "lock_rel_id",
    "lock_acq_enable": "lock_acq_enable",
    "lock_acq_val": "lock_acq_value",
    "lock_acq_id": "lock_acq_id",
}
"""Where each field goes, in the descriptors of all tiles that have it."""
FOURTH_DIMENSION = {"d2_size": "d2_wrap", "d3_stride": "d3_step"}
"""What only mem tiles have. Upstream has no stride of d3 and leaves the wrap of d2 at 0, which makes no difference:
the length ends the walk before d2 would wrap."""
PADDING = tuple(f"d{dimension}_zero_{side}" for dimension in range(3) for side in ("before", "after"))

ALL_FIELDS = REGISTER_FIELDS | {name: name for name in PADDING}
BUFFER_OFFSET, BURST_LENGTH = "buffer_offset", "burst_length"


def descriptor_words(device: DeviceModel, fields: Mapping[str, int], *, all_fields: bool = False) -> list[int]:
    """The words of a descriptor whose fields are named as those of `npu.writebd`.

    The size of d2 is part of them if d3 has a stride, or if all fields are asked for.
    """
    tile_type = device.tile_type(fields["column"], fields["row"])
    layout = BD_LAYOUTS[tile_type]
    names = ALL_FIELDS | FOURTH_DIMENSION if all_fields or "d3_stride" in fields else ALL_FIELDS
    contents = {target: fields.get(name, 0) for name, target in names.items() if target in layout.fields}
    if tile_type is TileType.ShimNOCTile:
        contents |= {"burst_length": device.burst_encoding(fields.get(BURST_LENGTH, 0)), "ax_cache": AX_CACHE}
    words = layout.pack(**contents)
    put_address(words, tile_type, fields.get(BUFFER_OFFSET, 0))
    return words


def put_address(words: list[int], tile_type: TileType, offset: int) -> None:
    """Put an address into the words of a descriptor that has none yet."""
    field = BD_LAYOUTS[tile_type].fields[_ADDRESS[tile_type]]
    # Whoever writes a mem tile's descriptor gives the address in words, a core tile's in bytes.
    units = offset // WORD_BYTES if tile_type is TileType.CoreTile else offset
    words[field.word] |= units << field.lo & field.mask


class DescriptorWords:
    """The words of the `npu.writebd` of a device: most of them differ only in number and address from one before."""

    def __init__(self, device: DeviceModel, *, all_fields: bool):
        self._device, self._all_fields = device, all_fields
        self._known: dict[tuple[object, ...], tuple[TileId, list[int], object]] = {}

    def of(self, op: NpuWriteBdOp) -> tuple[int, list[int]]:
        """Where a descriptor is written to, and its words; all of its fields are properties."""
        properties, offset, bd_id = dict(op.properties), op.field(BUFFER_OFFSET), op.field("bd_id")
        properties.pop(BUFFER_OFFSET, None)
        properties.pop("bd_id", None)
        # by identity: numbers are one object each, and hashing them takes long
        key = *properties, *map(id, properties.values())
        found = self._known.get(key)
        if found is None:
            fields = {name: op.field(name) for name in properties}
            place = TileId(op.field("column"), op.field("row"))
            words = descriptor_words(self._device, fields, all_fields=self._all_fields)
            # kept, lest something else comes to lie in their place
            found = self._known[key] = place, words, list(properties.values())
        place, words, _ = found
        words = [*words]
        put_address(words, self._device.tile_type(*place), offset)
        return self._device.bd_address(*place, bd_id), words


@cache
def _register_ranges(tile_type: TileType, as_bits: bool) -> dict[str, tuple[int, int]]:
    """What the register field behind each field holds, without bias."""
    fields = BD_LAYOUTS[tile_type].fields
    names = ALL_FIELDS | FOURTH_DIMENSION
    targets = {name: fields[target] for name, target in names.items() if target in fields}
    return {name: _range(field, as_bits) for name, field in targets.items()}


def _range(field: Field, as_bits: bool) -> tuple[int, int]:
    low, high = (-(1 << field.width - 1), (1 << field.width - 1) - 1) if field.signed else (0, (1 << field.width) - 1)
    return low, (1 << field.width) - 1 if as_bits else high  # a signed field takes both spellings then


def field_violation(device: DeviceModel, fields: Mapping[str, int], *, as_bits: bool = False) -> str | None:
    """Why no descriptor of a tile holds these fields; upstream cuts most of them to size.

    Whoever writes registers by hand may write a negative number as its bits, too.
    """
    tile_type = device.tile_type(fields["column"], fields["row"])
    ranges = _register_ranges(tile_type, as_bits)
    for name, value in fields.items():
        if name in ranges:
            low, high = ranges[name]
            if not low <= value <= high:
                return f"{name} is {value} but {range_requirement(low, high)}"
        elif value != 0 and name in ALL_FIELDS:
            return f"{name} is {value}, but a descriptor of this tile has no such field"
    return burst_violation(device, fields.get("burst_length", 0))


def field_range(tile_type: TileType, name: str) -> tuple[int, int] | None:
    """What the register field behind a field takes, a negative number also as its bits; None if there is none."""
    return _register_ranges(tile_type, True).get(name)


def descriptor_field(device: DeviceModel, place: TileId, name: str) -> Field | None:
    """The register field behind a field of a tile's descriptors, if there is one."""
    tile_type = device.tile_type(*place)
    targets = ALL_FIELDS | FOURTH_DIMENSION | {BUFFER_OFFSET: _ADDRESS[tile_type], BURST_LENGTH: BURST_LENGTH}
    return BD_LAYOUTS[tile_type].fields.get(targets[name])


def address_unit(tile_type: TileType) -> tuple[int, int]:
    """The largest address that a descriptor holds, and what it is a multiple of: words in a mem tile, else bytes."""
    units = WORD_BYTES if tile_type is TileType.CoreTile else 1
    largest = units * BD_LAYOUTS[tile_type].fields[_ADDRESS[tile_type]].limits[-1]
    return largest, 1 if tile_type is TileType.MemTile else WORD_BYTES


def offset_violation(device: DeviceModel, fields: Mapping[str, int]) -> str | None:
    """Why no descriptor of a tile holds an address: words in a mem tile, else bytes of whole words."""
    largest, unit = address_unit(device.tile_type(fields["column"], fields["row"]))
    offset = fields.get(BUFFER_OFFSET, 0)
    if offset % unit == 0 and 0 <= offset <= largest:
        return None
    return f"buffer_offset is {offset} but {range_requirement(0, largest)}, in steps of {unit}"


_ADDRESS = {TileType.CoreTile: "address", TileType.MemTile: "address", TileType.ShimNOCTile: "address_low"}


@op_definition
class NpuWriteBdOp(RuntimeFields):
    """Write all words of descriptor `bd_id`. Fields hold register values: steps, and the iteration, less one.

    Those that are only known at run time stand before the others, as in `values(d0_size = %n : i32)`; what is left out
    beside them is 0.
    """

    name = "aiex.npu.writebd"

    column = prop_def(FIELD)
    bd_id = prop_def(FIELD)
    buffer_length = prop_def(FIELD)
    buffer_offset = prop_def(FIELD)
    enable_packet = prop_def(FIELD)
    out_of_order_id = prop_def(FIELD)
    packet_id = prop_def(FIELD)
    packet_type = prop_def(FIELD)
    d0_size = prop_def(FIELD)
    d0_stride = prop_def(FIELD)
    d1_size = prop_def(FIELD)
    d1_stride = prop_def(FIELD)
    d2_size = prop_def(FIELD)
    d2_stride = prop_def(FIELD)
    iteration_current = prop_def(FIELD)
    iteration_size = prop_def(FIELD)
    iteration_stride = prop_def(FIELD)
    next_bd = prop_def(FIELD)
    row = prop_def(FIELD)
    use_next_bd = prop_def(FIELD)
    valid_bd = prop_def(FIELD)
    lock_rel_val = prop_def(FIELD)
    lock_rel_id = prop_def(FIELD)
    lock_acq_enable = prop_def(FIELD)
    lock_acq_val = prop_def(FIELD)
    lock_acq_id = prop_def(FIELD)
    d0_zero_before = prop_def(FIELD)
    d1_zero_before = prop_def(FIELD)
    d2_zero_before = prop_def(FIELD)
    d0_zero_after = prop_def(FIELD)
    d1_zero_after = prop_def(FIELD)
    d2_zero_after = prop_def(FIELD)
    burst_length = opt_prop_def(FIELD, IntegerAttr(0, i32))
    d3_stride = opt_prop_def(FIELD)  # of mem tiles only

    RUNTIME_FIELDS: ClassVar[Sequence[str]]  # all of them: set below

    def __init__(self, **fields: int):
        """Fields left out are 0."""
        properties: dict[str, Attribute] = dict(NO_FIELDS)
        for name, value in fields.items():
            properties[name] = i32_number(value)
        initialize(self, (), properties)

    @classmethod
    def of_values(cls, fields: Mapping[str, Attribute], values: Mapping[str, SSAValue]) -> Self:
        """One with properties and values; fields that are in neither are 0."""
        zeros = {name: i32_number(0) for name in values}
        properties: dict[str, Attribute] = {**NO_FIELDS, **zeros, **fields, **field_names(list(values))}
        return cls.create(operands=list(values.values()), properties=properties)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        values = dict[str, SSAValue]()

        def parse_value() -> None:
            position = parser.pos
            name = parser.parse_identifier()
            if name not in cls.RUNTIME_FIELDS or name in values:
                text = "is given twice" if name in values else "is no field of a buffer descriptor"
                parser.raise_error(f"'{name}' {text}", position)
            parser.parse_punctuation("=")
            values[name] = parse_typed_operand(parser)

        if parser.parse_optional_keyword("values"):
            parser.parse_comma_separated_list(PAREN, parse_value)
        position = parser.pos
        properties, others = split_attributes(cls, dict(parser.parse_optional_attr_dict()))
        if not values:
            return cls.create(properties=properties, attributes=others)
        if twice := [name for name in values if name in properties]:
            parser.raise_error(f"'{twice[0]}' is given twice", position)
        op = cls.of_values(properties, values)
        op.attributes.update(others)
        return op

    def print(self, printer: Printer) -> None:
        runtime, zeros = self.runtime, list[str]()
        if runtime:
            zeros = [name for name, number in self.numbers.items() if number == 0]
            printer.print_string(" values(")
            for number, (name, value) in enumerate(runtime.items()):
                printer.print_string(f"{', ' if number else ''}{name} = ")
                print_typed_operand(printer, value)
            printer.print_string(")")
        print_attributes(printer, self, (*runtime, *zeros, "runtime_fields"))

    def field(self, name: str) -> int:
        """The unsigned value of a field that is a property."""
        attr = self.properties.get(name)
        return attr.value.data & 0xFFFFFFFF if isinstance(attr, IntegerAttr) else 0

    @property
    def numbers(self) -> dict[str, int]:
        """All fields that are properties, with their signs."""
        runtime = self.runtime
        return {
            name: attr.value.data
            for name, attr in self.properties.items()
            if isinstance(attr, IntegerAttr) and name not in runtime
        }

    def verify_(self) -> None:
        self.verify_runtime_fields()
        device = device_model(self)
        if not {"column", "row"}.isdisjoint(self.runtime):
            return  # what a field can hold depends on the tile
        column, row = self.field("column"), self.field("row")
        is_shim = device.is_shim_noc(column, row)
        # such a transfer has no wraps: its length is all there is
        is_linear = self.field("d0_size") >= 1 and self.field("d1_size") == 1 and self.field("iteration_size") == 0
        max_iteration_step = device.tile_resources(column, row).max_step - 1
        for name, limit, text in (
            # the count itself passes, as upstream lets it
            ("bd_id", device.num_bds(column, row), "BD ID exceeds the maximum ID."),
            ("packet_id", MAX_PACKET_ID, "Packet ID exceeds the maximum supported by 5 bits."),
            ("packet_type", MAX_PACKET_TYPE, "Packet Type exceeds the maximum supported by 3 bits."),
            ("d0_size", None if is_linear else MAX_WRAP, f"D0 Size exceeds the [0:{MAX_WRAP}] range."),
            ("d0_stride", MAX_STEP, "D0 Stride exceeds the [0:1M-1] range."),
            ("d1_size", MAX_WRAP, f"D1 Size exceeds the [0:{MAX_WRAP}] range."),
            ("d1_stride", MAX_STEP, "D1 Stride exceeds the [0:1M-1] range."),
            ("d2_stride", MAX_STEP, "D2 Stride exceeds the [0:1M-1] range."),
            ("iteration_size", MAX_ITERATION_WRAP, f"Iteration Size exceeds the [0:{MAX_ITERATION_WRAP}] range."),
            ("iteration_stride", max_iteration_step, f"Iteration Stride exceeds the [0:{max_iteration_step}] range."),
        ):
            if limit is not None and self.field(name) > limit:
                raise VerifyException(text)
        if is_shim and self.field("d2_size") != 0:
            raise VerifyException("ShimTile only supports 3 dimensions of sizes.")
        if is_shim and any(self.field(name) for name in PADDING):
            raise VerifyException("ShimTile doesn't support zero padding.")
        if self.d3_stride is not None and not device.is_mem_tile(column, row):
            raise VerifyException("Only MemTiles have a fourth dimension.")
        if not is_shim and self.field("burst_length") != 0:
            raise VerifyException("Only ShimTiles support burst length.")
        if text := burst_violation(device, self.field("burst_length")):
            raise VerifyException(text)


OPTIONAL = "burst_length", "d3_stride"  # left out where they say nothing, as upstream's text has them
FIELD_NAMES = tuple(n for n in NpuWriteBdOp.get_irdl_definition().properties if n != "runtime_fields")
NpuWriteBdOp.RUNTIME_FIELDS = FIELD_NAMES
NO_FIELDS: dict[str, Attribute] = {name: i32_number(0) for name in FIELD_NAMES if name not in OPTIONAL}
OPS = [NpuWriteBdOp]
