"""Metadata for a runtime, of the segments and herds of a module."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.irdl import IRDLOperation, prop_def, region_def, traits_def
from xdsl.traits import IsTerminator

from tilewright.dialects._ods import BlockOp, ImplicitTerminator, ParentOp, op_definition


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
class ModuleMetadataOp(BlockOp):
    """The segments of a module."""

    name = "airrt.module_metadata"

    segments = region_def()

    traits = traits_def(ImplicitTerminator(ModuleMetadataTerminatorOp))
    assembly_format = "attr-dict-with-keyword $segments"


@op_definition
class SegmentMetadataOp(BlockOp):
    """The herds of a segment."""

    name = "airrt.segment_metadata"

    sym_name = prop_def(StringAttr)  # stands in the dictionary: no symbol, but what segments are loaded by
    herds = region_def()

    traits = traits_def(ParentOp("airrt.module_metadata"), ImplicitTerminator(SegmentMetadataTerminatorOp))
    assembly_format = "attr-dict-with-keyword $herds"


@op_definition
class HerdMetadataOp(IRDLOperation):
    """A herd, with its place and size in other attributes."""

    name = "airrt.herd_metadata"

    sym_name = prop_def(StringAttr)

    traits = traits_def(ParentOp("airrt.segment_metadata"))
    assembly_format = "attr-dict"


OPS: Sequence[type[IRDLOperation]] = [
    ModuleMetadataOp,
    ModuleMetadataTerminatorOp,
    SegmentMetadataOp,
    SegmentMetadataTerminatorOp,
    HerdMetadataOp,
]
