"""Loading segments and herds onto the array, with the values that their cores are given."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import StringAttr, i64
from xdsl.irdl import IRDLOperation, opt_result_def, prop_def, result_def, var_operand_def

from tilewright.dialects._ods import op_definition
from tilewright.dialects.airrt.events import ANY_EVENT


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


OPS: Sequence[type[IRDLOperation]] = [SegmentLoadOp, HerdLoadOp]
