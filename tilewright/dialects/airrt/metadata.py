"""Metadata for a runtime, of the segments and herds of a module."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import IRDLOperation, prop_def, region_def, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsTerminator

from tilewright.dialects._ods import BlockOp, ImplicitTerminator, ParentOp, op_definition, parse_body, print_body
from tilewright.dialects._syntax import print_attributes, split_attributes


class _Section(BlockOp):
    """Attributes, then a body."""

    @classmethod
    def parse(cls, parser: Parser) -> _Section:
        written = parser.parse_optional_attr_dict_with_keyword()
        properties, attributes = split_attributes(cls, {} if written is None else written.data)
        return cls.create(properties=properties, attributes=attributes, regions=[parse_body(parser)])

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self, keyword=True)
        printer.print_string(" ")
        print_body(printer, self.regions[0])


@op_definition
class ModuleMetadataTerminatorOp(IRDLOperation):
    """The end of a module's metadata."""

    name = "airrt.module_metadata_terminator"
    traits = traits_def(ParentOp("airrt.module_metadata"), IsTerminator())
    assembly_format = "attr-dict"


@op_definition
class SegmentMetadataTerminatorOp(IRDLOperation):
    """The end of a segment's metadata."""

    name = "airrt.segment_metadata_terminator"
    traits = traits_def(ParentOp("airrt.segment_metadata"), IsTerminator())
    assembly_format = "attr-dict"


@op_definition
class ModuleMetadataOp(_Section):
    """The segments of a module."""

    name = "airrt.module_metadata"

    segments = region_def()

    traits = traits_def(ImplicitTerminator(ModuleMetadataTerminatorOp))


@op_definition
class SegmentMetadataOp(_Section):
    """The herds of a segment."""

    name = "airrt.segment_metadata"

    sym_name = prop_def(StringAttr)
    herds = region_def()

    traits = traits_def(ParentOp("airrt.module_metadata"), ImplicitTerminator(SegmentMetadataTerminatorOp))


@op_definition
class HerdMetadataOp(IRDLOperation):
    """A herd, with its place and size in other attributes."""

    name = "airrt.herd_metadata"

    sym_name = prop_def(StringAttr)

    traits = traits_def(ParentOp("airrt.segment_metadata"))

    @classmethod
    def parse(cls, parser: Parser) -> HerdMetadataOp:
        properties, attributes = split_attributes(cls, parser.parse_optional_attr_dict())
        return cls.create(properties=properties, attributes=attributes)

    def print(self, printer: Printer) -> None:
        print_attributes(printer, self)


OPS: Sequence[type[IRDLOperation]] = [
    ModuleMetadataOp,
    ModuleMetadataTerminatorOp,
    SegmentMetadataOp,
    SegmentMetadataTerminatorOp,
    HerdMetadataOp,
]
