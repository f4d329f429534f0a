"""Segments and herds as a runtime sees them: what is known of those of a module, and loading them onto the array."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.irdl import (
    IRDLOperation,
    opt_result_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import IsTerminator

from tilewright.dialects._ods import BlockOp, ImplicitTerminator, ParentOp, op_definition
from tilewright.dialects.airrt.events import ANY_EVENT


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


@op_definition
class SegmentLoadOp(IRDLOperation):
    """Load a segment."""

    name = "airrt.segment_load"

    sym_name = prop_def(StringAttr)
    p = result_def(i64)
    event = opt_result_def(ANY_EVENT)

    assembly_format = "$sym_name attr-dict `:` type($p) (`,` type($event)^)?"


@op_definition
class HerdLoadOp(IRDLOperation):
    """Load a herd; its cores are released with these values."""

    name = "airrt.herd_load"

    sym_name = prop_def(StringAttr)
    rtp = var_operand_def()  # runtime parameters, in the order in which the cores read them
    h = result_def(i64)
    event = opt_result_def(ANY_EVENT)

    # the space before the parentheses is upstream's
    assembly_format = "$sym_name ` ` `(` $rtp `)` attr-dict `:` functional-type($rtp, results)"


OPS: Sequence[type[IRDLOperation]] = [
    ModuleMetadataOp,
    ModuleMetadataTerminatorOp,
    SegmentMetadataOp,
    SegmentMetadataTerminatorOp,
    HerdMetadataOp,
    SegmentLoadOp,
    HerdLoadOp,
]
