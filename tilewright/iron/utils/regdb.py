"""Registers by address and addresses by register, in the vendor's names: `python -m aie.utils.regdb 0x232000`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import IntegerAttr, StringAttr
from xdsl.ir import Operation, SSAValue

from tilewright.device import DEVICES, DeviceModel, DeviceName, TileType
from tilewright.device.register_fields import layout_at
from tilewright.device.vendor_registers import modules_of, registers_of
from tilewright.dialects.aie.lookup import constant_value
from tilewright.dialects.aie.tiles import DeviceOp
from tilewright.iron.builders.handles import OpView
from tilewright.iron.builders.module import Module

MODEL = DEVICES[DeviceName.npu1]
"""All devices of AIE2 and AIE2P have these registers."""
WORD_BITS = 32
TILES = {TileType.CoreTile: "core_tile", TileType.MemTile: "memory_tile"}
ANNOTATED = (
    "aiex.npu.write32",
    "aiex.npu.blockwrite",
    "aiex.npu.maskwrite32",
    "aiex.npu.address_patch",
    "aiex.control_packet",
)
SHOWN = {
    "Address": "address",
    "Column": "col",
    "Row": "row",
    "Tile Type": "tile_type",
    "Module": "module",
    "Register": "register",
    "Offset": "offset",
    "Width": "width",
    "Description": "description",
}
RULE = "=" * 70


class AIEAddressDecoder:
    """Addresses of an array, taken apart and put together."""

    MEMORY_REGIONS: ClassVar[Mapping[str, Sequence[tuple[str, int, int]]]] = {
        "core": [("Program_Memory", 0x20000, 0x4000), ("DataMemory", 0x0, MODEL.local_memory_bytes)],
        "memory": [("DataMemory", 0x0, MODEL.local_memory_bytes)],
        "memory_tile": [("DataMemory", 0x0, MODEL.mem_tile_bytes)],
    }
    """Name, offset in the tile and bytes of the memories of each module."""

    def parse_address(self, address: int) -> dict[str, Any]:
        """Tile, module and register of an address, by name; of a memory, the place in it."""
        (col, row), offset = MODEL.locate(address)
        kind = MODEL.tile_type(col, row) if MODEL.is_valid_tile(col, row) else _tile_type(row)
        found = {"address": hex(address), "col": col, "row": row, "tile_type": TILES.get(kind, "shim_tile")}
        modules = modules_of(kind)
        for module in modules:
            if (name := registers_of(module).get(offset)) is not None:
                return found | _register(kind, module, offset, name)
        for module in modules:
            if (region := self.find_memory_region(module, offset)) is not None:
                place = f"{region['name']}+0x{region['region_offset']:X}"
                found |= {"module": module, "register": place, "offset": hex(offset), "is_memory_region": True}
                found |= {"memory_region_name": region["name"], "memory_region_offset": region["region_offset"]}
                return found | {"description": region["description"]}
        text = "no register is known at this address"
        return found | {"module": "unknown", "register": "unknown", "offset": hex(offset), "description": text}

    def find_memory_region(self, module_name: str, offset: int) -> dict[str, Any] | None:
        """The memory of a module that an offset in the tile lies in."""
        for name, start, size in self.MEMORY_REGIONS.get(module_name, ()):
            if start <= offset < start + size:
                text = f"{name} region ({size // 1024}KB)"
                places = {"base_offset": start, "region_offset": offset - start, "size_bytes": size}
                return {"name": name, "description": text, **places}
        return None

    def encode_address(self, col: int, row: int, register_name: str, module_name: str | None = None) -> int | None:
        """The address of a register of a tile, None if it has none of that name."""
        kind = MODEL.tile_type(col, row) if MODEL.is_valid_tile(col, row) else _tile_type(row)
        for module in [module_name] if module_name else modules_of(kind):
            for offset, name in registers_of(module).items():
                if name == register_name:
                    return MODEL.tile_address(col, row, offset)
        return None

    def format_result(
        self, result: Mapping[str, Any] | None, include_delimiters: bool = False, show_bit_fields: bool = False
    ) -> str:
        """An answer of `parse_address` in lines, with `show_bit_fields` also the register's fields."""
        if not result:
            return "Unable to decode address"
        lines = [f"{label + ':':<12} {result[key]}" for label, key in SHOWN.items() if result.get(key) is not None]
        if show_bit_fields and result.get("bit_fields"):
            lines += ["Bit Fields:", *(f"  [{field['bits']}] {field['name']}" for field in result["bit_fields"])]
        return "\n".join([RULE, *lines, RULE] if include_delimiters else lines)


def _tile_type(row: int) -> TileType:
    """Of a tile that npu1 does not have: larger devices have the same rows."""
    return TileType.ShimNOCTile if row == 0 else TileType.MemTile if row == 1 else TileType.CoreTile


def _register(kind: TileType, module: str, offset: int, name: str) -> dict[str, Any]:
    found: dict[str, Any] = {"module": module, "register": name, "offset": hex(offset), "width": WORD_BITS}
    layout = layout_at(MODEL, kind, offset)
    if layout is not None:
        fields = [field for field in layout[0].fields.values() if field.word == layout[1]]
        found["bit_fields"] = [
            {"name": field.name, "bits": f"{field.hi}:{field.lo}" if field.hi > field.lo else str(field.lo)}
            for field in fields
        ]
    return found | {"description": ""}


