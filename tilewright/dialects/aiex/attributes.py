"""Types and closed vocabularies of `aiex`, and what its operations share."""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import I32, FixedBitwidthType, IntegerAttr, IntegerType, Signedness, StringAttr, i32
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from tilewright.device import BlockFormat, Keyword
from tilewright.device.architecture import AIE2P
from tilewright.dialects._ods import enum_attr
from tilewright.ir.diagnostics import VerifyError


class StateTableFunction(Keyword):
    """What the firmware does with a scratchpad value and an argument before it adds the result to a register pair."""

    mul = 0
    incr = 1
    decr = 2


class ParameterKind(Keyword):
    """Who uses a scratchpad parameter: a core reads it, or it offsets the address of a descriptor."""

    core = 0
    addr = 1


class ExpandMode(Keyword):
    """What becomes of a `load_pdi`: it stays, or turns into register writes or control packets."""

    none = 0
    write32 = 1
    ctrlpkt = 2


UI8, UI32, UI64 = (IntegerType(bits, Signedness.UNSIGNED) for bits in (8, 32, 64))


@lru_cache(maxsize=4096)
def i32_number(value: int) -> IntegerAttr[I32]:
    """A 32-bit pattern as an attribute; lowered programs consist of little else."""
    return IntegerAttr(int(value), i32, truncate_bits=True)


@lru_cache(maxsize=4096)
def register_number(address: int) -> IntegerAttr[IntegerType]:
    """The address of a register as an attribute."""
    return IntegerAttr(address, UI32)


# The wording is upstream's: verification errors quote it.
STATE_TABLE_FUNCTION = enum_attr(StateTableFunction, "Function to apply between scratchpad value and register pair")
EXPAND_MODE = enum_attr(ExpandMode, "How to expand a load_pdi op")
PARAMETER_KIND = enum_attr(
    ParameterKind,
    "Usage kind of a scratchpad runtime parameter: `core` parameters are read by AIE cores via "
    "`aiex.read_scratchpad_parameter` (values are shift-2 encoded); `addr` parameters are used as BD address offsets "
    "via the `offset_parameter` attribute on DMA ops (values written raw)",
)

BLOCK_FORMATS = AIE2P.block_formats or {}


@irdl_attr_definition
class BlockFloatType(ParametrizedAttribute, FixedBitwidthType):
    """Numbers that share one exponent, as one element of a buffer."""

    name = "aiex.bfp"

    block_type: StringAttr

    def __init__(self, block_type: str | StringAttr):
        super().__init__(StringAttr(block_type) if isinstance(block_type, str) else block_type)

    @property
    def format(self) -> BlockFormat:
        return BLOCK_FORMATS[self.block_type.data]

    @property
    def bitwidth(self) -> int:
        return self.format.bits

    @property
    def compile_time_size(self) -> int:
        return self.size

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[StringAttr]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.block_type.data)

    def verify(self) -> None:
        if self.block_type.data not in BLOCK_FORMATS:
            known = ", ".join(BLOCK_FORMATS)
            raise VerifyError(f"Invalid block type: {self.block_type.data}. Known types are: {known}.", bare=True)


ATTRS: list[type[Attribute]] = [BlockFloatType]