class MLIRModuleAnnotator:
    """Programs whose register writes say what they write, in an attribute `comment`."""

    def __init__(self) -> None:
        self.decoder = AIEAddressDecoder()

    def decode_bit_field_value(self, value: int, bit_range: str) -> int:
        """The bits `31:24`, or the bit `3`, of a register's value."""
        return (value & _mask(bit_range)) >> _ends(bit_range)[1]

    def format_bit_fields(
        self, value: int, bit_fields: Sequence[Mapping[str, str]], mask: int | None = None
    ) -> list[str]:
        """Fields of a register with their values; with a mask, only those that it touches."""
        return [
            f"{field['name']}={self.decode_bit_field_value(value, field['bits'])}"
            for field in bit_fields
            if mask is None or _mask(field["bits"]) & mask
        ]

    def generate_comment(
        self, decoded_info: Mapping[str, Any], value: int | None = None, mask: int | None = None
    ) -> str:
        """Tile, offset and name of a register, and the fields of the value that is written to it."""
        place = f"Tile({decoded_info['col']}, {decoded_info['row']}), Offset 0x{int(decoded_info['offset'], 16):05X}"
        comment = f"{place}, Name: {decoded_info['register']}"
        if value is None or not (fields := self.format_bit_fields(value, decoded_info.get("bit_fields", ()), mask)):
            return comment
        masked = "" if mask is None else f"Mask 0x{mask:X}, "
        return f"{comment} | {masked}Value 0x{value:X}: {', '.join(fields)}"

    def annotate_operation(self, op: Any, target_model: DeviceModel = MODEL) -> bool:
        """Give an operation its comment; False if its address is not known."""
        inner: Operation = op.op if isinstance(op, OpView) else op
        address = _number(inner, "address", "addr")
        if address is None:
            return False
        column, row = _number(inner, "column"), _number(inner, "row")
        if column is not None and row is not None:
            address = target_model.tile_address(column, row, target_model.locate(address)[1])
        decoded = self.decoder.parse_address(address)
        text = self.generate_comment(decoded, _number(inner, "value"), _number(inner, "mask"))
        inner.attributes["comment"] = StringAttr(text)
        return True

    def annotate_module(self, module: Module) -> int:
        """Give all register writes of a module their comments; how many there are."""
        device = next((op for op in module.op.walk() if isinstance(op, DeviceOp)), None)
        model = MODEL if device is None else device.model
        return sum(self.annotate_operation(op, model) for op in [*module.op.walk()] if op.name in ANNOTATED)

    def annotate_file(self, input_path: str, output_path: str | None = None) -> int:
        """Give all register writes of a file their comments, and write it to another file or to stdout."""
        from tilewright.support.output_files import write_file

        module = Module.parse(Path(input_path).read_text(encoding="utf-8"))
        count = self.annotate_module(module)
        if output_path is None:
            print(module, end="")
        else:
            write_file(output_path, str(module).encode())
        print(f"Annotated {count} operations", file=sys.stderr)
        return count


def _ends(bit_range: str) -> tuple[int, int]:
    high, _, low = bit_range.partition(":")
    return int(high), int(low or high)


def _mask(bit_range: str) -> int:
    high, low = _ends(bit_range)
    return ((1 << (high - low + 1)) - 1) << low


def _number(op: Operation, *names: str) -> int | None:
    """A number of an operation, which an attribute or a constant operand says."""
    for name in names:
        found: Any = op.properties.get(name) or getattr(op, name, None)
        if isinstance(found, IntegerAttr):
            return cast("IntegerAttr[Any]", found).value.data
        if isinstance(found, SSAValue):
            return constant_value(cast("SSAValue[Any]", found))
    return None


def parse_address_arg(addr_str: str) -> int:
    """An address in decimal, or in hexadecimal behind `0x`."""
    return int(addr_str.strip(), 0)


def main(argv: Sequence[str] | None = None) -> int:
    """Decode an address, find that of a register, or annotate a file."""
    parser = argparse.ArgumentParser("regdb", description=__doc__)
    parser.add_argument("address", nargs="?", type=parse_address_arg, help="the address to decode")
    for name in ("--col", "--row"):
        parser.add_argument(name, type=int, help=f"{name[2:]} of the tile of --register")
    parser.add_argument("--register", "-r", help="the register to find the address of")
    parser.add_argument("--module", "-m", help="its module, such as core or memory")
    parser.add_argument("--annotate", "-a", metavar="FILE.mlir", help="a file whose register writes get comments")
    parser.add_argument("--output", "-o", help="where it is written, instead of stdout")
    parser.add_argument("--in-place", "-i", action="store_true", help="write it where it was")
    parser.add_argument("--show-bit-fields", "-b", action="store_true", help="show the fields of the register, too")
    args = parser.parse_args(argv)
    decoder, address = AIEAddressDecoder(), args.address
    if args.annotate:
        MLIRModuleAnnotator().annotate_file(args.annotate, args.annotate if args.in_place else args.output)
        return 0
    if args.register is not None and args.col is not None and args.row is not None:
        address = decoder.encode_address(args.col, args.row, args.register, args.module)
        if address is None:
            print(f"regdb: error: tile ({args.col}, {args.row}) has no register {args.register}", file=sys.stderr)
            return 1
    if address is None:
        parser.print_help()
        return 1
    print(decoder.format_result(decoder.parse_address(address), True, args.show_bit_fields))
    return 0


if __name__ == "__main__":
    sys.exit(main())
